"""Do 95 % intervals hold the truth in 95 % of simulated tournaments? The short form of benchmarks/ratings.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "ratings.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    specification = importlib.util.spec_from_file_location("ratings_benchmark", SCRIPT)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("players", "independent", "matches", "deals"),
    [
        pytest.param(4, False, 30, 4, id="duplicate boards"),
        pytest.param(3, True, 30, 4, id="independent deals"),
        pytest.param(4, False, 15, 4, id="few boards, by bootstrap"),
    ],
)
def test_intervals_cover_the_truth_at_their_level(
    benchmark: ModuleType, players: int, independent: bool, matches: int, deals: int
) -> None:
    simulation = benchmark.Simulation(players, independent=independent, matches=matches, deals=deals, bots=6)

    coverage = simulation.coverage(tournaments=60, endless=3_000)

    assert 0.92 <= coverage <= 0.98
