"""The referee: plays one table, asks each seat what it owes, and puts every fault down to the right player.

A table never stops for a player. Whoever has no legal answer gets the substitute (see `arena.faults`), the fault goes into the
deal's record with its evidence, and a player with too many of them is retired: it is asked no more. Only a fault of the
arena itself ends a table early, by raising `Void`: its match is then played again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from arena.cards import Card, format_cards
from arena.clock import Clock, TimeControl
from arena.decision import Choice, DealResult, Decision
from arena.errors import ArenaError, IllegalChoice
from arena.faults import Evidence, Failure, Fault, FaultKind, FaultPolicy, substitute
from arena.game import Deal, Game, Outcome, Phase
from arena.players.base import Answer, Player
from arena.record import DealRecord, Note


class Void(ArenaError):
    """A fault of the arena itself: the match does not count and is to be played again."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """What is the same at all tables of a tournament."""

    game: Game
    placed_by_game: bool
    """Whether a table plays a game to its end and places that, or a number of deals each placed by itself."""
    time: TimeControl
    faults: FaultPolicy


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table as it was played."""

    records: tuple[DealRecord, ...]
    deal_results: tuple[tuple[DealResult, ...], ...]
    """What each seat may be told, by seat."""
    outcome: Outcome | None
    """How the game ended; None where each deal is placed by itself."""
    decisions: int


@dataclass(slots=True)
class _Seat:
    """A player at this table, and how it has done so far."""

    player: Player
    clock: Clock
    asked: int = 0
    faults: int = 0
    retired: bool = False


@dataclass(slots=True)
class _Happenings:
    """What there is to say about a deal besides its cards."""

    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    answer_micros: list[int] = field(default_factory=list)
    credit_micros: list[int] = field(default_factory=list)


class Table:
    """One table: players at its seats, and the deals they are to play.

    `deals` is how many deals to play, 0 to play a game to its end. `hands_of` gives the hands of a deal by its number,
    `random_of` the random number of a seat's decision by seat and decision number.
    """

    def __init__(
        self,
        rules: TableRules,
        players: Sequence[Player],
        bots: Sequence[str],
        *,
        table_id: str,
        deals: int,
        hands_of: Callable[[int], Sequence[Sequence[Card]]],
        random_of: Callable[[int, int], int],
    ) -> None:
        self._rules = rules
        self._seats = [_Seat(player, Clock.start(rules.time)) for player in players]
        self._bots = tuple(bots)
        self._table_id = table_id
        self._deals = deals or rules.game.deals or 0
        self._hands_of = hands_of
        self._random_of = random_of
        self._totals = (0,) * len(rules.game.sides)
        self._happenings = _Happenings()

    async def play(self) -> TableResult:
        """Play all deals; raise Void where the arena itself is at fault."""
        game, placed_by_game = self._rules.game, self._rules.placed_by_game
        records: list[DealRecord] = []
        leaders: list[bytes] = []
        outcome: Outcome | None = None
        reached: int | None = None
        number, over = 0, False
        while not over:
            number += 1
            hands = self._hands_of(number)
            deal = game.start(hands, number)
            await self._play_deal(deal)
            scores = deal.scores()
            if placed_by_game:
                side_scores = game.side_totals(scores)
                self._totals = tuple(map(sum, zip(self._totals, side_scores, strict=True)))
                if reached is None and game.target is not None and max(self._totals) >= game.target:
                    reached = number
                outcome = game.finished(self._totals, side_scores, number, reached=reached)
                over = outcome.over
            else:
                over = number == self._deals
            records.append(self._record(deal, hands, scores))
            leaders.append(deal.trick_leaders)
        return TableResult(
            tuple(records), self._deal_results(records, leaders), outcome, sum(seat.asked for seat in self._seats)
        )

    async def _play_deal(self, deal: Deal) -> None:
        self._happenings = _Happenings()
        while deal.phase is Phase.PASSING:
            seats = deal.to_act
            answers = await asyncio.gather(*(self._ask(deal, seat) for seat in seats))
            for seat, answer in zip(seats, answers, strict=True):
                self._apply(deal, seat, answer)
        while deal.phase is Phase.PLAYING:
            seat = deal.turn
            self._apply(deal, seat, await self._ask(deal, seat))

    async def _ask(self, deal: Deal, seat: int) -> Answer | Failure | None:
        """Return a seat's answer, why it has none, or None if its player is retired."""
        place = self._seats[seat]
        if place.retired:
            return None
        try:
            return await place.player.decide(self._decision(deal, seat))
        except Failure as failure:
            return failure

    def _decision(self, deal: Deal, seat: int) -> Decision:
        place = self._seats[seat]
        number = place.asked
        place.asked += 1
        return Decision(
            deal.observe(seat),
            self._table_id,
            number,
            self._rules.placed_by_game,
            max(0, self._deals - deal.number),
            self._totals,
            self._rules.time.decision,
            place.clock.bank,
            place.clock.last_answer,
            self._random_of(seat, number),
        )

    def _apply(self, deal: Deal, seat: int, answer: Answer | Failure | None) -> None:
        """Make the choice that a seat was asked for: its own, or the substitute."""
        if isinstance(answer, Answer):
            self._charge(seat, answer)
            evidence = self._try(deal, seat, answer.choice)
            if evidence is None:
                return
            self._book(seat, evidence)
        elif answer is not None:
            if answer.evidence.kind is FaultKind.ARENA:
                raise Void(answer.evidence.detail)
            self._charge(seat, answer)
            self._book(seat, answer.evidence)
        count = deal.game.cards_passed if deal.phase is Phase.PASSING else 1
        deal.choose(seat, substitute(deal.legal(seat), count))

    def _charge(self, seat: int, answer: Answer | Failure) -> None:
        self._seats[seat].clock.charge(answer.elapsed)
        self._happenings.answer_micros.append(round(answer.elapsed * 1e6))
        self._happenings.credit_micros.append(round(answer.credit * 1e6))

    def _try(self, deal: Deal, seat: int, choice: Choice) -> Evidence | None:
        """Make a player's choice; return the evidence if the rules refuse it."""
        try:
            deal.choose(seat, choice.cards)
        except IllegalChoice as error:
            return Evidence(FaultKind.ILLEGAL, str(error), answer=format_cards(choice.cards))
        if choice.note:
            self._happenings.notes.append(Note(seat, self._seats[seat].asked - 1, choice.note))
        return None

    def _book(self, seat: int, evidence: Evidence) -> None:
        place = self._seats[seat]
        place.faults += 1
        place.retired = place.faults >= self._rules.faults.allowed
        self._happenings.faults.append(Fault(seat, place.asked - 1, evidence, place.retired))

    def _record(self, deal: Deal, hands: Sequence[Sequence[Card]], scores: tuple[int, ...]) -> DealRecord:
        happened = self._happenings
        return DealRecord(
            game=self._rules.game,
            placed_by_game=self._rules.placed_by_game,
            number=deal.number,
            bots=self._bots,
            hands=tuple(map(tuple, hands)),
            passes=deal.passes(),
            plays=tuple(deal.plays),
            scores=scores,
            totals=self._totals,
            faults=tuple(happened.faults),
            retired=tuple(seat for seat, place in enumerate(self._seats) if place.retired),
            notes=tuple(happened.notes),
            answer_micros=tuple(happened.answer_micros),
            credit_micros=tuple(happened.credit_micros),
        )

    def _deal_results(
        self, records: Sequence[DealRecord], leaders: Sequence[bytes]
    ) -> tuple[tuple[DealResult, ...], ...]:
        """Return what each seat may be told of the deals, by seat."""
        told = tuple(
            DealResult(
                table_id=self._table_id,
                number=record.number,
                seat=0,
                scores=record.scores,
                totals=record.totals,
                trick_leaders=trick_leaders,
                trick_cards=record.plays,
                table_over=record is records[-1],
            )
            for record, trick_leaders in zip(records, leaders, strict=True)
        )
        return tuple(tuple(replace(result, seat=seat) for result in told) for seat in range(len(self._seats)))
