"""The arena's own lateness: how long its event loop was busy with something else while a bot was waiting to be heard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

TICK = 0.01
"""Seconds between two looks at the clock: lateness below that is not told from none."""


class Watch:
    """The lateness since the watch began."""

    def __init__(self, lag: Lag) -> None:
        self._lag = lag
        self._before = lag.total

    @property
    def seconds(self) -> float:
        """How many seconds the event loop was late."""
        return self._lag.total - self._before


class Lag:
    """Measures how late the event loop's timers are; asleep while nobody watches."""

    def __init__(self) -> None:
        self._total = 0.0
        self._watchers = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def total(self) -> float:
        """All lateness while somebody was watching, that of a tick now overdue included."""
        overdue = asyncio.get_running_loop().time() - self._due if self._timer else 0.0
        return self._total + max(0.0, overdue)

    @contextmanager
    def watch(self) -> Iterator[Watch]:
        """Measure lateness in a block of code."""
        self._watchers += 1
        if self._timer is None:
            self._wind()
        try:
            yield Watch(self)
        finally:
            self._watchers -= 1
            if not self._watchers and self._timer is not None:
                self._total = self.total
                self._timer.cancel()
                self._timer = None

    def _wind(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + TICK
        self._timer = loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self._total = self.total
        self._wind()
