"""Between which ranks bots truly stand: each by itself, or all of them at once."""

from __future__ import annotations

import math

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Floats
from leaderboard.covariance import NORMAL_95, widening

_DRAWS = 2000
_NOTHING = 1e-9


def draw_errors(covariance: Floats, random: np.random.Generator) -> Floats:
    """Draw errors of the values of bots, one row a draw."""
    count = len(covariance)
    jitter = 1e-9 * max(float(np.diagonal(covariance).max(initial=0.0)), _NOTHING)
    root = np.linalg.cholesky(covariance + jitter * np.eye(count))
    return np.asarray(random.standard_normal((_DRAWS, count)) @ root.T)


def each(values: Floats, errors: Floats) -> tuple[Whole, Whole]:
    """Return the lowest and the highest rank of each bot in 95 % of draws."""
    ranks = 1 + np.sort(np.argsort(np.argsort(-values - errors, axis=1), axis=1), axis=0)
    return ranks[math.floor(0.025 * _DRAWS)], ranks[math.ceil(0.975 * _DRAWS) - 1]


def together(
    differences: Floats, variances: Floats, errors: Floats, freedom: int, random: np.random.Generator
) -> tuple[Whole, Whole]:
    """Return the lowest and the highest ranks that all bots have at once with 95 %.

    Differences are bounded so far from what was found that in 95 % of draws no bound of any pair is broken (Tukey's range,
    for estimates that correlate); who is surely behind somebody stands below (Mohamad, Goeman and van Zwet, "Simultaneous
    confidence intervals for ranks", 2019). Variances are widened for 95 % of a pair; errors that are estimated from few boards
    (`freedom` and 1) vary together beyond that, as Student's t does.
    """
    deviations = np.sqrt(np.where(variances >= _NOTHING, variances, np.inf))
    largest = np.zeros(len(errors))
    for bot, deviation in enumerate(deviations):
        np.maximum(largest, np.abs((errors - errors[:, bot, None]) / deviation).max(axis=1), out=largest)
    student = np.sqrt(freedom / random.chisquare(freedom, len(errors))) / widening(freedom + 1)
    bound = max(float(np.quantile(largest * student, 0.95)), NORMAL_95)
    ahead = differences > bound * deviations
    return 1 + ahead.sum(axis=0), len(differences) - ahead.sum(axis=1)
