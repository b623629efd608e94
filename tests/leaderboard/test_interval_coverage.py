"""Do 95 % intervals hold the truth in 95 % of simulated tournaments? The short form of benchmarks/ratings.py."""

from __future__ import annotations

import pytest
from benchmark_scripts import load_benchmark

ratings = load_benchmark("ratings")


@pytest.mark.parametrize(
    ("players", "independent", "matches", "deals"),
    [
        pytest.param(4, False, 30, 4, id="duplicate boards"),
        pytest.param(3, True, 30, 4, id="independent deals"),
        pytest.param(4, False, 15, 4, id="few boards, by bootstrap", marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_truth_at_their_level(players: int, independent: bool, matches: int, deals: int) -> None:
    simulation = ratings.Simulation(players, independent=independent, matches=matches, deals=deals, bots=6)

    coverage = simulation.coverage(tournaments=60, endless=3_000)

    assert 0.92 <= coverage <= 0.98
