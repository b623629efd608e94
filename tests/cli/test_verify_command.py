"""What `arena verify` promises: one line and an exit code, the place of the first difference, and JSON for programs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_tournaments import KINDS, change_record, execute, play

from arena.cli import run
from arena.dealing import Seed
from arena.report import unfinished
from arena.settings import Settings
from arena.store import Store

SETTINGS = Settings(game="heartswitch", players=3, boards=1, seed="cli")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("played") / "arena.db"
    play(path, SETTINGS, KINDS[:3])
    return path


@pytest.fixture
def store(played: Path, tmp_path: Path) -> str:
    return str(shutil.copy(played, tmp_path / "arena.db"))


def document(store: str, path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Print the leaderboard's document into a file, and return it."""
    assert run(["leaderboard", "--store", store, "--json"]) == 0
    text = capsys.readouterr().out
    path.write_text(text, encoding="utf-8")
    printed = json.loads(text)
    assert isinstance(printed, dict)
    return printed


def test_what_was_played_is_verified_in_a_line(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--store", store]) == 0

    first, second = capsys.readouterr().out.splitlines()
    assert "is verified: 2 matches, 12 deals, 756 decisions, 0 faults, in " in first
    assert second.startswith(f"seed commitment {Seed.from_text('cli').commitment}: compare it")


def test_the_first_difference_is_told_with_exit_code_1(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    change_record(Path(store), 2, 0, 2, lambda record: replace(record, scores=record.scores[::-1]))

    assert run(["verify", "--store", store]) == 1

    output = capsys.readouterr()
    assert output.err == ""
    assert "match 2, table 0, deal 2: the scores: expected [" in output.out
    assert len(output.out.splitlines()) == 1


def test_json_says_it_for_programs(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--store", store, "--json"]) == 0
    verified = json.loads(capsys.readouterr().out)
    execute(Path(store), 'DELETE FROM records WHERE match = 1 AND "table" = 2 AND deal = 2')

    assert run(["verify", "--store", store, "--json"]) == 1

    different = json.loads(capsys.readouterr().out)
    assert (verified["verified"], verified["matches"], verified["deals"]) == (True, 2, 12)
    assert different["verified"] is False
    assert different["difference"] == {
        "match": 1,
        "table": 2,
        "deal": 2,
        "what": "the record",
        "expected": "one, since 2 deals are to be played",
        "found": "none",
    }


def test_strangers_text_is_shown_without_control_codes(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    change_record(Path(store), 1, 0, 1, lambda record: replace(record, bots=("\x1b[2Jgone\n\n", *record.bots[1:])))

    assert run(["verify", "--store", store]) == 1

    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert output.endswith("found gone\n")


def test_a_document_may_begin_with_a_mark_of_the_byte_order(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document(store, tmp_path / "result.json", capsys)
    (tmp_path / "result.json").write_text("\ufeff" + (tmp_path / "result.json").read_text(), encoding="utf-8")

    assert run(["verify", "--store", store, "--document", str(tmp_path / "result.json")]) == 0


def test_a_document_names_its_tournament_and_is_compared(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document(store, tmp_path / "result.json", capsys)

    assert run(["verify", "--store", store, "--document", str(tmp_path / "result.json")]) == 0

    assert "result.json is what the store gives" in capsys.readouterr().out


def test_a_document_with_an_anchor_is_compared_with_that_anchor(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["leaderboard", "--store", store, "--json", "--anchor", "Random 2"])
    (tmp_path / "result.json").write_text(capsys.readouterr().out, encoding="utf-8")

    assert run(["verify", "--store", store, "--document", str(tmp_path / "result.json")]) == 0


@pytest.mark.parametrize(
    ("change", "where"),
    [({"boards": 7}, "`boards`"), ({"anchor": "nobody"}, "`anchor`"), ({"more": 1}, "`more`")],
    ids=["a number", "an anchor that is not there", "something added"],
)
def test_a_changed_document_is_found(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], where: str
) -> None:
    printed = document(store, tmp_path / "result.json", capsys)
    (tmp_path / "result.json").write_text(json.dumps(printed | change), encoding="utf-8")

    assert run(["verify", "--store", store, "--document", str(tmp_path / "result.json")]) == 1

    assert f"{where} in the document: expected " in capsys.readouterr().out


def test_a_commitment_that_was_published_is_checked(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    commitment = Seed.from_text("cli").commitment

    assert run(["verify", "--store", store, "--commitment", commitment]) == 0
    assert "the seed is the one that was committed to" in capsys.readouterr().out
    assert run(["verify", "--store", store, "--commitment", "0" * 64]) == 1
    assert f"the SHA-256 of the seed: expected {'0' * 64}, found {commitment}" in capsys.readouterr().out


def test_an_unfinished_tournament_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "arena.db", SETTINGS, KINDS[:3], stop_after=0)

    assert run(["verify", "--store", str(tmp_path / "arena.db")]) == 0

    assert "not finished: 0 of 2 matches are played" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--store", "nowhere.db"), "nowhere.db does not exist"),
        (("ffff",), "has no tournament 'ffff'"),
        (("--commitment", "c83"), "64 hexadecimal digits"),
        (("--document", "nowhere.json"), "nowhere.json can't be read: No such file or directory; name"),
        (("--document", "text.json"), "text.json can't be read"),
        (("--document", "list.json"), "list.json is no leaderboard"),
        (("ffff", "--document", "other.json"), "is of tournament 0000, not ffff"),
    ],
    ids=[
        "no store",
        "no tournament",
        "a short commitment",
        "no document",
        "no JSON",
        "no leaderboard",
        "two tournaments",
    ],
)
def test_bad_input_is_told_with_exit_code_2(
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"text": "no", "list": "[]", "other": '{"tournament": "0000"}'}
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text)

    assert run(["verify", "--store", store, *arguments]) == 2

    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert "Traceback" not in output.err


def test_verifying_needs_no_grpc(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document(store, tmp_path / "result.json", capsys)
    arguments = ["verify", "--store", store, "--document", str(tmp_path / "result.json")]
    program = f"""
import sys
sys.modules["grpc"] = None
from arena.cli import run
sys.exit(run({arguments!r}))
"""

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60).returncode == 0


@pytest.mark.slow
def test_a_comparison_is_verified_whatever_its_budget_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bots.yaml").write_text(
        'bots:\n  - {name: one, python: "in_process:Random"}\n  - {name: two, python: "in_process:Lowest"}\n'
        '  - {name: three, python: "in_process:Lowest"}\n  - {name: four, python: "in_process:Lowest"}\n'
    )
    store = ["--store", str(tmp_path / "arena.db")]
    compare = ["compare", "one", "two", "--bots", str(tmp_path / "bots.yaml"), "--seed", "7", *store]

    codes = []
    for budget in ("24", "60", "4000"):
        run([*compare, "--budget", budget])
        capsys.readouterr()
        codes.append(run(["verify", *store]))
        assert "is verified" in capsys.readouterr().out

    assert codes == [0, 0, 0]
    with Store.open(tmp_path / "arena.db") as opened:
        assert opened.tournament().finished


@pytest.mark.parametrize(
    ("played", "told"),
    [
        (3, "not finished: 3 of 12 matches are played"),
        (12, "not ended yet, though all 12 matches so far are played: the same command goes on"),
    ],
    ids=["some", "all"],
)
def test_all_matches_are_never_too_few(played: int, told: str) -> None:
    assert unfinished(played, 12) == told
