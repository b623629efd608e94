"""An event loop whose clock is moved by hand, and jumps to the next timer where nothing else is to be done."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class VirtualTime(asyncio.SelectorEventLoop):
    """A loop in which waiting takes no time, and how long something takes is exact."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        """Return the seconds that have passed on its own clock."""
        return self._now

    def pass_by(self, seconds: float) -> None:
        """Let time pass while nothing is done."""
        self._now += seconds


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing but what comes from other threads and programs while no timer is set."""

    def __init__(self, loop: VirtualTime) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(None if timeout is None else 0)
        if timeout and not found:
            self._loop.pass_by(timeout)
        return found


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in such a loop."""
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        return runner.run(main)


def pass_by(seconds: float) -> None:
    """Let time pass, as if the running loop were busy for so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTime)
    loop.pass_by(seconds)
