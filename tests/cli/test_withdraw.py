"""`arena withdraw` against a server: which version plays then, and who may not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest
from programs import arena_in
from scripted_server import End, scripted

from arena.competition import Role
from arena.tokens import draw_token
from arena.v1 import arena_pb2

_, TOKEN = draw_token("alice", Role.CONTESTANT)


@pytest.mark.parametrize(
    ("arguments", "version", "told"),
    [([], 0, "mine is withdrawn\n"), (["--back-to", "3"], 3, "mine: version 3 plays now\n")],
    ids=["withdrawn", "brought back"],
)
async def test_the_version_that_plays_is_told(arguments: list[str], version: int, told: str, tmp_path: Path) -> None:
    answer = arena_pb2.WithdrawBotResponse(bot=arena_pb2.Bot(name="mine", owner="alice", current=version, versions=4))
    async with scripted([answer]) as server:
        arena = arena_in(tmp_path, ARENA_TOKEN=TOKEN, ARENA_SERVER=server.address)
        done = await asyncio.to_thread(arena, "withdraw", "mine", *arguments)

    assert done.stdout == told
    assert server.asked == [arena_pb2.WithdrawBotRequest(bot="mine", version=version)]
    assert server.tokens == [f"Bearer {TOKEN}"]


async def test_a_refusal_is_told_as_the_server_words_it(tmp_path: Path) -> None:
    refusal = End(grpc.StatusCode.PERMISSION_DENIED, "mine is another owner's bot", "NOT_OWNER")
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\r\n")
    async with scripted([refusal]) as server:
        arguments = ("withdraw", "mine", "--server", server.address, "--token-file", str(token))
        done = await asyncio.to_thread(arena_in(tmp_path), *arguments)

    assert (done.returncode, done.stderr) == (2, "arena: mine is another owner's bot\n")
    assert server.tokens == [f"Bearer {TOKEN}"]
