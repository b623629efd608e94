"""The JSON documents of results: they are what their published schemas say, and the docs explain every field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from small_tournaments import KINDS, SETTINGS, play

from arena.cli import run
from arena.report import stored_document
from arena.settings import Comparison, Format, ScheduleKind, Settings, Settling
from arena.store import Store
from arena.verdict import plan_of
from leaderboard.document import SCHEMA
from leaderboard.pairs import Pair
from leaderboard.standings import Row

ROOT = Path(__file__).parents[1]
RESULT, COMPARISON = (
    json.loads((ROOT / "arena" / f"{name}.schema.json").read_text(encoding="utf-8"))
    for name in ("result", "comparison")
)
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")

ADAPTIVE = Settings(schedule=ScheduleKind.ADAPTIVE, seed="a test")
QUESTION = Comparison("Highest 1", elo0=0.0, elo1=1.0, alpha=0.05, beta=0.05)
Document = dict[str, Any]


def check(document: Mapping[str, Any], schema: Mapping[str, Any] = RESULT) -> None:
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)


def played(
    path: Path, settings: Settings, kinds: tuple[str, ...] = KINDS, *, stop_after: int | None = None
) -> Document:
    """Play a tournament and return its document, after a look at whether it is one."""
    play(path, settings, kinds, stop_after=stop_after, plan_of=partial(plan_of, budget=60))
    with Store.open(path) as store:
        document = stored_document(store, store.tournament())
    check(document)
    return cast("Document", json.loads(json.dumps(document, allow_nan=False)))


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every description of an object whose fields are named."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for inner in schema.values():
            yield from objects(inner)


@pytest.mark.parametrize("schema", [RESULT, COMPARISON], ids=["result", "comparison"])
def test_a_schema_leaves_nothing_open_and_the_docs_explain_all(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == SCHEMA
    for one in objects(schema):
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
        for name, field in one["properties"].items():
            assert f"| `{name}` | {field['description']} |" in PAGE


def test_the_docs_explain_nothing_else() -> None:
    known = {name for schema in (RESULT, COMPARISON) for one in objects(schema) for name in one["properties"]}

    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == known


@pytest.mark.parametrize(("name", "kind"), [("row", Row), ("pair", Pair)])
def test_rows_and_pairs_have_the_fields_of_the_schema(name: str, kind: type[Row | Pair]) -> None:
    assert list(RESULT["$defs"][name]["properties"]) == [field.name for field in fields(kind)]


def test_a_result_names_its_conditions_and_all_options(tmp_path: Path) -> None:
    document = played(tmp_path / "arena.db", replace(SETTINGS, options={"moon": 26}, fill=True))

    assert document["schema"] == SCHEMA
    assert document["schedule"] == {
        "kind": "round-robin",
        "boards": 24,
        "fill": True,
        "gauntlet": None,
        "until_settled": None,
        "tie_margin": None,
        "budget": None,
        "replayed": None,
    }
    assert document["options"]["moon"] == 26 and document["options"]["target"] == 100
    assert (document["finished"], document["matches"], document["matches_played"]) == (True, 6, 6)
    assert (document["settled"], document["open"], document["ties"]) == (None, [], [])
    assert len(document["pairs"]) == 6
    assert {pair["boards"] for pair in document["pairs"]} == {24}


@pytest.mark.parametrize(
    ("settings", "bots", "kind", "boards"),
    [
        (Settings(boards=1), 6, "balanced", 1),
        (Settings(boards=4, schedule=ScheduleKind.ROUND_ROBIN), 5, "round-robin", 4),
        (Settings(boards=4, schedule=ScheduleKind.GAUNTLET, gauntlet="Highest 1"), 5, "gauntlet", 4),
        (Settings(boards=1, format=Format.GAME, options={"deals": 2}), 4, "round-robin", 1),
        (Settings(boards=4, schedule=ScheduleKind.BALANCED), 4, "round-robin", 4),
    ],
    ids=["usual with many", "round-robin", "gauntlet", "whole games", "all at one table"],
)
def test_a_result_names_the_schedule_that_was_played(
    tmp_path: Path, settings: Settings, bots: int, kind: str, boards: int
) -> None:
    kinds = ("Lowest", "Highest", "Random", "Random", "Lowest", "Highest")[:bots]

    document = played(tmp_path / "arena.db", replace(settings, seed="s"), kinds, stop_after=1)

    assert (document["schedule"]["kind"], document["schedule"]["boards"]) == (kind, boards)
    assert document["schedule"]["gauntlet"] == (settings.gauntlet or None)


def test_an_order_that_is_known_is_said_to_be_settled_with_its_ties(tmp_path: Path) -> None:
    settings = replace(ADAPTIVE, settling=Settling(top=3, tie_margin=1.5, budget=400))

    document = played(tmp_path / "arena.db", settings, ("Highest", "Highest", "Lowest", "Lowest"))

    assert (document["settled"], document["open"]) == (True, [])
    assert document["ties"] and all(
        {bot.split()[0] for bot in pair} in ({"Highest"}, {"Lowest"}) for pair in document["ties"]
    )
    assert "the order of the top 3 is known" in document["notes"][0]
    assert document["schedule"]["kind"] == "adaptive" and document["schedule"]["until_settled"] == 3


def test_an_order_that_is_open_names_the_open_comparisons(tmp_path: Path) -> None:
    settings = replace(ADAPTIVE, settling=Settling(top=2, tie_margin=0.0, budget=40))

    document = played(tmp_path / "arena.db", settings, ("Highest", "Highest", "Lowest", "Lowest"))

    assert document["finished"] is True and document["settled"] is False
    assert ["Highest 0", "Highest 1"] in [sorted(pair) for pair in document["open"]]
    assert "the order of the top 2 is open" in document["notes"][0]


def test_who_has_not_played_within_the_budget_leaves_the_order_open(tmp_path: Path) -> None:
    settings = replace(ADAPTIVE, settling=Settling(top=1, tie_margin=50.0, budget=4))

    document = played(tmp_path / "arena.db", settings, ("Highest", "Lowest") * 3)

    unplayed = [row["bot"] for row in document["standings"] if not row["boards"]]
    assert unplayed and document["settled"] is False
    assert set(unplayed) <= {other for _, other in document["open"]}


def test_an_undecided_comparison_is_open_on_the_leaderboard_too(tmp_path: Path) -> None:
    document = played(tmp_path / "arena.db", replace(SETTINGS, boards=None, comparison=QUESTION), ("Lowest", "Highest"))

    assert (document["settled"], document["open"]) == (False, [["Highest 1", "Lowest 0"]])
    assert document["schedule"]["kind"] == "comparison" and document["schedule"]["boards"] is None
    assert document["notes"][0].startswith("Undecided: after ")


def test_a_tournament_that_has_just_begun_has_a_document(tmp_path: Path) -> None:
    document = played(tmp_path / "arena.db", replace(SETTINGS, settling=None), stop_after=0)

    assert (document["finished"], document["matches_played"], document["boards"]) == (False, 0, 0)
    assert [row["bot"] for row in document["standings"]] == sorted(f"{kind} {i}" for i, kind in enumerate(KINDS))


def test_disqualified_bots_fit_the_schema_too(tmp_path: Path) -> None:
    document = played(
        tmp_path / "arena.db",
        replace(SETTINGS, boards=48, format=Format.GAME, options={"deals": 1}),
        ("Lowest", "Highest", "Random", "Cheat", "Random"),
    )

    assert [row["bot"] for row in document["disqualified"]] == ["Cheat 3"]
    assert sum(row["elo"] for row in document["standings"]) / 4 == pytest.approx(1500, abs=0.01)


BOTS = """
seed: a test
bots:
  - {name: a, python: "in_process:Highest"}
  - {name: b, python: "in_process:Highest"}
  - {name: c, python: "in_process:Lowest"}
  - {name: d, python: "in_process:Lowest"}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bots.yaml").write_text(BOTS)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_an_open_order_has_exit_code_4_and_is_told_wherever_it_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tournament", "--until-settled", "2", "--tie-margin", "0", "--budget"]

    assert run([*command, "40", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert run([*command, "40"]) == 4
    again = capsys.readouterr().out
    assert run(["leaderboard"]) == 0
    looked = capsys.readouterr().out

    check(document)
    assert document["settled"] is False and document["schedule"]["budget"] == 40
    assert "the order of the top 2 is open" in " ".join(again.split())
    assert looked == again


@pytest.mark.usefixtures("here")
def test_a_settled_order_has_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tournament", "--until-settled", "1", "--tie-margin", "5", "--budget", "400", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settled"] is True


@pytest.mark.usefixtures("here")
def test_a_comparison_s_document_is_what_its_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "a", "c", "--elo1", "1", "--budget", "50", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)

    check(document, COMPARISON)
    assert document["stronger"] is None and document["options"]["target"] == 100


@pytest.mark.usefixtures("here")
def test_pairs_are_shown_as_a_matrix_or_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tournament", "--boards", "24"]) == 0
    capsys.readouterr()

    assert run(["leaderboard", "--pairs"]) == 0
    matrix = capsys.readouterr().out
    assert run(["leaderboard", "--pairs", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert "Chance in % that the bot of the row is stronger than that of the column." in matrix
    assert lines[0] == ",".join(field.name for field in fields(Pair))
    assert len(lines) == 7
