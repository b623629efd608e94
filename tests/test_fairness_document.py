"""What docs/fairness.md says can be checked: its numbers, its program, and the tests that it names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arena.cards import format_cards
from arena.dealing import Seed, Stream, opaque_id, random_word
from arena.games import find_game
from arena.match import deal_hands

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "fairness.md").read_text(encoding="utf-8")


def block(name: str) -> str:
    """Return the text of a fenced block of the document."""
    (found,) = re.findall(rf"^```{re.escape(name)}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert isinstance(found, str)
    return found


VECTORS = dict(re.split(r" {2,}", line) for line in block("vectors").splitlines())
SEED = Seed.from_text(VECTORS["seed as text"])


def numbers(purpose: str) -> tuple[str, tuple[int, ...]]:
    """Return a purpose as it is given to a stream."""
    name, *rest = purpose.split("/")
    return name, tuple(map(int, rest))


def test_the_seed_and_its_commitment_are_as_written() -> None:
    assert SEED.key.hex() == VECTORS["seed"]
    assert SEED.commitment == VECTORS["commitment"]


def test_words_and_draws_are_as_written() -> None:
    name, rest = numbers("deal/1/0/1")
    words, draws = Stream(SEED.key, name, *rest), Stream(SEED.key, name, *rest)

    assert " ".join(f"{words.next_word():08x}" for _ in range(8)) == VECTORS["words of deal/1/0/1"]
    assert " ".join(str(draws.below(n)) for n in range(52, 44, -1)) == VECTORS["draws of deal/1/0/1"]


def test_numbers_for_bots_and_table_ids_are_as_written() -> None:
    name, rest = numbers("bot/1/0/0/0/0")

    assert str(random_word(SEED.key, name, *rest)) == VECTORS["number of bot/1/0/0/0/0"]
    assert opaque_id(SEED.key, "table", 1, 0, 0) == VECTORS["id of table/1/0/0"]


@pytest.mark.parametrize("game", ["hearts-classic", "heartswitch"])
def test_the_deals_are_as_written(game: str) -> None:
    hands = deal_hands(SEED.key, find_game(game), match=1, attempt=0, table=None, number=1)

    assert list(map(format_cards, hands)) == block(f"{game} 4").splitlines()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("seed", ["7", "é", "5A" * 32])
@pytest.mark.parametrize(
    ("game", "players", "table"), [("hearts-classic", 4, None), *(("heartswitch", n, 2) for n in (3, 4, 5, 6))]
)
def test_the_program_in_the_document_deals_the_same(
    tmp_path: Path, seed: str, game: str, players: int, table: int | None
) -> None:
    program = tmp_path / "deal.js"
    program.write_text(block("js"), encoding="utf-8")
    key = Seed.from_text(seed)
    purpose = "deal/12/1/3" + ("" if table is None else f"/{table}")

    done = subprocess.run(
        ["node", program, seed, game, str(players), purpose],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )

    hands = deal_hands(key.key, find_game(game, players=players), match=12, attempt=1, table=table, number=3)
    assert done.stdout.splitlines() == [key.commitment, *map(format_cards, hands)]


def test_the_program_is_short_and_needs_nothing() -> None:
    program = block("js")

    assert len(program.splitlines()) <= 30
    assert re.findall(r"require\((.*?)\)", program) == ['"node:crypto"']


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", TEXT)
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file() or f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]

    assert len(named) > 80
    assert missing == []


def test_every_kind_of_mishap_has_a_test() -> None:
    tables = TEXT.partition("## What goes wrong elsewhere")[2].partition("### What comes later")[0]
    rows = [line.split("|")[1:-1] for line in tables.splitlines() if line.startswith("| ")]
    kinds = [row for row in rows if row[0].strip() != "what goes wrong"]

    assert len(kinds) > 50
    assert [row[0] for row in kinds if len(row) != 3 or "::test_" not in row[2]] == []
