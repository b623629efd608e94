"""One gRPC channel to one bot, bytes in and bytes out (`arena.wire` reads and writes them), and what each status means."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import grpc
import grpc.aio

from arena.faults import FaultKind
from arena.players.endpoint import Target
from arena.players.process import Exit
from arena.text import clean_line

MAX_REPLY = 4 << 20
"""Bytes of a reply beyond which it is not read."""

STATUS_FAULTS: Final[Mapping[grpc.StatusCode, FaultKind]] = {
    grpc.StatusCode.CANCELLED: FaultKind.DISCONNECTED,
    grpc.StatusCode.UNKNOWN: FaultKind.MALFORMED,
    grpc.StatusCode.INVALID_ARGUMENT: FaultKind.MALFORMED,
    grpc.StatusCode.DEADLINE_EXCEEDED: FaultKind.TIMEOUT,
    grpc.StatusCode.NOT_FOUND: FaultKind.MALFORMED,
    grpc.StatusCode.ALREADY_EXISTS: FaultKind.MALFORMED,
    grpc.StatusCode.PERMISSION_DENIED: FaultKind.MALFORMED,
    grpc.StatusCode.RESOURCE_EXHAUSTED: FaultKind.MALFORMED,
    grpc.StatusCode.FAILED_PRECONDITION: FaultKind.MALFORMED,
    grpc.StatusCode.ABORTED: FaultKind.MALFORMED,
    grpc.StatusCode.OUT_OF_RANGE: FaultKind.MALFORMED,
    grpc.StatusCode.UNIMPLEMENTED: FaultKind.MALFORMED,
    grpc.StatusCode.INTERNAL: FaultKind.MALFORMED,
    grpc.StatusCode.UNAVAILABLE: FaultKind.DISCONNECTED,
    grpc.StatusCode.DATA_LOSS: FaultKind.MALFORMED,
    grpc.StatusCode.UNAUTHENTICATED: FaultKind.MALFORMED,
}
"""What a call that ends with a status is to the table: an error instead of an answer is an answer that can't be read."""

_LAST_WORDS: Final = 0.1
"""Seconds to wait for what a process had sent before it ended."""

_OPTIONS: Final = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.client_idle_timeout_ms", 2**31 - 1),
    ("grpc.max_receive_message_length", MAX_REPLY),
    # A small compressed reply could unfold to any size, so none is unfolded.
    ("grpc.enable_per_message_decompression", 0),
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 2000),
)

_LIVE: Final = (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.IDLE)


class CallFailed(Exception):
    """A call ended with an error status."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(f"{code.name}: {details}" if details else code.name)
        self.code = code
        self.kind = STATUS_FAULTS.get(code, FaultKind.MALFORMED)


class Channel:
    """A channel to the server at a target."""

    def __init__(self, target: Target) -> None:
        called = "localhost" if target.address.startswith("unix:") else target.authority
        authority = (("grpc.default_authority", called),) if called else ()
        self._channel = grpc.aio.insecure_channel(target.address, options=_OPTIONS + authority)
        self._methods: dict[str, grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]] = {
            name: self._channel.unary_unary(f"/arena.v1.BotService/{name}")
            for name in ("Describe", "Decide", "FinishDeals")
        }

    @property
    def live(self) -> bool:
        """Whether a call can be made without waiting for a connection that has been lost."""
        return self._channel.get_state() in _LIVE

    async def call(
        self, method: str, request: bytes, deadline: Callable[[], float], ended: asyncio.Future[Exit] | None = None
    ) -> bytes:
        """Call a method and return its reply.

        `deadline` says, on the event loop's clock, when to give up; it is asked again when that time has come. `ended`
        is done when nobody is there any more to answer.

        Raises TimeoutError, CallFailed, or EOFError when `ended` is done; the call is cancelled then.
        """
        loop = asyncio.get_running_loop()
        call = asyncio.ensure_future(_reply(self._methods[method](request)))
        waited: set[asyncio.Future[Any]] = {call} if ended is None else {call, ended}
        try:
            while not call.done() and not (ended and ended.done()):
                remaining = deadline() - loop.time()
                if remaining <= 0:
                    raise TimeoutError
                await asyncio.wait(waited, timeout=remaining, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                await asyncio.wait({call}, timeout=_LAST_WORDS)
            if not call.done():
                raise EOFError
            return call.result()
        finally:
            call.cancel()

    async def close(self) -> None:
        """Close the channel and cancel what is in flight."""
        await self._channel.close()


async def _reply(call: grpc.aio.UnaryUnaryCall[bytes, bytes]) -> bytes:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise CallFailed(error.code(), clean_line(error.details() or "", 200)) from None
