"""A game among plain callables in this process: for training, research and tests, without clocks, processes or faults.

A bot is a callable from a `Decision` to the card that it plays, or to the cards that it passes:

>>> from arena.games import find_game
>>> def lowest(decision):
...     return decision.legal[: decision.count]
>>> simulation = simulate(find_game("hearts-standard"), [lowest] * 4, seed="example", deals=2)
>>> [sum(scores) for scores in simulation.scores]
[26, 26]

The same seed, game and bots give the same deals and the same random numbers, hence the same result, if the bots draw only
on `decision.rng`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arena.cards import Card
from arena.dealing import Seed, Stream, random_word
from arena.decision import Decision
from arena.errors import BadGame, IllegalChoice
from arena.game import Deal, Game, Outcome
from arena.record import DealRecord

Bot = Callable[[Decision], Card | Sequence[Card]]
"""Answers a decision with a card, or with as many as are to be chosen."""

UNLIMITED = float("inf")
"""The seconds that a bot has for a decision here."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What was played."""

    records: tuple[DealRecord, ...]
    totals: tuple[int, ...]
    """Each side's penalty points over all deals."""
    outcome: Outcome | None
    """How the game ended; None where single deals were played."""

    @property
    def scores(self) -> tuple[tuple[int, ...], ...]:
        """Each deal's penalty points, by seat."""
        return tuple(record.scores for record in self.records)


def simulate(
    game: Game, bots: Sequence[Bot], *, seed: int | str | bytes | Seed | None = None, deals: int | None = None
) -> Simulation:
    """Play a whole game, or so many single deals, among bots given by seat.

    In single deals every bot is told that each deal is placed by itself, and totals of 0. `seed` may be a number, a text
    or 32 bytes; without one, random bytes are drawn. Raises IllegalChoice if a bot's choice breaks the rules, with the
    seat and deal, and BadGame unless there is one bot a seat. What a bot raises goes through.
    """
    if len(bots) != game.players:
        raise BadGame(f"{game.name} for {game.players} players needs {game.players} bots, not {len(bots)}")
    if deals is not None and deals < 1:
        raise BadGame(f"at least 1 deal is to be played, not {deals}")
    table = _Table(game, bots, _key(seed), placed_by_game=deals is None, deals=deals or game.deals or 0)
    if deals is None:
        return _play_game(game, table)
    records = tuple(table.play_deal(number) for number in range(1, deals + 1))
    seats = [sum(points) for points in zip(*(record.scores for record in records), strict=True)]
    return Simulation(records, game.side_totals(seats), None)


def _play_game(game: Game, table: _Table) -> Simulation:
    records: list[DealRecord] = []
    reached: int | None = None
    while True:
        number = len(records) + 1
        record = table.play_deal(number)
        records.append(record)
        if reached is None and game.target is not None and max(record.totals) >= game.target:
            reached = number
        outcome = game.finished(record.totals, game.side_totals(record.scores), number, reached=reached)
        if outcome.over:
            return Simulation(tuple(records), record.totals, outcome)


def _key(seed: int | str | bytes | Seed | None) -> bytes:
    if isinstance(seed, Seed):
        return seed.key
    if isinstance(seed, bytes):
        return seed
    return (Seed.draw() if seed is None else Seed.from_text(str(seed))).key


class _Table:
    """The bots at their seats, and what goes on from deal to deal."""

    def __init__(self, game: Game, bots: Sequence[Bot], key: bytes, *, placed_by_game: bool, deals: int) -> None:
        self._game = game
        self._bots = bots
        self._names = tuple(getattr(bot, "__name__", type(bot).__name__) for bot in bots)
        self._key = key
        self._placed_by_game = placed_by_game
        self._deals = deals
        self._totals = (0,) * len(game.sides)
        self._asked = [0] * game.players

    def play_deal(self, number: int) -> DealRecord:
        game = self._game
        hands = Stream(self._key, "deal", number).deal(game.deck, game.players)
        deal = game.start(hands, number)
        while seats := deal.to_act:
            for seat in seats:
                self._choose(deal, seat)
        scores = deal.scores()
        if self._placed_by_game:
            self._totals = tuple(map(sum, zip(self._totals, game.side_totals(scores), strict=True)))
        return DealRecord(
            game=game,
            placed_by_game=self._placed_by_game,
            number=number,
            bots=self._names,
            hands=tuple(map(tuple, hands)),
            passes=deal.passes(),
            plays=tuple(deal.plays),
            scores=scores,
            totals=self._totals,
        )

    def _choose(self, deal: Deal, seat: int) -> None:
        asked = self._asked[seat]
        self._asked[seat] += 1
        decision = Decision(
            observation=deal.observe(seat),
            table_id="simulation",
            number=asked,
            placed_by_game=self._placed_by_game,
            deals_left=max(0, self._deals - deal.number),
            totals=self._totals,
            decision_time=UNLIMITED,
            bank_left=UNLIMITED,
            last_answer=None,
            random=random_word(self._key, "random", seat, asked),
        )
        answer = self._bots[seat](decision)
        try:
            deal.choose(seat, (answer,) if isinstance(answer, Card) else tuple(answer))
        except IllegalChoice as error:
            raise IllegalChoice(f"{self._names[seat]}, in deal {deal.number}: {error}") from None
