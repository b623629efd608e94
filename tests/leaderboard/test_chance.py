"""The chance to be the stronger is one: of all that are said to be so likely, so many are true."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from leaderboard.chance import Differences, Spread
from leaderboard.comparisons import Floats

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
Draw = Callable[[np.random.Generator, int], Floats]


def normal(spread: float) -> Draw:
    """Strengths, in standard errors of a rating."""
    return lambda random, bots: spread * random.standard_normal(bots)


def clusters(random: np.random.Generator, bots: int) -> Floats:
    return np.asarray(np.where(np.arange(bots) < bots // 2, 0.0, 8.0) + random.standard_normal(bots))


def said_and_true(draw: Draw, bots: int, boards: int, pools: int) -> tuple[Floats, Floats]:
    """Return the chances given to whoever is rated higher, for all pairs of all pools, and whether they are the stronger."""
    random = np.random.default_rng([bots, boards])
    one, two = np.triu_indices(bots, 1)
    said, true = [], []
    for _ in range(pools):
        strengths = draw(random, bots)
        rated = strengths + random.standard_normal(bots)
        order = np.argsort(-rated)
        ahead = rated[order[one]] - rated[order[two]]
        variances = 2 * random.chisquare(boards - 1, len(one)) / (boards - 1)
        pairs = Differences(ahead, variances, np.full(len(one), boards))
        said.append(Spread.of(pairs, bots).chances(pairs))
        true.append(strengths[order[one]] > strengths[order[two]])
    return np.concatenate(said), np.concatenate(true).astype(np.float64)


@pytest.mark.few(8)
@pytest.mark.parametrize("boards", [4, 240])
@pytest.mark.parametrize("bots", [4, 8, 20])
@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(normal(0.4), id="close"),
        pytest.param(normal(1.0), id="as far as errors"),
        pytest.param(normal(4.0), id="spread"),
        pytest.param(clusters, id="clusters"),
    ],
)
def test_what_is_said_to_be_likely_is_true_as_often(draw: Draw, bots: int, boards: int) -> None:
    """Pairs of a pool share luck: what counts as one case is a bot of a pool, no pair."""
    said, true = said_and_true(draw, bots, boards, pools=240 // bots)

    for low, high in pairwise(LEVELS[3:]):
        here = (said >= low) & (said < high)
        cases = here.sum() * 2 / bots
        if cases >= 1:
            assert true[here].mean() >= said[here].mean() - 3 * np.sqrt(low * (1 - low) / cases)


def test_in_a_pool_of_many_the_chance_is_not_much_too_low_either() -> None:
    """Among twenty bots as far apart as errors are large, what is said is true as often, and not much more often."""
    said, true = said_and_true(normal(1.0), 20, 240, pools=40)

    for low, high in pairwise(LEVELS[:-1]):
        here = (said >= low) & (said < high)
        assert -0.03 < true[here].mean() - said[here].mean() < 0.12


def test_close_bots_on_four_boards_are_not_said_to_be_sure() -> None:
    said, _ = said_and_true(normal(0.2), 4, 4, pools=100)

    assert said.max() < 0.95
    assert (said > 0.9).mean() < 0.01


def test_chances_of_both_orders_add_up_to_one() -> None:
    values = np.linspace(-3.0, 3.0, 13)
    ahead = Differences(values, np.full(13, 1.5), np.full(13, 40))
    behind = Differences(-values, np.full(13, 1.5), np.full(13, 40))

    chances = Spread.of(ahead, 6).chances(ahead)

    assert chances + Spread.of(behind, 6).chances(behind) == pytest.approx(np.ones(13))
    assert (np.diff(chances) > 0).all()
    assert chances[6] == pytest.approx(0.5)


def test_a_large_difference_is_believed_where_others_are_large_too() -> None:
    close = Differences(np.array([0.1, -0.2, 0.3, 0.1, 2.5]), np.ones(5), np.full(5, 200))
    spread = Differences(np.array([9.0, -7.0, 5.0, 8.0, 2.5]), np.ones(5), np.full(5, 200))

    assert Spread.of(close, 4).chances(close)[-1] < Spread.of(spread, 4).chances(spread)[-1]
