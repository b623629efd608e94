"""Stops the instances that nobody asks anything, so that none thinks on another's time.

To stop a process and to wake it costs more than a fast bot's answer, and whoever sleeps anyway takes nobody's time. So an
instance is stopped once it has not been asked for `PATIENCE` seconds; but one that has used processor time meanwhile is
stopped at the end of every request from then on.

Where a group of processes can be had (cgroup v2, delegated to the arena), the kernel freezes an instance as a whole. Else
its processes are sent SIGSTOP, those that they have started meanwhile included.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

from arena.players.family import family

PATIENCE: Final = 0.2
"""Seconds for which an instance that is not being asked may go on, as long as it doesn't make use of that."""

TOLERATED: Final = 0.003
"""Seconds of processor time after a request that still belong to it."""

LOOK_EVERY: Final = 16
"""New processes are looked for before every so-manieth request, and whenever an instance is stopped."""

_MOST_LOOKS: Final = 100


class Freezer:
    """Freezes and thaws one instance: all processes below `root`, as a group if there is one.

    Processes are held by file descriptor, so that no signal can go to another one that has got the same number.
    """

    def __init__(self, root: int, group: Path | None = None) -> None:
        self._root = root
        self._group: int | None = None
        if group is not None:
            with contextlib.suppress(OSError):  # it is removed as soon as nothing is in it any more
                self._group = os.open(group / "cgroup.freeze", os.O_WRONLY)
        self._held: dict[int, int] = {}
        self._used = 0.0
        self._asked = 0
        self._restless = False
        self._stopped = False
        self._timer: asyncio.TimerHandle | None = None

    def freeze(self) -> None:
        """Take note that it isn't being asked any more."""
        if not self._held:
            self._find_new()
        self._used = self._processor_time()
        if self._restless:
            self._stop()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._stop)

    def thaw(self) -> None:
        """Let it run, for it is going to be asked."""
        self._cancel()
        self._asked += 1
        if self._asked % LOOK_EVERY == 0:
            self._find_new()
        if self._stopped:
            self._stopped = False
            self._signal(signal.SIGCONT)
        elif not self._restless:
            self._judge()

    def close(self) -> None:
        """Let it run, and let go of it."""
        self.thaw()
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()
        if self._group is not None:
            os.close(self._group)
            self._group = None

    def _stop(self) -> None:
        """Stop all of it: new processes too, until there are none, since a stopped one starts no other."""
        self._timer = None
        self._stopped = True
        self._signal(signal.SIGSTOP)
        for _ in range(_MOST_LOOKS):
            if not self._find_new():
                break
            self._signal(signal.SIGSTOP)
        self._judge()

    def _judge(self) -> None:
        self._restless |= self._processor_time() - self._used > TOLERATED

    def _processor_time(self) -> float:
        """Return how many seconds of processor time the known processes have used so far."""
        total = 0.0
        for pid in self._held:
            with contextlib.suppress(OSError):
                total += time.clock_gettime(~pid << 3 | 2)  # the kernel's number for a process's own clock
        return total

    def _find_new(self) -> bool:
        """Take hold of processes that are not known yet, and return whether there were any."""
        running = family(self._root)[1:]
        for pid in self._held.keys() - running:
            os.close(self._held.pop(pid))
        found = False
        for pid in running:
            if pid not in self._held:
                with contextlib.suppress(OSError):
                    self._held[pid] = os.pidfd_open(pid)
                    found = True
        return found

    def _signal(self, number: signal.Signals) -> None:
        """Stop or continue all that are known, and forget those that have ended."""
        if self._group is not None:
            with contextlib.suppress(OSError):  # the group is gone once its processes are
                os.pwrite(self._group, b"1" if number == signal.SIGSTOP else b"0", 0)
            return
        for pid, descriptor in list(self._held.items()):
            try:
                signal.pidfd_send_signal(descriptor, number)
            except OSError:
                os.close(self._held.pop(pid))

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def parent_of(pid: int) -> int:
    """Return the parent of a process: a bot's is its keeper, below which its orphans stay; 0 if it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


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
