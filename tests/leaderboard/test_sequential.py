"""The sequential test is right as often as it says, and finite whatever the scores."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results_made import result

from arena.compare import ComparisonPlan, Finding
from arena.games import find_game
from arena.plan import Played, count_boards
from arena.settings import Format
from leaderboard.sequential import Look, SequentialTest, board_scores, expected_score

TEST = SequentialTest(0.0, 20.0, 0.05, 0.05)
HEARTS = find_game("hearts-classic")

Draw = Callable[[np.random.Generator, float, int], np.ndarray[tuple[int], np.dtype[np.float64]]]


def bell(random: np.random.Generator, mean: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Scores as they are in Hearts between bots that often differ."""
    return np.clip(random.normal(mean, 0.2, count), 0.0, 1.0)


def mostly_even(random: np.random.Generator, mean: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Scores of bots that nearly always do the same."""
    chance = random.random(count)
    return np.select([chance < mean - 0.4, chance < 0.2], [1.0, 0.0], 0.5)


def rare_defeats(random: np.random.Generator, mean: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Scores of a bot that mostly wins a little and now and then loses everything."""
    return np.where(random.random(count) < 0.1, 0.0, mean / 0.9)


def decide(draw: Draw, elo: float, seed: int) -> bool | None:
    """Simulate a comparison of a bot that is `elo` stronger, with the looks that `arena compare` makes."""
    random = np.random.default_rng(seed)
    mean = expected_score(elo)
    scores: list[float] = []
    looks: list[Look] = []

    def test(_results: object) -> Finding:
        looks.append(TEST.look(scores))
        return Finding(looks[-1].stronger is not None, "")

    plan = ComparisonPlan("A", "B", game=HEARTS, placed=Format.DUPLICATE, test=test, budget=50_000)
    matches = list(plan.begin())
    while True:
        scores += draw(random, mean, count_boards(matches) - len(scores)).tolist()
        step = plan.go_on(Played(matches, ()))
        if not step.matches:
            return looks[-1].stronger
        matches += step.matches


KINDS = pytest.mark.parametrize("draw", [bell, mostly_even, rare_defeats], ids=lambda draw: draw.__name__)


RUNS = pytest.mark.parametrize("runs", [100, pytest.param(1_000, marks=pytest.mark.slow)])


@KINDS
@RUNS
def test_false_verdicts_at_equal_strength_are_at_most_alpha_over_many_runs(draw: Draw, runs: int) -> None:
    verdicts = [decide(draw, 0.0, seed) for seed in range(runs)]

    assert sum(verdict is True for verdict in verdicts) <= 0.05 * runs
    assert None not in verdicts


@KINDS
@RUNS
def test_a_bot_that_is_stronger_is_missed_with_a_chance_of_at_most_beta(draw: Draw, runs: int) -> None:
    verdicts = [decide(draw, 20.0, seed) for seed in range(runs)]

    assert sum(verdict is False for verdict in verdicts) <= 0.05 * runs


def test_a_look_by_hand() -> None:
    """Boards 1, 1/2 and 3/4, and the virtual 0, 0, 1 and 1: the mean is 17/28, the mean of squares 61/112."""
    look = TEST.look([1.0, 0.5, 0.75])

    low, high = 0.5, 1 / (1 + 10 ** (-1 / 20))
    assert look.boards == 3
    assert look.score == pytest.approx(17 / 28)
    assert look.elo == pytest.approx(400 * math.log10(17 / 11))
    variance = 61 / 112 - (17 / 28) ** 2
    assert look.ratio == pytest.approx(3 * (high - low) * (17 / 14 - low - high) / (2 * variance))
    assert (look.lower, look.upper) == pytest.approx((-math.log(19), math.log(19)))
    student = 2.446912  # 95 % of Student's t with 6 degrees of freedom are within
    error = student * math.sqrt(variance / 7) * 400 / math.log(10) / (17 * 11 / 28**2)
    assert look.error == pytest.approx(error, rel=0.001)


@given(st.lists(st.floats(0, 1), max_size=50))
def test_the_other_bot_sees_the_same_with_the_opposite_sign(scores: list[float]) -> None:
    mirrored = SequentialTest(-20.0, 0.0, 0.05, 0.05)

    look, other = TEST.look(scores), mirrored.look([1 - score for score in scores])

    assert other.elo == pytest.approx(-look.elo, abs=1e-9)
    assert other.ratio == pytest.approx(-look.ratio, abs=1e-9)
    assert other.needed == pytest.approx(look.needed, abs=1)


@pytest.mark.parametrize(("score", "stronger"), [(0.0, False), (0.5, False), (1.0, True)], ids=["lost", "drawn", "won"])
def test_boards_that_all_end_alike_are_decided(score: float, stronger: bool) -> None:
    look = TEST.look([score] * 100)

    assert look.stronger is stronger
    assert all(map(math.isfinite, (look.elo, look.error, look.ratio)))
    assert look.needed == 0


def test_no_boards_say_nothing() -> None:
    look = TEST.look([])

    assert (look.stronger, look.ratio, look.elo) == (None, 0.0, 0.0)
    assert look.needed > 0


def test_boards_still_needed_are_about_what_it_takes() -> None:
    random = np.random.default_rng(3)
    scores = bell(random, expected_score(8.0), 400).tolist()
    look = TEST.look(scores)

    taken = []
    for seed in range(100):
        walk, more = list(scores), np.random.default_rng(seed)
        while TEST.look(walk).stronger is None:
            walk += bell(more, look.score, 10).tolist()
        taken.append(len(walk) - len(scores))

    assert look.needed == pytest.approx(np.mean(taken), rel=0.25)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((20, 20, 0.05, 0.05), "elo1 must be more than elo0"),
        ((0, 20, 0.0, 0.05), "alpha and beta are chances"),
        ((0, 20, 0.5, 0.5), "together below 1"),
        ((float("nan"), 20, 0.5, 0.5), "elo1 must be more than elo0"),
    ],
)
def test_what_is_no_test_is_refused(values: tuple[float, float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SequentialTest(*values)


def test_board_scores_are_means_over_all_pairs_of_both_tables() -> None:
    """ABAB: A beats both, ties one and loses to the other B, then BABA; AAB and BBA on another board."""
    results = [
        result(1, "ABAB", [0, 5, 5, 16], table=0),
        result(1, "BABA", [13, 13, 0, 0], table=1),
        result(2, "AAB", [4, 8, 1], table=0),
        result(2, "BBA", [1, 7, 5], table=1),
    ]

    # board 1: A at 0 and 5 against 5 and 16: 1, 1, 1/2, 1; then A at 13 and 0 against 13 and 0: 1/2, 0, 1, 1/2
    assert board_scores(results, "A", "B") == pytest.approx([5.5 / 8, 1 / 4])
    assert board_scores(results, "B", "A") == pytest.approx([2.5 / 8, 3 / 4])
    assert board_scores(results, "A", "C") == []
