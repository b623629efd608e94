"""A difference: something kept that is not what it must be, with its place; and how rows and documents are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import zip_longest
from typing import Any, TypeVar, cast

from arena.errors import ArenaError

Kept = TypeVar("Kept")
"""A frozen dataclass: one row."""


class Difference(ArenaError):
    """Something kept that is not what it must be: what and where it is, what is expected there, and what is found.

    `match`, `table` and `deal` are None where it belongs to none, or where that is not known.
    """

    def __init__(
        self,
        what: str,
        expected: object,
        found: object,
        *,
        match: int | None = None,
        table: int | None = None,
        deal: int | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.expected = str(expected)
        self.found = str(found)
        self.match = match
        self.table = table
        self.deal = deal

    @property
    def where(self) -> str:
        """The place in words, such as "match 3, table 0, deal 2"; empty where it has none."""
        numbers = {"match": self.match, "table": self.table, "deal": self.deal}
        return ", ".join(f"{name} {number}" for name, number in numbers.items() if number is not None)

    def __str__(self) -> str:
        """Say it in a line."""
        return ": ".join(filter(None, (self.where, f"{self.what}: expected {self.expected}, found {self.found}")))


def compare_rows(
    what: str, expected: Sequence[Kept], found: Sequence[Kept], place: Callable[[Kept], tuple[int, ...]]
) -> None:
    """Compare rows that are in the order of their places; raise Difference at the first place where they differ."""
    for one, other in zip_longest(expected, found):
        if one == other:
            continue
        if other is None or (one is not None and place(one) < place(other)):
            raise Difference(what, "one", "none", **_named(place(one)))
        if one is None or place(one) != place(other):
            raise Difference(what, "none", "one", **_named(place(other)))
        for each in fields(cast("Any", one)):
            if getattr(one, each.name) != getattr(other, each.name):
                shown = (_plain(getattr(row, each.name)) for row in (one, other))
                raise Difference(f"{what}, its {each.name.replace('_', ' ')}", *shown, **_named(place(one)))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _named(place: Sequence[int]) -> dict[str, int | None]:
    """Return a place as what Difference calls it; deal 0 stands for a whole game."""
    named: dict[str, int | None] = dict(zip(("match", "table", "deal"), place, strict=False))
    return {name: number for name, number in named.items() if name != "deal" or number}


@contextmanager
def located(*, match: int | None = None, table: int | None = None, deal: int | None = None) -> Iterator[None]:
    """Say of a difference where it is."""
    try:
        yield
    except Difference as difference:
        if match is not None:
            difference.match = match
        if table is not None:
            difference.table = table
        if deal is not None:
            difference.deal = deal
        raise


def compare_documents(printed: Any, kept: Any, path: str = "") -> None:
    """Compare a leaderboard's document as it was printed with what the store gives; raise Difference at the first."""
    if isinstance(printed, Mapping) and isinstance(kept, Mapping):
        for name in [*printed, *(name for name in kept if name not in printed)]:
            inner = f"{path}.{name}" if path else name
            compare_documents(printed.get(name, _NOTHING), kept.get(name, _NOTHING), inner)
    elif isinstance(printed, list) and isinstance(kept, list):
        for place, pair in enumerate(zip_longest(printed, kept, fillvalue=_NOTHING)):
            compare_documents(*pair, f"{path}[{place}]")
    elif printed != kept:
        raise Difference(f"`{path or 'all'}` in the document", _shown(kept), _shown(printed))


_NOTHING = object()


def _shown(value: object) -> str:
    return "nothing" if value is _NOTHING else repr(value)
