"""How many boards does an adaptive schedule save, and how often does it claim a wrong order?

    python benchmarks/adaptive.py [--runs 200] [--bots 12] [--top 3] [--tie-margin 0.15] [--budget 20000]

Bots of known strengths, drawn from a normal distribution with a standard deviation of one point a deal, play simulated
boards: on each, a bot's points are its strength and noise with a standard deviation of 3.1. Who meets whom, when to look
and when to stop is the code of `arena/adaptive.py`; strengths are estimated by least squares. The same bots play a uniform
schedule that stops by the same rule. A claim is wrong where a bot is said to be stronger than one that truly is stronger, or
tied with one that is stronger by more than the tie margin.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from arena.adaptive import EVERY, AdaptivePlan, Lead, Order, Strengths, ranked
from arena.games import find_game
from arena.match import Match
from arena.plan import Played, count_boards
from arena.results import Result
from arena.schedule import make_schedule
from arena.settings import ScheduleKind, Settings, Settling

NOISE = 3.1
"""The standard deviation of a bot's points on a board, its strength apart."""

Matrix = NDArray[np.float64]

GAME = find_game("hearts-classic")


class Simulation:
    """A table where bots of known strengths play, and what its results say of them."""

    def __init__(self, strengths: Matrix, seed: int) -> None:
        self.bots = [f"bot {number:02}" for number in range(len(strengths))]
        self._index = {bot: index for index, bot in enumerate(self.bots)}
        self._true = strengths
        self._random = np.random.default_rng(seed)
        self._met: Matrix = np.zeros((len(strengths), len(strengths)))
        self._points: Matrix = np.zeros(len(strengths))
        self._values: Matrix = np.zeros(len(strengths))
        self._covariance: Matrix = np.zeros_like(self._met)

    def play(self, matches: Iterable[Match]) -> None:
        """Play matches; fewer points are better, so strengths are taken away."""
        for match in matches:
            seated = [self._index[bot] for bot in match.line_up]
            points = self._random.normal(0.0, NOISE, (match.deals, len(seated))) - self._true[seated]
            self._met[np.ix_(seated, seated)] += match.deals / len(seated)
            self._points[seated] += (points - points.mean(axis=1, keepdims=True)).sum(axis=0)

    def rate(self, _results: Iterable[Result]) -> Strengths:
        """Estimate the strengths by least squares: points of a board are compared with the mean at its table."""
        laplacian = np.diag(self._met.sum(axis=1)) - self._met
        inverse = np.asarray(np.linalg.inv(laplacian + 1 / len(self.bots)), np.float64)
        self._values = np.asarray(inverse @ self._points, np.float64)
        self._covariance = NOISE**2 * inverse
        order = np.argsort(self._values)
        return Strengths(tuple(self.bots[index] for index in order), self._lead)

    def _lead(self, bot: str, other: str) -> Lead:
        one, two = self._index[bot], self._index[other]
        error = float(np.sqrt(self._covariance[one, one] + self._covariance[two, two] - 2 * self._covariance[one, two]))
        points = float(self._values[two] - self._values[one])
        return Lead(points / error, points, error)

    def true_lead(self, bot: str, other: str) -> float:
        """Return by how many points a deal the bot is truly stronger than the other."""
        return float(self._true[self._index[bot]] - self._true[self._index[other]])


@dataclass(frozen=True, slots=True)
class Run:
    """How one schedule ended."""

    boards: int
    settled: bool
    misordered: bool
    """Whether a bot is said to be stronger than one that truly is."""
    mistied: bool
    """Whether a bot is said to be tied with one that truly is stronger by more than the tie margin."""


def play(strengths: Matrix, seed: int, settling: Settling, every: int) -> Run:
    """Play a schedule to its end; with `every` = 1 all matches are for all bots alike."""
    table = Simulation(strengths, seed)
    key = seed.to_bytes(32, "big")
    opening = make_schedule(Settings(schedule=ScheduleKind.ADAPTIVE), GAME, table.bots, key)
    plan = AdaptivePlan(opening, table.bots, game=GAME, key=key, settling=settling, rate=table.rate, every=every)
    matches = list(plan.begin())
    table.play(matches)
    while step := plan.go_on(Played(matches, ())).matches:
        table.play(step)
        matches += step
    claims = ranked(table.rate(()), settling)
    return Run(
        boards=count_boards(matches),
        settled=all(claim.order is not Order.OPEN for claim in claims),
        misordered=any(
            claim.order is Order.STRONGER and table.true_lead(claim.bot, claim.other) < 0 for claim in claims
        ),
        mistied=any(
            claim.order is Order.TIED and table.true_lead(claim.bot, claim.other) < -settling.tie_margin
            for claim in claims
        ),
    )


def play_both(seed: int, bots: int, settling: Settling) -> tuple[Run, Run]:
    """Play an adaptive and a uniform schedule with the same bots."""
    strengths = np.random.default_rng([7, seed]).normal(0.0, 1.0, bots)
    return play(strengths, seed, settling, EVERY), play(strengths, seed, settling, 1)


def report(name: str, runs: Sequence[Run]) -> None:
    """Print a line about all runs of a kind."""
    boards = [run.boards for run in runs]
    parts = {
        "settled": sum(run.settled for run in runs),
        "wrong order": sum(run.misordered for run in runs),
        "wrong tie": sum(run.mistied for run in runs),
    }
    shares = ", ".join(f"{what} {count / len(runs):.1%}" for what, count in parts.items())
    print(f"{name}: boards median {statistics.median(boards):,.0f}, mean {statistics.mean(boards):,.0f}; {shares}")


def main() -> None:
    """Run what is asked for, on all cores."""
    parser = argparse.ArgumentParser(description="Boards and errors of adaptive schedules.")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--bots", type=int, default=12)
    parser.add_argument("--top", type=int, default=3)
    parser.add_argument("--tie-margin", type=float, default=0.15)
    parser.add_argument("--budget", type=int, default=20_000)
    options = parser.parse_args()
    settling = Settling(options.top, options.tie_margin, options.budget)
    with ProcessPoolExecutor() as pool:
        played = pool.map(partial(play_both, bots=options.bots, settling=settling), range(options.runs))
        adaptive, uniform = zip(*played, strict=True)
    report("adaptive", adaptive)
    report("uniform", uniform)
    shares = [one.boards / other.boards for one, other in zip(adaptive, uniform, strict=True)]
    medians = [statistics.median(run.boards for run in runs) for runs in (adaptive, uniform)]
    print(
        f"adaptive of uniform boards: median run {statistics.median(shares):.1%}, medians {medians[0] / medians[1]:.1%}"
    )


if __name__ == "__main__":
    main()
