"""Of each kind something fair is flagged in at most one tournament of twenty, and a seat that isn't fair is found.

The short form of benchmarks/fairness.py; seeds are its own, so that counts are the same each time.
"""

from __future__ import annotations

from math import sqrt

import pytest
from benchmark_scripts import load_benchmark

fairness = load_benchmark("fairness")


@pytest.mark.parametrize(
    ("bots", "boards", "kind", "tournaments"),
    [
        pytest.param(8, 120, {}, 40, id="8 bots"),
        pytest.param(20, 240, {}, 30, id="20 bots"),
        *(
            pytest.param(
                *(bots, boards, kind, 60 if boards > 1_000 else 120),
                id=f"{bots} bots, {boards} boards, {name}",
                marks=pytest.mark.slow,
            )
            for bots, boards in ((4, 120), (8, 240), (20, 600), (20, 2_400))
            for name, kind in (("duplicate", {}), ("independent", {"independent": True}), ("uneven", {"uneven": True}))
        ),
    ],
)
def test_what_is_fair_is_seldom_flagged(bots: int, boards: int, kind: dict[str, bool], tournaments: int) -> None:
    simulation = fairness.Simulation(bots, boards, **kind)

    shares = fairness.share(simulation, fairness.flagged, tournaments)

    assert all(share <= 0.05 + 3 * sqrt(0.05 * 0.95 / tournaments) for share in shares.values()), shares


@pytest.mark.slow
@pytest.mark.parametrize(("boards", "least"), [(600, 0.5), (2_400, 0.98)])
def test_a_seat_advantage_of_half_a_point_is_found(boards: int, least: float) -> None:
    found = fairness.share(fairness.Simulation(20, boards, advantage=True), fairness.advantage_found, 50)

    assert found["seat"] >= least
