"""Is one bot stronger than another, from as few boards as it takes: a sequential probability ratio test on board scores.

The score of a board is the first bot's mean over all pairs of sides, one of each bot, at all its tables: 1 for fewer points, 1/2
for equal ones. Boards are independent, whatever their tables and pairs share, so the board is the unit. The hypothesis that
the first bot is `elo0` stronger stands against its being `elo1` stronger; the likelihood ratio is that of normal scores
with the mean that each hypothesis gives and the variance that was seen. Four virtual boards, two won and two lost, count for mean
and variance: they keep both finite, and the first looks careful where rare defeats have not been seen yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arena.results import Result
from leaderboard.columns import Columns
from leaderboard.comparisons import Comparisons
from leaderboard.covariance import NORMAL_95, widening

VIRTUAL = 2
"""So many boards are added as won, and as many as lost."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the boards say so far."""

    boards: int
    score: float
    """The first bot's mean score, the virtual boards included."""
    elo: float
    """What the score is in Elo; after an early end it is rather too far from 0."""
    error: float
    """Half the width of its 95 % interval."""
    ratio: float
    """The logarithm of the likelihood ratio."""
    lower: float
    """A ratio of at most this says that the first bot is not stronger."""
    upper: float
    """A ratio of at least this says that it is."""
    needed: int
    """About how many more boards it will take, if the estimates are right."""

    @property
    def stronger(self) -> bool | None:
        """Whether the first bot is stronger; None while that is undecided."""
        return True if self.ratio >= self.upper else False if self.ratio <= self.lower else None


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The test of `elo0` against `elo1`.

    A bot that is `elo0` stronger or less is called stronger with a chance of at most `alpha`, one that is `elo1` stronger or
    more is called not stronger with a chance of at most `beta`. Raises ValueError for what is no test.
    """

    elo0: float
    elo1: float
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo1 must be more than elo0, and {self.elo1:g} is not more than {self.elo0:g}")
        if min(self.alpha, self.beta) <= 0 or self.alpha + self.beta >= 1:
            raise ValueError("alpha and beta are chances of error: above 0, and together below 1")

    def look(self, scores: Sequence[float]) -> Look:
        """Return what the scores of boards, each from 0 to 1, say."""
        count = len(scores) + 2 * VIRTUAL
        mean = (math.fsum(scores) + VIRTUAL) / count
        variance = (math.fsum(score * score for score in scores) + VIRTUAL) / count - mean * mean
        low, high = expected_score(self.elo0), expected_score(self.elo1)
        drift = (high - low) * (2 * mean - low - high) / (2 * variance)
        spread = (high - low) ** 2 / variance
        ratio = len(scores) * drift
        lower, upper = math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)
        return Look(
            boards=len(scores),
            score=mean,
            elo=-400 * math.log10(1 / mean - 1),
            error=400 / math.log(10) * NORMAL_95 * widening(count) * math.sqrt(variance / count) / (mean * (1 - mean)),
            ratio=ratio,
            lower=lower,
            upper=upper,
            needed=math.ceil(_passage(ratio - lower, upper - ratio, drift, spread)),
        )


def expected_score(elo: float) -> float:
    """Return the mean score of a bot that is so much stronger.

    >>> expected_score(0.0), round(expected_score(400.0), 4)
    (0.5, 0.9091)
    """
    return 1 / (1 + 10 ** (-elo / 400))


def board_scores(results: Iterable[Result], bot: str, other: str) -> list[float]:
    """Return how the bot scored against the other on each board on which they met, in the order of the boards."""
    columns = Columns.of(results)
    if not {bot, other} <= set(columns.bots):
        return []
    comparisons = Comparisons.of(columns)
    first, second = sorted((columns.bots.index(bot), columns.bots.index(other)))
    met = (comparisons.first == first) & (comparisons.second == second)
    scores = comparisons.score[met] / comparisons.weight[met]
    return [float(score) for score in (scores if bot < other else 1 - scores)]


def _passage(below: float, above: float, drift: float, variance: float) -> float:
    """Return how many steps a random walk takes, on average, to leave the interval that reaches so far below and above it."""
    if min(below, above) <= 0:
        return 0.0
    if drift < 0:
        return _passage(above, below, -drift, variance)
    slope = 2 * drift / variance
    if slope * (below + above) < 1e-6:
        return below * above / variance
    upwards = math.expm1(-slope * below) / math.expm1(-slope * (below + above))
    return (above * upwards - below * (1 - upwards)) / drift
