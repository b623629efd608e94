"""What errors are on the wire: a canonical status code, a text for people, and an ErrorInfo with a reason for programs.

The only place where errors become status codes. What the arena itself is at fault for is told in full to its log alone: a
contestant learns neither paths nor what the database says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from arena.errors import ArenaError, BadConfig, BadInput, BadStore, Interrupted, Refused

log = logging.getLogger(__name__)

DOMAIN: Final = "arena"
DETAILS: Final = "grpc-status-details-bin"
"""The key of the trailing metadata that holds a google.rpc.Status."""

_CODES: Final[Mapping[grpc.StatusCode, tuple[str, ...]]] = {
    grpc.StatusCode.UNAUTHENTICATED: (
        *("NO_TOKEN", "BAD_TOKEN", "EXPIRED_TOKEN", "REVOKED_TOKEN", "TOKEN_OVER_PLAINTEXT"),
    ),
    grpc.StatusCode.PERMISSION_DENIED: ("NOT_ORGANISER", "NOT_OWNER", "BARRED"),
    grpc.StatusCode.NOT_FOUND: ("NO_SUCH_BOT", "NO_SUCH_SUBMISSION", "NO_SUCH_VERSION", "NO_SUCH_TOURNAMENT"),
    grpc.StatusCode.INVALID_ARGUMENT: (
        *("BAD_INPUT", "BAD_CONFIG", "BOTS_IN_CONFIG", "BAD_ARCHIVE", "BAD_ADDRESS", "BAD_NAME"),
    ),
    grpc.StatusCode.ALREADY_EXISTS: ("NAME_TAKEN",),
    grpc.StatusCode.FAILED_PRECONDITION: ("NO_SANDBOX", "NOT_ADMITTED", "BAD_STORE"),
    grpc.StatusCode.RESOURCE_EXHAUSTED: ("TOO_LARGE", "RATE_LIMIT", "TOO_MANY_CALLS", "QUOTA"),
    grpc.StatusCode.DEADLINE_EXCEEDED: ("TOO_SLOW",),
    grpc.StatusCode.UNAVAILABLE: ("STOPPING", "INTERRUPTED"),
    grpc.StatusCode.INTERNAL: ("ARENA_FAULT",),
}
CODES: Final[Mapping[str, grpc.StatusCode]] = {reason: code for code, reasons in _CODES.items() for reason in reasons}
"""The status code of each reason."""

_REASONS: Final[Mapping[type[ArenaError], str]] = {
    BadStore: "BAD_STORE",
    BadConfig: "BAD_CONFIG",
    BadInput: "BAD_INPUT",
    Interrupted: "INTERRUPTED",
    ArenaError: "ARENA_FAULT",
}
_OURS: Final = ("BAD_STORE", "ARENA_FAULT")
"""The reasons for which the arena itself is at fault."""

_DRAINING: Final = 2.0  # seconds

FAULT: Final = "an error of the arena itself; the server's log has the details"


def reason_of(error: ArenaError) -> str:
    """Return the reason that programs are told: the error's own, or that of the nearest class which has one."""
    if isinstance(error, Refused):
        return error.reason
    return next(_REASONS[kind] for kind in type(error).__mro__ if kind in _REASONS)


def status_of(error: ArenaError) -> grpc.StatusCode:
    """Return the status code that tells of an error."""
    return CODES[reason_of(error)]


def details_of(error: ArenaError, text: str) -> bytes:
    """Return a google.rpc.Status with the reason, and with the time to wait where there is one."""
    code = status_of(error)
    status = status_pb2.Status(code=code.value[0], message=text)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason_of(error), domain=DOMAIN))
    if isinstance(error, Refused) and error.retry is not None:
        delay = error_details_pb2.RetryInfo()
        delay.retry_delay.FromMilliseconds(round(error.retry * 1000))
        status.details.add().Pack(delay)
    return bytes(status.SerializeToString())


@asynccontextmanager
async def told(
    context: grpc.aio.ServicerContext[Any, Any], *, in_full: bool, unread: AsyncIterator[Any] | None = None
) -> AsyncIterator[None]:
    """Turn whatever goes wrong in a call into its status; `in_full` where the caller may know what the arena is at fault for.

    What is still `unread` of a stream is read first, for a while: a caller that is writing would else not learn the status.
    """
    try:
        yield
        return
    except ArenaError as error:
        failure = error
    except grpc.aio.AbortError:
        raise
    except Exception as error:
        log.exception("a call ended in an error of the arena")
        failure = ArenaError(f"{type(error).__name__}: {error}")
        in_full = False
    text = str(failure)
    if reason_of(failure) in _OURS and not in_full:
        log.error("a call ended in %s: %s", reason_of(failure), failure)
        text = FAULT
    if unread is not None:
        await _drain(unread)
    await context.abort(status_of(failure), text, ((DETAILS, details_of(failure, text)),))


async def _drain(stream: AsyncIterator[Any]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAINING):
            async for _ in stream:
                pass
