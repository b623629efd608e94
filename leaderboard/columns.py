"""Results as arrays: what `Result` rows say, in a few bytes each, for sums over millions of them.

Whatever is summed from columns is a whole number, so the order of results and of the sides within them can't change a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from arena.results import Result

Whole = NDArray[np.int64]

_BATCH = 1 << 15
_PORTION = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Results by column: arrays over tables (one entry a `Result`) and over sides (one entry a side, tables in turn)."""

    bots: tuple[str, ...]
    """The names of all bots, sorted; everywhere else a bot is its index in here."""
    board: Whole
    """By table: its board, numbered from 0 in the order of `Result.board`. Ascends."""
    deals: Whole
    """By table: how many deals the result covers."""
    table: Whole
    """By side: which table it is of. Ascends."""
    bot: Whole
    points: Whole
    place: Whole
    faults: Whole

    @classmethod
    def of(cls, results: Iterable[Result]) -> Columns:
        """Read results, in any order, a batch at a time; a `ValueError` says which one has tuples of different lengths."""
        numbers = _Numbers()
        batches = [_read(batch, numbers) for batch in _batches(results)]
        match, deal, deals, sides, bot, points, place, faults = (
            np.concatenate(column) for column in zip(*batches, strict=True)
        )
        names = sorted(numbers)
        order = np.empty(len(names), np.int64)
        order[[numbers[name] for name in names]] = np.arange(len(names))
        tables = np.lexsort((deal, match))
        match, deal = match[tables], deal[tables]
        fresh = (np.diff(match, prepend=match[:1]) != 0) | (np.diff(deal, prepend=deal[:1]) != 0)
        starts = np.cumsum(sides) - sides
        sides, starts = sides[tables], starts[tables]
        entries = np.repeat(starts - (np.cumsum(sides) - sides), sides) + np.arange(sides.sum())
        return cls(
            bots=tuple(names),
            board=np.cumsum(fresh),
            deals=deals[tables],
            table=np.repeat(np.arange(len(sides)), sides),
            bot=order[bot[entries]],
            points=points[entries],
            place=place[entries],
            faults=faults[entries],
        )

    @property
    def boards(self) -> int:
        """How many boards there are."""
        return int(self.board[-1]) + 1 if self.board.size else 0

    @property
    def boards_by_bot(self) -> Whole:
        """How many boards each bot played on."""
        boards = np.zeros(len(self.bots), np.int64)
        for tables, sides in self.portions():
            first = self.board[tables.start]
            played = np.zeros((self.board[tables.stop - 1] + 1 - first, len(self.bots)), np.bool_)
            played[self.board[self.table[sides]] - first, self.bot[sides]] = True
            boards += played.sum(axis=0)
        return boards

    def portions(self) -> list[tuple[slice, slice]]:
        """Cut the tables and their sides into portions of whole boards, so that little has to be in memory at once."""
        starts = np.flatnonzero(np.diff(self.board, prepend=-1))
        chosen = starts[np.unique(np.searchsorted(starts, np.arange(0, len(self.board), _PORTION), side="right") - 1)]
        tables = [*chosen.tolist(), len(self.board)]
        sides = np.searchsorted(self.table, tables).tolist()
        return [(slice(*table), slice(*side)) for table, side in zip(pairwise(tables), pairwise(sides), strict=True)]

    def clean(self) -> Columns:
        """Keep the boards on which nobody committed a fault, and the bots that played on them."""
        faulty = np.zeros(self.boards, np.bool_)
        faulty[self.board[self.table[self.faults > 0]]] = True
        tables = ~faulty[self.board]
        sides = tables[self.table]
        present = np.bincount(self.bot[sides], minlength=len(self.bots)) > 0
        return Columns(
            bots=tuple(bot for bot, there in zip(self.bots, present, strict=True) if there),
            board=renumber(self.board[tables]),
            deals=self.deals[tables],
            table=(np.cumsum(tables) - 1)[self.table[sides]],
            bot=(np.cumsum(present) - 1)[self.bot[sides]],
            points=self.points[sides],
            place=self.place[sides],
            faults=self.faults[sides],
        )


def renumber(ascending: Whole) -> Whole:
    """Number values that ascend from 0 without gaps."""
    return np.cumsum(np.diff(ascending, prepend=ascending[:1]) > 0)


class _Numbers(dict[str, int]):
    """Numbers names in the order in which they are first asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


def _batches(results: Iterable[Result]) -> Iterator[list[Result]]:
    rows = iter(results)
    batch = list(islice(rows, _BATCH))
    yield batch
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _read(batch: list[Result], numbers: _Numbers) -> tuple[Whole, ...]:
    """Turn rows into the columns match, deal, deals, sides, bot, points, place and faults."""
    rows = len(batch)
    boards = np.fromiter(chain.from_iterable(map(attrgetter("board"), batch)), np.int64, 2 * rows).reshape(rows, 2)
    deals = np.fromiter(map(attrgetter("deals"), batch), np.int64, rows)
    sides = _lengths(batch, "bots")
    for name in ("points", "places", "faults"):
        wrong = np.flatnonzero(_lengths(batch, name) != sides)
        if wrong.size:
            raise ValueError(f"a result needs one of {name} for each of its bots: {batch[wrong[0]]}")
    bot = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(map(attrgetter("bots"), batch))), np.int64, sides.sum()
    )
    return (
        boards[:, 0],
        boards[:, 1],
        deals,
        sides,
        bot,
        *(_flat(batch, name) for name in ("points", "places", "faults")),
    )


def _lengths(batch: list[Result], name: str) -> Whole:
    return np.fromiter(map(len, map(attrgetter(name), batch)), np.int64, len(batch))


def _flat(batch: list[Result], name: str) -> Whole:
    return np.fromiter(chain.from_iterable(map(attrgetter(name), batch)), np.int64)
