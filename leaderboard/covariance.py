"""Covariances of estimates whose errors are shared within boards, and the factor by which few boards widen them."""

from __future__ import annotations

import math

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Comparisons, Floats

NORMAL_95 = 1.959963984540054
"""95 % of a normal distribution lie within this many standard deviations."""


def clustered(comparisons: Comparisons, surplus: Floats) -> Floats:
    """Add up, over boards, the products of what each two bots got beyond the expected on the same board.

    The middle of a sandwich covariance: luck that is shared by the tables of a board counts once, not once a table.
    `surplus` is the first bot's, one value for each comparison.
    """
    board, bot, sums = comparisons.by_board_and_bot(surplus)
    count = comparisons.bots
    products: Floats = np.diag(np.bincount(bot, sums * sums, minlength=count)).astype(np.float64)
    for apart in range(1, int(np.bincount(board).max(initial=1))):
        here = np.flatnonzero(board[:-apart] == board[apart:])
        keys = bot[here] * count + bot[here + apart]
        upper = np.bincount(keys, sums[here] * sums[here + apart], minlength=count * count).reshape(count, count)
        products += upper + upper.T
    boards = comparisons.boards
    return products * (boards / (boards - 1)) if boards > 1 else products


def boards_met(comparisons: Comparisons) -> Whole:
    """Count, for each bot, the boards on which it met another."""
    return np.bincount(comparisons.by_board_and_bot(comparisons.weight)[1], minlength=comparisons.bots)


def widening(boards: float) -> float:
    """Return by how much an error from so many boards must be widened for its 95 %: Student's t over the normal's.

    Exact for 2 and 3 boards; beyond, Fisher's expansion in the inverse of the degrees of freedom, good to 1 %. Parts of a
    board are parts of a degree of freedom, as they come of comparing two means.
    """
    freedom, z = boards - 1, NORMAL_95
    if freedom < 1:
        return math.inf
    if freedom == 1:
        return math.tan(math.pi * 0.475) / z
    if freedom == 2:
        return 0.95 * math.sqrt(2 / (1 - 0.95**2)) / z
    terms: tuple[float, ...] = (
        (z**2 + 1) / 4,
        (5 * z**4 + 16 * z**2 + 3) / 96,
        (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384,
    )
    return 1.0 + sum(term / float(freedom**power) for power, term in enumerate(terms, start=1))
