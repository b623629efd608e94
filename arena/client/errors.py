"""What a server's status means to whoever called: the error that was raised there, or what mends a connection."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from arena.client.address import ServerAddress
from arena.errors import ArenaError, BadConfig, BadInput, BadStore, Interrupted, Refused
from arena.text import clean_line, clean_lines

_DETAILS: Final = "grpc-status-details-bin"

_KINDS: Final[Mapping[str, type[ArenaError]]] = {
    "BAD_STORE": BadStore,
    "BAD_INPUT": BadInput,
    "INTERRUPTED": Interrupted,
    "ARENA_FAULT": ArenaError,
}
"""The errors that reasons stand for; any other reason is a Refused."""


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            with suppress(DecodeError):
                return status_pb2.Status.FromString(value)
    return None


def retry_after(error: grpc.aio.AioRpcError) -> float | None:
    """Return after how many seconds the server says that one may try again."""
    status = status_of(error)
    delay = error_details_pb2.RetryInfo()
    for detail in status.details if status else ():
        if detail.Unpack(delay):
            return float(delay.retry_delay.ToMilliseconds()) / 1000
    return None


def error_of(server: ServerAddress, error: grpc.aio.AioRpcError) -> ArenaError:
    """Return the error that the server meant, or that there is none."""
    text = clean_lines(error.details() or "", lines=200)
    status = status_of(error)
    told = error_details_pb2.ErrorInfo()
    for detail in status.details if status else ():
        if detail.Unpack(told):
            return _told(told.reason, text)
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return BadInput(_nobody(server, text))
    if error.code() is grpc.StatusCode.CANCELLED:
        return Interrupted(text or "the call was cancelled")
    return ArenaError(f"{server.address} answers {error.code().name}: {text}")


def _told(reason: str, text: str) -> ArenaError:
    if reason == "BAD_CONFIG":
        return BadConfig(tuple(text.splitlines()))
    kind = _KINDS.get(reason)
    return Refused(clean_line(reason, 64), text) if kind is None else kind(text)


def _nobody(server: ServerAddress, text: str) -> str:
    """Say why there is no connection, and what mends it."""
    low = text.lower()
    said = clean_line(text.rpartition("last error: ")[2], 250)
    if "resolv" in low or "dns" in low:
        return f"the name in {server.address} is not found: mend the address ({said})"
    if "hostname" in low:
        return f"{server.address} has a certificate for another name: call it by the name that its certificate is for ({said})"
    if "certificate" in low and "verify" in low:
        cure = (
            "trust whoever vouches for it with --tls-ca"
            if server.authority is None
            else "--tls-ca names another authority"
        )
        return f"{server.address} has a certificate that is not trusted: {cure} ({said})"
    if "ssl" in low or "handshake" in low or "tsi" in low:
        return (
            f"{server.address} and this command do not agree on TLS: it is spoken to other machines and with --tls-ca, and not"
            f" with --plaintext ({said})"
        )
    if server.encrypted:
        return f"no arena answers at {server.address} with TLS: correct the address, or ask its organiser"
    return (
        f"no arena answers at {server.address} without TLS: start one there with `arena serve --listen {server.address}`, or"
        " name the certificate of one that speaks TLS with --tls-ca"
    )
