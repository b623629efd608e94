"""Asks a bot again what it was asked at a recorded table, to reproduce a failure or to compare versions.

The table is played once more by the referee itself, between players that repeat what is recorded of them: answers, faults
and times. So every decision comes about as it did, with the same deal, totals, clock and random number; those that are of
interest also go to the bot, whose answers change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from arena.cards import Card
from arena.decision import Choice, DealResult, Decision, Description
from arena.difference import Difference
from arena.errors import BadInput
from arena.faults import Evidence, Failure, FaultKind
from arena.match import Match, make_table
from arena.players.base import Answer, Player
from arena.record import DealRecord
from arena.replay import replay
from arena.table import TableRules


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is recorded of one decision."""

    deal: int
    cards: tuple[Card, ...]
    """What was chosen: by the player, or for it."""
    seconds: float
    fault: Evidence | None
    """Why the cards are a substitute; None where the player chose them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One decision that was asked again."""

    seat: int
    decision: Decision
    recorded: Recorded
    cards: tuple[Card, ...] | None
    """What the bot chooses now; None where it has no answer."""
    fault: Evidence | None
    """What is wrong with its answer now; None if nothing is."""

    @property
    def same(self) -> bool:
        """Whether the bot now gives the cards that were recorded; the order in which they are passed means nothing."""
        return self.fault is None and self.cards is not None and sorted(self.cards) == sorted(self.recorded.cards)


@dataclass(frozen=True, slots=True)
class PlayedTable:
    """A table of a stored match."""

    rules: TableRules
    key: bytes
    """The seed of its tournament."""
    match: Match
    attempt: int
    number: int
    """The table's number in the match, from 0."""
    independent: bool
    records: tuple[DealRecord, ...]


async def ask_again(
    played: PlayedTable, bots: Mapping[int, Player], *, deals: Collection[int] = ()
) -> tuple[Comparison, ...]:
    """Ask the bots at these seats, started already, what was asked there, and return all that with their answers.

    `deals` are the numbers of those of interest, all of them if left out. Raises BadInput where the records can't be what
    happened at this table.
    """
    comparisons: list[Comparison] = []
    players = [
        _Repeating(answers, bots.get(seat), deals, comparisons)
        for seat, answers in enumerate(_answers(played.records, played.rules.game.players))
    ]
    table = make_table(
        played.rules,
        played.key,
        played.match,
        played.attempt,
        played.number,
        players,
        independent=played.independent,
    )
    result = await table.play()
    if [(each.hands, each.passes, each.plays) for each in result.records] != [
        (each.hands, each.passes, each.plays) for each in played.records
    ]:
        raise BadInput("what is recorded of this table can't have happened there: `arena verify` says what is wrong")
    return tuple(comparisons)


def _answers(records: Sequence[DealRecord], players: int) -> list[list[Recorded]]:
    """Return what each seat's player answered, by seat and in the order of its decisions; raise BadInput if that can't be."""
    answers: list[list[Recorded]] = [[] for _ in range(players)]
    retired: set[int] = set()
    try:
        for record in records:
            for seat, recorded in _asked(record, answers, retired):
                answers[seat].append(recorded)
    except Difference as error:
        raise BadInput(f"the records of this table are damaged: {error}; `arena verify` says more") from error
    return answers


def _asked(
    record: DealRecord, answers: Sequence[Sequence[Recorded]], retired: set[int]
) -> Iterator[tuple[int, Recorded]]:
    """Yield the decisions that players were asked in a deal, with their seats; those of retired players were not."""
    faults = {(fault.seat, fault.decision): fault for fault in record.faults}
    times = list(reversed(record.answer_micros))
    for step in replay(record):
        seat = step.seat
        if seat in retired:
            continue
        fault = faults.get((seat, len(answers[seat])))
        if fault is not None and fault.retired:
            retired.add(seat)
        if not times:
            raise Difference("the number of answers that were timed", "one a decision", len(record.answer_micros))
        yield seat, Recorded(record.number, step.cards, times.pop() / 1e6, fault.evidence if fault else None)


class _Repeating(Player):
    """A player that answers what is recorded, and has the bot that took its seat asked as well."""

    def __init__(
        self,
        answers: Sequence[Recorded],
        bot: Player | None,
        deals: Collection[int],
        comparisons: list[Comparison],
    ) -> None:
        self._answers = answers
        self._bot = bot
        self._deals = deals
        self._comparisons = comparisons

    async def start(self) -> Description:
        """Be there."""
        return Description()

    async def decide(self, decision: Decision) -> Answer:
        """Repeat the answer, or the failure."""
        if decision.number >= len(self._answers):
            raise BadInput("more was asked at this table than is recorded of it: `arena verify` says what is wrong")
        recorded = self._answers[decision.number]
        if self._bot is not None and (not self._deals or recorded.deal in self._deals):
            self._comparisons.append(await _compare(self._bot, decision, recorded))
        if recorded.fault is not None:
            raise Failure(recorded.fault, recorded.seconds)
        return Answer(Choice(recorded.cards), recorded.seconds)

    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Not be told."""

    async def close(self) -> None:
        """Be gone."""


async def _compare(bot: Player, decision: Decision, recorded: Recorded) -> Comparison:
    try:
        answer = await bot.decide(decision)
    except Failure as failure:
        return Comparison(decision.seat, decision, recorded, None, failure.evidence)
    cards = answer.choice.cards
    return Comparison(decision.seat, decision, recorded, cards, _refusal(decision, cards))


def _refusal(decision: Decision, cards: Sequence[Card]) -> Evidence | None:
    """Return why the rules refuse these cards; None if they don't."""
    if len(set(cards)) == decision.count and set(cards) <= set(decision.legal):
        return None
    return Evidence(FaultKind.ILLEGAL, "not a choice among the legal cards")
