"""`arena watch`: events as they come, past broken connections, until the tournament or the watcher ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from programs import arena_in
from scripted_server import End, scripted
from small_tournaments import play

from arena.cli.watch import _watch, standings_text, winner_text
from arena.client import ServerAddress
from arena.errors import BadInput
from arena.report import stored_document
from arena.store import Store
from arena.v1 import arena_pb2


def events(*numbers: int) -> list[Any]:
    return [
        arena_pb2.WatchTournamentResponse(
            event=arena_pb2.TournamentEvent(
                number=number, tournament="t1", notice=arena_pb2.Notice(text=f"no\x1b[2J {number}")
            )
        )
        for number in numbers
    ]


async def test_events_are_printed_with_number_time_and_text(tmp_path: Path) -> None:
    async with scripted([*events(4, 5), End()], events(6)) as server:
        arguments = ("watch", "t1", "--from", "4", "--server", server.address)
        done = await asyncio.to_thread(arena_in(tmp_path), *arguments)

    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["4", "5", "6"]
    assert "00:00:00 note: no" in done.stdout
    assert "\x1b" not in done.stdout
    assert [request.first_event for request in server.asked] == [4, 6]


async def test_json_has_one_event_a_line(tmp_path: Path) -> None:
    async with scripted(events(1, 2)) as server:
        done = await asyncio.to_thread(arena_in(tmp_path, ARENA_SERVER=server.address), "watch", "--json")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["number"], line["event"], line["tournament"]) for line in lines] == [
        (1, "notice", "t1"),
        (2, "notice", "t1"),
    ]


@pytest.mark.parametrize(
    ("tournament", "first", "answers", "told"),
    [
        (
            "",
            1,
            [[End(grpc.StatusCode.NOT_FOUND, "no tournament was played here yet", "NO_SUCH_TOURNAMENT")]],
            "no tournament was played here yet: `arena tournament --server {0}` plays one, or the server's calendar does",
        ),
        (
            "t9",
            1,
            [[End(grpc.StatusCode.NOT_FOUND, "there is no tournament 't9' here", "NO_SUCH_TOURNAMENT")]],
            "there is no tournament 't9' here",
        ),
        (
            "",
            100,
            [[], events(1, 2, 3)],
            "tournament t1 has 3 events, and none of number 100: begin with an earlier one",
        ),
        (
            "t1",
            1,
            [[], []],
            "the server has no events of tournament t1, which was not played by it: `arena leaderboard --server {0}` shows",
        ),
    ],
    ids=["no tournament", "not this one", "no such event", "no events"],
)
async def test_nothing_to_be_seen_is_an_error_with_its_cause(
    tournament: str, first: int, answers: list[Sequence[Any]], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with scripted(*answers) as server:
        with pytest.raises(BadInput) as refused:
            await _watch(ServerAddress(server.address), tournament, first, as_json=False)

    assert str(refused.value).startswith(told.format(server.address))
    assert capsys.readouterr().out == ""


async def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    async with scripted([*events(1, 2), asyncio.Event()]) as server:
        watching = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "arena", "watch", "--server", server.address),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert watching.stdout is not None
        await watching.stdout.readline()
        await watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, said = await watching.communicate()

    assert watching.returncode == 3
    assert f"arena watch t1 --from 3 --server {server.address}".encode() in said


async def test_the_end_is_told_with_the_leaderboard_and_who_won(tmp_path: Path) -> None:
    await asyncio.to_thread(play, tmp_path / "arena.db")
    with Store.open(tmp_path / "arena.db") as store:
        values = stored_document(store, store.tournament())
    finished = arena_pb2.WatchTournamentResponse(
        event=arena_pb2.TournamentEvent(number=2, tournament="t1", finished=arena_pb2.TournamentFinished(seed="5e"))
    )
    answers = [*events(1), finished], [arena_pb2.GetLeaderboardResponse(document=json.dumps(values))]
    async with scripted(*answers) as server:
        done = await asyncio.to_thread(arena_in(tmp_path), "watch", "--server", server.address)

    assert done.returncode == 0, done.stderr
    first = winner_text(values)
    assert done.stdout.splitlines()[-1] == first
    assert re.search(rf"^1  {first.split(' won')[0]} +\d+ ", done.stdout, re.MULTILINE)
    assert server.asked[-1].tournament == "t1"


def row(rank: int | None, bot: str, least: int = 0) -> dict[str, Any]:
    interval = [least or rank, 9] if rank else None
    return {"rank": rank, "bot": bot, "elo": 1500.4, "rank_interval": interval, "joint_rank_interval": None}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([row(1, "a"), row(2, "b")], "a won."),
        ([row(1, "a"), row(1, "b")], "a and b won, together."),
        ([row(1, "a"), row(2, "b", 1), row(3, "c")], "a won; not beyond doubt: b may be as strong."),
        ([row(None, "a")], "Nobody won: no bot is ranked."),
    ],
    ids=["one", "two", "close", "nobody"],
)
def test_who_won_is_told_with_its_doubts(rows: list[dict[str, Any]], told: str) -> None:
    assert winner_text({"standings": rows}) == told


def test_standings_are_a_line_with_the_first_by_name() -> None:
    rows = [row(number, f"b{number}") for number in range(1, 8)]

    assert standings_text({"standings": rows}) == (
        "standings: 1 b1 1500, 2 b2 1500, 3 b3 1500, 4 b4 1500, 5 b5 1500, 2 more"
    )
    assert standings_text({"standings": []}) == "standings: none yet"


async def test_watching_ends_with_its_reader(tmp_path: Path) -> None:
    async with scripted([*events(1), asyncio.Event()]) as server:
        reading, writing = os.pipe()
        os.close(reading)
        watching = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "arena", "watch", "--server", server.address), cwd=tmp_path, stdout=writing
        )
        os.close(writing)

        assert await asyncio.wait_for(watching.wait(), 60) == 0


def test_a_server_is_needed(tmp_path: Path) -> None:
    done = arena_in(tmp_path)("watch", ARENA_SERVER="")

    assert done.returncode == 2
    assert "--server" in done.stderr
