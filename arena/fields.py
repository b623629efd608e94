"""Typed reading of a document's nodes: each reader returns a value, or raises `Wrong` with what is wrong and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar

from arena.document import Node, Place, Problems, Wrong

T = TypeVar("T")

LONGEST: Final = 86_400.0
"""The longest time that a setting may have, in seconds: a day."""

LARGEST: Final = 10**13
"""The most memory that a setting may have, in bytes."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_BYTES: Final = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(MB|GB|TB)")
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ms|s|m)")


class Fields:
    """One mapping, whose values are taken key by key; unknown keys are noted as problems at once.

    `later` has the keys that a later version will know, each with a sentence on what holds until then.
    """

    def __init__(
        self, node: Node, problems: Problems, known: Iterable[str], later: Mapping[str, str] | None = None
    ) -> None:
        self._node = node
        self._problems = problems
        self._fields = node.value if isinstance(node.value, dict) else {}
        if not isinstance(node.value, dict):
            problems.add(node.place, f"here keys with values are expected ({', '.join(known)}), not {describe(node)}")
        for key, field in self._fields.items():
            if later and key in later:
                problems.add(field.key or field.place, f"`{key}` is not supported yet: {later[key]}")
            elif key not in known:
                problems.add(field.key or field.place, f"`{key}` is no known key; {suggest(key, known)}")

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    def place(self, key: str) -> Place:
        """Return where a key's value stands; without it, where the mapping begins."""
        return self._fields[key].place if key in self._fields else self._node.place

    def take(self, key: str, read: Callable[[Node], T], default: T) -> T:
        """Return the value of a key; the default where it isn't given, or is wrong, which is then noted."""
        if key not in self._fields:
            return default
        node = self._fields[key]
        try:
            return read(node)
        except Wrong as wrong:
            self._problems.add(wrong.place or node.place, wrong.message)
            return default


def suggest(word: str, known: Iterable[str]) -> str:
    """Say which known word was probably meant, or else which there are."""
    words = list(known)
    longer = [each for each in words if word and each.startswith(word)]
    nearest = longer or get_close_matches(word, words, 1, 0.6)
    return f"did you mean `{nearest[0]}`?" if len(nearest) == 1 else f"choose one of {', '.join(longer or words)}"


def describe(node: Node) -> str:
    """Name what a node holds, for messages."""
    if isinstance(node.value, dict):
        return "keys with values"
    if isinstance(node.value, list):
        return "a list"
    if node.value is None:
        return "nothing"
    return repr(node.text if len(node.text) <= 40 else f"{node.text[:39]}…")


def truth(node: Node) -> bool:
    """Read true or false."""
    if isinstance(node.value, bool):
        return node.value
    raise Wrong(f"write true or false, not {describe(node)}")


def whole_number(node: Node, least: int, most: int) -> int:
    """Read a whole number from `least` to `most`."""
    if isinstance(node.value, int) and not isinstance(node.value, bool) and least <= node.value <= most:
        return node.value
    raise Wrong(f"write a whole number from {least} to {most}, not {describe(node)}")


def seconds(node: Node, least: float = 0.0) -> float:
    """Read a time such as 1s, 500ms or 2m, or a number of seconds, of at least `least` seconds and at most a day."""
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        time = float(node.value)
    elif written := _DURATION.fullmatch(node.text):
        time = float(written[1]) * _UNITS[written[2]]
    else:
        raise Wrong(f"write a time such as 1s, 500ms or 2m, not {describe(node)}")
    if least <= time <= LONGEST:
        return time
    raise Wrong(f"a time is from {least:g} to {LONGEST:g} seconds here, not {node.text}")


def size(node: Node, least: int) -> int:
    """Read an amount of memory such as 512MB or 1GB, or a number of bytes, of at least `least` and at most 10 TB."""
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        number = node.value
    elif written := _SIZE.fullmatch(node.text):
        number = round(float(written[1]) * _BYTES[written[2]])
    else:
        raise Wrong(f"write an amount of memory such as 512MB or 1GB, not {describe(node)}")
    if least <= number <= LARGEST:
        return number
    raise Wrong(f"an amount of memory is from {least / 1e6:g} MB to {LARGEST / 1e12:g} TB here, not {node.text}")


def word(node: Node, what: str) -> str:
    """Read a text that is not empty. A number is taken as it was written."""
    if node.text and isinstance(node.value, int | float | str) and not isinstance(node.value, bool):
        return node.text
    raise Wrong(f"write {what}, not {describe(node)}")


def one_of(node: Node, known: Mapping[str, T], later: Mapping[str, str] | None = None) -> T:
    """Read one of these words. `later` has the words that a later version will know, with what holds until then."""
    if node.text in known:
        return known[node.text]
    if later and node.text in later:
        raise Wrong(f"{node.text!r} is not supported yet: {later[node.text]}")
    raise Wrong(f"write one of {', '.join(known)}, not {describe(node)}")
