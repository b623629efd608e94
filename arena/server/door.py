"""The door before all services, health and reflection too: whoever calls takes one of the places for calls at once.

That comes before anything is read, so that calls whose message never comes are counted as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from inspect import isawaitable
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from arena.errors import Refused
from arena.server.gate import Gate

PATIENCE: Final = 15.0
"""Seconds within which the message of a call has to come that has only one."""

Context = grpc.aio.ServicerContext[Any, Any]


class Door(grpc.aio.ServerInterceptor):
    """Lets calls of all services come to the gate; what the gate does not see, it counts."""

    def __init__(self, gate: Gate, gated: str) -> None:
        self._gate = gate
        self._gated = gated  # the service whose calls go through the gate

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Put the door before what handles a call."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        gated = handler_call_details.method.startswith(f"/{self._gated}/")

        async def handle(requests: AsyncIterator[Any], context: Context) -> None:
            async with self._gate.place(context):
                coming = requests if gated else self._counted(requests, context)
                await _handle(handler, coming, context)

        read = partial(_read, handler)
        return grpc.stream_stream_rpc_method_handler(handle, read, handler.response_serializer)

    async def _counted(self, requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        async for request in requests:
            self._gate.count(context)
            yield request


async def _handle(handler: Any, requests: AsyncIterator[Any], context: Context) -> None:
    """Have a call handled, of whichever kind it is."""
    behave = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    answer = behave(requests if handler.request_streaming else await _only(requests), context)
    if not isawaitable(answer):
        async with aclosing(answer):
            async for message in answer:
                await context.write(message)
    elif not handler.response_streaming:
        await context.write(await answer)
    else:
        await answer


async def _only(requests: AsyncIterator[Any]) -> Any:
    """Return the message of a call that has only one; raise Refused where it does not come, or is none."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await anext(aiter(requests))
    except TimeoutError:
        raise Refused("TOO_SLOW", f"the request did not come within {PATIENCE:.0f} s: call again") from None
    except StopAsyncIteration:
        raise Refused("BAD_INPUT", "this call has one message, and none came") from None


def _read(handler: Any, data: bytes) -> Any:
    """Return the message in some bytes; raise Refused where there is none."""
    try:
        return handler.request_deserializer(data)
    except DecodeError:
        raise Refused("BAD_INPUT", "these bytes are no message of this call") from None
