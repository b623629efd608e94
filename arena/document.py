"""YAML read as values that know their place, so that what is wrong with one can be said as `file:line:column: what`.

The meanings are those of the YAML 1.2 core schema (`no` is a word, not false). Reading is bounded in size, depth and number of
values, and takes no aliases and tags, so that no text can make it slow or large.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from arena.errors import BadConfig

MAX_BYTES = 1 << 20
"""The largest text that is read."""

MAX_DEPTH = 12
"""How deep lists and mappings may be nested."""

MAX_VALUES = 50_000
"""How many values a text may have."""

Scalar = None | bool | int | float | str


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something was given: a line and a column of a file, from 1, or an option of the command line."""

    line: int = 0
    column: int = 0
    option: str = ""

    def within(self, file: str) -> str:
        """Return it as text, such as `bots.yaml:7:16` or `--players`."""
        return self.option or f"{file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its place."""

    value: Scalar | list[Node] | dict[str, Node]
    place: Place
    text: str = ""
    """A single value as it was written."""
    key: Place | None = None
    """Where its key stands, if it has one."""


class Wrong(ValueError):
    """Something is wrong with a value: what, and how to mend it. Without a place it is meant where the value stands."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class Problems:
    """What was found wrong with a text, in any order."""

    def __init__(self) -> None:
        self._found: set[tuple[Place, str]] = set()

    def add(self, place: Place, message: str) -> None:
        """Note a problem; the same one is noted once."""
        self._found.add((place, message))

    def at(self, place: Place) -> bool:
        """Whether there is one at this place."""
        return any(place == other for other, _ in self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def lines(self, file: str) -> tuple[str, ...]:
        """Return all problems by place, one text each."""
        return tuple(f"{place.within(file)}: {message}" for place, message in sorted(self._found))


_NUMBERS = re.compile(
    r"(?P<int>[-+]?[0-9]{1,18})|(?P<oct>0o[0-7]{1,20})|(?P<hex>0x[0-9a-fA-F]{1,16})"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def read_scalar(text: str) -> Scalar:
    """Return what a plain text means in YAML 1.2.

    >>> [read_scalar(text) for text in ("no", "true", "12", "1e3", "~", "2m")]
    ['no', True, 12, 1000.0, None, '2m']
    """
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBERS.fullmatch(text)
    if number is None:
        return text
    if number["float"]:
        return float(text.lower().replace(".", "") if text[-1].isalpha() else text)
    return int(text, 0) if number["oct"] or number["hex"] else int(text)


def read_file(path: Path) -> str:
    """Return the text of a YAML file; raise BadConfig where it can't be read or is none."""
    try:
        with path.open("rb") as file:
            return _decode(file.read(MAX_BYTES + 1))
    except (OSError, Wrong) as error:
        reason = error.message if isinstance(error, Wrong) else f"this can't be read: {_reason(error)}"
        if isinstance(error, FileNotFoundError):
            reason += misnamed(path)
        raise BadConfig((f"{path}: {reason}",)) from None


def read_document(text: str, problems: Problems) -> Node | None:
    """Return the one value of a YAML text, None where it can't be read or holds nothing; note in `problems` what is wrong."""
    try:
        if len(text) > MAX_BYTES:
            raise Wrong(f"this is larger than {MAX_BYTES >> 20} MiB; leave something out")
        return _Reader(text, problems).read()
    except Wrong as wrong:
        problems.add(wrong.place or Place(1, 1), wrong.message)
    except MarkedYAMLError as error:
        problems.add(_place(error.problem_mark or error.context_mark), _explain(error))
    except Exception as error:  # the parser lets errors of many kinds through for broken texts
        problems.add(Place(1, 1), f"this can't be read as YAML: {' '.join(str(error).split())}")
    return None


def _place(mark: StringMark | None) -> Place:
    return Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)


def _explain(error: MarkedYAMLError) -> str:
    problem = error.problem or error.context or "it is broken"
    if "'\\t'" in problem:
        return "a tab can't stand here; indent with spaces"
    if "mapping values are not allowed" in problem:
        return "a colon with a space can't stand here; check the indentation, or put the text in quotes"
    return f"this is not YAML: {problem}; check indentation, brackets and quotes near here"


class _Reader:
    """Makes nodes of the parser's events."""

    def __init__(self, text: str, problems: Problems) -> None:
        self._problems = problems
        self._values = 0
        self._events: Iterator[Any] = iter(YAML(typ="safe", pure=True).parse(text))

    def read(self) -> Node | None:
        next(self._events)
        if isinstance(next(self._events), StreamEndEvent):
            return None
        root = self._node(next(self._events), 0)
        next(self._events)
        after = next(self._events)
        if isinstance(after, DocumentStartEvent):
            raise Wrong("a second document begins here; keep one and take out the `---`", _place(after.start_mark))
        return root

    def _node(self, event: Any, depth: int) -> Node:
        place = _place(event.start_mark)
        self._values += 1
        self._refuse_excess(event, depth, place)
        if isinstance(event, SequenceStartEvent):
            return Node(list(self._items(depth)), place)
        if isinstance(event, MappingStartEvent):
            return Node(self._mapping(depth), place)
        text = _plain_text(event.value, place)
        return Node(read_scalar(text) if event.implicit[0] else text, place, text)

    def _refuse_excess(self, event: Any, depth: int, place: Place) -> None:
        if self._values > MAX_VALUES:
            raise Wrong(f"there are more than {MAX_VALUES} values; leave some out", place)
        if depth > MAX_DEPTH:
            raise Wrong(f"this is nested more than {MAX_DEPTH} deep; nothing here needs that", place)
        if isinstance(event, AliasEvent):
            raise Wrong(f"aliases such as *{event.anchor} are not taken; write the value out", place)
        if event.tag is not None:
            raise Wrong(f"tags such as {event.tag} are not taken; leave it out, and put text in quotes", place)

    def _items(self, depth: int) -> Iterator[Node]:
        while not isinstance(event := next(self._events), SequenceEndEvent):
            yield self._node(event, depth + 1)

    def _mapping(self, depth: int) -> dict[str, Node]:
        fields: dict[str, Node] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            place = _place(event.start_mark)
            if not isinstance(event, ScalarEvent):
                raise Wrong("a key must be a single word", place)
            key = self._node(event, depth).text
            value = self._node(next(self._events), depth + 1)
            if key in fields:
                first = fields[key].key or place
                self._problems.add(place, f"`{key}` is given twice, first in line {first.line}; keep one of them")
            else:
                missing = value.value is None and not value.text
                fields[key] = Node(value.value, place if missing else value.place, value.text, key=place)
        return fields


def _plain_text(text: str, place: Place) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise Wrong("this text holds an escape that stands for no character; take it out", place)
    return text


def misnamed(path: Path) -> str:
    """Name the file beside a missing one that is meant to be it, and what to do; return nothing where there is none."""
    stem = path.name.partition(".")[0].casefold()
    like = re.compile(rf"{re.escape(stem)}[ _-]?\.ya?ml(\.(txt|ya?ml))?", re.IGNORECASE)
    try:
        found = sorted(name for name in os.listdir(path.parent) if like.fullmatch(name) and name != path.name)  # noqa: PTH208
    except OSError:
        return ""
    return f"; {found[0]!r} is there: rename it to {path.name}" if found else ""


def _reason(error: OSError) -> str:
    mends = {
        FileNotFoundError: "there is no such file; correct the path, or write one",
        IsADirectoryError: "it is a folder; name the file in it",
        PermissionError: "you may not read it; change its permissions",
    }
    return mends.get(type(error), error.strerror or str(error))


def _decode(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise Wrong(f"this is larger than {MAX_BYTES >> 20} MiB; it is no file of settings")
    if b"\0" in content:
        raise Wrong("this is no text in UTF-8, since it holds NUL bytes; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Wrong(f"this is no text in UTF-8 (line {line}); save it as UTF-8") from None
