"""Live Elo: the formula by hand, and agreement with the package `elo` where both apply."""

from __future__ import annotations

import math
from random import Random
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results_made import result

from leaderboard.elo import expected, update

BUILD = "the package elo is not installed; python tests/leaderboard/build_elo_oracle.py builds and installs it"


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    module: ModuleType = pytest.importorskip("elo", reason=BUILD)
    return module


def test_the_better_of_two_equals_gains_half_of_the_factor() -> None:
    assert update({"a": 1500, "b": 1500}, result(1, "ab", (3, 7)), factor=20) == {"a": 1510, "b": 1490}


def test_all_expectations_come_from_the_ratings_before() -> None:
    before = {"a": 1600.0, "b": 1500.0, "c": 1400.0}

    after = update(before, result(1, "abc", (9, 5, 5)), factor=30)

    near, far = 1 / (1 + 10 ** (-100 / 400)), 1 / (1 + 10 ** (-200 / 400))
    assert after["a"] == pytest.approx(1600 + 15 * (0 - near + 0 - far), abs=1e-9)
    assert after["b"] == pytest.approx(1500 + 15 * (near + 0.5 - near), abs=1e-9)
    assert after["c"] == pytest.approx(1400 + 15 * (far + 0.5 - (1 - near)), abs=1e-9)


def test_copies_of_a_bot_do_not_play_each_other() -> None:
    after = update({"a": 1500, "b": 1500}, result(1, "aab", (0, 9, 5)), factor=20)

    assert after == {"a": 1500, "b": 1500}


def test_a_new_bot_starts_at_1500_and_absent_ones_stay() -> None:
    assert update({"x": 1234.5}, result(1, "ab", (1, 1))) == {"a": 1500, "b": 1500, "x": 1234.5}


def test_great_distances_do_not_overflow() -> None:
    assert expected(1e9, 0) == 1
    assert expected(0, 1e9) == 0


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(-5, 5)), min_size=2, max_size=6),
    st.lists(st.floats(-500, 4000), min_size=6, max_size=6),
    st.randoms(use_true_random=False),
)
def test_points_only_change_hands_and_the_order_of_players_is_irrelevant(
    sides: list[tuple[str, int]], strengths: list[float], random: Random
) -> None:
    before = dict(zip("abcdef", strengths, strict=True))
    shuffled = random.sample(sides, len(sides))

    after = update(before, result(1, [bot for bot, _ in sides], [points for _, points in sides]))

    assert math.fsum(after.values()) == pytest.approx(math.fsum(before.values()), abs=1e-9)
    assert update(before, result(1, [bot for bot, _ in shuffled], [points for _, points in shuffled])) == after


@pytest.mark.slow
def test_two_player_sequences_equal_the_package_elo(oracle: ModuleType) -> None:
    random = Random(20)
    for _ in range(10_000):
        factor = random.choice([10, 16, 20, 32, 40])
        theirs = oracle.Elo(k_factor=factor, initial=1500, beta=200)
        ours = {bot: random.uniform(800, 2400) for bot in "abc"}
        rated = dict(ours)
        for board in range(random.randrange(1, 12)):
            one, other = random.sample("abc", 2)
            outcome = random.choice([-1, 0, 1])
            ours = update(ours, result(board, (one, other), (5 - outcome, 5)), factor=factor)
            if outcome < 0:
                rated[other], rated[one] = theirs.rate_1vs1(rated[other], rated[one])
            else:
                rated[one], rated[other] = theirs.rate_1vs1(rated[one], rated[other], drawn=outcome == 0)

        assert ours == pytest.approx(rated, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("players", [3, 4, 5, 6])
def test_tables_of_more_players_equal_a_series_of_the_package_elo(oracle: ModuleType, players: int) -> None:
    """Its series form takes all of a player's opponents at once; K is shared among them."""
    random = Random(players)
    theirs = oracle.Elo(k_factor=24 / (players - 1), initial=1500, beta=200)
    for board in range(2_000):
        bots = "abcdef"[:players]
        before = {bot: random.uniform(800, 2400) for bot in bots}
        points = random.choices(range(8), k=players)

        after = update(before, result(board, bots, points), factor=24)

        for side, bot in enumerate(bots):
            series = [
                ((1 + (points[side] < points[other]) - (points[side] > points[other])) / 2, before[opponent])
                for other, opponent in enumerate(bots)
                if other != side
            ]
            assert after[bot] == pytest.approx(theirs.rate(before[bot], series), abs=1e-9)
