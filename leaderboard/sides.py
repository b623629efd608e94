"""Sides of tables, and what a board says of its bots and seats: means over the board's tables, in their order round the table.

The board is the unit: its tables share their luck. Where seats or bots are alike, a board that is turned by some places is as
likely as it was, since all its deals are played at all rotations; that is what `Entries.turn` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leaderboard import graph
from leaderboard.columns import Columns, Whole
from leaderboard.comparisons import Comparisons, Floats
from leaderboard.points import relative_points


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """By side of every table: which board and place at the table, and how it did there relative to the others."""

    board: Whole
    side: Whole
    bot: Whole
    points: Floats
    explained: Floats
    """The points that the bots' own values explain: each one's less the mean at its table."""
    place: Floats

    @classmethod
    def of(cls, columns: Columns) -> Sides:
        """Compare each side with the mean of its table."""
        count = np.bincount(columns.table, minlength=len(columns.board))
        starts = np.cumsum(count) - count

        def relative(values: Floats) -> Floats:
            return np.asarray(values - (np.bincount(columns.table, values) / count)[columns.table], np.float64)

        return cls(
            board=columns.board[columns.table],
            side=np.arange(len(columns.table)) - starts[columns.table],
            bot=columns.bot,
            points=relative(columns.points / columns.deals[columns.table]),
            explained=relative(_values(columns)[columns.bot]),
            place=relative(columns.place.astype(np.float64)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """One entry for each board and what took part in it, bots or seats, as they first sit round a table of the board."""

    what: Whole
    """The number of the bot, or of the seat."""
    board: Whole
    """Ascends."""
    first: Whole
    """The first entry of the board."""
    count: Whole
    """How many entries the board has."""
    _of_side: Whole

    @classmethod
    def of(cls, board: Whole, what: Whole) -> Entries:
        """Gather sides by board, and by which of a kind each is."""
        kinds = int(what.max(initial=0)) + 1
        keys, seen, number = np.unique(board * kinds + what, return_index=True, return_inverse=True)
        order = np.argsort(seen)
        boards, kind = np.divmod(keys[order], kinds)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        _, starts, lengths = np.unique(boards, return_index=True, return_counts=True)
        return cls(kind, boards, starts.repeat(lengths), lengths.repeat(lengths), place[number])

    def mean(self, values: Floats) -> Floats:
        """Return the mean of each entry's sides."""
        size = len(self.what)
        return np.bincount(self._of_side, values, minlength=size) / np.bincount(self._of_side, minlength=size)

    def neighbour(self, distance: Whole | int) -> Whole:
        """Return the entry that sits so many places further round the table of each one's board."""
        return self.first + (np.arange(len(self.what)) - self.first + distance) % self.count

    def turn(self, random: np.random.Generator) -> Whole:
        """Return which entry comes in each one's place where every board is turned by chance."""
        return self.neighbour(random.integers(0, 1 << 30, int(self.board[-1]) + 1)[self.board])


def _values(columns: Columns) -> Floats:
    """Return each bot's own points a deal, relative to the pool."""
    comparisons = Comparisons.of(columns)
    total = comparisons.total()
    return relative_points(comparisons, total, graph.groups(graph.met(total)))[0]
