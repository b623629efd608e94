"""How likely the one of two bots that is rated higher is the stronger one: an empirical Bayes posterior.

A difference of two ratings errs, and the largest of many errs upwards: its significance is no probability. So true differences
get a prior, a mixture of normal distributions around 0 of many widths, whose weights are estimated from the differences of
all bots of the pool (Stephens, "False discovery rates: a new deal", Biostatistics 2017). Where all bots are close, large
differences are taken for luck; where the pool is spread, or a few bots stand far off, they are believed. A pool of few bots
says little of its own spread: the weights begin as those of pools whose bots are close, which count as much as two bots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leaderboard.comparisons import Floats

_SHRINKAGE = np.concatenate((2.0 ** np.arange(-13, 0), 1 - 2.0 ** -np.arange(2, 7)))  # variances of errors over all
_CLOSENESS = 4  # shrinkage is expected to have the density of this power
_BOTS_BEFORE = 2
_STEPS = 100
_PAIRS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How true differences between the bots of a pool are distributed: a mixture of normal distributions around 0."""

    variances: Floats
    weights: Floats

    @classmethod
    def of(cls, differences: Floats, variances: Floats, bots: int) -> Spread:
        """Estimate it from the differences of each two of the bots and the variances of their errors (more than 0).

        Pairs share bots: together they count as much as the bots do, less one. Of very many a part is taken.
        """
        part = slice(None, None, 1 + len(differences) // _PAIRS)
        typical = float(np.median(variances)) if variances.size else 1.0
        edges = np.concatenate(([0.0], (_SHRINKAGE[1:] + _SHRINKAGE[:-1]) / 2, [1.0]))
        before = np.diff(edges ** (_CLOSENESS + 1))
        spread = cls(typical * (1 - _SHRINKAGE) / _SHRINKAGE, before)
        for _ in range(_STEPS if differences.size else 0):
            shares = spread._shares(differences[part], variances[part]).mean(axis=0)
            weights = (_BOTS_BEFORE * before + (bots - 1) * shares) / (_BOTS_BEFORE + bots - 1)
            spread = cls(spread.variances, weights)
        return spread

    def chances(self, differences: Floats, variances: Floats) -> Floats:
        """Return how likely each true difference is above 0."""
        kept = self.variances / (self.variances + variances[:, None])
        certainty = np.sqrt(kept / variances[:, None]) * differences[:, None]
        return np.asarray((self._shares(differences, variances) * _normal(certainty)).sum(axis=1))

    def _shares(self, differences: Floats, variances: Floats) -> Floats:
        """Return how likely each difference comes from each part of the mixture."""
        total = self.variances + variances[:, None]
        logarithms = -0.5 * (differences[:, None] ** 2 / total + np.log(total))
        likelihood = self.weights * np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))


def _normal(values: Floats) -> Floats:
    """Return the cumulative normal distribution."""
    flat = (0.5 * math.erfc(-value / math.sqrt(2)) for value in values.ravel().tolist())
    return np.fromiter(flat, np.float64, values.size).reshape(values.shape)
