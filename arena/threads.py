"""Blocking work in threads, in pools that do not wait for each other.

The usual pool of asyncio is left to what reads and computes. What writes into a database may wait for whoever has it, and what
looks a name up for a name server that is silent: either would keep all others waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

WRITING: Final = ThreadPoolExecutor(4, "writing")
"""For what writes into a database."""

LOOKING_UP: Final = ThreadPoolExecutor(32, "looking up")
"""For what asks name servers."""


async def in_thread(
    work: Callable[[], T], pool: ThreadPoolExecutor | None = None, then: Callable[[T], None] | None = None
) -> T:
    """Do blocking work in a thread; also where this is cancelled, return only when it is done.

    `then` is called with the result, whatever has become of who waits for it.
    """
    task = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(pool, work))
    if then is not None:
        task.add_done_callback(lambda done: done.cancelled() or done.exception() or then(done.result()))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def write(work: Callable[[], T], then: Callable[[T], None] | None = None) -> T:
    """Do in a thread what writes into a database, as `in_thread`."""
    return await in_thread(work, WRITING, then)
