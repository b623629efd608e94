"""Was a tournament fair? Seats, what its duplicate deals were worth, and whether bots do otherwise when certain others sit there.

Everything is computed from points a deal relative to the mean of the table, averaged over the tables of a board: the board is
the unit, and errors are half the widths of 95 % intervals over boards. Something is flagged where it is beyond what chance
shows once in twenty times among all that is tested alike. A flag is a reason to look closer, and proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from arena.results import Result
from leaderboard import graph
from leaderboard.columns import Columns, Whole
from leaderboard.comparisons import Comparisons, Floats
from leaderboard.covariance import NORMAL_95
from leaderboard.points import relative_points

LEAST_BOARDS = 8
"""On fewer boards nothing is said of a pair."""

_GROUPS = 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with half the width of its 95 % interval."""

    value: float
    error: float

    @property
    def deviation(self) -> float:
        """How many standard errors the value is away from 0."""
        return NORMAL_95 * self.value / self.error if self.error else 0.0


@dataclass(frozen=True, slots=True)
class Seat:
    """How those who sat at one side's seats did, whoever they were, against the mean of their tables."""

    side: int
    points: Estimate
    """A deal; negative is better."""
    place: Estimate
    flagged: bool


@dataclass(frozen=True, slots=True)
class Worth:
    """What playing the same deals at several tables was worth."""

    tables: float
    """How many a board has."""
    gain: Estimate
    """How many independent deals tell as much as one of these; above 1 the tables cancel luck."""
    effective: float
    """So many independent deals would have told as much as all that were played."""


@dataclass(frozen=True, slots=True)
class Context:
    """How one bot fares against another while a third one sits at the table."""

    bot: str
    other: str
    third: str
    boards: int
    lead: Estimate
    """By how many points a deal the bot is ahead of the other."""
    shift: Estimate
    """How much more that is than without the third."""
    flagged: bool


@dataclass(frozen=True, slots=True)
class Influence:
    """How one bot's presence changes another's points, beyond what the strengths of all at the table explain."""

    bot: str
    on: str
    boards: int
    points: Estimate
    """A deal; negative: the other does better with this bot at the table."""
    flagged: bool


@dataclass(frozen=True, slots=True)
class Fairness:
    """All that is found."""

    boards: int
    seats: tuple[Seat, ...]
    seat_surplus: int
    """How much more often a bot took one side's seats than another's, at most: 0 where seats are balanced."""
    worth: Worth | None
    """None with too few boards, or where a board has one table."""
    contexts: tuple[Context, ...]
    """The most certain shifts first."""
    influences: tuple[Influence, ...]
    """The most certain first."""


def find_fairness(results: Iterable[Result]) -> Fairness:
    """Return what the results say of a tournament's fairness."""
    columns = Columns.of(results)
    if not columns.boards:
        return Fairness(0, (), 0, None, (), ())
    sides = _Sides.of(columns)
    boards = _Boards.of(columns, sides)
    return Fairness(
        boards=columns.boards,
        seats=_seats(columns, sides),
        seat_surplus=_seat_surplus(columns, sides),
        worth=_worth(columns, sides),
        contexts=_contexts(columns, boards),
        influences=_influences(columns, boards),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """By side of every table: which board and place at the table, and how it did there relative to the others."""

    board: Whole
    side: Whole
    points: Floats
    explained: Floats
    """The points that the bots' own values explain: each one's less the mean at its table."""
    place: Floats

    @classmethod
    def of(cls, columns: Columns) -> _Sides:
        count = np.bincount(columns.table, minlength=len(columns.board))
        starts = np.cumsum(count) - count

        def relative(values: Floats) -> Floats:
            return np.asarray(values - (np.bincount(columns.table, values) / count)[columns.table], np.float64)

        return cls(
            board=columns.board[columns.table],
            side=np.arange(len(columns.table)) - starts[columns.table],
            points=relative(columns.points / columns.deals[columns.table]),
            explained=relative(_values(columns)[columns.bot]),
            place=relative(columns.place.astype(np.float64)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Boards:
    """By board and bot: whether the bot took part, and its points relative to its tables."""

    present: NDArray[np.bool_]
    points: Floats
    """0 where it did not take part."""
    surplus: Floats
    """The same without what the bots' own values explain."""

    @classmethod
    def of(cls, columns: Columns, sides: _Sides) -> _Boards:
        shape = columns.boards, len(columns.bots)
        keys = sides.board * shape[1] + columns.bot
        count = np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape)

        def mean(values: Floats) -> Floats:
            total = np.bincount(keys, values, minlength=shape[0] * shape[1]).reshape(shape)
            return np.asarray(total / np.maximum(count, 1), np.float64)

        return cls(count > 0, mean(sides.points), mean(sides.points - sides.explained))


def _seats(columns: Columns, sides: _Sides) -> tuple[Seat, ...]:
    places = int(sides.side.max()) + 1
    bound = _bound(places)
    seats = []
    for side in range(places):
        here = sides.side == side
        points, place = (
            _estimate(_by_group(values[here], sides.board[here], columns.boards))
            for values in (sides.points, sides.place)
        )
        seats.append(Seat(side, points, place, flagged=max(abs(points.deviation), abs(place.deviation)) > bound))
    return tuple(seats)


def _seat_surplus(columns: Columns, sides: _Sides) -> int:
    places = int(sides.side.max()) + 1
    counts = np.bincount(columns.bot * places + sides.side, minlength=len(columns.bots) * places)
    return int(np.ptp(counts.reshape(-1, places), axis=1).max())


def _worth(columns: Columns, sides: _Sides) -> Worth | None:
    """Compare how much a bot's mean over a board's tables varies with how much it would if every table were independent.

    The error is a jackknife's over groups of boards.
    """
    keys = sides.board * len(columns.bots) + columns.bot
    count = np.bincount(keys)
    played = np.flatnonzero(count)
    if columns.boards < LEAST_BOARDS or count[played].max() < 2:
        return None
    luck = sides.points - sides.explained
    single = np.bincount(keys, luck**2)[played] / count[played] ** 2
    whole = (np.bincount(keys, luck)[played] / count[played]) ** 2
    group = played // len(columns.bots) % _GROUPS
    alone, together = (np.bincount(group, values, minlength=_GROUPS) for values in (single, whole))
    left = together.sum() - together
    if left.min() <= 0:
        return None
    gain = float(alone.sum() / together.sum())
    error = NORMAL_95 * math.sqrt((_GROUPS - 1) * float(np.var((alone.sum() - alone) / left)))
    return Worth(float(len(columns.board) / columns.boards), Estimate(gain, error), float(columns.deals.sum()) * gain)


def _contexts(columns: Columns, boards: _Boards) -> tuple[Context, ...]:
    found: list[tuple[int, int, int, int, Estimate, Estimate]] = []
    for bot, other in combinations(range(len(columns.bots)), 2):
        here = boards.present[:, bot] & boards.present[:, other]
        lead = boards.points[here, other] - boards.points[here, bot]
        thirds = boards.present[here]
        for third in np.flatnonzero(_enough(thirds)):
            if third not in (bot, other):
                found.append((bot, other, int(third), *_split(lead, thirds[:, third])))
    bound = _bound(len(found))
    names = columns.bots
    contexts = [
        Context(names[bot], names[other], names[third], count, lead, shift, flagged=abs(shift.deviation) > bound)
        for bot, other, third, count, lead, shift in found
    ]
    return tuple(sorted(contexts, key=lambda one: (-abs(one.shift.deviation), one.bot, one.other, one.third)))


def _influences(columns: Columns, boards: _Boards) -> tuple[Influence, ...]:
    found: list[tuple[int, int, int, Estimate]] = []
    for on in range(len(columns.bots)):
        here = boards.present[:, on]
        others = boards.present[here]
        for bot in np.flatnonzero(_enough(others)):
            if bot != on:
                count, _, shift = _split(boards.surplus[here, on], others[:, bot])
                found.append((int(bot), on, count, shift))
    bound = _bound(len(found))
    influences = [
        Influence(columns.bots[bot], columns.bots[on], count, points, flagged=abs(points.deviation) > bound)
        for bot, on, count, points in found
    ]
    return tuple(sorted(influences, key=lambda one: (-abs(one.points.deviation), one.bot, one.on)))


def _values(columns: Columns) -> Floats:
    """Return each bot's own points a deal, relative to the pool."""
    comparisons = Comparisons.of(columns)
    total = comparisons.total()
    return relative_points(comparisons, total, graph.groups(graph.met(total)))[0]


def _enough(present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return of which bots there are enough boards both with and without them."""
    count = present.sum(axis=0)
    return np.asarray((count >= LEAST_BOARDS) & (len(present) - count >= LEAST_BOARDS))


def _split(values: Floats, chosen: NDArray[np.bool_]) -> tuple[int, Estimate, Estimate]:
    """Return how many values are chosen, their mean, and how much more that is than the mean of the others."""
    inside, outside = _estimate(values[chosen]), _estimate(values[~chosen])
    shift = Estimate(inside.value - outside.value, math.hypot(inside.error, outside.error))
    return int(chosen.sum()), inside, shift


def _by_group(values: Floats, group: Whole, groups: int) -> Floats:
    """Return the means of the values of each group that has any."""
    count = np.bincount(group, minlength=groups)
    there = count > 0
    return np.asarray(np.bincount(group, values, minlength=groups)[there] / count[there], np.float64)


def _estimate(values: Floats) -> Estimate:
    if len(values) < 2:
        return Estimate(float(values.sum()), 0.0)
    return Estimate(float(values.mean()), NORMAL_95 * float(values.std(ddof=1)) / math.sqrt(len(values)))


def _bound(tested: int) -> float:
    """Return beyond how many standard errors something is flagged, so many things being tested."""
    return NormalDist().inv_cdf(1 - 0.025 / max(tested, 1))


# --- With a stand-in ---


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


def find_changes(
    before: Iterable[Result], after: Iterable[Result], bot: str, stand_in: str, bots: Sequence[str]
) -> tuple[Change, ...]:
    """Compare the others' points on the tables of both runs, in the order of their names."""
    others = [other for other in bots if other not in (bot, stand_in)]
    second = {(result.board, result.table): result for result in after}
    pairs = [(first, second[key]) for first in before if (key := (first.board, first.table)) in second]
    found = {}
    for other in others:
        rows = [row for pair in pairs if other in pair[0].bots for row in [_change(*pair, other, bot, stand_in)]]
        if rows:
            found[other] = rows
    bound = _bound(len(found))
    return tuple(_changed(other, rows, bound) for other, rows in sorted(found.items()))


_Row = tuple[tuple[int, int], float, float, float | None]
"""A board, points a deal before and after, and the change beyond the others'."""


def _change(first: Result, second: Result, other: str, bot: str, stand_in: str) -> _Row:
    def points(result: Result, names: Iterable[str]) -> float | None:
        values = [points for name, points in zip(result.bots, result.points, strict=True) if name in names]
        return sum(values) / len(values) / result.deals if values else None

    rest = {name for name in first.bots if name not in (other, bot, stand_in)}
    before, after = points(first, {other}), points(second, {other})
    rest_before, rest_after = points(first, rest), points(second, rest)
    assert before is not None
    assert after is not None
    beyond = None if rest_before is None or rest_after is None else (after - before) - (rest_after - rest_before)
    return first.board, before, after, beyond


def _changed(other: str, rows: Sequence[_Row], bound: float) -> Change:
    boards = {board: number for number, board in enumerate(sorted({row[0] for row in rows}))}
    board = np.array([boards[row[0]] for row in rows])
    before, after = (np.array([row[index] for row in rows], np.float64) for index in (1, 2))
    compared = np.array([row[3] is not None for row in rows])
    beyond = np.array([row[3] or 0.0 for row in rows])[compared]
    estimate = _estimate(_by_group(beyond, board[compared], len(boards))) if compared.any() else None
    return Change(
        bot=other,
        boards=len(boards),
        before=float(before.mean()),
        after=float(after.mean()),
        change=_estimate(_by_group(after - before, board, len(boards))),
        beyond_others=estimate,
        flagged=estimate is not None and abs(estimate.deviation) > bound,
    )
