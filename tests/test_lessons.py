"""Mishaps of other platforms that belong to no single module here; docs/fairness.md lists all kinds with their tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from scripted import Scripted, lowest
from small_tournaments import play

from arena.clock import TimeControl
from arena.dealing import Stream
from arena.errors import ArenaError
from arena.faults import FaultPolicy
from arena.games import find_game
from arena.match import Match, RotationResult
from arena.players.roster import Roster
from arena.results import Result, places
from arena.rotations import Rotations
from arena.store import Store
from arena.table import Table, TableRules, Void
from arena.v1 import arena_pb2, arena_pb2_grpc
from arena.verify import verify_tournament
from leaderboard.elo import update
from leaderboard.ratings import rate

ROOT = Path(__file__).parent.parent


# --- Clocks ---


async def test_an_empty_bank_leaves_the_decision_time() -> None:
    game = find_game("hearts-classic")
    slow = Scripted(lowest, elapsed=4.0)
    table = Table(
        TableRules(game, False, TimeControl(decision=1.0, bank=5.0), FaultPolicy()),
        [slow, Scripted(), Scripted(), Scripted()],
        ["slow", "b", "c", "d"],
        table_id="table",
        deals=1,
        hands_of=lambda number: Stream(b"clock", "deal", number).deal(game.deck, 4),
        random_of=lambda seat, number: 0,
    )

    await table.play()

    assert [decision.bank_left for decision in slow.asked[:4]] == [5.0, 2.0, 0.0, 0.0]
    assert {decision.decision_time for decision in slow.asked} == {1.0}


# --- The arena's own faults ---


def void_match(monkeypatch: pytest.MonkeyPatch, number: int, times: int) -> list[int]:
    """Make a match void so often; return the list to which each of its attempts is added."""
    attempts: list[int] = []
    whole = Rotations.play_table

    async def play_or_void(self: Rotations, match: Match, rotation: int, attempt: int = 0) -> RotationResult:
        if match.number == number and rotation == 1:
            attempts.append(attempt)
            if len(attempts) <= times:
                raise Void("the launcher is gone")
        return await whole(self, match, rotation, attempt)

    monkeypatch.setattr(Rotations, "play_table", play_or_void)
    return attempts


@pytest.mark.parametrize(("remembering", "played"), [(True, [0, 1, 2]), (False, [0, 0, 0])], ids=["may", "may not"])
def test_a_void_match_is_played_again_and_dealt_anew_where_a_bot_may_remember(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembering: bool, played: list[int]
) -> None:
    attempts = void_match(monkeypatch, number=3, times=2)
    monkeypatch.setattr(Roster, "may_remember", lambda _self, _bots: remembering)

    play(tmp_path / "arena.db")

    with Store.open(tmp_path / "arena.db") as store:
        verified = verify_tournament(store, store.tournament())
    assert attempts == played
    assert verified.finished
    assert verified.dealt_anew == ([3] if remembering else [])


def test_a_match_that_stays_void_ends_the_tournament_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arena.db"
    void_match(monkeypatch, number=6, times=3)

    with pytest.raises(ArenaError, match="match 6 was void 3 times"):
        play(path)
    play(path)

    with Store.open(path) as store:
        assert verify_tournament(store, store.tournament()).finished


# --- Ties ---


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)], ids=str)
def test_tied_winners_are_equal_and_above_the_third(order: tuple[int, ...]) -> None:
    points = (0, 0, 5, 10, 11)
    result = Result(
        (1, 1),
        0,
        tuple("abcde"[side] for side in order),
        tuple(points[side] for side in order),
        places(tuple(points[side] for side in order)),
        (0,) * 5,
    )

    final = {rating.bot: rating.elo or 0.0 for rating in rate([result]).ratings}
    live = update({}, result)

    for elo in (final, live):
        assert elo["a"] == pytest.approx(elo["b"], abs=1e-9)
        assert elo["b"] > elo["c"] > elo["d"] > elo["e"]


# --- Names and paths ---


@pytest.mark.slow
def test_a_bot_in_a_folder_with_spaces_and_accents_plays_under_its_own_name(tmp_path: Path) -> None:
    folder = tmp_path / "Mes bots, été 蝶 (1)"
    folder.mkdir()
    for name in ("lowest.py", "careful.py"):
        shutil.copy(ROOT / "sample_bots" / "python" / name, folder / f"mon {name}")
    (folder / "bots.yaml").write_text(
        "game: heartswitch\nplayers: 3\nboards: 1\nfill: true\nseed: paths\nbots:\n"
        '  - {name: "le prudent é", command: [python, mon careful.py]}\n'
        '  - {name: "plus bas", command: [python, ./mon lowest.py]}\n',
        encoding="utf-8",
    )

    done = subprocess.run(
        [sys.executable, "-m", "arena", "tournament", "--json"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["standings"]
    assert {(row["bot"], row["faults"]) for row in rows} == {("le prudent é", 0), ("plus bas", 0)}


# --- Stopping ---

SLOW = """
boards: 4800
bots:
  - {name: a, python: "in_process:Lowest"}
  - {name: b, python: "in_process:Highest"}
  - {name: c, python: "in_process:Random"}
  - {name: d, python: "in_process:Lowest"}
"""


@pytest.mark.slow
def test_a_server_with_a_call_in_flight_ends_on_ctrl_c(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/arena.sock"
    server = subprocess.Popen(
        [sys.executable, "-m", "arena", "serve", "--listen", address],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert server.stderr is not None
    with server, contextlib.ExitStack() as at_end:
        at_end.callback(server.kill)
        assert "arena serves at" in server.stderr.readline()
        code = asyncio.run(_interrupt_during_a_call(address, server))
        server.wait(timeout=30)

    assert server.returncode == 0
    assert code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def _interrupt_during_a_call(address: str, server: subprocess.Popen[str]) -> grpc.StatusCode | None:
    """Have the server play, interrupt it after the first match, and return how the call ended."""
    options = [("grpc.default_authority", "localhost")]
    request = arena_pb2.RunTournamentRequest(config=SLOW, config_path="/bots.yaml")
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        call = arena_pb2_grpc.ArenaServiceStub(channel).RunTournament(request, timeout=60)
        kinds = (response.event.WhichOneof("what") async for response in call)
        try:
            async for kind in kinds:
                if kind == "match_finished":
                    break
            server.send_signal(signal.SIGINT)
            async for _ in kinds:
                pass
        except grpc.aio.AioRpcError as error:
            return error.code()
    return None
