"""The recorded decisions that bots in other languages are compared with are fresh, and as many and various as is said."""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from arena import wire
from arena.cards import CARD_OF_NUMBER
from arena.game import Phase
from arena.v1 import bot_pb2

VECTORS = Path(__file__).parent.parent / "sample_bots" / "vectors"
FILE = VECTORS / "careful.jsonl.gz"


def load_generator() -> ModuleType:
    """Return the script that writes the file, as a module."""
    spec = importlib.util.spec_from_file_location("generate_vectors", VECTORS / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def written() -> list[str]:
    """The lines of the file."""
    return gzip.decompress(FILE.read_bytes()).decode().splitlines()


@pytest.fixture(scope="module")
def vectors(written: list[str]) -> list[dict[str, Any]]:
    """What the lines say."""
    return [json.loads(line) for line in written]


def test_the_generator_writes_exactly_these_lines(written: list[str]) -> None:
    assert list(load_generator().lines()) == written


@pytest.mark.slow
def test_careful_makes_these_choices_from_what_is_on_the_wire(vectors: list[dict[str, Any]]) -> None:
    generator = load_generator()
    careful = generator.load_careful()
    asked = bot_pb2.DecideRequest(decisions=[ParseDict(each["decision"], bot_pb2.Decision()) for each in vectors])

    _request_id, _time_limit, decisions = wire.decode_request(asked.SerializeToString())

    assert [generator.answer(careful, decision) for decision in decisions] == [
        [CARD_OF_NUMBER[number] for number in each["choice"]["cards"]] for each in vectors
    ]


def test_every_field_is_printed_in_its_order(vectors: list[dict[str, Any]]) -> None:
    names = [field.name for field in bot_pb2.Decision.DESCRIPTOR.fields]

    for each in vectors:
        first = each["decision"]["number"] == 0
        assert list(each["decision"]) == [name for name in names if not (first and name == "last_answer")]
        assert list(each["decision"]["game"]) == [field.name for field in bot_pb2.Game.DESCRIPTOR.fields]


def test_there_are_enough_of_every_game_format_and_phase(vectors: list[dict[str, Any]]) -> None:
    count: Counter[tuple[object, ...]] = Counter()
    for each in vectors:
        decision = each["decision"]
        game = decision["game"]
        count[game["name"], game["players"], len(set(game["sides"])), game["placed"], decision["phase"]] += 1

    assert len(vectors) >= 6000
    assert len(count) == 9 * 2 * 2
    assert all(number >= (15 if kind[-1] == Phase.PASSING else 250) for kind, number in count.items())
    assert {each["decision"]["pass_direction"] for each in vectors} == {1, 2, 3, 4}


def test_the_file_is_small_and_described(vectors: list[dict[str, Any]]) -> None:
    assert FILE.stat().st_size < 1 << 20
    assert f"{len(vectors):,} decisions" in (VECTORS / "README.md").read_text(encoding="utf-8")
