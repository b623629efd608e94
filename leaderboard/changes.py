"""What changes for the others when a stand-in plays a bot's deals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from arena.results import Result
from leaderboard.columns import Whole
from leaderboard.comparisons import Floats
from leaderboard.estimate import Estimate, Means, Sums
from leaderboard.flags import Flags, beyond_chance

LEAST_BOARDS = 8
"""On fewer boards nobody is flagged."""


@dataclass(frozen=True, slots=True)
class Change:
    """How a bot did on the same deals with one bot at its tables, and with a stand-in for that one."""

    bot: str
    boards: int
    before: float
    """Points a deal with the one."""
    after: float
    """With the stand-in."""
    change: Estimate
    """What it costs the bot that the stand-in plays."""
    beyond_others: Estimate | None
    """How much more that is than for the others at the same tables; None where there are no others."""
    flagged: bool
    """Whether that is beyond chance, among all that played at least `LEAST_BOARDS` of the boards."""


def find_changes(
    before: Iterable[Result], after: Iterable[Result], bot: str, stand_in: str, bots: Iterable[str]
) -> tuple[Change, ...]:
    """Compare the others' points on the tables of both runs, in the order of their names."""
    second = {(result.board, result.table): result for result in after}
    pairs = [(first, second[key]) for first in before if (key := (first.board, first.table)) in second]
    others = sorted({other for first, _ in pairs for other in first.bots}.intersection(bots) - {bot, stand_in})
    if not others:
        return ()
    boards = {board: number for number, board in enumerate(sorted({first.board for first, _ in pairs}))}
    rows = [
        (boards[first.board], number, *_change(first, second, other, bot, stand_in))
        for first, second in pairs
        for number, other in enumerate(others)
        if other in first.bots
    ]
    board, of, *points = (np.array(column) for column in zip(*rows, strict=True))
    means = [np.bincount(of, values) / np.bincount(of) for values in points[:2]]
    changes, beyond = (_by_board(board, of, values, len(others)) for values in (points[1] - points[0], points[2]))
    change, further = changes.means(), beyond.means()
    return tuple(
        Change(*row)
        for row in zip(
            others,
            changes.boards.tolist(),
            *(each.tolist() for each in means),
            change.estimates(),
            [one if boards else None for one, boards in zip(further.estimates(), beyond.boards.tolist(), strict=True)],
            beyond.flags().tolist(),
            strict=True,
        )
    )


def _change(first: Result, second: Result, other: str, bot: str, stand_in: str) -> tuple[float, float, float]:
    """Return a table's points a deal before and after, and the change beyond the others'; not a number without others."""

    def points(result: Result, names: Iterable[str]) -> float:
        values = [points for name, points in zip(result.bots, result.points, strict=True) if name in names]
        return sum(values) / len(values) / result.deals if values else math.nan

    rest = {name for name in first.bots if name not in (other, bot, stand_in)}
    before, after = points(first, {other}), points(second, {other})
    return before, after, (after - before) - (points(second, rest) - points(first, rest))


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Values of bots, one for each of a bot's boards."""

    of: Whole
    board: Whole
    values: Floats
    bots: int

    @property
    def boards(self) -> Whole:
        """How many boards each bot has."""
        return np.bincount(self.of, minlength=self.bots)

    def means(self, signs: Floats | None = None) -> Means:
        """Return the bots' means, after the values of each board got its sign."""
        return Sums.of(self.values if signs is None else self.values * signs[self.board], self.of, self.bots).means()

    def flags(self) -> Flags:
        """Return whose means are beyond chance: on each board, before and after are exchanged or not, for all bots at once."""
        enough = self.boards >= LEAST_BOARDS

        def draw(random: np.random.Generator) -> Floats:
            return self.means(random.choice((-1.0, 1.0), int(self.board.max(initial=0)) + 1)).deviates() * enough

        return beyond_chance(self.means().deviates() * enough, draw, len(self.values)) & enough


def _by_board(board: Whole, of: Whole, values: Floats, bots: int) -> _Values:
    """Return the means, over tables, of each bot's values on each board; those that are no number don't count."""
    known = ~np.isnan(values)
    keys, group = np.unique(board[known] * bots + of[known], return_inverse=True)
    boards, whose = np.divmod(keys, bots)
    return _Values(
        whose,
        boards,
        np.bincount(group, values[known], minlength=len(keys)) / np.bincount(group, minlength=len(keys)),
        bots,
    )
