"""Ctrl-C and SIGTERM: the first stops in good order, the second at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stopping_on_signals(tell: Callable[[], None]) -> Iterator[asyncio.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets, after `tell`; the second one cancels the task that runs inside.

    To be used in a running event loop.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    stop = asyncio.Event()

    def receive() -> None:
        if not stop.is_set():
            stop.set()
            tell()
        elif task is not None:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, receive)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
