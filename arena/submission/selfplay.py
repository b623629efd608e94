"""The last step of an admission: the bot plays a match against itself, as in a tournament, and must not commit a fault.

A bot at an address can hold one seat only; a simple bot of the arena's own sits at the others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_bytes
from typing import Final

from arena.conformance.cures import cure_of, tell, with_output
from arena.conformance.questions import usual, variants
from arena.difference import Difference
from arena.errors import ArenaError
from arena.faults import Fault, FaultPolicy
from arena.finding import Finding, failed, passed
from arena.game import Game
from arena.games import game_names
from arena.likeness import alike
from arena.match import Match, RotationResult
from arena.players.base import Setup
from arena.players.roster import Roster
from arena.record import DealRecord
from arena.replay import TableReplay
from arena.rotations import Rotations, play_match
from arena.sdk import Bot, Card, Decision
from arena.settings import Entry
from arena.table import TableRules, Void

_SHOWN_FAULTS: Final = 20


class Neighbour(Bot):
    """Plays its lowest legal card."""

    def play(self, view: Decision) -> Card:
        """Return the lowest card."""
        return min(view.legal)


async def play_itself(entry: Entry, games: Sequence[str], setup: Setup) -> tuple[Finding, str]:
    """Have a bot play one pass cycle of the first of these games, or else of those that it says it plays.

    Returns what was found, and the log. Raises ArenaError where the arena itself is at fault.
    """
    async with _seated(entry, setup) as roster:
        reason = (await roster.check([entry], next(iter(games), game_names()[0]))).get(entry.name, "")
        if entry.name not in roster.descriptions:
            detail, _, output = reason.partition("\n")
            return failed(with_output(detail, output), "mend what keeps it from starting"), reason
        described = roster.descriptions[entry.name].games
        game = usual(variants(next(iter((*games, *described)), game_names()[0])))
        rules = TableRules(game, placed_by_game=False, time=setup.time, faults=FaultPolicy())
        match = Match(1, _line_up(entry, len(game.sides)), len(game.pass_cycle))
        try:
            tables = await play_match(Rotations(rules, roster, token_bytes(32), tables=game.players), match)
        except Void as void:
            raise ArenaError(f"the match of {entry.name} against itself could not be played: {void}") from void
    _verify(rules, tables)
    return _judge(entry, game, tables)


@asynccontextmanager
async def _seated(entry: Entry, setup: Setup) -> AsyncIterator[Roster]:
    roster = Roster([entry, _neighbour(entry)], setup, trust_bots=True)
    try:
        yield roster
    finally:
        await roster.close()


def _neighbour(entry: Entry) -> Entry:
    name = "neighbour" if not alike(entry.name, "neighbour") else "other neighbour"
    return Entry(name, python=f"{__name__}:{Neighbour.__name__}")


def _line_up(entry: Entry, sides: int) -> tuple[str, ...]:
    others = entry.name if entry.launched else _neighbour(entry).name
    return (entry.name, *[others] * (sides - 1))


def _verify(rules: TableRules, tables: Sequence[RotationResult]) -> None:
    """Play all records again; raise ArenaError where they don't agree with the rules."""
    try:
        for table in tables:
            replay = TableReplay(rules, table.match.deals)
            for record in table.records:
                replay.follow(record)
    except Difference as difference:
        raise ArenaError(f"the record of the match against itself is wrong: {difference}") from difference


@dataclass(frozen=True, slots=True)
class _Failed:
    """A fault of the bot, and where it was."""

    table: int
    record: DealRecord
    fault: Fault

    def __str__(self) -> str:
        return f"table {self.table}, deal {self.record.number}, seat {self.fault.seat}, decision {self.fault.decision}"


def _faults(entry: Entry, tables: Sequence[RotationResult]) -> Iterator[_Failed]:
    for number, table in enumerate(tables, 1):
        for record in table.records:
            yield from (
                _Failed(number, record, fault) for fault in record.faults if record.bots[fault.seat] == entry.name
            )


def _judge(entry: Entry, game: Game, tables: Sequence[RotationResult]) -> tuple[Finding, str]:
    faults = list(_faults(entry, tables))
    log = "\n".join([*_scores(tables), *_evidence(faults)])
    against = "itself" if entry.launched else "a simple bot"
    deals = sum(len(table.records) for table in tables)
    decisions = sum(table.decisions for table in tables)
    what = f"{deals} deals of {game.name} with {game.players} players against {against}"
    if not faults:
        return passed(f"{what}, {decisions} decisions without a fault", deals=deals), log
    first = faults[0]
    more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
    return failed(f"{what}: {first}: {tell(first.fault.evidence)}{more}", cure_of(first.fault.evidence)), log


def _scores(tables: Sequence[RotationResult]) -> Iterator[str]:
    for number, table in enumerate(tables, 1):
        for record in table.records:
            yield f"table {number}, deal {record.number}: {' '.join(map(str, record.scores))} points"


def _evidence(faults: Sequence[_Failed]) -> Iterator[str]:
    for failure in faults[:_SHOWN_FAULTS]:
        evidence = failure.fault.evidence
        yield f"{failure}: {evidence.kind}: {evidence.detail}"
        if evidence.answer:
            yield f"    it answered {evidence.answer}"
        yield from (f"    {line}" for line in evidence.stderr.splitlines())
