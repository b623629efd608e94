"""How many boards does an adaptive schedule save, and how often does it claim a wrong order?

    python benchmarks/adaptive.py [--runs 200] [--bots 12] [--top 3] [--tie-margin 0.15] [--budget 20000]
    python benchmarks/adaptive.py --coverage [--runs 200]

Bots of known strengths, drawn from a normal distribution with a standard deviation of one point a deal, play simulated
boards: on each, a bot's points are its strength and noise with a standard deviation of 3.1. Who meets whom, when to look
and when to stop is the code of `arena/adaptive.py`; strengths are estimated by least squares. The same bots play a uniform
schedule that stops by the same rule. A claim is wrong where a bot is said to be stronger than one that truly is stronger, or
tied with one that is stronger by more than the tie margin.

Coverage: where bots are near-equal, a schedule that listens to luck can leave ratings too far apart. Counted are the 95 %
intervals, of the differences of all two bots and of each bot against the mean, that hold the truth when the schedule ends, and
by how many points a deal the last row is too low. Under any schedule the last of equal bots is so; uniform is the measure.
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
from leaderboard.covariance import NORMAL_95

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

    def estimate(self) -> tuple[Matrix, Matrix]:
        """Return the strengths as estimated from all that is played, more being better, and the covariance of their errors."""
        self.rate(())
        return -self._values, self._covariance

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


def play_on(table: Simulation, seed: int, settling: Settling, every: int) -> list[Match]:
    """Play a schedule to its end, and return its matches; with `every` = 1 all of them are for all bots alike."""
    key = seed.to_bytes(32, "big")
    opening = make_schedule(Settings(schedule=ScheduleKind.ADAPTIVE), GAME, table.bots, key)
    plan = AdaptivePlan(opening, table.bots, game=GAME, key=key, settling=settling, rate=table.rate, every=every)
    matches = list(plan.begin())
    table.play(matches)
    while step := plan.go_on(Played(matches, ())).matches:
        table.play(step)
        matches += step
    return matches


def play(strengths: Matrix, seed: int, settling: Settling, every: int) -> Run:
    """Play a schedule to its end, and judge what it claims."""
    table = Simulation(strengths, seed)
    matches = play_on(table, seed, settling, every)
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


POOLS = {
    "6 equal": ([0.0] * 6, 1_200),
    "3 equal, 5 lower by 1": ([0.0] * 3 + [-1.0] * 5, 2_000),
    "3 equal, 5 lower by 0.4": ([0.0] * 3 + [-0.4] * 5, 2_000),
    "12 spread": (np.random.default_rng([7, 1]).normal(0.0, 1.0, 12).tolist(), 20_000),
}
"""Strengths in points a deal, and a budget in boards."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the 95 % intervals at the end of one schedule hold."""

    differences: float
    """The part of all two bots whose true difference is held."""
    means: float
    """The part of the bots whose strength against the mean is held."""
    last: float
    """By how many points a deal the last row is rated too high."""


def cover(seed: int, strengths: Sequence[float], budget: int, every: int = EVERY) -> Coverage:
    """Play a schedule to its end, and see which intervals hold the truth."""
    true = np.array(strengths)
    table = Simulation(true, seed)
    play_on(table, seed, Settling(3, 0.15, budget), every)
    values, covariance = table.estimate()
    centre = np.eye(len(true)) - 1 / len(true)
    against_mean = centre @ (values - true)
    one, two = np.triu_indices(len(true), 1)
    apart = (values - true)[one] - (values - true)[two]
    variances = np.diagonal(covariance)[one] + np.diagonal(covariance)[two] - 2 * covariance[one, two]
    own = np.sqrt(np.diagonal(centre @ covariance @ centre))
    return Coverage(
        differences=float((np.abs(apart) < NORMAL_95 * np.sqrt(variances)).mean()),
        means=float((np.abs(against_mean) < NORMAL_95 * own).mean()),
        last=float(against_mean[np.argmin(values)]),
    )


def measure_coverage(runs: int) -> None:
    """Print what intervals hold in each pool, after adaptive and after uniform schedules."""
    for name, (strengths, budget) in POOLS.items():
        for kind, every in (("adaptive", EVERY), ("uniform", 1)):
            with ProcessPoolExecutor() as pool:
                covered = list(pool.map(partial(cover, strengths=strengths, budget=budget, every=every), range(runs)))
            print(
                f"{name}, {kind}: differences {statistics.mean(one.differences for one in covered):.1%}, "
                f"against the mean {statistics.mean(one.means for one in covered):.1%}, "
                f"the last row {statistics.mean(one.last for one in covered):+.3f}",
                flush=True,
            )


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
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--bots", type=int, default=12)
    parser.add_argument("--top", type=int, default=3)
    parser.add_argument("--tie-margin", type=float, default=0.15)
    parser.add_argument("--budget", type=int, default=20_000)
    options = parser.parse_args()
    if options.coverage:
        measure_coverage(options.runs)
        return
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
