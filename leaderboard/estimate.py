"""A mean and how sure it is, by Student's t: few boards widen the error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Floats
from leaderboard.covariance import NORMAL_95, widening
from leaderboard.flags import deviates


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with half the width of its 95 % interval."""

    value: float
    error: float | None
    """None where it isn't known, from a single board."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Of groups of independent values: how many there are, what they add up to, and what their squares do."""

    count: Whole
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats, group: Whole, groups: int) -> Sums:
        """Add up the values of each group."""
        total, squares = (np.bincount(group, weights, minlength=groups) for weights in (values, values * values))
        return cls(np.bincount(group, minlength=groups), total.astype(np.float64), squares.astype(np.float64))

    def without(self, some: Sums, group: Whole) -> Sums:
        """Return the sums of these groups, one for each of `some`, without those."""
        return Sums(self.count[group] - some.count, self.total[group] - some.total, self.squares[group] - some.squares)

    def means(self) -> Means:
        """Return the means and their errors."""
        some, more = np.maximum(self.count, 1), np.maximum(self.count - 1, 1)
        values = self.total / some
        variances = np.maximum(self.squares - values * self.total, 0.0) / more
        return Means(values, np.sqrt(variances / some), np.maximum(self.count - 1.0, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means of many groups of independent values, or differences of two such means."""

    values: Floats
    errors: Floats
    """Standard errors."""
    freedom: Floats
    """The degrees of freedom of the errors; below 1 these say nothing."""

    def minus(self, others: Means) -> Means:
        """Return the differences; the degrees of freedom are those of Welch and Satterthwaite."""
        one, other = self.errors**2, others.errors**2
        parts = one**2 / np.maximum(self.freedom, 1.0) + other**2 / np.maximum(others.freedom, 1.0)
        return Means(
            self.values - others.values,
            np.sqrt(one + other),
            np.divide((one + other) ** 2, parts, out=np.ones_like(parts), where=parts > 0),
        )

    def deviates(self) -> Floats:
        """Return how far each is away from 0, as the normal deviate that is as unlikely."""
        return deviates(self.values, self.errors, self.freedom)

    def estimates(self) -> list[Estimate]:
        """Return them one by one."""
        rows = zip(self.values.tolist(), self.errors.tolist(), self.freedom.tolist(), strict=True)
        return [Estimate(value, half_width(error, freedom)) for value, error, freedom in rows]


def half_width(error: float, freedom: float) -> float | None:
    """Return half the width of the 95 % interval, from a standard error of so many degrees of freedom; None without any."""
    return NORMAL_95 * widening(freedom + 1) * error if freedom >= 1 else None
