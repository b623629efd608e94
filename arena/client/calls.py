"""Calls to a server: where it is, how it is reached, and what becomes of a call that breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import grpc
import grpc.aio

from arena.client.address import ServerAddress
from arena.client.errors import error_of
from arena.errors import ArenaError, BadInput
from arena.pem import check_pair, read_pem
from arena.sockets import grpc_target
from arena.v1 import arena_pb2_grpc

R = TypeVar("R")
P = TypeVar("P", bound="Page")
Stub: TypeAlias = "arena_pb2_grpc.ArenaServiceAsyncStub"  # of the stubs for type checkers only
Metadata = tuple[tuple[str, str], ...]

ATTEMPTS: Final = 8
"""How often a call that breaks off is made again before it is given up; the pauses between grow to 10 s."""

UNARY_LIMIT: Final = 60.0
"""Seconds that a call with one answer may take."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
_LARGEST_ANSWER: Final = 64 << 20  # a leaderboard with all pairs of 200 bots is 4 MB
_OPTIONS: Final = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_receive_message_length", _LARGEST_ANSWER),
)
_LOCAL_OPTIONS: Final = (*_OPTIONS, ("grpc.default_authority", "localhost"))


async def call(server: ServerAddress, make: Callable[[Stub, Metadata], Awaitable[R]]) -> R:
    """Make a call that answers once; raise what the server raised."""
    async with stub_of(server) as (stub, metadata):
        try:
            return await make(stub, metadata)
        except grpc.aio.AioRpcError as error:
            raise error_of(server, error) from error


class Page(Protocol):
    """An answer that may be one of several."""

    next_page_token: str


async def pages(server: ServerAddress, request: Any, find: Callable[[Stub], Callable[..., Awaitable[P]]]) -> list[P]:
    """Return all pages of the answer to a request, whose method `find` finds; raise what the server raised."""
    found: list[P] = []
    while True:
        page = await call(server, lambda stub, metadata: find(stub)(request, timeout=UNARY_LIMIT, metadata=metadata))
        found.append(page)
        request.page_token = page.next_page_token
        if not request.page_token:
            return found


@asynccontextmanager
async def stub_of(server: ServerAddress) -> AsyncIterator[tuple[Stub, Metadata]]:
    """Offer the service of a server, and what shows it who calls; raise BadInput where a token could be overheard."""
    if server.token and not (server.local or server.encrypted):
        raise BadInput(
            f"the token is not sent to {server.address} without TLS, where it could be overheard: leave --plaintext out"
        )
    target = grpc_target(server.address)
    metadata: Metadata = (("authorization", f"Bearer {server.token}"),) if server.token else ()
    if server.encrypted:
        channel = grpc.aio.secure_channel(target, _credentials(server), options=_OPTIONS)
    else:
        channel = grpc.aio.insecure_channel(target, options=_LOCAL_OPTIONS if server.local else _OPTIONS)
    async with channel:
        yield arena_pb2_grpc.ArenaServiceStub(channel), metadata


def _credentials(server: ServerAddress) -> grpc.ChannelCredentials:
    authority = None if server.authority is None else read_pem(server.authority, "CERTIFICATE")
    if server.certificate is None or server.key is None:
        return grpc.ssl_channel_credentials(authority)
    key, certificate = read_pem(server.key, "PRIVATE KEY"), read_pem(server.certificate, "CERTIFICATE")
    check_pair(server.certificate, server.key)
    return grpc.ssl_channel_credentials(authority, key, certificate)


class Attempt:
    """Calls that may break off, counted."""

    def __init__(self) -> None:
        self._failures = 0

    def begin_again(self) -> None:
        """Forget earlier failures: there was progress."""
        self._failures = 0

    async def failed(self, error: ArenaError, *, again: bool, retry: float | None = None) -> None:
        """Wait before the next attempt; raise the error where there is no hope."""
        self._failures += 1
        if self._failures >= ATTEMPTS or not (again or retry):
            raise error
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self._failures - 1))
        await asyncio.sleep(max(pause, min(retry or 0.0, 60.0)))


def broke_off(error: grpc.aio.AioRpcError) -> bool:
    """Return whether a call ended because the server went away, or is about to.

    Where a server ends a call while a message is being sent, gRPC makes an error of its own of that, and the server's words are
    lost. They are heard when the call is made again.
    """
    lost = error.code() is grpc.StatusCode.INTERNAL and (error.details() or "").startswith("Internal error from Core")
    return lost or error.code() is grpc.StatusCode.UNAVAILABLE
