"""`arena tournament` without a list of bots: those play that were submitted, and bots of the house."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from submitted_bots import LOWEST, keep_admitted

from arena.cli import run
from arena.store import Store


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_STORE", raising=False)
    monkeypatch.delenv("ARENA_SERVER", raising=False)


def admit(name: str, number: int = 1, games: tuple[str, ...] = (), source: str = LOWEST) -> None:
    """Put a bot into the store and onto the shelf, as its admission does."""
    keep_admitted(Path("arena.db"), name, f"# {name} {number}\n{source}", games)


def tournament(*arguments: str) -> int:
    return run(["tournament", "--boards", "4", "--json", *arguments])


def bots(capsys: pytest.CaptureFixture[str]) -> tuple[set[str], str]:
    output = capsys.readouterr()
    return {row["bot"] for row in json.loads(output.out)["standings"]}, output.err


@pytest.mark.slow
def test_the_house_takes_the_empty_seats(capsys: pytest.CaptureFixture[str]) -> None:
    admit("mine")

    assert tournament() == 0

    names, errors = bots(capsys)
    assert names == {"mine", "counting", "careful", "lowest"}
    assert "of the bots that were submitted these play: mine (version 1)" in errors
    assert "bots of the house play along: counting, careful, lowest" in errors


@pytest.mark.slow
def test_the_house_plays_along_if_it_is_asked_to_and_never_if_it_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ann", "bob"):
        admit(name)

    assert tournament("--players", "3", "--game", "heartswitch", "--house") == 0
    assert len(bots(capsys)[0]) == 6
    assert tournament("--players", "3", "--game", "heartswitch", "--no-house") == 2
    assert "needs 3 bots, and there are 2" in capsys.readouterr().err


def test_the_house_takes_the_seat_of_a_bot_that_does_not_start_any_more(capsys: pytest.CaptureFixture[str]) -> None:
    admit("mine")
    admit("exp", source="raise SystemExit('the licence is over')")
    Path("bots.yaml").write_text("game: heartswitch\nplayers: 3\n")

    assert tournament("--skip-broken") == 0

    names, errors = bots(capsys)
    assert names == {"mine", "counting", "careful"}
    assert re.search("note: plays without exp: .* exited with code 1 .*\n +the licence is over", errors)
    assert "note: bots of the house play along: counting, careful (--no-house leaves them out)" in errors


@pytest.mark.slow
def test_a_file_without_bots_gives_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    admit("mine")
    Path("bots.yaml").write_text("game: heartswitch\nplayers: 3\n")

    assert tournament() == 0

    output = capsys.readouterr()
    assert json.loads(output.out)["game"] == "heartswitch"
    assert {row["bot"] for row in json.loads(output.out)["standings"]} == {"mine", "counting", "careful"}


@pytest.mark.slow
def test_a_file_with_bots_plays_them_alone_unless_the_submitted_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    admit("mine")
    own = "".join(f"  - {{name: {name}, python: 'in_process:Lowest'}}\n" for name in ("a", "b", "Mine"))
    Path("bots.yaml").write_text(f"game: heartswitch\nplayers: 3\nbots:\n{own}")

    assert tournament() == 0
    assert bots(capsys)[0] == {"a", "b", "Mine"}
    admit("hers")
    assert tournament("--submitted") == 0
    names, errors = bots(capsys)
    assert names == {"a", "b", "Mine", "hers"}
    assert "plays without the mine that was submitted" in errors


def test_which_bots_play_another_game_is_told_where_none_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    admit("mine", games=("heartswitch",))

    assert tournament() == 2

    assert "plays without mine, which plays heartswitch only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "games", "reasons"),
    [
        (None, None, ["there is no bots.yaml here", "no bot was submitted", "arena submit DIR"]),
        ("boards: 4\n", None, ["bots.yaml lists no bots", "no bot was submitted"]),
        (None, ("heartswitch",), ["no bot that was submitted plays hearts-classic"]),
    ],
    ids=["nothing", "settings only", "another game"],
)
def test_without_any_bot_both_cures_are_told(
    file: str | None, games: tuple[str, ...] | None, reasons: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if file is not None:
        Path("bots.yaml").write_text(file)
    if games is not None:
        admit("mine", games=games)

    assert tournament() == 2

    errors = capsys.readouterr().err
    assert all(reason in errors for reason in reasons), errors
    assert Path("arena.db").exists() is (games is not None)


@pytest.mark.slow
def test_a_new_version_meets_the_others_and_their_results_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ann", "bob", "cat"):
        admit(name)
    three = ("--game", "heartswitch", "--players", "3", "--house", "--schedule", "round-robin")
    assert tournament(*three) == 0
    admit("bob", 2)
    capsys.readouterr()

    assert tournament(*three, "--incremental") == 0

    names, errors = bots(capsys)
    assert len(names) == 7
    assert "bob (version 2)" in errors
    with Store.open("arena.db") as store:
        schedule = store.matches(store.tournaments()[-1].id)
    assert any(match.origin for match in schedule)
    assert all(("bob" in match.line_up) == (match.origin is None) for match in schedule)


@pytest.mark.slow
def test_submit_then_tournament_ends_in_a_leaderboard(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mybot").mkdir()
    Path("mybot/bot.yaml").write_text("name: mine\ncommand: [python, bot.py]\n")
    Path("mybot/bot.py").write_text(LOWEST)

    assert run(["submit", "mybot"]) == 0
    capsys.readouterr()
    assert run(["tournament", "--boards", "4"]) == 0

    assert "mine" in capsys.readouterr().out


def test_a_version_whose_files_are_damaged_is_named_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ann", "bob", "cut"):
        admit(name)
    with Store.open("arena.db") as store:
        (cut,) = [
            version for version in store.submissions.playing() if version.program and version.program.name == "cut"
        ]
    (Path("arena.db.bots") / cut.digest / "bot.py").write_text("")
    Path("bots.yaml").write_text("game: heartswitch\nplayers: 3\n")

    assert tournament() == 0

    names, errors = bots(capsys)
    assert names == {"ann", "bob", "counting"}
    assert "plays without cut, version 1: its files are damaged: bot.py was changed; to mend it, submit" in errors
