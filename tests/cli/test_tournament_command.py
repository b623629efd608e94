"""What `arena tournament`, `leaderboard` and `serve` promise, as whole programs with bots as processes."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from programs import Arena, arena_in, environment

from arena.cli import run
from arena.players.family import descendants

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_bots" / "bots.yaml"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

IN_PROCESS = """
boards: 24
seed: a test
bots:
  - {name: a, python: "in_process:Lowest"}
  - {name: b, python: "in_process:Highest"}
  - {name: c, python: "in_process:Random"}
  - {name: d, python: "in_process:Lowest"}
"""


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """Runs a command in a folder of its own, where `bots.yaml` has bots in the arena's process."""
    (tmp_path / "bots.yaml").write_text(IN_PROCESS)
    return arena_in(tmp_path)


@pytest.mark.slow
def test_the_sample_bots_play_as_processes_and_rank_by_strength(arena: Arena) -> None:
    ran = arena("tournament", "--bots", str(SAMPLES), "--json")

    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert [row["bot"] for row in document["standings"]][:2] == ["counting", "careful"]
    assert {row["boards"] for row in document["standings"]} == {120}
    assert [row["faults"] for row in document["standings"]] == [0, 0, 0, 0]
    assert document["seed_commitment"] in ran.stderr
    assert document["seed"] in ran.stderr


@pytest.mark.slow
def test_ratings_from_other_deals_differ_by_no_more_than_their_errors_say(arena: Arena) -> None:
    command = ("tournament", "--bots", str(SAMPLES), "--boards", "216", "--json", "--seed")
    one, two = (
        {row["bot"]: row for row in json.loads(arena(*command, seed, "--store", f"{seed}.db").stdout)["standings"]}
        for seed in ("1", "2")
    )

    for bot, row in one.items():
        allowed = math.hypot(row["error"], two[bot]["error"])
        assert abs(row["elo"] - two[bot]["elo"]) <= allowed, bot


def test_json_is_the_documented_document_and_nothing_else(arena: Arena) -> None:
    ran = arena("tournament", "--json")

    document = json.loads(ran.stdout)
    schema = json.loads((ROOT / "arena" / "result.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    assert list(document) == list(schema["properties"])
    row = document["standings"][0]
    wanted = {"rank", "bot", "elo", "error", "rank_interval", "boards", "points_per_deal", "faults"}
    assert wanted <= set(row)
    assert (document["game"], document["players"], document["format"]) == ("hearts-classic", 4, "duplicate")


def test_piped_output_has_no_control_codes_and_fits_80_columns(arena: Arena) -> None:
    ran = arena("tournament", COLUMNS="80")

    assert ran.returncode == 0
    for stream in (ran.stdout, ran.stderr):
        assert not CONTROL.search(stream)
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_a_cp1252_console_does_not_die(first: tuple[Path, str]) -> None:
    ran = arena_in(first[0])("tournament", PYTHONIOENCODING="cp1252")

    assert ran.returncode == 0
    assert "Elo" in ran.stdout


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder where the tournament was played, and what that has shown."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "bots.yaml").write_text(IN_PROCESS)
    return folder, arena_in(folder)("tournament").stdout


def test_the_same_command_again_shows_the_leaderboard(first: tuple[Path, str]) -> None:
    second = arena_in(first[0])("tournament")

    assert second.returncode == 0
    assert second.stdout == first[1]
    assert "nothing of it is left to play" in second.stderr
    assert "--fresh" in second.stderr


@pytest.mark.slow
def test_the_leaderboard_is_there_afterwards_in_three_forms(arena: Arena) -> None:
    played = arena("tournament", "--json")

    table, as_json, as_csv = arena("leaderboard"), arena("leaderboard", "--json"), arena("leaderboard", "--csv")

    assert "hearts-classic" in table.stdout
    assert as_json.stdout == played.stdout
    rows = list(csv.DictReader(io.StringIO(as_csv.stdout)))
    assert [row["bot"] for row in rows] == [row["bot"] for row in json.loads(played.stdout)["standings"]]


def test_a_match_can_be_shown(first: tuple[Path, str]) -> None:
    shown = arena_in(first[0])("show", "1", "--table", "0", "--deal", "1")

    assert shown.returncode == 0
    assert not CONTROL.search(shown.stdout)
    assert len(re.findall(r"[2-9TJQKA][CDSH]|[2-9TJQKA][♣♦♠♥]|[♣♦♠♥]", shown.stdout)) >= 52


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("tournament", "--bots", "nowhere.yaml"), "no such file"),
        (("tournament", "--game", "whist"), "whist"),
        (("tournament", "--players", "7"), "--players"),
        (("tournament", "--option", "moon=14"), "moon"),
        (("tournament", "--option", "moon"), "name=value"),
        (("tournament", "--boards", "0"), "--boards"),
        (("tournament", "--store", "."), "is a directory"),
        (("tournament", "--store", "nowhere/arena.db"), "nowhere"),
        (("tournament", "--store", "bots.yaml"), "bots.yaml"),
        (("tournament", "--resume", "zz"), "zz"),
        (("tournament", "--resume", ""), "--resume is empty"),
        (("tournament", "--seed", ""), "--seed is empty"),
        (("tournament", "--server", "127.0.0.1:1", "--skip-broken"), "--skip-broken is not for --server"),
        (("tournament", "--server", "127.0.0.1:1", "--tables", "3"), "--tables is not for --server"),
        (("tournament", "--resume", "zz", "--fresh"), "exclude each other"),
        (("tournament", "--server", "127.0.0.1:1"), "arena serve"),
        (("leaderboard",), "arena tournament"),
        (("leaderboard", "--store", "nowhere.db"), "nowhere.db"),
        (("leaderboard", "--json", "--csv"), "exclude each other"),
        (("serve", "--listen", "127.0.0.1"), "write host:port"),
        (("serve", "--tls-cert", "bots.yaml"), "go together"),
        (("serve", "--quota", "cats=1"), "NAME=NUMBER"),
        (("serve", "--every", "soon"), "no period"),
        (("serve", "--incremental"), "--every and --at"),
        (("show", "1"), "arena tournament"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_told_with_exit_code_2(
    arena: Arena,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    reason: str,
) -> None:
    del arena
    monkeypatch.chdir(tmp_path)

    assert run(arguments) == 2

    told = capsys.readouterr()
    assert reason in told.err
    assert "Traceback" not in told.err
    assert told.out == ""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("bot", "reason"),
    [
        ("command: [./nothing]", "nothing"),
        ("command: [no-such-program]", "no-such-program"),
        ("command: [python, -c, 'import sys; sys.exit(\"out of licences\")']", "out of licences"),
        ("address: 127.0.0.1:1", "127.0.0.1:1"),
        ('python: "in_process:Nobody"', "Nobody"),
    ],
    ids=["missing file", "missing program", "exits at once", "refusing address", "missing class"],
)
def test_a_bot_that_cannot_play_is_told_with_exit_code_2(arena: Arena, tmp_path: Path, bot: str, reason: str) -> None:
    text = IN_PROCESS.replace('python: "in_process:Random"', bot).replace(
        "{name: c, " + bot + "}", "name: c\n    " + bot
    )
    (tmp_path / "bots.yaml").write_text(text)

    ran = arena("tournament", "--startup-time", "2s")

    assert ran.returncode == 2
    assert reason in ran.stderr
    assert "Traceback" not in ran.stderr


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "arena", *arguments],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def wait_for(process: subprocess.Popen[str], text: str) -> str:
    """Read stderr up to a line that has this text."""
    assert process.stderr is not None
    read = ""
    for line in process.stderr:
        read += line
        if text in line:
            return read
    pytest.fail(f"{text!r} never came: {read}")


def wait_for_child(process: subprocess.Popen[str]) -> None:
    """Wait until it has started something."""
    while not descendants(process.pid):
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_tournament_exits_with_3_and_goes_on(tmp_path: Path, arena: Arena, number: int) -> None:
    whole = arena(
        "tournament", "--bots", str(SAMPLES), "--seed", "7", "--boards", "48", "--json", "--store", "whole.db"
    )
    playing = start(tmp_path, "tournament", "--bots", str(SAMPLES), "--seed", "7", "--boards", "48", "--tables", "4")
    wait_for(playing, "decisions/s")
    playing.send_signal(number)
    _, errors = playing.communicate(timeout=30)

    resumed = arena("tournament", "--bots", str(SAMPLES), "--seed", "7", "--boards", "48", "--json")

    assert playing.returncode == 3, errors
    assert resumed.returncode == 0, resumed.stderr
    assert "the same command plays the rest" in errors
    assert "goes on after" in resumed.stderr
    assert resumed.stdout == whole.stdout


@pytest.mark.slow
def test_a_second_signal_stops_at_once(tmp_path: Path, arena: Arena) -> None:
    del arena
    (tmp_path / "slow.py").write_text(
        "import time\nfrom arena.sdk import Bot\n\n\nclass Slow(Bot):\n    max_batch = 1\n\n"
        "    def play(self, view):\n        time.sleep(0.9)\n        return view.legal[0]\n\n\nSlow().run()\n"
    )
    (tmp_path / "bots.yaml").write_text(
        "bots:\n" + "".join(f"  - name: {name}\n    command: [python, slow.py]\n" for name in "abcd")
    )
    playing = start(tmp_path, "tournament")
    wait_for(playing, "seed commitment")
    playing.send_signal(signal.SIGINT)
    wait_for(playing, "once more stops at once")
    playing.send_signal(signal.SIGINT)
    _, errors = playing.communicate(timeout=60)

    assert playing.returncode == 3
    assert "stopped at once; the same command plays the rest" in errors


def test_interrupted_while_bots_start_it_stops_at_once(tmp_path: Path, arena: Arena) -> None:
    del arena
    (tmp_path / "bots.yaml").write_text(
        "bots:\n" + "".join(f"  - name: {name}\n    command: [sleep, '600']\n" for name in "abcd")
    )
    playing = start(tmp_path, "tournament", "--startup-time", "300s")
    wait_for_child(playing)
    playing.send_signal(signal.SIGINT)
    _, errors = playing.communicate(timeout=60)

    assert playing.returncode == 3, errors
    assert "stopped before play" in errors


@pytest.mark.slow
def test_killed_at_once_nothing_is_left_and_the_rest_is_played(tmp_path: Path, arena: Arena) -> None:
    whole = arena(
        "tournament", "--bots", str(SAMPLES), "--seed", "7", "--boards", "48", "--json", "--store", "whole.db"
    )
    playing = start(tmp_path, "tournament", "--bots", str(SAMPLES), "--seed", "7", "--boards", "48", "--tables", "4")
    wait_for(playing, "decisions/s")
    playing.kill()
    playing.communicate(timeout=30)

    resumed = arena("tournament", "--bots", str(SAMPLES), "--seed", "7", "--boards", "48", "--json")

    assert resumed.returncode == 0
    assert resumed.stdout == whole.stdout


@pytest.mark.slow
def test_killed_at_once_a_tournament_that_keeps_results_goes_on_as_well(tmp_path: Path, arena: Arena) -> None:
    names = ("one", "two", "three", "four", "five")
    for name in names:
        (tmp_path / f"bot_{name}.py").write_text("from in_process import Lowest\n")
    listed = "".join(f"  - {{name: {name}, python: 'bot_{name}:Lowest'}}\n" for name in names)
    (tmp_path / "bots.yaml").write_text(f"game: heartswitch\nplayers: 3\nboards: 480\nbots:\n{listed}")
    assert arena("tournament", "--seed", "first").returncode == 0
    (tmp_path / "bot_two.py").write_text("from in_process import Lowest\n# changed\n")
    shutil.copy(tmp_path / "arena.db", tmp_path / "whole.db")
    command = ("tournament", "--incremental", "--seed", "second", "--tables", "1")
    whole = arena(*command, "--json", "--store", "whole.db")

    playing = start(tmp_path, *command)
    wait_for(playing, "decisions/s")
    playing.kill()
    playing.communicate(timeout=30)
    resumed = arena(*command, "--json")

    assert resumed.returncode == 0, resumed.stderr
    assert "goes on after" in resumed.stderr
    assert resumed.stdout == whole.stdout
    assert "matches are kept from tournament" in resumed.stdout
    assert arena("verify").returncode == 0


@pytest.fixture
def server(tmp_path: Path, arena: Arena) -> Iterator[str]:
    del arena
    serving = start(tmp_path, "serve", "--listen", "127.0.0.1:0", "--store", "served.db")
    line = wait_for(serving, "arena serves at")
    yield line.split("arena serves at ")[1].split(";")[0]
    serving.terminate()
    _, errors = serving.communicate(timeout=40)
    assert serving.returncode == 0, errors


@pytest.mark.slow
def test_leaving_a_server_does_not_stop_it(arena: Arena, server: str, tmp_path: Path) -> None:
    (tmp_path / "bots.yaml").write_text(IN_PROCESS.replace("boards: 24", "boards: 4800"))
    watching = start(tmp_path, "tournament", "--server", server)
    wait_for(watching, "decisions/s")
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=30)

    assert watching.returncode == 3
    assert "the server plays on" in errors
    assert arena("leaderboard", "--server", server).returncode == 0


def test_a_server_plays_and_shows_the_same(
    first: tuple[Path, str],
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def shown(*arguments: str) -> str:
        capsys.readouterr()
        assert run(arguments) == 0
        return capsys.readouterr().out

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    there = shown("tournament", "--server", server, "--json")
    table = shown("leaderboard", "--server", server)
    listed = json.loads(shown("leaderboard", "--server", server, "--list", "--json"))
    monkeypatch.chdir(first[0])

    assert there == shown("leaderboard", "--json")
    assert table == shown("leaderboard")
    own = json.loads(shown("leaderboard", "--list", "--json"))
    assert [{**each, "created": "", "tournament": ""} for each in listed] == [
        {**each, "created": "", "tournament": ""} for each in own
    ]
