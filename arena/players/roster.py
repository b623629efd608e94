"""Which instance of which bot sits where: players by name, started when a table needs them, stopped when there are too many.

A bot must not meet a deal twice, or it would know the other hands the second time. So a launched bot runs as one instance for
each rotation of a match, and for each seat that it holds at one table; with `trust_bots` one instance plays all rotations.
Bots that the arena doesn't launch can't be kept from remembering, so one player serves all rotations. Instances of different
rotations never run at the same time, since no sandbox closes every way to tell: whoever plays rotations calls `end_instances`
between them. What counts over a whole tournament, such as how often a player was started again, is kept meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arena.decision import Description
from arena.errors import BadInput, BotUnusable
from arena.players.base import Player, Setup, Transport, find_transport
from arena.settings import Entry

INSTANCE_BYTES = 128 << 20
"""How much memory an instance is assumed to need."""

_STARTS: Final = os.cpu_count() or 1  # at once


@dataclass(frozen=True, slots=True)
class Place:
    """A seat to be taken: by which bot, in which rotation of the match, and as which of the bot's copies at the table."""

    bot: str
    rotation: int
    copy: int = 0

    @property
    def instance(self) -> str:
        """The instance's name: "1", and "1b" for the second copy."""
        return f"{self.rotation}{'abcdefghij'[self.copy] if self.copy else ''}"


@dataclass(eq=False, slots=True)
class _Instance:
    player: Player
    launched: bool
    tables: int = 0
    """How many tables hold it."""


@dataclass(eq=False, slots=True)
class _Table:
    """A table that waits for its instances."""

    instances: Sequence[_Instance]
    admitted: asyncio.Future[None]


class Roster:
    """The players of one tournament."""

    def __init__(
        self, entries: Sequence[Entry], setup: Setup, *, processes: int | None = None, trust_bots: bool = False
    ) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._setup = setup
        self._processes = processes or default_processes()
        self._trust_bots = trust_bots
        self._transports: dict[type[Transport], Transport] = {}
        self._instances: dict[Place, _Instance] = {}
        self._running: list[_Instance] = []  # the longest idle first
        self._waiting: list[_Table] = []
        self._starts = asyncio.Semaphore(_STARTS)
        self._closing: set[asyncio.Task[None]] = set()
        self.descriptions: dict[str, Description] = {}
        """What the bots that were checked say of themselves, by entry's name."""
        self.starting = 0.0
        """Seconds that starts have taken, those that ran beside each other counted together."""

    @property
    def isolates(self) -> bool:
        """Whether there are bots whose instances of different rotations must not meet."""
        return any(self.forgets(bot) for bot in self._entries)

    def forgets(self, bot: str) -> bool:
        """Return whether no instance of a bot plays a match at more than one rotation."""
        return self._entries[bot].launched and not self._trust_bots

    def may_remember(self, bots: Iterable[str]) -> bool:
        """Return whether one of these bots could recognise a deal that it met before: the arena didn't start it."""
        return any(not self._entries[bot].launched for bot in bots)

    async def check(self, entries: Sequence[Entry], game: str) -> dict[str, str]:
        """Start bots once, and return why some can't play, by name: they don't start, or don't play this game."""
        reasons = await asyncio.gather(*(self._check(entry, game) for entry in entries))
        return {entry.name: reason for entry, reason in zip(entries, reasons, strict=True) if reason}

    @asynccontextmanager
    async def seated(self, places: Sequence[Place]) -> AsyncIterator[tuple[Player, ...]]:
        """Hold the players for the seats of one table, started: one that doesn't start fails its decisions.

        Waits while more processes would run than may. Don't wait for a table while holding another one's players. Raises
        BadInput where a place can't be had at all.
        """
        instances = [self._instance(place) for place in places]
        await self._admit(instances)
        try:
            await asyncio.gather(*(self._start(instance) for instance in instances), return_exceptions=True)
            yield tuple(instance.player for instance in instances)
        finally:
            self._release(instances)

    async def end_instances(self) -> None:
        """End all launched instances, which no table may hold; their players can be seated again, and are then started anew."""
        for instance in [each for each in self._running if each.launched]:
            self._end(instance)
        if self._closing:
            await asyncio.wait(self._closing)

    async def close(self) -> None:
        """End all players and what started them."""
        for instance in list(self._running):
            self._end(instance)
        if self._closing:
            await asyncio.wait(self._closing)
        await asyncio.gather(*(transport.close() for transport in self._transports.values()))
        self._transports.clear()
        self._instances.clear()

    async def _check(self, entry: Entry, game: str) -> str:
        instances = [self._instance(Place(entry.name, 0))]
        await self._admit(instances)
        try:
            description = await self._start(instances[0])
        except BotUnusable as unusable:
            return str(unusable)
        finally:
            self._release(instances)
        self.descriptions[entry.name] = description
        if description.games and game not in description.games:
            return f"bot {entry.name} plays only {', '.join(description.games)}, not {game}; leave it out"
        return ""

    def _instance(self, place: Place) -> _Instance:
        entry = self._entries[place.bot]
        if place.copy and entry.transport == "address":
            raise BadInput(
                f"bot {place.bot} holds several seats at one table, which one process must not: run it once more"
                f" at another address, and enter it under another name"
            )
        if not entry.launched or self._trust_bots:
            place = Place(place.bot, 0, place.copy)
        instance = self._instances.get(place)
        if instance is None:
            player = self._transport(entry).player(entry, place.instance)
            instance = self._instances[place] = _Instance(player, entry.launched)
        return instance

    def _transport(self, entry: Entry) -> Transport:
        kind = find_transport(entry)
        if kind not in self._transports:
            self._transports[kind] = kind(self._setup)
        return self._transports[kind]

    async def _admit(self, instances: Sequence[_Instance]) -> None:
        """Wait until these may run, and until what had to end for them has ended."""
        table = _Table(instances, asyncio.get_running_loop().create_future())
        self._waiting.append(table)
        self._admit_waiting()
        try:
            await table.admitted
            if self._closing:
                await asyncio.wait(self._closing)
        except asyncio.CancelledError:
            if not table.admitted.cancelled():
                self._release(instances)
            raise

    def _admit_waiting(self) -> None:
        """Admit the tables that need nothing started, then others in turn while there is room.

        Tables with the same instances so follow each other, and as few processes as possible are started and ended.
        """
        self._waiting = [table for table in self._waiting if not table.admitted.cancelled()]
        for table in list(self._waiting):
            if all(instance in self._running for instance in table.instances):
                self._let_in(table)
        while self._waiting and self._has_room(self._waiting[0]):
            self._let_in(self._waiting[0])

    def _has_room(self, table: _Table) -> bool:
        """Return whether a table's instances may run beside those that are held; one that needs too many plays alone."""
        held = {each for each in self._running if each.tables}
        wanted = {each for each in held.union(table.instances) if each.launched}
        return not held or len(wanted) <= self._processes

    def _let_in(self, table: _Table) -> None:
        """Hold a table's instances, and end as many idle ones as are too many."""
        self._waiting.remove(table)
        table.admitted.set_result(None)
        for instance in table.instances:
            instance.tables += 1
            if instance in self._running:
                self._running.remove(instance)
            self._running.append(instance)
        excess = sum(each.launched for each in self._running) - self._processes
        idle = [each for each in self._running if each.launched and not each.tables]
        for instance in idle[: max(0, excess)]:
            self._end(instance)

    async def _start(self, instance: _Instance) -> Description:
        async with self._starts:
            began = time.monotonic()
            try:
                return await instance.player.start()
            finally:
                self.starting += (time.monotonic() - began) / _STARTS

    def _release(self, instances: Sequence[_Instance]) -> None:
        for instance in instances:
            instance.tables -= 1
        self._admit_waiting()

    def _end(self, instance: _Instance) -> None:
        """Begin to close a player; `_closing` has the task."""
        if instance in self._running:
            self._running.remove(instance)
        task = asyncio.create_task(instance.player.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def default_processes() -> int:
    """Return how many instances fit in half the memory of this machine, or of this container."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(4, memory // 2 // INSTANCE_BYTES)
