"""A launched bot whose process is looked at: what it holds in memory, what it started, how it ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from arena.players.family import family
from arena.players.launcher import LaunchedBot
from arena.players.process import Exit
from arena.players.watchdog import resident
from arena.sockets import socket_path
from arena.text import clean_line

_PARENT, _SESSION, _TIMES = (
    1,
    3,
    range(11, 15),
)  # places in /proc/PID/stat; the times are those of waited-for children too
_STEP = 0.02  # seconds between two looks at a bot that is to end
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended after it was asked to."""

    how: Exit
    seconds: float
    idle: float
    """Seconds of these in which nothing of it ran or waited for a processor: what no slow machine is to blame for."""
    used: float
    """Seconds of the processors' time that it has had meanwhile."""
    socket_left: bool
    """Whether the file of its socket is still there."""


class WatchedBot(LaunchedBot):
    """One instance of a bot as a process."""

    most_tasks = 0
    """The most processes and threads that were seen of it at one time."""
    stray = ""
    """The command line of a process that it started and that has left its session; empty if there is none."""
    excess = ""
    """What it used too much of in the sandbox, so that the arena ended it; empty if it didn't."""
    _written = ""

    async def output(self) -> str:
        """Return the last lines of the process's output; of the last process's, where that was ended."""
        return await super().output() if self._process else self._written

    async def close(self, *, in_peace: bool) -> None:
        """End the process, and remember what it wrote, and why the arena had ended it, if it had."""
        process = self._process
        await super().close(in_peace=in_peace)
        if process is not None and process.ended.done():
            self.excess = self.excess or process.ended.result().reason
            self._written = process.ended.result().output

    def look(self) -> None:
        """Note what can be seen of it now: how many processes and threads there are, and whether one left its session."""
        if self._process is None or self._process.ended.done():
            return
        session = _stat(self._process.pid, _SESSION)
        processes = self._processes()
        self.most_tasks = max(self.most_tasks, sum(map(_tasks, processes)))
        for pid in processes:
            if not self.stray and session and _stat(pid, _SESSION) not in (session, None):
                self.stray = _command(pid)

    def resident_bytes(self) -> int:
        """Return how much memory the bot and all that it started hold; 0 where the system doesn't tell."""
        return sum(map(resident, self._processes()))

    def processor_seconds(self) -> float:
        """Return how much of the processors' time the bot and all that it started have had."""
        ticks = sum(_stat(pid, field) or 0 for pid in self._processes() for field in _TIMES)
        return ticks / _TICKS

    async def ask_to_end(self, patience: float) -> Ending:
        """Send SIGTERM, wait at most so many seconds for the end, and clear away what is left."""
        process = self._process
        assert process is not None
        loop = asyncio.get_running_loop()
        began = last = loop.time()
        before = self.processor_seconds()
        idle = used = 0.0
        stopping = asyncio.ensure_future(process.stop(patience))
        while not stopping.done():
            await asyncio.wait({stopping}, timeout=_STEP)
            now = loop.time()
            idle += 0.0 if self._busy() else min(now - last, _STEP)
            used = max(used, self.processor_seconds() - before)
            last = now
        await stopping
        seconds = loop.time() - began
        left = self._socket_exists()
        await self.close(in_peace=False)
        return Ending(process.ended.result(), seconds, idle, used, left)

    def _busy(self) -> bool:
        """Whether any thread of it, or of what started it, runs or waits for a processor or a disk."""
        parent = _stat(self._process.pid, _PARENT) if self._process else None
        return any(state in "RD" for pid in (family(parent) if parent else ()) for state in _states(pid))

    def _socket_exists(self) -> bool:
        path = socket_path(self._address)
        return path is not None and os.path.lexists(path)

    def _processes(self) -> list[int]:
        """Return the bot's process and all that it started: what is below whoever adopts its orphans."""
        adopter = _stat(self._process.pid, _PARENT) if self._process else None
        return family(adopter)[1:] if adopter else []


def _stat(pid: int, field: int) -> int | None:
    """Return a number of /proc/PID/stat by its place after the name; None if the process is gone."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[field])
    return None


def _tasks(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - names are enough
    return 0


def _states(pid: int) -> Iterator[str]:
    """Yield in what state each thread of a process is, as letters of /proc/PID/stat."""
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            yield path.read_bytes().rpartition(b")")[2].split()[0].decode()


def _command(pid: int) -> str:
    with suppress(OSError):
        return clean_line(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"), 80)
    return f"process {pid}"
