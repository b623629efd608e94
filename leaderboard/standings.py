"""Standings: results and their ratings as ordered rows.

Rows are ordered by rating, then by points per deal, fewer first. Bots equal in both share a rank and stand by name. Ratings
are compared in millionths of an Elo, so that no rounding error of the arithmetic orders anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from arena.results import Result
from leaderboard.columns import Columns
from leaderboard.pairs import Pair, make_pairs
from leaderboard.ratings import Rating, Ratings, rate


@dataclass(frozen=True, slots=True)
class Row:
    """One bot's line. None where the results don't say it."""

    rank: int | None
    """Shared by equals. None for a bot that is disqualified or met no other."""
    bot: str
    elo: float | None
    error: float | None
    """Half the width of the 95 % interval of the rating, relative to the mean of the pool without the disqualified, each bot
    counting by its boards; or to the anchor, whose own error is 0."""
    rank_interval: tuple[int, int] | None
    """The best and the worst rank that the bot truly has, with 95 % each; it holds the ranks of all it can't be told from."""
    joint_rank_interval: tuple[int, int] | None
    """The same, with 95 % that the intervals of all rows hold at once: what a prize hangs on."""
    superiority: float | None
    """How likely the bot is truly stronger than that of the next row, a probability (see `leaderboard.chance`)."""
    unseparated: tuple[int, ...]
    """The numbers, from 1, of the groups of neighbouring rows no two of which can be told apart at 95 %, that it is in."""
    points_per_deal: float | None
    relative_points: float | None
    """Penalty points per deal relative to the mean of that pool, the opponents being allowed for: negative is better."""
    relative_points_error: float | None
    """Half the width of its 95 % interval."""
    boards: int
    deals: int
    faults: int
    clean_elo: float | None
    """The rating from boards without a fault alone."""
    clean_error: float | None
    clean_boards: int


@dataclass(frozen=True, slots=True)
class Standings:
    """A whole leaderboard."""

    rows: tuple[Row, ...]
    disqualified: tuple[Row, ...]
    """Rated with the others, but without a rank, in the order of their names."""
    boards: int
    clean_boards: int
    groups: tuple[tuple[str, ...], ...]
    """The bots that can be compared with one another. More than one group: the ratings of different groups say nothing."""
    bootstrap: bool
    """Whether errors come from a bootstrap over boards, as they do with few boards."""
    anchor: str | None
    pairs: tuple[Pair, ...] | None = None
    """What is known of each two bots, where that was asked for; the rows' order is theirs, the disqualified coming last."""


def make_standings(
    results: Iterable[Result] | Columns,
    *,
    anchor: str | None = None,
    bots: Iterable[str] = (),
    disqualified: Iterable[str] = (),
    pairs: bool = False,
    seed: int = 0,
) -> Standings:
    """Rate all bots, on all boards and on the clean ones, and put them in order.

    Those of `bots` that have no results stand behind the others, without a rank. Raises `ValueError` where the anchor has no
    results.
    """
    columns = results if isinstance(results, Columns) else Columns.of(results)
    out = frozenset(disqualified)
    ratings = rate(columns, anchor=anchor, apart=out, seed=seed)
    clean = _rate_clean(columns, ratings, anchor, out, seed)
    ranked = sorted(
        (rating for rating in ratings.ratings if rating.elo is not None and rating.bot not in out), key=_order
    )
    unplayed = [Rating.unknown(bot) for bot in sorted({*bots, *out} - set(columns.bots))]
    listed = (*ratings.ratings, *unplayed)
    unrated = [rating for rating in listed if rating.elo is None and rating.bot not in out]
    clean_by_bot = {rating.bot: rating for rating in clean.ratings}
    order = [*ranked, *(rating for rating in ratings.ratings if rating.bot in out)]
    return Standings(
        rows=_ranked_rows(ranked, ratings, clean_by_bot)
        + tuple(_row(rating, clean_by_bot.get(rating.bot)) for rating in unrated),
        disqualified=tuple(_row(rating, clean_by_bot.get(rating.bot)) for rating in listed if rating.bot in out),
        boards=ratings.boards,
        clean_boards=clean.boards,
        groups=ratings.groups,
        bootstrap=ratings.bootstrap,
        anchor=anchor,
        pairs=make_pairs(ratings, [rating.bot for rating in order]) if pairs else None,
    )


def unseparated_runs(separable: NDArray[np.bool_]) -> list[range]:
    """Return the longest runs of at least two neighbouring rows no two of which can be told apart; runs may overlap."""
    runs: list[range] = []
    start = 0
    for row in range(len(separable)):
        apart = np.flatnonzero(separable[start:row, row])
        begin = start + int(apart[-1]) + 1 if apart.size else start
        if begin > start:
            runs.append(range(start, row))
        start = begin
    runs.append(range(start, len(separable)))
    return [run for run in runs if len(run) > 1]


def _rate_clean(columns: Columns, ratings: Ratings, anchor: str | None, apart: Collection[str], seed: int) -> Ratings:
    clean = columns.clean()
    if clean.boards == columns.boards:
        return ratings
    if anchor is not None and anchor not in clean.bots:
        return rate([])
    return rate(clean, anchor=anchor, apart=apart, seed=seed)


def _order(rating: Rating) -> tuple[float, float, str]:
    assert rating.elo is not None and rating.points_per_deal is not None
    return (-round(rating.elo, 6), rating.points_per_deal, rating.bot)


def _ranked_rows(ranked: Sequence[Rating], ratings: Ratings, clean: dict[str, Rating]) -> tuple[Row, ...]:
    bots = [rating.bot for rating in ranked]
    intervals, together = ratings.rank_intervals(bots), ratings.rank_intervals(bots, together=True)
    chances = [*ratings.chances(pairwise(bots)), None]
    runs = unseparated_runs(ratings.separable(bots))
    ranks: list[int] = []
    for index, rating in enumerate(ranked):
        tied = index > 0 and _order(rating)[:2] == _order(ranked[index - 1])[:2]
        ranks.append(ranks[-1] if tied else index + 1)
    each = [_around(intervals[bot], _reach(index, runs, ranks)) for index, bot in enumerate(bots)]
    return tuple(
        _row(
            rating,
            clean.get(rating.bot),
            rank=ranks[index],
            rank_interval=each[index],
            joint_rank_interval=_around(together[rating.bot], each[index] or ()),
            superiority=chances[index],
            unseparated=tuple(number for number, run in enumerate(runs, start=1) if index in run),
        )
        for index, rating in enumerate(ranked)
    )


def _reach(index: int, runs: Sequence[range], ranks: Sequence[int]) -> list[int]:
    """Return the rank of a row, and those of the rows that it can't be told from."""
    return [ranks[index], *(ranks[other] for run in runs if index in run for other in run)]


def _around(interval: tuple[int, int] | None, held: Sequence[int]) -> tuple[int, int] | None:
    """Extend an interval to hold these ranks."""
    return interval and (min(interval[0], *held), max(interval[1], *held))


def _row(
    rating: Rating,
    clean: Rating | None,
    *,
    rank: int | None = None,
    rank_interval: tuple[int, int] | None = None,
    joint_rank_interval: tuple[int, int] | None = None,
    superiority: float | None = None,
    unseparated: tuple[int, ...] = (),
) -> Row:
    return Row(
        rank=rank,
        bot=rating.bot,
        elo=rating.elo,
        error=rating.error,
        rank_interval=rank_interval,
        joint_rank_interval=joint_rank_interval,
        superiority=superiority,
        unseparated=unseparated,
        points_per_deal=rating.points_per_deal,
        relative_points=rating.relative_points,
        relative_points_error=rating.relative_points_error,
        boards=rating.boards,
        deals=rating.deals,
        faults=rating.faults,
        clean_elo=clean.elo if clean else None,
        clean_error=clean.error if clean else None,
        clean_boards=clean.boards if clean else 0,
    )
