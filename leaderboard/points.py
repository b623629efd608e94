"""Penalty points per deal relative to the pool, by least squares: who sat at whose tables is allowed for.

At a table, a bot's points less another's are taken to be the difference of the two bots' own values plus luck; the values
of all bots that can be compared add up to 0. Pairs count as they do for the ratings; errors are clustered by board.
"""

from __future__ import annotations

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Comparisons, Floats
from leaderboard.covariance import clustered


def relative_points(comparisons: Comparisons, total: Comparisons, groups: Whole) -> tuple[Floats, Floats]:
    """Return each bot's points per deal relative to the mean of its group, negative being better, and their covariance."""
    if not comparisons.bots:
        return np.empty(0), np.empty((0, 0))
    together = groups[:, None] == groups[None, :]
    inverse = np.linalg.inv(_laplacian(total) + together / together.sum(axis=1))
    leads = np.zeros((total.bots, total.bots))
    leads[total.first, total.second] = total.lead
    ahead = inverse @ (leads.sum(axis=1) - leads.sum(axis=0))
    surplus = comparisons.lead - comparisons.deals * (ahead[comparisons.first] - ahead[comparisons.second])
    return -ahead, inverse @ clustered(comparisons, surplus) @ inverse


def _laplacian(total: Comparisons) -> Floats:
    matrix = np.zeros((total.bots, total.bots))
    matrix[total.first, total.second] = matrix[total.second, total.first] = -total.deals
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix
