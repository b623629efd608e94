"""What `arena fairness` and `arena substitute` promise on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from programs import Arena, arena_in

from arena.cli import run
from arena.store import Store

ROOT = Path(__file__).parents[2]

BOTS = """
seed: a test
boards: 96
bots:
  - {name: high, python: "in_process:Highest"}
  - {name: low, python: "in_process:Lowest"}
  - {name: chance, python: "in_process:Random"}
  - {name: chance again, python: "in_process:Random"}
  - {name: a bot with a rather long name, python: "in_process:Highest"}
"""


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    (tmp_path / "bots.yaml").write_text(BOTS)
    (tmp_path / "more.yaml").write_text(BOTS + '  - {name: stand-in, python: "in_process:Random"}\n')
    return arena_in(tmp_path, COLUMNS="80")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the tournament, which each test gets a copy of."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "bots.yaml").write_text(BOTS)
    assert arena_in(folder)("tournament").returncode == 0
    return folder / "arena.db"


@pytest.fixture
def played(arena: Arena, database: Path, tmp_path: Path) -> Arena:
    shutil.copyfile(database, tmp_path / "arena.db")
    return arena


def test_fairness_fits_a_terminal_and_names_what_it_shows(played: Arena) -> None:
    ran = played("fairness")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert max(map(len, ran.stdout.splitlines())) <= 80
    for part in (
        "Seats (every bot took each equally often)",
        "independent deals",
        "Lead by who else",
        "Points with another",
    ):
        assert part in ran.stdout
    assert "a hint, and no proof" in ran.stdout


def test_fairness_as_json_has_everything(played: Arena) -> None:
    document = json.loads(played("fairness", "--json").stdout)

    assert list(document) == ["tournament", "boards", "seats", "seat_surplus", "worth", "contexts", "influences"]
    assert document["boards"] == 120
    assert len(document["seats"]) == 4
    assert len(document["contexts"]) == 10 * 3
    assert len(document["influences"]) == 5 * 4
    assert set(document["worth"]) == {"tables", "gain", "effective"}


@pytest.mark.slow
def test_four_bots_at_four_seats_say_nothing_of_pairs(arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "bots.yaml").write_text(BOTS.rsplit("\n", 2)[0] + "\n")
    arena("tournament", "--boards", "24")

    assert "can't be told: too few boards, or" in arena("fairness").stdout


@pytest.mark.slow
def test_a_stand_in_plays_the_same_deals_as_a_tournament_of_its_own(played: Arena, tmp_path: Path) -> None:
    ran = played("substitute", "low", "stand-in", "--bots", "more.yaml", "--json")

    document = json.loads(ran.stdout)
    with Store.open(tmp_path / "arena.db") as store:
        before, after = store.tournaments()
        replayed = store.matches(after.id, done=True)
        assert [match.number for match in replayed] == [
            match.number for match in store.matches(before.id) if "low" in match.line_up
        ]
        for match in replayed[:2]:
            originals = store.records(before.id, match.number)
            for (_, one), (_, other) in zip(originals, store.records(after.id, match.number), strict=True):
                assert one.hands == other.hands
                assert [bot.replace("low", "stand-in") for bot in one.bots] == list(other.bots)
    assert (document["tournament"], document["of"]) == (after.id, before.id)
    assert {change["bot"] for change in document["changes"]} == {entry.name for entry in before.entries} - {"low"}
    assert after.finished is not None
    assert played("verify").returncode == 0


@pytest.mark.slow
def test_an_unfinished_tournament_is_not_played_again(arena: Arena) -> None:
    arena("compare", "high", "low", "--elo1", "1", "--budget", "48")

    ran = arena("substitute", "low", "chance")

    assert ran.returncode == 2
    assert "is not finished: play it to its end first" in ran.stderr


@pytest.mark.slow
def test_the_same_substitution_is_shown_again_in_a_table(played: Arena, tmp_path: Path) -> None:
    first = played("substitute", "low", "stand-in", "--bots", "more.yaml")
    again = played("substitute", "low", "stand-in", "--bots", "more.yaml")

    assert first.returncode == again.returncode == 0
    assert first.stdout == again.stdout
    assert first.stdout.startswith("stand-in for low in tournament ")
    assert max(map(len, first.stdout.splitlines())) <= 80
    assert "beyond others" in first.stdout
    with Store.open(tmp_path / "arena.db") as store:
        assert len(store.tournaments()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("substitute", "lwo", "stand-in", "--bots", "more.yaml"), "no bot lwo played in tournament"),
        (("substitute", "low", "nobody"), "bots.yaml has no bot nobody; it has high, low"),
        (("substitute", "low", "low"), "low can't stand in for itself: name another bot of bots.yaml"),
        (("substitute", "low", "high", "--tournament", "xyz"), "has no tournament 'xyz'"),
        (("fairness", "xyz"), "has no tournament 'xyz'"),
    ],
)
def test_what_is_not_there_is_told(
    played: Arena,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    del played
    monkeypatch.chdir(tmp_path)

    assert run(arguments) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert message in " ".join(told.err.split())
