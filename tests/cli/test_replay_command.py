"""What `arena replay` promises: an exit code, the differences with their places, and JSON for programs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from small_tournaments import change_record, play

from arena.cli import run
from arena.record import DealRecord
from arena.settings import Settings
from arena.store import Store

BOTS = Path(__file__).parent.parent / "players" / "bots"
SETTINGS = Settings(game="heartswitch", players=3, boards=1, seed="replay")
KINDS = ("Lowest", "Highest", "Cheat")

CONFIG = f"""\
game: heartswitch
players: 3
bots:
  - {{name: Lowest 0, python: "in_process:Lowest"}}
  - {{name: Highest 1, python: "in_process:Highest"}}
  - {{name: cheat 2, python: "in_process:Cheat"}}
  - {{name: other, python: "in_process:Lowest"}}
  - {{name: broken, python: "in_process:Broken"}}
  - {{name: crash, command: [python, misbehaving.py, crash, "7"], directory: {BOTS}}}
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("played") / "arena.db"
    play(path, SETTINGS, KINDS)
    return path


@pytest.fixture
def options(played: Path, tmp_path: Path) -> list[str]:
    """The options that name store and bots."""
    bots = tmp_path / "bots.yaml"
    bots.write_text(CONFIG, encoding="utf-8")
    return ["--store", str(shutil.copy(played, tmp_path / "arena.db")), "--bots", str(bots)]


def records(options: list[str], match: int = 1, table: int = 0) -> list[DealRecord]:
    with Store.open(options[1], create=False) as store:
        tournament = store.tournament()
        return [record for number, record in store.records(tournament.id, match) if number == table]


@pytest.mark.parametrize("table", ["1/0", "1/1", "2/2"])
def test_the_bot_that_played_answers_the_same(
    options: list[str], capsys: pytest.CaptureFixture[str], table: str
) -> None:
    assert run(["replay", table, "--bot", "lowest 0", *options]) == 0

    output = capsys.readouterr()
    match, _, number = table.partition("/")
    assert output.out == (
        f"match {match}, table {number}: Lowest 0 was asked 42 decisions again; all answers are as recorded\n"
    )
    assert output.err.startswith("asking Lowest 0 at seat ")


def test_another_bot_is_asked_at_all_seats_and_its_differences_are_listed(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", "1/0", "--bot", "other", *options]) == 1

    output = capsys.readouterr()
    *differences, last = output.out.splitlines()
    own = records(options)[0].bots.index("Lowest 0")
    assert [line.split()[-1] for line in output.err.splitlines()] == ["0", "1", "2"]
    assert differences
    assert all(": recorded " in line and ", now " in line for line in differences)
    assert not any(f", seat {own}: " in line for line in differences), "it plays as the bot there did"
    assert last.endswith(f"was asked {42 + 42 + 4} decisions again; {len(differences)} answers differ")


def test_a_recorded_substitute_is_told_with_its_fault(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "1/0", "--bot", "Cheat 2", *options]) == 1

    first, *_, last = capsys.readouterr().out.splitlines()
    assert "(substitute after illegal: " in first
    assert first.endswith("(illegal: not a choice among the legal cards)")
    assert "was asked 4 decisions again; 3 answers differ" in last


def test_a_crash_is_told_with_what_the_bot_wrote(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    seat = str(records(options)[0].bots.index("Lowest 0"))

    assert run(["replay", "1/0", "--bot", "crash", "--seat", seat, "--deal", "1", *options]) == 1

    output = capsys.readouterr().out
    assert f"deal 1, decision 13, seat {seat}: recorded " in output
    assert "now no answer (disconnected: the process exited with code 7 while it was being asked)" in output
    assert "  | table flipped" in output.splitlines()


def test_json_has_every_difference(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    seat = records(options)[0].bots.index("Highest 1")

    assert run(["replay", "1/0", "--bot", "other", "--seat", str(seat), "--deal", "2", "--json", *options]) == 1

    printed = json.loads(capsys.readouterr().out)
    assert (printed["match"], printed["table"], printed["bot"], printed["seats"]) == (1, 0, "other", [seat])
    assert printed["asked"] == 21
    first = printed["differences"][0]
    assert set(first) == {"deal", "decision", "seat", "recorded", "recorded_fault", "now", "fault"}
    assert (first["deal"], first["decision"], first["seat"]) == (2, 21, seat)
    assert sorted(first["recorded"]) == sorted(map(str, records(options)[1].passes[seat]))
    assert first["recorded_fault"] is first["fault"] is None


def test_json_says_that_all_is_the_same(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "1/2", "--bot", "Lowest 0", "--json", *options]) == 0

    assert json.loads(capsys.readouterr().out)["differences"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1"], "'1' is no table: write the match's number and the table's, such as 3/1"),
        (["one/two"], "is no table"),
        (["9/0"], "has matches 1 to 2, not 9"),
        (["1/3"], "match 1 has tables 0 to 2, not 3"),
        (["1/0", "--seat", "4"], "--seat: this table has seats 0 to 2, not 4"),
        (["1/0", "--deal", "3"], "--deal: this table has deals 1 to 2, not 3"),
        (["1/0", "--tournament", "zz"], "has no tournament 'zz'"),
        (["1/0", "--bot", "nobody"], "'nobody' is no folder, address or program, and no bot of"),
        (["1/0", "--bot", "broken"], "no licence"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_says_what_there_is(
    options: list[str], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["replay", *arguments, *([] if "--bot" in arguments else ["--bot", "other"]), *options]) == 2

    output = capsys.readouterr()
    assert message in output.err
    assert "Traceback" not in output.err
    assert output.out == ""


def test_records_that_cannot_have_happened_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def spoil(record: DealRecord) -> DealRecord:
        return replace(record, plays=record.plays[::-1])

    change_record(Path(options[1]), 1, 0, 1, spoil)

    assert run(["replay", "1/0", "--bot", "other", *options]) == 2
    assert "arena verify" in capsys.readouterr().err
