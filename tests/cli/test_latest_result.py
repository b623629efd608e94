"""Which tournament is shown where none is named: the latest that is finished, with a word on a later one in play."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from small_tournaments import SETTINGS, play

from arena.cli import run
from arena.client import ServerAddress, leaderboard_of_server
from arena.compare import ComparisonPlan, Finding
from arena.game import Game
from arena.server import ArenaServer, Terms
from arena.settings import Comparison, Format, Tournament, game_of
from arena.store import Store
from arena.tournament import Pace

MANY = ("Lowest", "Highest", "Random") * 6
Read = Callable[[], str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a finished tournament and a later one, of which one match is played."""
    path = tmp_path / "arena.db"
    play(path, replace(SETTINGS, boards=4))
    play(path, replace(SETTINGS, seed="later", boards=4), MANY, stop_after=1)
    return path


@pytest.fixture
def read(capsys: pytest.CaptureFixture[str]) -> Read:
    return lambda: capsys.readouterr().out


def ids(path: Path) -> list[str]:
    with Store.open(path) as store:
        return [each.id for each in store.tournaments()]


def progress(path: Path, tournament: str) -> tuple[int, int]:
    with Store.open(path) as store:
        found = store.progress(tournament)
        return found.done, found.matches


def test_the_leaderboard_is_the_finished_ones_and_tells_of_the_one_in_play(path: Path, read: Read) -> None:
    finished, later = ids(path)

    assert run(["leaderboard", "--store", str(path)]) == 0
    text = " ".join(read().split())

    assert f"tournament {finished} " in text and "Not finished" not in text
    played, matches = progress(path, later)
    assert 0 < played < matches
    assert f"Tournament {later} is in play: {played} of {matches} matches (arena leaderboard {later})." in text


def test_programs_read_of_the_one_in_play_on_stderr(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished, later = ids(path)

    assert run(["leaderboard", "--store", str(path), "--json"]) == 0
    out, err = capsys.readouterr()

    assert json.loads(out)["tournament"] == finished
    assert f"Tournament {later} is in play" in err


def test_bots_without_results_are_listed(path: Path, read: Read) -> None:
    _, later = ids(path)

    assert run(["leaderboard", later, "--store", str(path), "--json"]) == 0
    rows = json.loads(read())["standings"]
    assert run(["leaderboard", later, "--store", str(path)]) == 0
    text = read()

    assert sorted(row["bot"] for row in rows) == sorted(f"{kind} {place}" for place, kind in enumerate(MANY))
    unplayed = [row for row in rows if not row["boards"]]
    assert len(unplayed) > 2 and unplayed == rows[-len(unplayed) :]
    assert {(row["rank"], row["elo"], row["error"], row["faults"]) for row in unplayed} == {(None, None, None, 0)}
    assert all(row["bot"] in text for row in unplayed)
    assert "in play" not in text


def test_before_the_first_result_the_bots_are_named(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "arena.db"
    play(path, stop_after=0)

    assert run(["leaderboard", "--store", str(path)]) == 0
    assert "No results yet of Cheat 3, Highest 1, Lowest 0, Random 2." in read()


@pytest.mark.parametrize(
    "command",
    [["verify", "--json"], ["fairness", "--json"], ["show", "1", "--json"]],
    ids=lambda command: command[0],
)
def test_other_readers_mean_the_finished_one_too(
    path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    finished, later = ids(path)

    assert run([*command, "--store", str(path)]) == 0
    out, err = capsys.readouterr()

    assert json.loads(out)["tournament"] == finished
    assert f"this is of tournament {finished}. Tournament {later} is in play" in " ".join(err.split())


def test_without_a_finished_one_the_latest_is_meant(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "arena.db"
    for seed in ("one", "two"):
        play(path, replace(SETTINGS, seed=seed), stop_after=1)

    assert run(["leaderboard", "--store", str(path)]) == 0
    text = read()

    assert f"tournament {ids(path)[-1]} " in text
    assert "is in play" not in text


def test_a_comparison_does_not_hide_the_tournament(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = Comparison("Lowest 0", elo0=0.0, elo1=20.0, alpha=0.05, beta=0.05)
    settings = replace(SETTINGS, comparison=comparison, boards=None)

    def plan(tournament: Tournament) -> ComparisonPlan:
        game: Game = game_of(tournament.settings)
        found = Finding(decided=True, text="enough")
        bots = ("Lowest 0", "Random 1")
        return ComparisonPlan(*bots, game=game, placed=Format.DUPLICATE, test=lambda _results: found, budget=4)

    play(path, settings, ("Lowest", "Random"), plan_of=plan)
    finished, _, compared = ids(path)
    named = {}
    for command in (["leaderboard"], ["fairness"], ["verify"]):
        assert run([*command, "--store", str(path), "--json"]) == 0
        named[command[0]] = json.loads(capsys.readouterr().out)["tournament"]

    assert named == {"leaderboard": finished, "fairness": finished, "verify": compared}


async def test_a_server_shows_the_finished_one_too(path: Path) -> None:
    finished, later = ids(path)
    server = await ArenaServer.start(path, "127.0.0.1:0", Terms(Pace(tables=8, grace=1.0)))
    try:
        address = ServerAddress(f"127.0.0.1:{server.port}")
        text, in_play = await leaderboard_of_server(address, None)
        named, nothing = await leaderboard_of_server(address, later)
    finally:
        await server.close(5.0)

    assert json.loads(text)["tournament"] == finished
    assert in_play is not None and (in_play.id, in_play.played, in_play.matches) == (later, *progress(path, later))
    assert json.loads(named)["tournament"] == later and nothing is None
