"""Comparisons: how each two bots did against each other, board by board, over all pairs of sides at a table.

A pair of sides at a table of n counts 1/(n - 1), so that each side brings one comparison's worth to a table. Pairs of copies
of one bot are left out: they say nothing about it. Counting is done in whole numbers, and the comparisons lie in the order
of boards and names, so that no order of results can change a bit of what follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leaderboard.columns import Columns, Whole, renumber

Floats = NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """One entry for each two bots (first < second) that met on a board; or, summed over boards, for each two that met."""

    bots: int
    board: Whole
    """Numbered from 0 without gaps. Ascends."""
    first: Whole
    second: Whole
    weight: Floats
    """How many comparisons' worth."""
    score: Floats
    """How much of the weight the first bot won; a tie is half won."""
    tied: Floats
    """How much of the weight was tied."""
    deals: Floats
    """The weight times the deals that it covers."""
    lead: Floats
    """By how many penalty points the first bot was ahead (had fewer), times the weight."""
    count: Whole
    """On how many boards they met: 1 until boards are added up."""

    @classmethod
    def of(cls, columns: Columns) -> Comparisons:
        """Compare all pairs of sides at each table."""
        others = np.maximum(np.bincount(columns.table, minlength=len(columns.board)) - 1, 1)
        whole = math.lcm(*np.flatnonzero(np.bincount(others)).tolist())
        nothing = (slice(0, 0), slice(0, 0))
        parts = [_compare(columns, *portion, whole // others) for portion in columns.portions() or [nothing]]
        board, first, second, weight, won, tied, deals, lead = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return cls(
            bots=len(columns.bots),
            board=renumber(board),
            first=first,
            second=second,
            weight=weight / whole,
            score=won / (2 * whole),
            tied=tied / whole,
            deals=deals / whole,
            lead=lead / whole,
            count=np.ones_like(board),
        )

    @property
    def boards(self) -> int:
        """On how many boards different bots met."""
        return int(self.board[-1]) + 1 if self.board.size else 0

    def total(self) -> Comparisons:
        """Add up all boards: one entry for each two bots that met."""
        groups = Groups.of(self.first * self.bots + self.second)
        first, second = np.divmod(groups.keys, self.bots)
        return Comparisons(
            bots=self.bots,
            board=np.zeros_like(first),
            first=first,
            second=second,
            weight=groups.sum(self.weight),
            score=groups.sum(self.score),
            tied=groups.sum(self.tied),
            deals=groups.sum(self.deals),
            lead=groups.sum(self.lead),
            count=groups.sum(self.count),
        )

    def meetings(self, pairs: Iterable[tuple[int, int]]) -> list[Meeting | None]:
        """Return, for each pair of bots, how the first did against the other, boards being added up; None if they never met."""
        places = {pair: place for place, pair in enumerate(zip(self.first.tolist(), self.second.tolist(), strict=True))}
        found = []
        for bot, other in pairs:
            place = places.get((min(bot, other), max(bot, other)))
            met = None if place is None else self._meeting(place)
            found.append(met.turned() if met and bot > other else met)
        return found

    def _meeting(self, place: int) -> Meeting:
        weight, tied = float(self.weight[place]), float(self.tied[place])
        won = float(self.score[place]) - tied / 2
        return Meeting(int(self.count[place]), won / weight, tied / weight, (weight - tied - won) / weight)

    def by_board_and_bot(self, values: Floats) -> tuple[Whole, Whole, Floats]:
        """Add up values, plus for the first bot and minus for the second: boards, bots and sums, in that order."""
        groups = Groups.of(np.concatenate((self.board * self.bots + self.first, self.board * self.bots + self.second)))
        return *np.divmod(groups.keys, self.bots), groups.sum(np.concatenate((values, -values)))


@dataclass(frozen=True, slots=True)
class Meeting:
    """How one bot did against another at the tables where both sat."""

    boards: int
    wins: float
    """The share in which it was ahead."""
    ties: float
    losses: float

    def turned(self) -> Meeting:
        """Return how the other one did."""
        return Meeting(self.boards, self.losses, self.ties, self.wins)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Entries grouped by key: the distinct keys in order, the entries in the order of their keys, and where each key starts."""

    keys: Whole
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, keys: Whole) -> Groups:
        """Group by key."""
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
        return cls(ordered[starts], order, starts)

    def sum(self, values: NDArray[Number]) -> NDArray[Number]:
        """Add up the values of each key."""
        return np.add.reduceat(values[self.order], self.starts)


def _compare(columns: Columns, tables: slice, sides: slice, weights: Whole) -> tuple[Whole, ...]:
    """Compare sides at some tables, by how far apart they sit: board, first, second, weight, won halves, ties, deals and lead."""
    table, bot, place, points = (
        column[sides] for column in (columns.table, columns.bot, columns.place, columns.points)
    )
    found = [(np.empty(0, np.int64),) * 6]
    for apart in range(1, int(np.bincount(table - tables.start).max(initial=1))):
        here = np.flatnonzero((table[:-apart] == table[apart:]) & (bot[:-apart] != bot[apart:]))
        swapped = bot[here] > bot[here + apart]
        first, second = here + apart * swapped, here + apart * ~swapped
        weight = weights[table[here]]
        found.append(
            (
                (columns.board[table[here]] * len(columns.bots) + bot[first]) * len(columns.bots) + bot[second],
                weight,
                weight * (1 + np.sign(place[second] - place[first])),
                weight * (place[second] == place[first]),
                weight * columns.deals[table[here]],
                weight * (points[second] - points[first]),
            )
        )
    keys, *counts = (np.concatenate(column) for column in zip(*found, strict=True))
    groups = Groups.of(keys)
    board, pair = np.divmod(groups.keys, len(columns.bots) ** 2)
    return board, *np.divmod(pair, len(columns.bots)), *(groups.sum(count) for count in counts)
