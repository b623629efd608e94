"""A launched bot whose process is looked at: what it holds in memory, what it started, how it ends."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from arena.players.launcher import LaunchedBot
from arena.players.process import Exit
from arena.players.supervisor import descendants
from arena.players.watchdog import resident
from arena.text import clean_line


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended after it was asked to."""

    how: Exit
    seconds: float
    socket_left: bool
    """Whether the file of its socket is still there."""


class WatchedBot(LaunchedBot):
    """One instance of a bot as a process."""

    excess = ""
    """What it used too much of in the sandbox, so that the arena ended it; empty if it didn't."""

    async def close(self, *, in_peace: bool) -> None:
        """End the process, and remember why the arena had ended it, if it had."""
        process = self._process
        await super().close(in_peace=in_peace)
        if process is not None and process.ended.done():
            self.excess = self.excess or process.ended.result().reason

    def resident_bytes(self) -> int:
        """Return how much memory the bot and all that it started hold; 0 where the system doesn't tell."""
        return sum(map(resident, self._processes()))

    def strays(self) -> list[str]:
        """Return the command lines of processes that the bot started and that have left its session."""
        session = _stat(self._process.pid, 3) if self._process else None
        return [_command(pid) for pid in self._processes() if _stat(pid, 3) not in (session, None)]

    async def ask_to_end(self, patience: float) -> Ending:
        """Send SIGTERM, wait at most so many seconds for the end, and clear away what is left."""
        process = self._process
        assert process is not None
        began = asyncio.get_running_loop().time()
        await process.stop(patience)
        seconds = asyncio.get_running_loop().time() - began
        left = self._socket_exists()
        await self.close(in_peace=False)
        return Ending(process.ended.result(), seconds, left)

    def _socket_exists(self) -> bool:
        return self._address.startswith("unix:") and os.path.lexists(self._address.removeprefix("unix:"))

    def _processes(self) -> list[int]:
        """Return the bot's process and all that it started: what is below whoever adopts its orphans."""
        keeper = _stat(self._process.pid, 1) if self._process else None
        return descendants(keeper) if keeper else []


def _stat(pid: int, field: int) -> int | None:
    """Return a number of /proc/PID/stat, counted from the state after the name: 1 is the parent, 3 the session."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[field])
    return None


def _command(pid: int) -> str:
    with suppress(OSError):
        return clean_line(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"), 80)
    return f"process {pid}"
