"""The arena's own lateness."""

from __future__ import annotations

import asyncio

import pytest
from virtual_time import pass_by, run

from arena.players.lag import TICK, Lag

EXACT = 1e-6


def test_what_holds_up_the_event_loop_is_measured_while_somebody_watches() -> None:
    async def main() -> None:
        lag = Lag()
        with lag.watch() as whole:
            await asyncio.sleep(2.5 * TICK)
            pass_by(0.1)
            with lag.watch() as half:
                await asyncio.sleep(2.5 * TICK)
                pass_by(0.1)
                seen_at_once = whole.seconds

        assert seen_at_once == pytest.approx(0.2, abs=2 * TICK)
        assert half.seconds == pytest.approx(0.1, abs=TICK)
        assert whole.seconds == seen_at_once

    run(main())


def test_waiting_is_not_lateness() -> None:
    async def main() -> None:
        with Lag().watch() as watch:
            await asyncio.sleep(10.0)

        assert watch.seconds < EXACT

    run(main())


def test_nothing_ticks_while_nobody_watches() -> None:
    async def main() -> None:
        lag = Lag()
        with lag.watch() as watch:
            pass
        pass_by(0.05)

        await asyncio.sleep(0)

        assert watch.seconds == 0

    run(main())
