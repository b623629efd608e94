"""Names that look alike: invisible letters, and the skeletons of Unicode Technical Standard 39, section 4.

Two names have one skeleton where a reader can't tell them apart: `aIpha` and `alpha`, Latin and Cyrillic, `rn` and `m`. Case and
composition aside as well, so that neither goes around the other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

_INVISIBLE: Final = (
    *(range(0xAD, 0xAE), range(0x34F, 0x350), range(0x61C, 0x61D), range(0x115F, 0x1161), range(0x17B4, 0x17B6)),
    *(
        range(0x180B, 0x1810),
        range(0x200B, 0x2010),
        range(0x202A, 0x202F),
        range(0x2060, 0x2070),
        range(0x2800, 0x2801),
    ),
    *(
        range(0x3164, 0x3165),
        range(0xFE00, 0xFE10),
        range(0xFEFF, 0xFF00),
        range(0xFFA0, 0xFFA1),
        range(0xFFF0, 0xFFF9),
    ),
    *(range(0x1BCA0, 0x1BCA4), range(0x1D173, 0x1D17B), range(0xE0000, 0xE1000)),
)
"""Unicode's property Default_Ignorable_Code_Point, and the blank of Braille."""


def name_key(name: str) -> str:
    """Return what two names have in common that can't both be taken: they differ in case or composition only."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def hidden(text: str) -> str | None:
    """Return the first character of a text that nobody sees, None where all can be seen."""
    return next((each for each in text if not each.isprintable() or any(ord(each) in few for few in _INVISIBLE)), None)


def alike(name: str, other: str) -> bool:
    """Return whether two names are one, or can be taken for one another.

    >>> alike("alpha", "aIpha"), alike("alpha", "alphas")
    (True, False)
    """
    return name_key(name) == name_key(other) or skeleton(name) == skeleton(other)


def resembled(name: str, names: Iterable[str]) -> str | None:
    """Return the first of some names that a name can be taken for, None where there is none."""
    return next((other for other in names if alike(name, other)), None)


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """Return what all names that look like this one have in common; it is not for showing.

    >>> skeleton("Ａlрha"), skeleton("barn")
    ('alpha', 'barn')
    """
    return _prototypes(_prototypes(unicodedata.normalize("NFKC", " ".join(name.split()))).casefold())


def _prototypes(text: str) -> str:
    """Return a text with each character replaced by the one that stands for all that look like it."""
    table = _table()
    mapped = "".join(table.get(character, character) for character in unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFD", mapped)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, str]:
    """Return the prototypes of the characters that have one.

    The library lists both ways: with a character its prototype, with a prototype all whose prototype it is.
    """
    from confusable_homoglyphs.confusables import confusables_data

    table = {}
    for character, listed in confusables_data.items():
        prototype = listed[0]["c"]
        if (
            len(character) == 1
            and len(listed) == 1
            and _rank(prototype, confusables_data) > _rank(character, confusables_data)
        ):
            table[character] = prototype
    return table


def _rank(text: str, data: Mapping[str, list[dict[str, str]]]) -> tuple[int, int, int]:
    """Return how well a text stands for those that look like it: the more there are of them, the better."""
    return len(data.get(text, ())), len(text), -ord(text[0])
