"""One instance of a bot and the channel to it: started, started again when it is lost, and given up when that is in vain."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

import grpc

from arena import wire
from arena.decision import Description
from arena.errors import BotUnusable, Malformed
from arena.faults import Evidence, Failure, FaultKind
from arena.players.channel import CallFailed, Channel
from arena.players.endpoint import Endpoint
from arena.players.process import Exit

MAX_RESTARTS: Final = 20
"""How often an instance is started again."""

MAX_FAILED_STARTS: Final = 3
"""How many starts in a row may fail before an instance is given up."""

RESTART_PAUSE: Final = 0.05
"""Seconds before the first restart; before the n-th, n times as long."""

_RETRY: Final = 0.02
_EXIT_PATIENCE: Final = 0.3
_LATELY: Final = 2000  # characters of the output that an error may be about


class Instance:
    """An instance at an endpoint. `startup` is how many seconds it has to describe itself."""

    def __init__(self, endpoint: Endpoint, startup: float) -> None:
        self.endpoint = endpoint
        self.channel: Channel | None = None
        """None while nothing runs."""
        self.description = Description()
        """What it last said of itself."""
        self.not_started = Evidence(FaultKind.STARTUP, f"{endpoint.name} was not started")
        """Why it does not run."""
        self.lost: Evidence | None = None
        """Why it was started again the last time."""
        self._startup = startup
        self._restarts = 0
        self._failed_starts = 0
        self._ending: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        ended = self.endpoint.ended
        return self.channel is not None and self.channel.live and not (ended is not None and ended.done())

    @property
    def restarts_left(self) -> bool:
        """Whether it can be started again, if it has to be."""
        return self._restarts < MAX_RESTARTS

    async def open(self) -> Channel:
        """Start the instance, or reach it; raise BotUnusable if that fails, and remember why."""
        if self._failed_starts >= MAX_FAILED_STARTS:
            evidence = self.not_started
            raise BotUnusable(f"{evidence.detail}\n{evidence.stderr}" if evidence.stderr else evidence.detail)
        deadline = asyncio.get_running_loop().time() + self._startup
        try:
            self.channel = channel = Channel(await self.endpoint.open(deadline))
            self.description = await self._describe(channel, deadline)
        except BotUnusable as unusable:
            self._failed_starts += 1
            detail, _, output = str(unusable).partition("\n")
            self.not_started = Evidence(FaultKind.STARTUP, detail, stderr=output)
            await self.put_down()
            raise
        except OSError as error:
            detail = f"{self.endpoint.name}: the arena cannot start it: {error}"
            self.not_started = Evidence(FaultKind.ARENA, detail)
            await self.put_down()
            raise BotUnusable(detail) from error
        except BaseException:
            await self.put_down()
            raise
        self._failed_starts = 0
        self.endpoint.freeze()
        return channel

    async def ready(self) -> Channel:
        """Return the channel to a living instance, started again if need be; raise Failure if there is none to be had."""
        if self.channel is not None:
            if self.alive:
                return self.channel
            ended = self.endpoint.ended
            how = ended.result() if ended is not None and ended.done() else None
            self.lost = _end_of(how, how.told()) if how else Evidence(FaultKind.DISCONNECTED, "the connection was lost")
            await self.put_down()
        if not self.restarts_left or self._failed_starts >= MAX_FAILED_STARTS:
            raise Failure(self._given_up())
        self._restarts += 1
        await asyncio.sleep(RESTART_PAUSE * self._restarts)
        try:
            return await self.open()
        except BotUnusable as unusable:
            raise Failure(self.not_started) from unusable

    async def put_down(self, *, in_peace: bool = False) -> None:
        """End channel and process; afterwards nothing is open. Goes on to its end though the caller be cancelled."""
        if self._ending is None or self._ending.done():
            self._ending = asyncio.create_task(self._end(in_peace=in_peace))
        await asyncio.shield(self._ending)

    async def explain(self, error: Exception, elapsed: float, limit: float) -> Evidence:
        """Return what is known of a request that took `elapsed` seconds and got no reply."""
        ended = self.endpoint.ended
        if isinstance(error, TimeoutError):
            detail = f"no answer within {limit:.3g} s"
            overrun = max(0.0, elapsed - limit)
            return Evidence(FaultKind.TIMEOUT, detail, overrun=overrun, stderr=await self.endpoint.output())
        if ended is not None and isinstance(error, CallFailed) and error.kind is FaultKind.DISCONNECTED:
            await asyncio.wait({ended}, timeout=_EXIT_PATIENCE)
        if ended is not None and ended.done():
            how = ended.result()
            return _end_of(how, f"the process {how.told(' while it was being asked')}")
        kind = error.kind if isinstance(error, CallFailed) else FaultKind.DISCONNECTED
        output = await self.endpoint.output()
        suspicion = self.endpoint.suspect(f"{error}\n{output[-_LATELY:]}")
        detail = f"an error instead of an answer: {error}{f'; {suspicion}' if suspicion else ''}"
        return Evidence(kind, detail, stderr=output)

    async def _describe(self, channel: Channel, deadline: float) -> Description:
        """Ask until there is an answer; raise BotUnusable when the time to start is over, or there can't be one."""
        loop = asyncio.get_running_loop()
        ended = self.endpoint.ended
        last = ""
        while loop.time() < deadline:
            if ended is not None and ended.done():
                raise BotUnusable(await self.endpoint.explain(ended.result().told(" before it answered Describe")))
            try:
                reply = await channel.call("Describe", wire.encode_describe(), lambda: deadline, ended)
                return wire.decode_description(reply)
            except CallFailed as failure:
                if failure.code is grpc.StatusCode.UNIMPLEMENTED:
                    reason = "serves, but not arena.v1.BotService with Describe"
                    raise BotUnusable(await self.endpoint.explain(reason)) from None
                last = " (nobody serves there)" if failure.kind is FaultKind.DISCONNECTED else f" ({failure})"
            except EOFError:
                continue
            except TimeoutError:
                break
            except Malformed as error:
                reason = f"described itself in a message that cannot be read ({error})"
                raise BotUnusable(await self.endpoint.explain(reason)) from None
            await asyncio.sleep(_RETRY)
        raise BotUnusable(await self.endpoint.explain(f"did not answer Describe within {self._startup:g} s{last}"))

    async def _end(self, *, in_peace: bool) -> None:
        channel, self.channel = self.channel, None
        try:
            if channel is not None:
                await channel.close()
        finally:
            await self.endpoint.close(in_peace=in_peace)

    def _given_up(self) -> Evidence:
        """Return why it is asked no more, with what is known of the last time that it failed."""
        failed_starts = self._failed_starts >= MAX_FAILED_STARTS
        last = self.not_started if failed_starts else self.lost
        times = f"{self._failed_starts} failed starts in a row" if failed_starts else f"{self._restarts} restarts"
        why = f": {last.detail.removeprefix('the process ')}" if last else ""
        evidence = last or self.not_started
        detail = f"{self.endpoint.name} is given up after {times}{why}"
        return replace(evidence, kind=FaultKind.DISCONNECTED, detail=detail, overrun=None)


def _end_of(how: Exit, detail: str) -> Evidence:
    """Return what is known of a process that has ended."""
    return Evidence(FaultKind.DISCONNECTED, detail, exit_code=how.exit_code, signal=how.signal, stderr=how.output)
