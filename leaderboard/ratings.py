"""Final ratings: an estimate from all results at once, whatever their order, with errors that take boards as the unit.

Elo is the pairwise Bradley-Terry maximum likelihood over all pairs of sides at a table (see `comparisons`, `bradley_terry`).
Tables of a board share their luck, and pairs of a table share a bot, so the covariance is a sandwich clustered by board; with
fewer than 100 boards (but no fewer than bots) it comes from a bootstrap over boards. Whatever can't be said is None: there is
never a NaN, an infinity or an error of 0.

- Bots that are set apart, as disqualified ones, are rated with the others, but the means that ratings and points are relative
  to are those of the others alone.
- The error is that of the rating relative to the mean of the pool. Where some bots only ever beat (or lost to) others,
  directly or through third ones, only the virtual draws hold them at a distance: then the pool of a bot are those with which
  it exchanged wins, and a bot alone in its pool has no error.
- A bot that met others on fewer than two boards has a rating and no error. Few boards widen its error by Student's t.
- Bots that never met, not even through others, can't be compared; each such group has a mean of its own (`groups`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from arena.results import Result
from leaderboard import graph
from leaderboard.bootstrap import scatter
from leaderboard.bradley_terry import ELO, expected, fit, information
from leaderboard.columns import Columns, Whole
from leaderboard.comparisons import Comparisons, Floats
from leaderboard.covariance import NORMAL_95, boards_met, clustered, widening
from leaderboard.points import relative_points

MEAN = 1500.0
"""The mean of the pool, or the rating of the anchor."""
FEW_BOARDS = 100
"""With fewer boards than this, errors come from a bootstrap."""

_DRAWS = 2000
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Rating:
    """What the results say of one bot. None where they don't say it."""

    bot: str
    elo: float | None
    error: float | None
    """Half the width of the 95 % interval, in Elo."""
    points_per_deal: float | None
    """Penalty points per deal as they fell: lower is better."""
    relative_points: float | None
    """Penalty points per deal relative to the pool, the opponents being allowed for: negative is better."""
    relative_points_error: float | None
    """Half the width of its 95 % interval."""
    boards: int
    deals: int
    """Over all tables, copies counted each."""
    faults: int


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of all bots in the order of their names, and how sure their differences are."""

    ratings: tuple[Rating, ...]
    boards: int
    groups: tuple[tuple[str, ...], ...]
    """The bots that can be compared with one another. More than one group means that the results don't hang together."""
    bootstrap: bool
    """Whether errors come from a bootstrap over boards."""
    seed: int
    _elo: Floats = field(repr=False, compare=False)
    _group: Whole = field(repr=False, compare=False)
    _known: NDArray[np.bool_] = field(repr=False, compare=False)
    _covariance: Floats = field(repr=False, compare=False)
    _points: Floats = field(repr=False, compare=False)
    _points_covariance: Floats = field(repr=False, compare=False)

    def __getitem__(self, bot: str) -> Rating:
        return self.ratings[self._index(bot)]

    def difference(self, bot: str, other: str) -> tuple[float, float] | None:
        """Return by how much the bot is rated above the other, and half the width of the 95 % interval; None if unknown."""
        return self._difference(bot, other, self._elo, self._covariance)

    def points_difference(self, bot: str, other: str) -> tuple[float, float] | None:
        """Return how many points a deal the bot costs more than the other, as `difference` does for Elo."""
        return self._difference(bot, other, self._points, self._points_covariance)

    def superiority(self, bot: str, other: str) -> float | None:
        """Return how likely the bot is truly stronger than the other."""
        difference = self.difference(bot, other)
        if difference is None:
            return None
        ahead, error = difference
        return 0.5 * math.erfc(-NORMAL_95 * ahead / error / math.sqrt(2))

    def separable(self, bots: Sequence[str]) -> NDArray[np.bool_]:
        """Return, for each two of the bots, whether the results tell them apart at 95 %."""
        some = np.array([self._index(bot) for bot in bots], np.intp)
        comparable = (self._group[some][:, None] == self._group[some]) & self._known[some][:, None] & self._known[some]
        variances = np.diagonal(self._covariance)[some]
        variance = variances[:, None] + variances - 2 * self._covariance[np.ix_(some, some)]
        difference = self._elo[some][:, None] - self._elo[some]
        return np.asarray(comparable & (variance >= _NOTHING) & (difference**2 > NORMAL_95**2 * variance))

    def rank_intervals(self, bots: Iterable[str]) -> dict[str, tuple[int, int] | None]:
        """Return the ranks among the bots that each of them has with 95 %, from seeded draws of the estimate's distribution.

        A bot that can't be compared may stand anywhere: it has no interval itself, and lengthens those of the others.
        """
        indices = np.array(sorted({self._index(bot) for bot in bots}), np.intp)
        intervals: dict[str, tuple[int, int] | None] = {self.ratings[index].bot: None for index in indices}
        random = np.random.default_rng(self.seed)
        for group in np.unique(self._group[indices]):
            members = indices[(self._group[indices] == group) & self._known[indices]]
            lowest, highest = _ranks(self._elo[members], self._covariance[np.ix_(members, members)], random)
            for index, low, high in zip(members, lowest, highest + len(indices) - len(members), strict=True):
                intervals[self.ratings[index].bot] = (int(low), int(high))
        return intervals

    def _difference(self, bot: str, other: str, values: Floats, covariance: Floats) -> tuple[float, float] | None:
        one, two = self._index(bot), self._index(other)
        variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
        if self._group[one] != self._group[two] or not (self._known[one] and self._known[two]) or variance < _NOTHING:
            return None
        return float(values[one] - values[two]), NORMAL_95 * math.sqrt(variance)

    def _index(self, bot: str) -> int:
        index = bisect_left(self.ratings, bot, key=lambda rating: rating.bot)
        if index == len(self.ratings) or self.ratings[index].bot != bot:
            raise KeyError(bot)
        return index


def rate(
    results: Iterable[Result] | Columns, *, anchor: str | None = None, apart: Collection[str] = (), seed: int = 0
) -> Ratings:
    """Rate all bots of the results; the mean of the pool, without those set apart, is 1500, or the anchor is.

    The seed is that of the bootstrap and of the draws for rank intervals. Raises `ValueError` for an anchor without results.
    """
    columns = results if isinstance(results, Columns) else Columns.of(results)
    if anchor is not None and anchor not in columns.bots:
        raise ValueError(f"the anchor {anchor!r} has no results; anchor one of the bots that played")
    comparisons = Comparisons.of(columns)
    total = comparisons.total()
    met = boards_met(comparisons)
    group = graph.groups(graph.met(total))
    pool = graph.groups(graph.scored_against(total))
    strengths = fit(total.first, total.second, total.weight, total.score, np.ones(total.bots), np.zeros(total.bots))
    bootstrap = comparisons.bots <= comparisons.boards < FEW_BOARDS
    widen = np.array([widening(int(boards)) if boards > 1 else 1.0 for boards in met])
    scattered = _scatter(comparisons, total, strengths, seed, bootstrap=bootstrap)
    counted = np.array([bot not in apart for bot in columns.bots], np.bool_)
    within = _weights(group, counted)
    covariance = ELO**2 * _relative(scattered, within) * np.outer(widen, widen)
    points, points_covariance = relative_points(comparisons, total, group)
    points_covariance = _relative(points_covariance * np.outer(widen, widen), within)
    elo = _place(ELO * strengths, group, within, columns.bots, anchor)
    return Ratings(
        ratings=_rows(
            columns,
            elo=_known_only(elo, met > 0),
            error=_errors(np.diagonal(_relative(covariance, _weights(pool, counted))), met > 1),
            relative_points=_known_only(points - within @ points, met > 0),
            relative_points_error=_errors(np.diagonal(points_covariance), met > 1),
        ),
        boards=columns.boards,
        groups=tuple(
            tuple(columns.bots[index] for index in np.flatnonzero(group == number))
            for number in range(group.max(initial=-1) + 1)
        ),
        bootstrap=bootstrap,
        seed=seed,
        _elo=elo,
        _group=group,
        _known=met > 1,
        _covariance=covariance,
        _points=points,
        _points_covariance=points_covariance,
    )


def _scatter(comparisons: Comparisons, total: Comparisons, strengths: Floats, seed: int, *, bootstrap: bool) -> Floats:
    """Return the covariance of the strengths; the virtual draws count as data, a board each."""
    if comparisons.boards < 2:
        return np.zeros((total.bots, total.bots))
    if bootstrap:
        return scatter(comparisons, total, strengths, seed)
    inverse = np.linalg.inv(information(total.first, total.second, total.weight, np.ones(total.bots), strengths))
    surplus = comparisons.score - comparisons.weight * expected(
        strengths[comparisons.first] - strengths[comparisons.second]
    )
    middle = clustered(comparisons, surplus) + np.diag((0.5 - expected(strengths)) ** 2)
    return np.asarray(inverse @ middle @ inverse)


def _weights(group: Whole, counted: NDArray[np.bool_]) -> Floats:
    """Return what makes of values the mean of each one's group: of those that are counted, or of all where none is."""
    together = group[:, None] == group
    mine = together & counted
    mine |= together & ~mine.any(axis=1, keepdims=True)
    return np.asarray(mine / mine.sum(axis=1, keepdims=True))


def _relative(covariance: Floats, means: Floats) -> Floats:
    """Turn the covariance of values into that of values less the means that `_weights` makes."""
    centred = covariance - means @ covariance
    return np.asarray(centred - centred @ means.T)


def _place(elo: Floats, group: Whole, means: Floats, bots: Sequence[str], anchor: str | None) -> Floats:
    """Move each group so that its mean is 1500, or its anchor is."""
    middle = means @ elo
    if anchor is not None:
        middle[group == group[bots.index(anchor)]] = elo[bots.index(anchor)]
    return np.asarray(MEAN + elo - middle)


def _ranks(elo: Floats, covariance: Floats, random: np.random.Generator) -> tuple[Whole, Whole]:
    """Return the lowest and the highest rank of each in 95 % of draws."""
    count = len(elo)
    jitter = 1e-9 * max(float(np.diagonal(covariance).max(initial=0.0)), _NOTHING)
    root = np.linalg.cholesky(covariance + jitter * np.eye(count))
    draws = elo + random.standard_normal((_DRAWS, count)) @ root.T
    ranks = 1 + np.sort(np.argsort(np.argsort(-draws, axis=1), axis=1), axis=0)
    return ranks[math.floor(0.025 * _DRAWS)], ranks[math.ceil(0.975 * _DRAWS) - 1]


def _known_only(values: Floats, known: NDArray[np.bool_]) -> list[float | None]:
    return [float(value) if sure else None for value, sure in zip(values, known, strict=True)]


def _errors(variances: Floats, known: NDArray[np.bool_]) -> list[float | None]:
    """Return half the widths of 95 % intervals, None where nothing was seen to vary."""
    seen = known & (variances > _NOTHING)
    return _known_only(NORMAL_95 * np.sqrt(np.where(seen, variances, 0.0)), seen)


def _rows(
    columns: Columns,
    *,
    elo: Sequence[float | None],
    error: Sequence[float | None],
    relative_points: Sequence[float | None],
    relative_points_error: Sequence[float | None],
) -> tuple[Rating, ...]:
    """Put the estimates together with what is counted."""
    count = len(columns.bots)
    boards = columns.boards_by_bot
    deals, points, faults = (
        np.bincount(columns.bot, values, minlength=count).astype(np.int64)
        for values in (columns.deals[columns.table], columns.points, columns.faults)
    )
    return tuple(
        Rating(
            bot=bot,
            elo=elo[index],
            error=error[index],
            points_per_deal=int(points[index]) / int(deals[index]) if deals[index] else None,
            relative_points=relative_points[index],
            relative_points_error=relative_points_error[index],
            boards=int(boards[index]),
            deals=int(deals[index]),
            faults=int(faults[index]),
        )
        for index, bot in enumerate(columns.bots)
    )
