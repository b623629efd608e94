"""Every game at every number of players plays as it was recorded: see tests/playthrough.py."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playthrough import GOLDEN, all_tables, counts, playthrough, table_name

from arena.cards import parse_cards
from arena.game import Game
from arena.games import game_names

TABLES = list(all_tables())
every_table = pytest.mark.parametrize("game", TABLES, ids=list(map(table_name, TABLES)))


def recorded(game: Game) -> dict[str, Any]:
    path = GOLDEN / f"{table_name(game)}.json"
    if not path.exists():
        pytest.fail(f"nothing is recorded for {table_name(game)}: run `python tests/playthrough.py`")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_every_registered_game_is_recorded() -> None:
    assert {game.name for game in TABLES} == set(game_names())
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(map(table_name, TABLES))


@every_table
def test_a_game_plays_as_recorded(game: Game) -> None:
    golden = recorded(game)

    assert {"counts": golden["counts"], **playthrough(game)} == golden


@every_table
def test_positions_and_endings_are_as_many_as_recorded(game: Game) -> None:
    assert counts(game) == recorded(game)["counts"]


@every_table
def test_a_recorded_deal_can_be_played_from_its_record_alone(game: Game) -> None:
    for row in recorded(game)["deals"]:
        deal = game.start(list(map(parse_cards, row["hands"])), row["number"])
        for seat, codes in enumerate(row["passes"]):
            if codes:
                deal.choose(seat, parse_cards(codes))
        for entry in row["plays"]:
            seat, card = entry.split()[0].split(":")
            assert deal.turn == int(seat)
            deal.choose(int(seat), parse_cards(card))
        assert list(deal.scores()) == row["scores"]
