"""What a bot is asked: real positions of every game, at the moments that a step needs, with what makes an answer legal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from arena.cards import Card
from arena.clock import TimeControl
from arena.dealing import Seed, opaque_id, random_word
from arena.decision import Choice, Decision
from arena.errors import BadGame, IllegalChoice, Malformed
from arena.faults import Evidence, FaultKind
from arena.game import Deal, Game, PassDirection, Phase
from arena.games import SIDES, find_game

KEY = Seed.from_text("conformance").key
"""Every check asks the same."""

PLAYERS = range(2, 7)


@dataclass(frozen=True, slots=True)
class Question:
    """A decision with the deal that it is about."""

    deal: Deal
    decision: Decision

    def evidence(self, choice: Choice | Malformed) -> Evidence | None:
        """Return what is wrong with an answer; None if nothing is."""
        if isinstance(choice, Malformed):
            return Evidence(FaultKind.MALFORMED, str(choice))
        try:
            self.deal.copy().choose(self.decision.seat, choice.cards)
        except IllegalChoice as error:
            return Evidence(FaultKind.ILLEGAL, str(error))
        return None

    def __str__(self) -> str:
        game = describe_game(self.decision.game)
        return f"{game}, deal {self.decision.deal_number}, decision {self.decision.number} at seat {self.decision.seat}"


def describe_game(game: Game) -> str:
    """Name a game with its number of players."""
    return f"{game.name} for {game.players}{' in partnerships' if game.partners else ''}"


@cache
def variants(name: str) -> tuple[Game, ...]:
    """Return a game for every number of players that it can have, single and in partnerships; none if it is unknown."""
    return tuple(game for players in PLAYERS for sides in SIDES if (game := _find(name, players, sides)) is not None)


def _find(name: str, players: int, sides: str) -> Game | None:
    try:
        return find_game(name, players, sides)
    except BadGame:
        return None


def usual(games: Sequence[Game]) -> Game:
    """Return the variant for four single players, or else the first."""
    return next((game for game in games if game.players == 4 and not game.partners), games[0])


class Questions:
    """Makes questions; each is at a table of its own, which no other question of this check names."""

    def __init__(self, time: TimeControl) -> None:
        self._time = time
        self._tables = 0

    def next_table(self) -> int:
        """Return a number that no table has had yet."""
        self._tables += 1
        return self._tables

    def passing(self, game: Game) -> Question | None:
        """Return the first decision of a deal with passing; None where the game has none."""
        if game.pass_direction(1) is PassDirection.NONE:
            return None
        table = self.next_table()
        return self._question(game.random_deal(f"{KEY.hex()} {table}", 1), table % game.players, table, 0)

    def playing(self, game: Game, trick: int = 0, place: int = 0) -> Question:
        """Return the decision of whoever plays to this trick at this place, both from 0, after cards chosen at random."""
        table = self.next_table()
        deal = game.random_deal(f"{KEY.hex()} {table}", 1)
        asked = [0] * game.players
        turn = 0
        while deal.phase is Phase.PASSING or len(deal.plays) < trick * game.players + place:
            seat = deal.to_act[0]
            asked[seat] += 1
            turn += 1
            deal.choose(seat, _any_choice(deal, seat, table, turn))
        return self._question(deal, deal.turn, table, asked[deal.turn])

    def opening(self, games: Sequence[Game], count: int) -> Iterator[Question]:
        """Yield the first decisions of so many tables, of the games in turn."""
        for place in range(count):
            game = games[place % len(games)]
            yield self.passing(game) or self.playing(game)

    def middle(self, games: Sequence[Game], count: int) -> Iterator[Question]:
        """Yield decisions of so many tables amid their first deal, of the games in turn."""
        for place in range(count):
            game = games[place % len(games)]
            yield self.playing(game, 1 + place % (game.hand_size - 2), place % game.players)

    def _question(self, deal: Deal, seat: int, table: int, number: int) -> Question:
        game = deal.game
        decision = Decision(
            observation=deal.observe(seat),
            table_id=opaque_id(KEY, "table", table),
            number=number,
            placed_by_game=False,
            deals_left=0,
            totals=(0,) * len(game.sides),
            decision_time=self._time.decision,
            bank_left=self._time.bank,
            last_answer=None,
            random=random_word(KEY, "bot", table, seat, number),
        )
        return Question(deal, decision)


def _any_choice(deal: Deal, seat: int, table: int, turn: int) -> tuple[Card, ...]:
    legal = deal.legal(seat)
    if deal.phase is Phase.PASSING:
        return legal[: deal.game.cards_passed]
    return (legal[random_word(KEY, "other", table, turn) % len(legal)],)
