"""A bot submitted to a server: its archive is sent in pieces, and what its admission comes to is told as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final, TypeAlias

import grpc.aio

from arena.client.address import ServerAddress
from arena.client.calls import Attempt, broke_off, stub_of
from arena.client.errors import error_of, retry_after, status_of
from arena.competition import AdmissionStep, Version
from arena.errors import BadInput
from arena.text import clean_line
from arena.v1 import arena_pb2
from arena.wire import decode_step, decode_version

PIECE: Final = 256 << 10
"""Bytes of an archive in one message."""


@dataclass(frozen=True, slots=True)
class Received:
    """All of a submission is received, and kept."""

    ahead: int
    """How many submissions are to be admitted before it."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A step of an admission begins."""

    name: str
    detail: str


AdmissionEvent = Received | Begun | AdmissionStep | Version
Call: TypeAlias = "grpc.aio.StreamStreamCall[arena_pb2.SubmitBotRequest, arena_pb2.SubmitBotResponse]"


def describe_archive(archive: Path, *, build: bool) -> arena_pb2.Submission:
    """Return what is said of an archive that is submitted, with a new id."""
    with archive.open("rb") as file:
        digest = file_digest(file, "sha256").digest()
    described = arena_pb2.Archive(size=archive.stat().st_size, sha256=digest, build=build)
    return arena_pb2.Submission(id=token_hex(16), archive=described)


async def submit(
    server: ServerAddress,
    submission: arena_pb2.Submission,
    archive: Path | None,
    progress: Callable[[int], None] = lambda _sent: None,
) -> AsyncGenerator[AdmissionEvent, None]:
    """Submit a bot, and yield what its admission comes to; `progress` is told how many bytes are sent.

    Where the connection breaks off, it is submitted again under the same id, which the server takes in once. Raises what the
    server raised, and BadInput where the archive can't be read or no arena answers.
    """
    seen: set[str] = set()
    reached = False

    def sent_so_far(sent: int) -> None:
        nonlocal reached
        reached = True
        progress(sent)

    attempt = Attempt()
    with nullcontext() if archive is None else _open(archive) as file:
        while True:
            async with stub_of(server) as (stub, metadata):
                call = stub.SubmitBot(metadata=metadata)
                sending = asyncio.create_task(_send(call, submission, file, sent_so_far))
                try:
                    async for response in call:
                        event = _admission_event(response.event)
                        if event is not None and (key := _key_of(event)) not in seen:
                            seen.add(key)
                            yield event
                    return
                except grpc.aio.AioRpcError as error:
                    if sending.done() and isinstance(unread := sending.exception(), OSError):
                        raise _unreadable(archive, unread) from error
                    reached = reached or bool(seen) or status_of(error) is not None
                    again = broke_off(error) and reached
                    await attempt.failed(error_of(server, error), again=again, retry=retry_after(error))
                finally:
                    sending.cancel()
                    await asyncio.gather(sending, return_exceptions=True)


def _open(archive: Path) -> BinaryIO:
    try:
        return archive.open("rb")
    except OSError as error:
        raise _unreadable(archive, error) from None


def _unreadable(archive: Path | None, error: OSError) -> BadInput:
    return BadInput(f"{archive}: this can't be read: {error.strerror}; mend that, and submit again")


async def _send(
    call: Call, submission: arena_pb2.Submission, file: BinaryIO | None, progress: Callable[[int], None]
) -> None:
    """Send a submission: what it is, and once the server wants them, the pieces of its archive.

    Raises OSError where the archive can't be read; the server is then sent less than was announced, and refuses it.
    """
    await call.write(arena_pb2.SubmitBotRequest(submission=submission))
    await call.initial_metadata()
    sent = 0
    try:
        if file is not None and not call.done():
            file.seek(0)
            while piece := file.read(PIECE):
                await call.write(arena_pb2.SubmitBotRequest(piece=piece))
                sent += len(piece)
                progress(sent)
    finally:
        await call.done_writing()


def _admission_event(event: arena_pb2.AdmissionEvent) -> AdmissionEvent | None:
    match event.WhichOneof("what"):
        case "received":
            return Received(event.received.ahead)
        case "step_begun":
            return Begun(clean_line(event.step_begun.name), clean_line(event.step_begun.detail))
        case "step":
            return decode_step(event.step)
        case "decided":
            return decode_version(event.decided, "")[0]
        case _:
            return None


def _key_of(event: AdmissionEvent) -> str:
    """Return what makes an event the same when it is told again."""
    name = getattr(event, "name", "")
    return f"{type(event).__name__} {name}"
