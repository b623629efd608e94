"""Names that look alike are one name, and what nobody sees is in none."""

from __future__ import annotations

import pytest

from arena.document import Wrong
from arena.entries import check_name
from arena.likeness import alike

LIKE_ALPHA = [
    "aIpha",
    "a1pha",
    "ALPHA",
    "\u0430lpha",
    "\u03b1lpha",
    "\u0391LPHA",
    "ａｌｐｈａ",
    "al\u0440ha",
    "𝐚𝐥𝐩𝐡𝐚",
    "aⅼpha",
]


@pytest.mark.parametrize("name", LIKE_ALPHA)
def test_names_that_look_alike_are_taken_for_one_another(name: str) -> None:
    assert alike(name, "alpha")
    assert alike("alpha", name)


@pytest.mark.parametrize(
    ("name", "other"), [("barn", "bam"), ("bot O", "bot 0"), ("a  b", "a b"), ("PI", "pi"), ("é", "e\u0301")]
)
def test_so_are_letters_that_run_together_and_other_spellings(name: str, other: str) -> None:
    assert alike(name, other)


@pytest.mark.parametrize("other", ["alphas", "alfa", "beta", "alpha 2", "álpha"])
def test_other_names_are_others(other: str) -> None:
    assert not alike("alpha", other)


@pytest.mark.parametrize("letter", ["\u3164", "\u2800", "\ufe0f", "\u115f", "\uffa0", "\u200b", "\u034f", "\U000e0041"])
def test_invisible_letters_are_in_no_name(letter: str) -> None:
    for name in (f"alpha{letter}", f"{letter}alpha", f"al{letter}pha"):
        with pytest.raises(Wrong, match=f"take out U.{ord(letter):04X}"):
            check_name(name)


@pytest.mark.parametrize("name", ["Zoë", "Бот", "日本のボット", "नमस्ते", "bot-7_b (new)"])
def test_names_of_all_languages_remain(name: str) -> None:
    assert check_name(name) == name
