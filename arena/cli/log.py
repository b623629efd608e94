"""What the arena logs, shown to whoever runs it: each message in a line on stderr, with the time of day."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from typing import Final

from arena.text import clean_line, clean_lines

_MOST: Final = 1000  # messages that may wait


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{self.formatTime(record, '%H:%M:%S')} {clean_line(record.getMessage(), 500)}"
        if record.exc_info:
            text += f"\n{clean_lines(self.formatException(record.exc_info))}"
        return text


@contextmanager
def showing_log() -> Iterator[Callable[[], None]]:
    """Show what is logged while the context lasts, once the function that is yielded was called; until then it waits."""
    shown = logging.StreamHandler()
    shown.setFormatter(_Line())
    waiting = MemoryHandler(_MOST, logging.CRITICAL + 1, shown)

    def begin() -> None:
        waiting.flushLevel = logging.NOTSET
        waiting.flush()

    log = logging.getLogger("arena")
    level = log.level
    log.addHandler(waiting)
    log.setLevel(logging.INFO)
    try:
        yield begin
    finally:
        log.removeHandler(waiting)
        log.setLevel(level)
        waiting.close()
