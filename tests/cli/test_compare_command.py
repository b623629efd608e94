"""What `arena compare` promises on the command line: its exit codes, one line, and a document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import Arena, arena_in

from arena.cli import run

ROOT = Path(__file__).parents[2]

BOTS = """
seed: a test
boards: 240
schedule: balanced
bots:
  - {name: good, python: "in_process:Highest"}
  - {name: bad, python: "in_process:Lowest"}
  - {name: same, python: "in_process:Highest"}
"""


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    (tmp_path / "bots.yaml").write_text(BOTS)
    return arena_in(tmp_path, COLUMNS="80")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "code", "verdict"),
    [
        (("good", "bad"), 0, "good is stronger than bad: +"),
        (("bad", "good"), 1, "bad is not stronger than good: -"),
        (("good", "same"), 1, "good is not stronger than same: +0 ±"),
        (("good", "bad", "--elo1", "1", "--budget", "50"), 4, "Undecided whether good is stronger than bad: +"),
    ],
    ids=["stronger", "weaker", "equal", "undecided"],
)
def test_the_verdict_is_a_line_and_an_exit_code(
    arena: Arena, arguments: tuple[str, ...], code: int, verdict: str
) -> None:
    ran = arena("compare", *arguments)

    assert ran.returncode == code, ran.stderr
    assert ran.stdout.startswith(verdict)
    assert "boards" in ran.stdout.splitlines()[0]
    assert "note: after 48 boards" in ran.stderr
    assert "table 24, " in ran.stderr


@pytest.mark.slow
def test_json_is_the_document_and_the_same_command_shows_it_again(arena: Arena) -> None:
    first = arena("compare", "good", "bad", "--json")
    again = arena("compare", "good", "bad", "--json", "--tables", "1")

    document = json.loads(first.stdout)
    assert again.stdout == first.stdout
    assert document["stronger"] is True
    assert document["ratio"] >= document["bounds"][1]
    assert (document["bot"], document["other"], document["elo0"], document["elo1"]) == ("good", "bad", 0.0, 20.0)
    assert document["faults"] == {"good": 0, "bad": 0}
    assert document["seed"] in first.stderr


@pytest.mark.slow
def test_another_question_is_another_run_on_deals_of_its_own(arena: Arena) -> None:
    one = json.loads(arena("compare", "good", "bad", "--json").stdout)
    other = json.loads(arena("compare", "good", "bad", "--json", "--elo1", "30").stdout)

    assert one["tournament"] != other["tournament"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("good", "bda"), "bots.yaml has no bot bda; did you mean `bad`?"),
        (("good", "good"), "good can't be compared with itself: name two bots of bots.yaml"),
        (("good", "bad", "--elo1", "0"), "elo1 must be more than elo0, and 0 is not more than 0: correct"),
        (("good", "bad", "--alpha", "1"), "alpha and beta are chances of error"),
        (("good",), "Missing argument 'OTHER'"),
        (("good", "bad", "--players", "9"), "--players: "),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_cure(
    arena: Arena,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    del arena
    monkeypatch.chdir(tmp_path)

    assert run(["compare", *arguments]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
