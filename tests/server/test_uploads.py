"""Archives are received whole and as announced, in time, or leave nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from arena.errors import Refused
from arena.server.uploads import PIECE, Patience, put, received
from arena.v1 import arena_pb2

CONTENT = bytes(range(256)) * 3000


def announce(content: bytes, **changed: object) -> arena_pb2.Archive:
    values = {"size": len(content), "sha256": sha256(content).digest()} | changed
    return arena_pb2.Archive(**values)  # type: ignore[arg-type]


async def parts_of(pieces: Sequence[bytes]) -> AsyncIterator[arena_pb2.SubmitBotRequest]:
    for piece in pieces:
        yield arena_pb2.SubmitBotRequest(piece=piece)


def cut(content: bytes) -> list[bytes]:
    return [content[start : start + PIECE] for start in range(0, len(content), PIECE)]


async def receive(
    parts: AsyncIterator[arena_pb2.SubmitBotRequest], announced: arena_pb2.Archive, folder: Path, patience: Patience
) -> None:
    """Receive what is not to come to its end."""
    async with received(parts, announced, folder, 1 << 20, patience):
        raise AssertionError("it was received")


async def test_an_archive_is_there_as_it_was_sent(tmp_path: Path) -> None:
    async with received(parts_of(cut(CONTENT)), announce(CONTENT), tmp_path, 1 << 20, Patience()) as part:
        put(part, tmp_path / "in")

    assert (tmp_path / "in").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("announced", "pieces", "reason"),
    [
        (announce(CONTENT, size=(1 << 20) + 1), [], "TOO_LARGE"),
        (announce(b""), [], "TOO_LARGE"),
        (announce(CONTENT), [*cut(CONTENT), b"x"], "TOO_LARGE"),
        (announce(CONTENT), [CONTENT], "TOO_LARGE"),
        (announce(CONTENT), cut(CONTENT)[:-1], "BAD_ARCHIVE"),
        (announce(CONTENT), [], "BAD_ARCHIVE"),
        (announce(CONTENT, sha256=bytes(32)), cut(CONTENT), "BAD_ARCHIVE"),
        (announce(CONTENT, sha256=b""), cut(CONTENT), "BAD_ARCHIVE"),
    ],
    ids=["too large", "empty", "more than announced", "large piece", "cut off", "nothing", "other bytes", "no digest"],
)
async def test_anything_else_is_refused_and_leaves_nothing(
    tmp_path: Path, announced: arena_pb2.Archive, pieces: list[bytes], reason: str
) -> None:
    with pytest.raises(Refused) as refused:
        await receive(parts_of(pieces), announced, tmp_path, Patience())

    assert refused.value.reason == reason
    assert list(tmp_path.iterdir()) == []


async def test_a_second_submission_amid_the_pieces_is_refused(tmp_path: Path) -> None:
    async def parts() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield arena_pb2.SubmitBotRequest(piece=CONTENT[:100])
        yield arena_pb2.SubmitBotRequest(submission=arena_pb2.Submission())

    with pytest.raises(Refused, match="only pieces"):
        await receive(parts(), announce(CONTENT), tmp_path, Patience())


@pytest.mark.parametrize("patience", [Patience(piece=0.05), Patience(whole=0.05, rate=1e9)], ids=["piece", "whole"])
async def test_a_half_open_upload_is_given_up(tmp_path: Path, patience: Patience) -> None:
    async def parts() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield arena_pb2.SubmitBotRequest(piece=CONTENT[:100])
        await asyncio.Event().wait()

    with pytest.raises(Refused) as refused:
        await receive(parts(), announce(CONTENT), tmp_path, patience)

    assert refused.value.reason == "TOO_SLOW"
    assert list(tmp_path.iterdir()) == []


async def test_what_nobody_gives_a_place_is_gone_again(tmp_path: Path) -> None:
    async with received(parts_of(cut(CONTENT)), announce(CONTENT), tmp_path, 1 << 20, Patience()) as part:
        assert part.read_bytes() == CONTENT

    assert list(tmp_path.iterdir()) == []
