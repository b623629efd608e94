"""Where commands write: results to stdout, everything else to stderr, in a way that no console chokes on.

Rich does the rest: without a terminal it leaves out colours and cursor movements, it obeys NO_COLOR, and it draws with ASCII
where the stream can't encode lines.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

VERDICT_STYLES: Final = {
    "pass": "green",
    "fail": "bold red",
    "warning": "yellow",
    "skipped": "dim",
    "information": "cyan",
}
"""How the verdict of a step looks."""

if TYPE_CHECKING:
    from rich.console import Console


class OutputFailed(Exception):
    """Stdout takes no more: `reason` is a BrokenPipeError where nobody reads it, as after `arena games | head -1`."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _Output(io.FileIO):
    """Stdout's bytes. Its errors are of a class of their own, so that no other broken pipe is taken for them."""

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]  # None as in RawIOBase
        try:
            return super().write(data)
        except OSError as error:
            raise OutputFailed(error) from error


def prepare_streams() -> None:
    """Let stdout and stderr replace what they can't encode, and stand in for those that were closed from the start.

    Writing to stdout then raises OutputFailed where it takes no more.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
        elif stream is getattr(sys, f"__{name}__"):
            stream.reconfigure(errors="replace")
    old = sys.stdout
    if old is sys.__stdout__ and isinstance(old, io.TextIOWrapper):
        raw = io.BufferedWriter(_Output(old.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(raw, old.encoding, "replace", line_buffering=old.isatty())


def discard_output() -> None:
    """Send what is left for a failed stdout nowhere, so that the interpreter doesn't complain of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


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
    console.print(f"note: {text}", style="yellow", soft_wrap=not console.is_terminal)


def print_json(value: object) -> None:
    """Write a value as JSON to stdout, in ASCII where the stream is not UTF-8."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=not unicode) + "\n")
