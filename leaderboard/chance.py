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
from numpy.typing import NDArray

from leaderboard.columns import Whole
from leaderboard.comparisons import Floats

_SHRINKAGE = np.concatenate((2.0 ** np.arange(-13, 0), 1 - 2.0 ** -np.arange(2, 7)))  # variances of errors over all
_CLOSENESS = 4  # shrinkage is expected to have the density of this power
_BOTS_BEFORE = 2
_BOARDS_BEFORE = 4
_STEPS = 100
_PAIRS = 20_000
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Differences of the ratings of pairs of bots."""

    values: Floats
    variances: Floats
    """Of their errors, more than 0, as the data has them (not widened)."""
    boards: Whole
    """On how many at least both played: 2 or more."""

    def __getitem__(self, some: slice | NDArray[np.bool_]) -> Differences:
        return Differences(self.values[some], self.variances[some], self.boards[some])

    def normal(self, typical: float) -> Floats:
        """Return variances with which normal errors would be as surprising as those of Student's t, that few boards have.

        Few boards can seem to agree by chance: then a variance that is typical of the pool counts as much as four boards.
        (Wallace, "Bounds on normal approximations to Student's and the chi-square distributions", 1959.)
        """
        freedom = self.boards - 1.0
        variances = (freedom * self.variances + _BOARDS_BEFORE * np.maximum(self.variances, typical)) / (
            freedom + _BOARDS_BEFORE
        )
        surprise = np.maximum(self.values**2 / variances / freedom, _NOTHING)
        return np.asarray(variances * surprise / np.log1p(surprise) * ((8 * freedom + 3) / (8 * freedom + 1)) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How true differences between the bots of a pool are distributed: a mixture of normal distributions around 0."""

    typical: float
    """The median of the variances of errors."""
    weights: Floats
    """Of the parts of the mixture, that with the largest variance first."""

    @classmethod
    def of(cls, pairs: Differences, bots: int) -> Spread:
        """Estimate it from each two of the bots (of very many, from a part); together they count as the bots do, less one."""
        edges = np.concatenate(([0.0], (_SHRINKAGE[1:] + _SHRINKAGE[:-1]) / 2, [1.0]))
        before = np.diff(edges ** (_CLOSENESS + 1))
        part = pairs[:: 1 + len(pairs.values) // _PAIRS]
        spread = cls(float(np.median(part.variances)) if part.values.size else 1.0, before)
        variances = part.normal(spread.typical)
        for _ in range(_STEPS if part.values.size else 0):
            shares = spread._shares(part.values, variances).mean(axis=0)
            weights = (_BOTS_BEFORE * before + (bots - 1) * shares) / (_BOTS_BEFORE + bots - 1)
            spread = cls(spread.typical, weights)
        return spread

    def chances(self, pairs: Differences) -> Floats:
        """Return how likely each true difference is above 0."""
        errors = pairs.normal(self.typical)
        kept = self._variances() / (self._variances() + errors[:, None])
        certainty = np.sqrt(kept / errors[:, None]) * pairs.values[:, None]
        return np.asarray((self._shares(pairs.values, errors) * _normal(certainty)).sum(axis=1))

    def _variances(self) -> Floats:
        return np.asarray(self.typical * (1 - _SHRINKAGE) / _SHRINKAGE)

    def _shares(self, values: Floats, errors: Floats) -> Floats:
        """Return how likely each difference comes from each part of the mixture."""
        total = self._variances() + errors[:, None]
        logarithms = -0.5 * (values[:, None] ** 2 / total + np.log(total))
        likelihood = self.weights * np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))


def _normal(values: Floats) -> Floats:
    """Return the cumulative normal distribution."""
    flat = (0.5 * math.erfc(-value / math.sqrt(2)) for value in values.ravel().tolist())
    return np.fromiter(flat, np.float64, values.size).reshape(values.shape)
