"""Which limit a bot or a build may have met, told from what is left of it: each limit by the name under which it can be changed.

The kernel refuses what goes beyond a limit of a single process, and tells nobody but that process, which says so in the words
of its language, or ends without any. So this is a guess, and is worded as one: "may have". What all processes use together is
counted by the watchdog, which knows. Nothing but the standard library is imported.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from typing import Any, Final

NEARLY: Final = 0.8
"""The part of the memory from which on an end by a signal may be due to the limit."""

_MEMORY: Final = re.compile(
    r"MemoryError|bad_alloc|OutOfMemory|out of memory|cannot allocate|unable to allocate|allocation (?:of .*)?failed|ENOMEM"
    r"|heap limit",
    re.IGNORECASE,
)
_PROCESSES: Final = re.compile(
    r"can't start new thread|Resource temporarily unavailable|EAGAIN|pthread_create|new OS thread|native thread",
    re.IGNORECASE,
)
_FILE: Final = re.compile(r"File too large|EFBIG|File size limit", re.IGNORECASE)
_SPACE: Final = re.compile(r"No space left on device|ENOSPC|disk quota", re.IGNORECASE)
_OPEN_FILES: Final = re.compile(r"Too many open files|EMFILE", re.IGNORECASE)
_FATAL: Final = frozenset((signal.SIGSEGV, signal.SIGABRT, signal.SIGTRAP, signal.SIGBUS, signal.SIGILL))
_XFSZ: Final = getattr(signal, "SIGXFSZ", None)


def megabytes(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / 1e6:,.0f} MB"


def suspect(text: str, allowed: Mapping[str, Any], *, ended_by: int | None = None, most: int = 0) -> str:
    """Return which limits may have been met, in words; nothing where none is suspected.

    `text` is what the process wrote, or its error. `ended_by` is the signal that ended it, and `most` how many bytes of memory it
    was seen to use. `allowed` has `memory`, `file` and `folders` in bytes, `processes`, `open_files`, and under `names` what the
    first two are called where they are set.
    """
    return "; ".join(_suspects(text, allowed, ended_by, most))


def _suspects(text: str, allowed: Mapping[str, Any], ended_by: int | None, most: int) -> Iterator[str]:
    if _MEMORY.search(text) or (ended_by in _FATAL and most > NEARLY * allowed["memory"]):
        yield f"it may have used more than {megabytes(allowed['memory'])} ({allowed['names']['memory']})"
    if _PROCESSES.search(text):
        yield f"it may have needed more than {allowed['processes']:,} processes and threads ({allowed['names']['processes']})"
    if _FILE.search(text) or (ended_by is not None and ended_by == _XFSZ):
        yield f"it may have written a file of more than {megabytes(allowed['file'])}"
    if _SPACE.search(text):
        folders = ", ".join(f"{folder} has {megabytes(size)}" for folder, size in allowed["folders"].items())
        yield f"it may have written more than there is room for: {folders}"
    if _OPEN_FILES.search(text):
        yield f"it may have opened more than {allowed['open_files']:,} files at once"
