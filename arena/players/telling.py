"""Results on their way to a bot: told between two requests, as far as it cares and answers in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import grpc

from arena import wire
from arena.decision import DealResult
from arena.players.channel import CallFailed
from arena.players.instance import Instance

FINISH_LIMIT: Final = 1.0
"""Seconds that a bot has to take note of results."""


class Telling:
    """What one instance is still to be told."""

    def __init__(self, instance: Instance, warn: Callable[[str], None]) -> None:
        self._instance = instance
        self._warn = warn
        self._untold: list[tuple[Sequence[DealResult], asyncio.Future[None]]] = []
        self._warned = False
        self.cares = True
        """Whether the bot implements FinishDeals, as far as we know."""

    def __bool__(self) -> bool:
        return bool(self._untold)

    def add(self, results: Sequence[DealResult]) -> asyncio.Future[None]:
        """Put results in the queue; the future is done when they have been told, or can't be."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._untold.append((results, told))
        return told

    async def tell(self) -> None:
        """Tell all that waits in one call; an instance that isn't alive misses it."""
        untold, self._untold = self._untold, []
        try:
            if self.cares and self._instance.alive:
                await self._call([result for results, _ in untold for result in results])
        finally:
            _finish(untold)

    def give_up(self) -> None:
        """Forget what waits."""
        untold, self._untold = self._untold, []
        _finish(untold)

    async def _call(self, results: Sequence[DealResult]) -> None:
        instance = self._instance
        assert instance.channel is not None
        deadline = asyncio.get_running_loop().time() + FINISH_LIMIT
        try:
            request = wire.encode_results(results)
            await instance.channel.call("FinishDeals", request, lambda: deadline, instance.endpoint.ended)
        except TimeoutError:
            self._complain(f"not done within {FINISH_LIMIT:g} s")
        except EOFError:
            self._complain("the process ended")
        except CallFailed as failure:
            if failure.code is grpc.StatusCode.UNIMPLEMENTED:
                self.cares = False
            else:
                self._complain(str(failure))

    def _complain(self, reason: str) -> None:
        if not self._warned:
            self._warn(f"{self._instance.endpoint.name}: FinishDeals failed: {reason}")
        self._warned = True


def _finish(untold: Sequence[tuple[Sequence[DealResult], asyncio.Future[None]]]) -> None:
    for _, told in untold:
        if not told.done():
            told.set_result(None)
