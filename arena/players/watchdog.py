"""Adds up what all processes of one bot use together, since limits of the kernel's are for each process by itself.

Counted are resident memory and what lies in the writable folders of the sandbox. Nothing but the standard library is
imported, and little is read: an instance with one process costs some 0.2 ms a look.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from arena.players.excess import megabytes
from arena.players.family import family

CALM, ALERT = 0.2, 0.05
"""Seconds between two looks: as a rule, and once half of what is allowed is used."""

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> int:
    """Return how many bytes of memory a process has, pages that it shares with others included; 0 if it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
    return 0


def share(pid: int) -> int:
    """Return the same with shared pages divided among those who share them: exact when added up, and slow to find out."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return resident(pid)


class Watchdog:
    """Looks at one bot from time to time: at all processes below `root`, and at its folders by file descriptor.

    They may have `memory` bytes together, a limit that is `called` so where it is set, and each folder `most_files` files: also
    an empty one costs memory.
    """

    def __init__(self, root: int, folders: Sequence[int], memory: int, called: str, most_files: int) -> None:
        self._root = root
        self._folders = folders
        self._memory = memory
        self._called = called
        self._most_files = most_files
        self.pause = CALM
        """Seconds until the next look."""
        self.most = 0
        """The most bytes that it was seen to use."""

    def look(self) -> str:
        """Return what the bot exceeds, in words; nothing if all is well."""
        in_files = 0
        for folder in self._folders:
            state = os.fstatvfs(folder)
            in_files += (state.f_blocks - state.f_bfree) * state.f_frsize
            if state.f_files - state.f_ffree > self._most_files:
                return f"it made more than {self._most_files:,} files"
        processes = family(self._root)
        used = in_files + sum(map(resident, processes))
        if used > self._memory:
            used = in_files + sum(map(share, processes))
        self.pause = ALERT if used > self._memory / 2 else CALM
        self.most = max(self.most, used)
        return f"it used more than {megabytes(self._memory)} ({self._called})" if used > self._memory else ""
