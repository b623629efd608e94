"""A bootstrap over boards: how strengths scatter when each board, and each virtual draw, counts by chance more or less.

Weights are exponential (Rubin's Bayesian bootstrap), not whole numbers of repetitions: so no bot ever drops out of a sample,
and bots that met stay comparable in all of them.
"""

from __future__ import annotations

import numpy as np

from leaderboard.bradley_terry import fit
from leaderboard.comparisons import Comparisons, Floats

SAMPLES = 1000

_MATRIX_ENTRIES = 4_000_000


def scatter(comparisons: Comparisons, total: Comparisons, strengths: Floats, seed: int) -> Floats:
    """Return the covariance of the strengths over the samples, free of the bias that so many boards leave (at least 2)."""
    random = np.random.default_rng(seed)
    boards, bots = comparisons.boards, comparisons.bots
    pair = np.searchsorted(total.first * bots + total.second, comparisons.first * bots + comparisons.second)
    weight = np.zeros((boards, len(total.first)))
    score = np.zeros_like(weight)
    weight[comparisons.board, pair] = comparisons.weight
    score[comparisons.board, pair] = comparisons.score
    portion = max(1, min(SAMPLES, _MATRIX_ENTRIES // bots**2))
    samples = []
    for start in range(0, SAMPLES, portion):
        rows = min(portion, SAMPLES - start)
        luck = random.standard_exponential((rows, boards))
        draws = random.standard_exponential((rows, bots))
        first_guess = np.tile(strengths, (rows, 1))
        samples.append(fit(total.first, total.second, luck @ weight, luck @ score, draws, first_guess))
    return np.atleast_2d(np.cov(np.concatenate(samples), rowvar=False)) * ((boards + 1) / (boards - 1))
