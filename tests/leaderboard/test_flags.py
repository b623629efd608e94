"""What is beyond chance: the draws decide, all tests count, and few degrees of freedom are allowed for."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard.estimate import Sums
from leaderboard.flags import beyond_chance, deviates


@pytest.mark.parametrize(
    ("freedom", "value", "normal"),
    [(3.0, 3.182446, 1.959964), (7.0, 2.364624, 1.959964), (30.0, 2.042272, 1.959964), (7.0, 10.0, 4.2498)],
)
def test_a_deviate_is_as_unlikely_for_a_normal_as_the_value_for_students_t(
    freedom: float, value: float, normal: float
) -> None:
    """Values from tables of Student's t; the last from scipy 1.17."""
    found = deviates(np.array([value, -value]) * 3, np.array([3.0, 3.0]), np.array([freedom, freedom]))

    assert found == pytest.approx([normal, normal], abs=1e-3)


def test_without_a_degree_of_freedom_nothing_is_said() -> None:
    assert deviates(np.array([5.0]), np.array([0.0]), np.array([0.0])).tolist() == [0.0]


def test_all_that_is_tested_counts_and_not_only_one() -> None:
    """3 standard deviations are beyond chance for one figure, and are not among a thousand."""

    def among(others: int) -> bool:
        found = np.concatenate(([3.0], np.zeros(others)))
        return bool(beyond_chance(found, lambda random: np.abs(random.standard_normal(1 + others)), 1)[0])

    assert among(0)
    assert not among(999)


def test_figures_that_go_together_count_as_one() -> None:
    found = np.full(1_000, 3.0)

    flags = beyond_chance(found, lambda random: np.abs(random.standard_normal(1)).repeat(1_000), 1)

    assert flags.all()


def test_what_is_found_no_longer_counts_among_the_rest() -> None:
    """Of 2 figures the first scatters so much that the second would be lost beside it, if the first weren't found."""

    def draw(random: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.abs(random.standard_normal(2)) * (4.0, 1.0)

    assert beyond_chance(np.array([99.0, 3.0]), draw, 1).tolist() == [True, True]
    assert beyond_chance(np.array([3.1, 3.0]), draw, 1).tolist() == [False, False]


def test_the_same_results_have_the_same_flags() -> None:
    found = np.linspace(1.0, 3.0, 20)

    first, again = (beyond_chance(found, lambda random: np.abs(random.standard_normal(20)), 1) for _ in range(2))

    assert first.tolist() == again.tolist()


def test_the_error_of_a_difference_of_means_is_welchs() -> None:
    """By hand: 1, 3 and 2, 4, 6: means 2 and 4, variances 2 and 4; (1 + 4/3)^2 / (1 + (4/3)^2 / 2) degrees of freedom."""
    sums = Sums.of(np.array([1.0, 3.0, 2.0, 4.0, 6.0]), np.array([0, 0, 1, 1, 1]), 2)
    one, other = (Sums(sums.count[[i]], sums.total[[i]], sums.squares[[i]]).means() for i in (0, 1))

    difference = one.minus(other)

    assert difference.values.tolist() == [-2.0]
    assert difference.errors[0] == pytest.approx((1 + 4 / 3) ** 0.5)
    assert difference.freedom[0] == pytest.approx((1 + 4 / 3) ** 2 / (1 + (4 / 3) ** 2 / 2))
