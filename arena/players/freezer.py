"""Stops the instances that nobody asks anything, so that none thinks on another's time.

Where a group of processes can be had (cgroup v2, delegated to the arena), the kernel freezes an instance as a whole. Else
its processes are sent SIGSTOP: those that are known at once, and whatever else they have started a moment later.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

from arena.players.watchdog import family

LOOK_AFTER: Final = 0.01
"""Seconds after which the processes of a frozen instance are looked through for new ones."""


class Freezer(ABC):
    """Freezes and thaws one instance; each as often as one likes."""

    @abstractmethod
    def freeze(self) -> None:
        """Let nothing of it run."""

    @abstractmethod
    def thaw(self) -> None:
        """Let it run again."""

    @abstractmethod
    def close(self) -> None:
        """Free what is held; what is frozen stays so."""


class GroupFreezer(Freezer):
    """Freezes the processes of a cgroup."""

    def __init__(self, group: Path) -> None:
        self._file = os.open(group / "cgroup.freeze", os.O_WRONLY)

    def freeze(self) -> None:
        """Have the kernel freeze the group."""
        self._write(b"1")

    def thaw(self) -> None:
        """Have the kernel thaw the group."""
        self._write(b"0")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the group is gone once its processes are
            os.pwrite(self._file, data, 0)


class SignalFreezer(Freezer):
    """Freezes all processes below one, and that one too unless `below_only`, by signals.

    Processes are held by file descriptor, so that no signal can go to another one that has got the same number.
    """

    def __init__(self, root: int, *, below_only: bool) -> None:
        self._root = root
        self._below_only = below_only
        self._held: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def freeze(self) -> None:
        """Stop what is known at once, and whatever else there is in a moment."""
        self._signal(signal.SIGSTOP)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_AFTER, self._look)

    def thaw(self) -> None:
        """Let all of it go on."""
        self._cancel()
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Let go of the processes."""
        self._cancel()
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()

    def _look(self) -> None:
        """Stop new processes, until there are none: a stopped one starts no other."""
        self._timer = None
        while new := [pid for pid in family(self._root)[self._below_only :] if pid not in self._held]:
            for pid in new:
                with contextlib.suppress(OSError):
                    self._held[pid] = os.pidfd_open(pid)
            if not self._signal(signal.SIGSTOP):
                return

    def _signal(self, number: signal.Signals) -> int:
        """Send a signal to all that are known, forget those that have ended, and return how many are left."""
        for pid, descriptor in list(self._held.items()):
            try:
                signal.pidfd_send_signal(descriptor, number)
            except OSError:
                os.close(self._held.pop(pid))
        return len(self._held)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def find_groups() -> Path | None:
    """Return the arena's own cgroup if groups can be made in it: root may, others where it is delegated to them."""
    with contextlib.suppress(OSError, StopIteration):
        own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))[3:]
        mounts = (line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines())
        place = next(words[4] for words in mounts if words[words.index("-") + 1] == "cgroup2" and words[3] == "/")
        group = Path(place + own)
        probe = group / f"arena-probe-{os.getpid()}"
        probe.mkdir()
        try:
            usable = (probe / "cgroup.freeze").exists() and os.access(group / "cgroup.procs", os.W_OK)
        finally:
            probe.rmdir()
        return group if usable else None
    return None
