"""`arena bots` and `arena withdraw` against a server: what they ask for, and how they show it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from programs import arena_in
from scripted_server import scripted

from arena.v1 import arena_pb2

BOT = arena_pb2.Bot(name="mi[b]ne", owner="alice", author="A. Author", games=["heartswitch"], current=2, versions=3)
CHECK = arena_pb2.AdmissionStep(
    name="check", verdict=arena_pb2.ADMISSION_VERDICT_FAILED, detail="too slow", cure="be quick", log="line 1\nline 2\n"
)
VERSIONS = arena_pb2.ListVersionsResponse(
    bot=arena_pb2.Bot(name="mine", owner="alice", versions=2, barred=True),
    versions=[
        arena_pb2.Version(bot="mine", number=1, state=arena_pb2.VERSION_STATE_ADMITTED),
        arena_pb2.Version(bot="mine", number=2, state=arena_pb2.VERSION_STATE_REFUSED, steps=[CHECK]),
    ],
)


async def test_bots_are_listed_with_owner_and_version(tmp_path: Path) -> None:
    answer = arena_pb2.ListBotsResponse(bots=[BOT])
    async with scripted([answer], [answer]) as server:
        arena = arena_in(tmp_path, ARENA_SERVER=server.address)
        shown = await asyncio.to_thread(arena, "bots")
        printed = await asyncio.to_thread(arena, "bots", "--json")

    for part in ("mi[b]ne", "alice", "version 2 of 3", "A. Author", "heartswitch"):
        assert part in shown.stdout
    assert json.loads(printed.stdout) == [
        {
            "bot": "mi[b]ne",
            "owner": "alice",
            "author": "A. Author",
            "games": ["heartswitch"],
            "version": 2,
            "versions": 3,
            "barred": False,
        }
    ]


async def test_versions_are_shown_with_cause_and_cure(tmp_path: Path) -> None:
    async with scripted([VERSIONS]) as server:
        done = await asyncio.to_thread(arena_in(tmp_path), "bots", "mine", "--server", server.address)

    assert server.asked[0].bot == "mine"
    for part in (
        "mine of alice plays nothing: withdrawn by an organiser",
        "version 1: admitted",
        "version 2: refused",
        "too slow",
        "cure: be quick",
    ):
        assert part in done.stdout


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--log", "check"], 0, "line 1\nline 2\n"),
        (["--log", "play"], 2, "has not come to the step play"),
        (["--log", "check", "--version", "7"], 2, "has no version 7"),
        (["--version", "7"], 2, "has no version 7"),
    ],
)
async def test_a_log_is_that_of_the_step_and_version(
    arguments: list[str], code: int, told: str, tmp_path: Path
) -> None:
    async with scripted([VERSIONS]) as server:
        arena = arena_in(tmp_path, ARENA_SERVER=server.address)
        done = await asyncio.to_thread(arena, "bots", "mine", *arguments)

    assert done.returncode == code
    assert told in (done.stderr if code else done.stdout)
