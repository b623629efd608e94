"""All processes below one: what a bot has started, and what that has started, whatever session they went to.

The kernel lists the children of each thread; where it was built without that list (CONFIG_PROC_CHILDREN), the parents of all
processes of the machine are read instead, which takes some hundred times as long. Nothing but the standard library is
imported. Linux only: elsewhere nothing is found.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

LISTED: Final = Path("/proc/thread-self/children").exists()
"""Whether the kernel lists the children of a thread."""


def family(root: int, spared: Collection[int] = ()) -> list[int]:
    """Return a process and all below it, by their numbers, apart from the spared ones and those below them.

    The dead that nobody has reaped yet are among them. Somebody who is born or adopted meanwhile may be missing.
    """
    children = _listed if LISTED else _by_parents()
    found, known = [root], {root, *spared}
    for pid in found:
        below = [child for child in children(pid) if child not in known]
        known.update(below)
        found += below
    return found


def descendants(root: int, spared: Collection[int] = ()) -> list[int]:
    """Return the living processes below `root`, apart from the spared ones and those below them."""
    return [pid for pid in family(root, spared)[1:] if _lives(pid)]


def _listed(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names are enough
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found += [int(child) for child in file.read().split()]
    return found


def _by_parents() -> Callable[[int], list[int]]:
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208
            with contextlib.suppress(OSError, ValueError):
                children.setdefault(int(_state(int(name))[1]), []).append(int(name))
    return lambda pid: children.get(pid, [])


def _lives(pid: int) -> bool:
    """Return whether a process has not ended: one whose first thread has may go on in others."""
    try:
        state = _state(pid)
    except OSError:
        return False
    return state[0] not in b"ZX" or int(state[17]) > 1


def _state(pid: int) -> list[bytes]:
    """Return what /proc/PID/stat says from a process's state on: the name before it may hold anything."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        return file.read().rpartition(b")")[2].split()
