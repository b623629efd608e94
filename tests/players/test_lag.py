"""The arena's own lateness."""

from __future__ import annotations

import asyncio
import time

from arena.players.lag import Lag


async def test_what_holds_up_the_event_loop_is_measured_while_somebody_watches() -> None:
    lag = Lag()

    with lag.watch() as whole:
        await asyncio.sleep(0.02)
        time.sleep(0.1)
        with lag.watch() as half:
            await asyncio.sleep(0.02)
            time.sleep(0.1)
            seen_at_once = whole.seconds

    assert 0.15 < seen_at_once < 0.3
    assert 0.08 < half.seconds < whole.seconds


async def test_waiting_is_not_lateness() -> None:
    with Lag().watch() as watch:
        await asyncio.sleep(0.1)

    assert watch.seconds < 0.09


async def test_nothing_ticks_while_nobody_watches() -> None:
    lag = Lag()
    with lag.watch() as watch:
        pass
    time.sleep(0.05)

    await asyncio.sleep(0)

    assert watch.seconds < 0.02
