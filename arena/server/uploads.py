"""Receives archives: piece by piece onto the shelf, within bounds of size and time, whole and as announced or not at all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

from arena.errors import Refused
from arena.v1 import arena_pb2

PIECE: Final = 256 << 10
"""The most bytes of a piece."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How slow an upload may be."""

    piece: float = 15.0
    """Seconds to the next piece."""
    whole: float = 60.0
    """Seconds for the whole, besides what its size takes at `rate`."""
    rate: float = 64e3
    """Bytes a second."""

    def limit(self, size: int) -> float:
        """Return how many seconds an archive of so many bytes may take."""
        return self.whole + size / self.rate


async def next_part(
    parts: AsyncIterator[arena_pb2.SubmitBotRequest], seconds: float
) -> arena_pb2.SubmitBotRequest | None:
    """Return the next message of a call, None at its end; raise Refused where it does not come in time."""
    try:
        async with asyncio.timeout(seconds):
            return await anext(parts, None)
    except TimeoutError:
        raise Refused("TOO_SLOW", f"nothing came for {seconds:.0f} s: submit again over a better connection") from None


def sweep(incoming: Path) -> None:
    """Remove what a server that was killed was receiving."""
    for part in incoming.glob("*.part"):
        part.unlink(missing_ok=True)


def check_size(announced: arena_pb2.Archive, most: int) -> None:
    """Raise Refused for an archive that is announced to be empty, or larger than `most` bytes."""
    if not 0 < announced.size <= most:
        raise Refused(
            "TOO_LARGE", f"an archive has 1 to {most:,} bytes, not {announced.size:,}: leave out what isn't needed"
        )


@asynccontextmanager
async def received(
    parts: AsyncIterator[arena_pb2.SubmitBotRequest],
    announced: arena_pb2.Archive,
    folder: Path,
    most: int,
    patience: Patience,
) -> AsyncIterator[Path]:
    """Write the pieces of an archive to a new file in a folder, and yield it once all of it is there and safe on the disk.

    At the end it is gone, where it was not put elsewhere. Raises Refused for an archive that is larger than `most` bytes or than
    announced, is not what was announced, or comes too slowly.
    """
    check_size(announced, most)
    part = folder / f"{token_hex(16)}.part"
    try:
        try:
            async with asyncio.timeout(patience.limit(announced.size)):
                await _write(parts, announced, part, patience.piece)
        except TimeoutError:
            limit = patience.limit(announced.size)
            text = f"{announced.size:,} bytes were to come within {limit:.0f} s: submit again over a better connection"
            raise Refused("TOO_SLOW", text) from None
        yield part
    finally:
        part.unlink(missing_ok=True)


def put(part: Path, place: Path) -> None:
    """Give what was received its place, so that it is there after a power cut too."""
    part.rename(place)
    _sync_folder(place.parent)


async def _write(
    parts: AsyncIterator[arena_pb2.SubmitBotRequest], announced: arena_pb2.Archive, part: Path, patience: float
) -> None:
    digest, received = sha256(), 0
    with part.open("xb") as file:
        while (message := await next_part(parts, patience)) is not None:
            if message.WhichOneof("part") != "piece":
                raise Refused("BAD_INPUT", "after the submission only pieces of its archive may come")
            received += len(message.piece)
            if len(message.piece) > PIECE or received > announced.size:
                raise Refused("TOO_LARGE", f"{announced.size:,} bytes were announced, in pieces of at most {PIECE:,}")
            digest.update(message.piece)
            file.write(message.piece)
        if received < announced.size:
            raise Refused(
                "BAD_ARCHIVE", f"{announced.size:,} bytes were announced, and {received:,} came: submit again"
            )
        if digest.digest() != announced.sha256:
            raise Refused("BAD_ARCHIVE", "these are not the bytes that were announced: submit again")
        file.flush()
        await asyncio.to_thread(os.fsync, file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make sure that a file's name is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
