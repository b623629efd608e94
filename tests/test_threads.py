"""Blocking work in threads: it is done to its end, and nobody waits for what is of another kind."""

from __future__ import annotations

import asyncio
import threading

import pytest

from arena.threads import LOOKING_UP, WRITING, in_thread, write


async def test_who_is_cancelled_waits_for_the_end_and_the_result_is_not_lost() -> None:
    begun, go_on = threading.Event(), threading.Event()
    results: list[str] = []

    def work() -> str:
        begun.set()
        assert go_on.wait(20)
        return "done"

    waiting = asyncio.create_task(write(work, then=results.append))
    assert await asyncio.to_thread(begun.wait, 20)
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert results == ["done"]


async def test_an_error_comes_to_who_waits_and_is_no_result() -> None:
    results: list[object] = []

    def work() -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        await in_thread(work, then=results.append)
    assert results == []


@pytest.mark.parametrize(("full", "other"), [(WRITING, LOOKING_UP), (LOOKING_UP, WRITING), (WRITING, None)])
async def test_a_pool_that_is_full_keeps_no_other_waiting(full: object, other: object) -> None:
    assert full in (WRITING, LOOKING_UP)
    go_on = threading.Event()
    pool, free = (LOOKING_UP if each is LOOKING_UP else WRITING if each is WRITING else None for each in (full, other))
    stuck = [asyncio.create_task(in_thread(go_on.wait, pool)) for _ in range(64)]

    assert await asyncio.wait_for(in_thread(lambda: "free", free), 20) == "free"

    go_on.set()
    await asyncio.gather(*stuck)
