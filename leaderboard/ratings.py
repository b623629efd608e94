"""Final ratings: an estimate from all results at once, whatever their order, with errors that take boards as the unit.

Elo is the pairwise Bradley-Terry maximum likelihood over all pairs of sides at a table (see `comparisons`, `bradley_terry`).
Tables of a board share their luck, and pairs of a table share a bot, so the covariance is a sandwich clustered by board; with
fewer than 100 boards (but no fewer than bots) it comes from a bootstrap over boards. Whatever can't be said is None: there is
never a NaN, an infinity or, but for the anchor, an error of 0.

- Bots that are set apart, as disqualified ones, are rated with the others, but the means that ratings and points are relative
  to are those of the others alone.
- The error is that of the rating relative to the mean of the pool, in which each bot counts by its boards: so a bot that has
  hardly played makes nobody else unsure. With an anchor it is relative to the anchor, whose own is 0. Where some bots only
  ever beat (or lost to) others, directly or through third ones, only the virtual draws hold them at a distance: then the pool
  of a bot are those with which it exchanged wins, and a bot alone in its pool has no error.
- A bot that met others on fewer than two boards has a rating and no error. Few boards widen its error by Student's t.
- Bots that never met, not even through others, can't be compared; each such group has a mean of its own (`groups`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from arena.results import Result
from leaderboard import graph, ranks
from leaderboard.bootstrap import scatter
from leaderboard.bradley_terry import ELO, expected, fit, information
from leaderboard.chance import Differences, Spread
from leaderboard.columns import Columns, Whole
from leaderboard.comparisons import Comparisons, Floats, Meeting
from leaderboard.covariance import NORMAL_95, boards_met, clustered, widening
from leaderboard.points import relative_points

MEAN = 1500.0
"""The mean of the pool, or the rating of the anchor."""
FEW_BOARDS = 100
"""With fewer boards than this, errors come from a bootstrap."""

_NOTHING = 1e-9

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Rating:
    """What the results say of one bot. None where they don't say it."""

    bot: str
    elo: float | None
    error: float | None
    """Half the width of the 95 % interval, in Elo, relative to the pool's mean by boards, or to the anchor."""
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

    @classmethod
    def unknown(cls, bot: str) -> Self:
        """Return what no results say of a bot."""
        return cls(bot, None, None, None, None, None, boards=0, deals=0, faults=0)


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
    _total: Comparisons = field(repr=False, compare=False)
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

    def meetings(self, pairs: Iterable[tuple[str, str]]) -> list[Meeting | None]:
        """Return, for each pair, how the first bot did against the other at their tables; None if they never met."""
        return self._total.meetings((self._index(bot), self._index(other)) for bot, other in pairs)

    def chances(self, pairs: Iterable[tuple[str, str]]) -> list[float | None]:
        """Return, for each pair, how likely the first bot is truly the stronger one; None where the results don't say it.

        A probability given all results, not a significance: of many that are said to be 0.9, nine in ten are true, or rather
        more. The prior that it takes is estimated from all bots that can be compared with the pair (see `leaderboard.chance`).
        """
        indices = [(self._index(bot), self._index(other)) for bot, other in pairs]
        one, two = np.array(indices, np.intp).reshape(-1, 2).T
        seen, differences = self._pairs(one, two)
        chances = np.full(len(one), np.nan)
        for group in np.unique(self._group[one]):
            here = seen & (self._group[one] == group)
            chances[here] = self._spread(group).chances(differences[here])
        return _known_only(chances, seen)

    def separable(self, bots: Sequence[str]) -> NDArray[np.bool_]:
        """Return, for each two of the bots, whether the results tell them apart at 95 %."""
        some = np.array([self._index(bot) for bot in bots], np.intp)
        comparable = (self._group[some][:, None] == self._group[some]) & self._known[some][:, None] & self._known[some]
        difference, variance = self._differences(some)
        return np.asarray(comparable & (variance >= _NOTHING) & (difference**2 > NORMAL_95**2 * variance))

    def rank_intervals(self, bots: Iterable[str], *, together: bool = False) -> dict[str, tuple[int, int] | None]:
        """Return the ranks among the bots that each of them has with 95 %, from seeded draws of the estimate's distribution.

        Each interval alone holds with 95 %, so of many some are wrong, and that of whoever is on top more often; `together`,
        all of them hold at once with 95 %: these are for prizes. A bot that can't be compared may stand anywhere: it has no
        interval itself, and lengthens those of the others.
        """
        indices = np.array(sorted({self._index(bot) for bot in bots}), np.intp)
        intervals: dict[str, tuple[int, int] | None] = {self.ratings[index].bot: None for index in indices}
        random = np.random.default_rng(self.seed)
        for group in np.unique(self._group[indices]):
            members = indices[(self._group[indices] == group) & self._known[indices]]
            if not members.size:
                continue
            errors = ranks.draw_errors(self._covariance[np.ix_(members, members)], random)
            if together:
                freedom = int(np.median([self.ratings[index].boards for index in members])) - 1
                lowest, highest = ranks.together(*self._differences(members), errors, max(freedom, 1), random)
            else:
                lowest, highest = ranks.each(self._elo[members], errors)
            for index, low, high in zip(members, lowest, highest + len(indices) - len(members), strict=True):
                intervals[self.ratings[index].bot] = (int(low), int(high))
        return intervals

    def _differences(self, indices: Indices) -> tuple[Floats, Floats]:
        """Return by how much each bot (row) is rated above each (column), and the variances of the errors of that."""
        variances = np.diagonal(self._covariance)[indices]
        variance = variances[:, None] + variances - 2 * self._covariance[np.ix_(indices, indices)]
        return self._elo[indices][:, None] - self._elo[indices], variance

    def _spread(self, group: int) -> Spread:
        members = np.flatnonzero((self._group == group) & self._known)
        one, two = (members[side] for side in np.triu_indices(len(members), 1))
        seen, differences = self._pairs(one, two)
        return Spread.of(differences[seen], len(members))

    def _pairs(self, one: Indices, two: Indices) -> tuple[NDArray[np.bool_], Differences]:
        """Return what is known of which pairs."""
        variances = np.diagonal(self._covariance)
        variance = variances[one] + variances[two] - 2 * self._covariance[one, two]
        seen = self._known[one] & self._known[two] & (self._group[one] == self._group[two]) & (variance >= _NOTHING)
        boards = np.array([max(rating.boards, 2) for rating in self.ratings], np.int64)
        widened = np.array([widening(int(count)) for count in boards])
        fewest = np.where(boards[one] < boards[two], one, two)
        plain = np.where(seen, variance, 1.0) / widened[fewest] ** 2
        return seen, Differences(self._elo[one] - self._elo[two], plain, boards[fewest])

    def _difference(self, bot: str, other: str, values: Floats, covariance: Floats) -> tuple[float, float] | None:
        found = self._between(self._index(bot), self._index(other), values, covariance)
        return (found[0], NORMAL_95 * math.sqrt(found[1])) if found else None

    def _between(self, one: int, two: int, values: Floats, covariance: Floats) -> tuple[float, float] | None:
        """Return the difference of two values and the variance of its error; None if unknown."""
        variance = float(covariance[one, one] + covariance[two, two] - 2 * covariance[one, two])
        if self._group[one] != self._group[two] or not (self._known[one] and self._known[two]) or variance < _NOTHING:
            return None
        return float(values[one] - values[two]), variance

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
    ranked = np.array([bot not in apart for bot in columns.bots], np.float64)
    played = np.maximum(met, 1) * ranked
    within = _means(group, ranked)
    covariance = ELO**2 * _relative(scattered, _means(group, met)) * np.outer(widen, widen)
    points, points_covariance = relative_points(comparisons, total, group)
    points_covariance = _relative(points_covariance, _means(group, met)) * np.outer(widen, widen)
    elo = _place(ELO * strengths, group, within, columns.bots, anchor)
    against = None if anchor is None else columns.bots.index(anchor)
    return Ratings(
        ratings=_rows(
            columns,
            elo=_known_only(elo, met > 0),
            error=_rating_errors(covariance, pool, group, played, met > 1, against),
            relative_points=_known_only(points - within @ points, met > 0),
            relative_points_error=_errors(np.diagonal(_relative(points_covariance, _means(group, played))), met > 1),
        ),
        boards=columns.boards,
        groups=tuple(
            tuple(columns.bots[index] for index in np.flatnonzero(group == number))
            for number in range(group.max(initial=-1) + 1)
        ),
        bootstrap=bootstrap,
        seed=seed,
        _total=total,
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


def _means(group: Whole, weight: Whole | Floats) -> Floats:
    """Return what makes of values the weighted mean of each one's group; it is plain where nobody in a group has a weight."""
    together = group[:, None] == group
    mine = together * weight
    mine += together * (mine.sum(axis=1, keepdims=True) == 0)
    return np.asarray(mine / mine.sum(axis=1, keepdims=True))


def _relative(covariance: Floats, means: Floats) -> Floats:
    """Turn the covariance of values into that of values less the means that `_means` makes."""
    centred = covariance - means @ covariance
    return np.asarray(centred - centred @ means.T)


def _rating_errors(
    covariance: Floats, pool: Whole, group: Whole, weight: Floats, known: NDArray[np.bool_], anchor: int | None
) -> list[float | None]:
    """Return the errors against the weighted mean of each bot's pool, or against the anchor where it is in it."""
    if anchor is None:
        return _errors(np.diagonal(_relative(covariance, _means(pool, weight))), known)
    beside = pool == pool[anchor]
    weight = np.where(beside, np.arange(len(pool)) == anchor, weight)
    known = known & np.where(beside, known[anchor], group != group[anchor])
    errors = _errors(np.diagonal(_relative(covariance, _means(pool, weight))), known)
    if known[anchor]:
        errors[anchor] = 0.0
    return errors


def _place(elo: Floats, group: Whole, means: Floats, bots: Sequence[str], anchor: str | None) -> Floats:
    """Move each group so that its mean is 1500, or its anchor is."""
    middle = means @ elo
    if anchor is not None:
        middle[group == group[bots.index(anchor)]] = elo[bots.index(anchor)]
    return np.asarray(MEAN + elo - middle)


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
