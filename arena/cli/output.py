"""Where commands write: results to stdout, everything else to stderr, in a way that no console chokes on.

Rich does the rest: without a terminal it leaves out colours and cursor movements, it obeys NO_COLOR, and it draws with ASCII
where the stream can't encode lines.
"""

from __future__ import annotations

import io
import json
import os
import select
import sys
from typing import TYPE_CHECKING, Any, Final

VERDICT_STYLES: Final = {
    "pass": "",
    "fail": "bold red",
    "warning": "bold magenta",
    "skipped": "dim",
    "information": "",
}
"""How the verdict of a step looks. Of the eight colours only red and magenta can be read on black and on white."""

if TYPE_CHECKING:
    from rich.console import Console


class _Output(io.FileIO):
    """The bytes of stdout or stderr. What can't be written is dropped, and the reason kept: the work goes on without a reader."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        if self.failure is None:
            try:
                while (written := super().write(data)) is None:  # another program has made it non-blocking
                    select.select([], [self], [])
            except OSError as error:
                self.failure = error
            else:
                return written
        return memoryview(data).nbytes


def prepare_streams() -> None:
    """Let stdout and stderr replace what they can't encode, and take no offence where nobody reads them or they are closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # what is opened next would take its place, and be written into
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name in ("stdout", "stderr"):
        old = getattr(sys, name)
        if old is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
        elif old is getattr(sys, f"__{name}__") and isinstance(old, io.TextIOWrapper):
            raw = io.BufferedWriter(_Output(old.fileno(), "w", closefd=False))
            by_line = name == "stderr" or old.isatty()
            setattr(sys, name, io.TextIOWrapper(raw, old.encoding, "replace", line_buffering=by_line))


def reader_is_gone() -> bool:
    """Whether nobody reads stdout any more, as after `arena games | head -1`: to be asked by what only shows."""
    failure = _failure()
    return isinstance(failure, ConnectionError) or (failure is not None and sys.stdout.isatty())


def lost_output() -> str:
    """Write what stdout still holds, and return why it could not be kept; empty where it was, or where nobody wants it."""
    sys.stdout.flush()
    failure = _failure()
    return "" if failure is None or reader_is_gone() else failure.strerror or str(failure)


def _failure() -> OSError | None:
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.failure if isinstance(raw, _Output) else None


def make_console() -> Console:
    """Return a console for results, on stdout."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def make_error_console() -> Console:
    """Return a console for all that is no result, on stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_note(text: str) -> None:
    """Write a note to stderr: for people in colour and wrapped between words, for programs in one line."""
    console = make_error_console()
    console.print(f"note: {text}", soft_wrap=not console.is_terminal)


def print_json(value: object) -> None:
    """Write a value as JSON to stdout, in ASCII where the stream is not UTF-8."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=not unicode) + "\n")
