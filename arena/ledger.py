"""How far a schedule is played: table by table, with matches that become done in the order of their blocks.

A match is done when its last table is, but not before all blocks that come before its own are played: who is disqualified
after one plays no match of the next, and what has been played of such a match by then is dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.disqualification import Conduct, Retirement, blocks, owed
from arena.events import Event, MatchPlayed, TablePlayed
from arena.faults import Fault
from arena.match import Match, RotationResult
from arena.settings import Tournament, game_of

if TYPE_CHECKING:
    from arena.store import Store


@dataclass(slots=True)
class _Match:
    """What there is of a match that is not done."""

    tables: set[int]
    deals: int = 0
    decisions: int = 0


class Ledger:
    """What is played of a tournament's schedule as it is written down now; the store has all of it."""

    def __init__(self, store: Store, tournament: Tournament) -> None:
        self._store = store
        self._tournament = tournament.id
        self._matches = store.matches(tournament.id)
        self._seatings = len(self._matches[0].seatings(game_of(tournament.settings))) if self._matches else 0
        self.waiting = {match.number for match in store.matches(tournament.id, done=False)}
        """The numbers of the matches that are not done, those of disqualified bots among them."""
        self._partly = {
            number: _Match(set(kept.tables), kept.deals, kept.decisions)
            for number, kept in store.partly_played(tournament.id).items()
        }
        self._retirements: dict[int, list[Retirement]] = {}
        for fault in store.faults(tournament.id, in_play=True):
            if fault.retired:
                self._retirements.setdefault(fault.match, []).append((fault.match, fault.table, fault.bot))
        self._blocks = blocks(self._matches)
        self._complete = 0
        """How many of the blocks are played."""
        self._conduct = Conduct(self._seatings)
        self._notes: list[str] = []

    @property
    def disqualified(self) -> frozenset[str]:
        """The bots that play no more matches after the blocks that are played."""
        return self._conduct.disqualified()

    @property
    def tables(self) -> dict[int, Collection[int]]:
        """Which tables are played of matches that are not done, by number."""
        return {number: match.tables for number, match in self._partly.items()}

    @property
    def played(self) -> tuple[int, int]:
        """How many matches are done, and how many there are."""
        return len(self._matches) - len(self.waiting), len(self._matches)

    @property
    def tables_played(self) -> tuple[int, int]:
        """How many tables are played, and how many there are: none of a disqualified bot that its block did not owe."""
        done, _ = self.played
        out = self.disqualified
        owed_none = (
            sum(match.number in self.waiting and not out.isdisjoint(match.line_up) for match in self._matches)
            if out
            else 0
        )
        kept = sum(len(match.tables) for match in self._partly.values())
        return done * self._seatings + kept, (len(self._matches) - owed_none) * self._seatings

    def due(self, count: int) -> list[Match]:
        """Return the matches that are to be played of the next `count` blocks."""
        following = self._blocks[self._complete : self._complete + count]
        out = self.disqualified
        return [match for block in following for match in owed(block, out) if match.number in self.waiting]

    def add(self, table: RotationResult) -> list[Event]:
        """Store a table, and what becomes done by it; return what happened."""
        number = table.match.number
        if self.disqualified.intersection(table.match.line_up):
            return []
        match = self._partly.setdefault(number, _Match(set()))
        match.tables.add(table.rotation)
        match.deals += len(table.records)
        match.decisions += table.decisions
        self._retirements.setdefault(number, []).extend(_retirements(table))
        event = TablePlayed(
            number,
            table.rotation,
            *self.tables_played,
            table.decisions,
            tuple(_fault_lines(table)),
        )
        return [event, *self.settle([table])]

    def settle(self, tables: Sequence[RotationResult] = ()) -> list[Event]:
        """Store tables, and turn every match to done that can be; return what happened."""
        events: list[Event] = []
        while self._complete < len(self._blocks):
            ours = owed(self._blocks[self._complete], self.disqualified)
            done = [match.number for match in ours if self._is_played(match.number)]
            if tables or done:
                self._store.save_tables(self._tournament, tables, done=done)
                tables = ()
            events += [self._turn_done(number) for number in done]
            if any(match.number in self.waiting for match in ours):
                break
            self._decide(ours, news=bool(done))
        return events

    def drop(self, numbers: Collection[int]) -> None:
        """Forget what was played of matches."""
        for number in numbers:
            self._partly.pop(number, None)
            self._retirements.pop(number, None)

    def take_notes(self) -> list[str]:
        """Return what is to be told since the last time."""
        taken, self._notes = self._notes, []
        return taken

    def _is_played(self, number: int) -> bool:
        return number in self._partly and len(self._partly[number].tables) == self._seatings

    def _turn_done(self, number: int) -> MatchPlayed:
        match = self._partly.pop(number)
        self.waiting.remove(number)
        return MatchPlayed(number, *self.played, match.deals, match.decisions)

    def _decide(self, block: Collection[Match], *, news: bool) -> None:
        """Decide who plays on after a block that is played."""
        before = self.disqualified
        self._conduct.add(block, [each for match in block for each in self._retirements.pop(match.number, ())])
        self._complete += 1
        new = sorted(self.disqualified - before)
        if not new:
            return
        self._notes += [f"{bot} is disqualified: retired from too many tables" for bot in new if news]
        lines_up = {match.number: match.line_up for match in self._matches}
        of_theirs = [number for number in self._partly if self.disqualified.intersection(lines_up[number])]
        self._store.drop_tables(self._tournament, of_theirs)
        self.drop(of_theirs)


def _retirements(table: RotationResult) -> list[Retirement]:
    return [
        (table.match.number, table.rotation, record.bots[fault.seat])
        for record in table.records
        for fault in record.faults
        if fault.retired
    ]


def _fault_lines(table: RotationResult) -> Iterator[str]:
    for record in table.records:
        where = f"match {table.match.number}, table {table.rotation}, deal {record.number}"
        for fault in record.faults:
            yield _describe_fault(record.bots[fault.seat], fault, where)


def _describe_fault(bot: str, fault: Fault, where: str) -> str:
    """Say in a line which bot failed, how and where."""
    retired = "; retired from this table" if fault.retired else ""
    return f"{bot}: {fault.evidence.kind} ({fault.evidence.detail}) in {where}{retired}"
