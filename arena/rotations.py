"""Plays matches rotation by rotation, so that no process that knows a hand meets one that could use it.

Two instances of one bot that play different rotations of a match hold each other's hands in turn, and whatever both can see of
the machine (a lock, a counter, the pace of a processor) is a way to tell. So they never live at the same time: all tables
at rotation 0 are played, then every launched instance ends with its whole tree, then new ones play rotation 1, and so on.
Where no bot is kept from remembering, all rotations are played at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice
from typing import Final

from arena.decision import DealResult
from arena.match import Match, RotationResult, make_table, seat_places, table_results
from arena.players.base import Player
from arena.players.roster import Roster
from arena.table import TableResult, TableRules, Void

MOST_STARTING: Final = 0.05
"""The part of a pass that starts of instances may take before the next pass is longer."""

FASTEST_GROWTH: Final = 4
"""A pass is at most so many times as long as the one before: what is played may be for nothing if a bot is disqualified."""


@dataclass(frozen=True, slots=True)
class VoidMatch:
    """A match that does not count, through a fault of the arena itself; none of its tables is played on."""

    match: Match
    reason: str


class PassLength:
    """How many blocks of a schedule are played in one pass over the rotations, so that starts are a small part of it."""

    def __init__(self) -> None:
        self.blocks = 1

    def learn(self, seconds: float, starting: float) -> None:
        """Take in how long the last pass took, and how much of that the starts of instances."""
        if starting > MOST_STARTING * seconds:
            fitting = math.ceil(self.blocks * starting / (MOST_STARTING * seconds))
            self.blocks = min(fitting, FASTEST_GROWTH * self.blocks)


@dataclass(frozen=True, slots=True)
class _Seating:
    """A table to be played."""

    match: Match
    rotation: int


class Rotations:
    """Plays tables of a tournament's matches."""

    def __init__(
        self,
        rules: TableRules,
        roster: Roster,
        key: bytes,
        *,
        tables: int,
        independent: bool = False,
        stop: asyncio.Event | None = None,
        grace: float = 0.0,
    ) -> None:
        """At most so many `tables` are in play at once; once `stop` is set, they have `grace` seconds to finish.

        `independent` says that each table has deals of its own.
        """
        self.rules = rules
        self._roster = roster
        self._key = key
        self._tables = tables
        self._independent = independent
        self._stop = stop or asyncio.Event()
        self._grace = grace
        self._left: Counter[int] = Counter()
        self._void: set[int] = set()
        self._untold: dict[int, list[tuple[Player, Sequence[DealResult]]]] = {}

    async def play(
        self,
        matches: Sequence[Match],
        played: Mapping[int, Collection[int]] | None = None,
        attempts: Mapping[int, int] | None = None,
    ) -> AsyncGenerator[RotationResult | VoidMatch, None]:
        """Yield what becomes of matches, table by table as they end; ends early once play is to stop.

        `played` says by number of a match which of its tables were played before, `attempts` how often it was dealt and
        void. To be consumed under `contextlib.aclosing`.
        """
        attempts = attempts or {}
        due = self._due(matches, played or {})
        self._left = Counter(seating.match.number for seating in due)
        self._void = set()
        self._untold = {}
        for wave in self._waves(due):
            async with aclosing(self._play_wave(wave, attempts)) as results:
                async for result in results:
                    yield result
            if self._stop.is_set():
                return
            if self._roster.isolates or self._void:
                await self._roster.end_instances()

    def _due(self, matches: Sequence[Match], played: Mapping[int, Collection[int]]) -> list[_Seating]:
        return [
            _Seating(match, rotation)
            for match in matches
            for rotation in range(len(match.seatings(self.rules.game)))
            if rotation not in played.get(match.number, ())
        ]

    def _waves(self, due: Sequence[_Seating]) -> list[list[_Seating]]:
        """Return the tables that may be in play together."""
        if not self._roster.isolates:
            return [list(due)]
        rotations = sorted({seating.rotation for seating in due})
        return [[seating for seating in due if seating.rotation == rotation] for rotation in rotations]

    async def _play_wave(
        self, wave: Sequence[_Seating], attempts: Mapping[int, int]
    ) -> AsyncGenerator[RotationResult | VoidMatch, None]:
        upcoming = (seating for seating in wave if seating.match.number not in self._void)
        running: dict[asyncio.Task[RotationResult], Match] = {}
        stopping = asyncio.create_task(self._stop.wait())
        try:
            while not self._stop.is_set():
                for seating in islice(upcoming, self._tables - len(running)):
                    attempt = attempts.get(seating.match.number, 0)
                    table = self.play_table(seating.match, seating.rotation, attempt)
                    running[asyncio.create_task(table)] = seating.match
                if not running:
                    return
                await asyncio.wait({*running, stopping}, return_when=asyncio.FIRST_COMPLETED)
                for result in self._take_results(running):
                    yield result
            if running:
                await asyncio.wait(running, timeout=self._grace)
            for result in self._take_results(running):
                yield result
        finally:
            stopping.cancel()
            for task in running:
                task.cancel()
            await asyncio.gather(stopping, *running, return_exceptions=True)

    def _take_results(self, running: dict[asyncio.Task[RotationResult], Match]) -> list[RotationResult | VoidMatch]:
        """Take what has ended; what ends of a match that is void already is nothing."""
        taken: list[RotationResult | VoidMatch] = []
        for task in [task for task in running if task.done()]:
            match = running.pop(task)
            try:
                result = task.result()
            except Void as void:
                if match.number not in self._void:
                    self._void.add(match.number)
                    taken.append(VoidMatch(match, str(void)))
            else:
                if match.number not in self._void:
                    taken.append(result)
        return taken

    async def play_table(self, match: Match, rotation: int, attempt: int = 0) -> RotationResult:
        """Play one table of a match; raise Void where the arena itself is at fault."""
        began = time.monotonic()
        places = seat_places(match, match.seatings(self.rules.game)[rotation], rotation)
        async with self._roster.seated(places) as players:
            table = make_table(self.rules, self._key, match, attempt, rotation, players, independent=self._independent)
            played = await table.play()
        await self._tell(match, players, played)
        return RotationResult(
            match,
            rotation,
            attempt,
            played.records,
            table_results(match, rotation, played.records),
            played.decisions,
            time.monotonic() - began,
        )

    async def _tell(self, match: Match, players: Sequence[Player], played: TableResult) -> None:
        """Tell how deals ended: at once whoever never meets them again, the others when the match has no table left."""
        now: list[tuple[Player, Sequence[DealResult]]] = []
        untold = self._untold.setdefault(match.number, [])
        for player, bot, results in zip(players, played.records[0].bots, played.deal_results, strict=True):
            (now if self._roster.forgets(bot) else untold).append((player, results))
        self._left[match.number] -= 1
        if self._left[match.number] <= 0:
            now += self._untold.pop(match.number)
        told: dict[int, tuple[Player, list[DealResult]]] = {}
        for player, dealt in now:
            told.setdefault(id(player), (player, []))[1].extend(dealt)
        await asyncio.gather(*(player.finish_deals(results) for player, results in told.values()))


async def play_match(rotations: Rotations, match: Match) -> list[RotationResult]:
    """Play all tables of one match and return them in order; raise Void where the arena itself is at fault."""
    tables = []
    async with aclosing(rotations.play([match])) as results:
        async for result in results:
            if isinstance(result, VoidMatch):
                raise Void(result.reason)
            tables.append(result)
    return sorted(tables, key=lambda table: table.rotation)
