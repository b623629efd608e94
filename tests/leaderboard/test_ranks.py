"""Rank intervals hold at their level: each by itself, or all of a table at once."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard import ranks
from leaderboard.columns import Whole
from leaderboard.comparisons import Floats

BOARDS = 240


def intervals(values: Floats, random: np.random.Generator) -> tuple[tuple[Whole, Whole], tuple[Whole, Whole]]:
    """Return the intervals of each, and those together, of bots whose ratings err by 1."""
    covariance = np.eye(len(values))
    errors = ranks.draw_errors(covariance, random)
    variances = 2.0 - 2.0 * covariance
    return ranks.each(values, errors), ranks.together(values[:, None] - values, variances, errors, BOARDS - 1, random)


def held(strengths: Floats, tournaments: int) -> tuple[float, float, float]:
    """Return how often all intervals of each, all intervals together, and the joint one of the top row hold a true rank.

    Equal bots share ranks: an interval holds where it holds one of those that are shared.
    """
    random = np.random.default_rng(12)
    best = 1 + (strengths[:, None] < strengths).sum(axis=1)
    worst = len(strengths) - (strengths[:, None] > strengths).sum(axis=1)
    counts = np.zeros(3)
    for _ in range(tournaments):
        rated = strengths + random.standard_normal(len(strengths))
        each, together = intervals(rated, random)
        joint = (together[0] <= best) & (together[1] >= worst)
        counts += (((each[0] <= best) & (each[1] >= worst)).all(), joint.all(), joint[np.argmax(rated)])
    return tuple(counts / tournaments)


@pytest.mark.parametrize(
    "strengths",
    [
        pytest.param(np.zeros(20), id="twenty equal ones"),
        pytest.param(np.repeat([0.0, 4.0], 4), id="two levels"),
        pytest.param(np.zeros(3), id="three equal ones"),
    ],
)
def test_intervals_together_hold_at_once(strengths: Floats) -> None:
    """At most 7 of 60 tournaments break a promise of 95 %: 2.4 deviations."""
    each, together, top = held(strengths, tournaments=60)

    assert together >= 53 / 60
    assert top >= together
    assert each <= together


def test_bots_far_apart_have_one_rank_each() -> None:
    strengths = np.array([30.0, 20.0, 10.0, 0.0])
    for lowest, highest in intervals(strengths, np.random.default_rng(1)):
        assert lowest.tolist() == highest.tolist() == [1, 2, 3, 4]


def test_bots_that_never_differed_are_not_told_apart() -> None:
    covariance = np.zeros((3, 3))
    random = np.random.default_rng(1)
    errors = ranks.draw_errors(covariance, random)

    lowest, highest = ranks.together(np.zeros((3, 3)), covariance, errors, 9, random)

    assert lowest.tolist() == [1, 1, 1]
    assert highest.tolist() == [3, 3, 3]


def test_few_boards_widen_intervals_that_hold_together() -> None:
    values = np.array([3.6, 0.0, -3.6])
    difference, covariance = values[:, None] - values, np.eye(3)
    random = np.random.default_rng(1)
    errors = ranks.draw_errors(covariance, random)

    few, many = (ranks.together(difference, 2 - 2 * covariance, errors, freedom, random) for freedom in (2, 200))

    assert many[1].tolist() == [1, 2, 3]
    assert few[1].tolist() != [1, 2, 3]
