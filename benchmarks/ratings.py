"""Do 95 % intervals hold what they promise, and how fast are ratings made?

    python benchmarks/ratings.py coverage [--tournaments 400]
    python benchmarks/ratings.py chances [--tournaments 400]
    python benchmarks/ratings.py speed [--deals 1000000] [--bots 200]

Coverage: tournaments among bots of known strengths are simulated; counted is how many of the 95 % intervals of differences
between two ratings, over all pairs of bots, hold the difference that endless play would give (a tournament of 25,000
matches stands for it). Bots that didn't play twice have no interval to count. The hands' luck belongs to the seats of a
board, so that duplicate tables share it.

Chances: strengths are drawn anew for each tournament, from a normal distribution. Counted is, of all pairs of bots, how often
the one that is rated higher is the stronger, by how likely it was said to be so.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np

from arena.results import Result, places
from leaderboard.columns import Columns
from leaderboard.comparisons import Floats
from leaderboard.ratings import rate
from leaderboard.standings import make_standings

ENDLESS = 25_000
"""So many matches stand for endless play: their own error adds 0.3 % to the variance of 60 matches."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """Tournaments of a kind: line-ups drawn at random, each playing `deals` deals at all its rotations."""

    players: int
    independent: bool
    """Whether every table has deals of its own, instead of sharing those of its match."""
    matches: int = 60
    deals: int = 4
    bots: int = 8
    given: tuple[float, ...] = ()
    """The bots' strengths, if not the usual."""

    def play(self, seed: int, matches: int) -> Columns:
        """Simulate one tournament. 13 points fall one by one and 13 at a stroke, as hearts and the queen do: ties are common."""
        random = np.random.default_rng(seed)
        n, boards = self.players, matches * self.deals
        line_ups = np.argsort(random.random((matches, self.bots)), axis=1)[:, :n].repeat(self.deals, axis=0)
        bot = np.stack([np.roll(line_ups, -rotation, axis=1) for rotation in range(n)], axis=1)
        luck = random.standard_normal((boards, n if self.independent else 1, n)) + 0.5 * random.standard_normal(
            (boards, n, n)
        )
        weakness = np.exp(luck - self.strengths()[bot])
        shares = weakness / weakness.sum(axis=2, keepdims=True)
        points = random.multinomial(13, shares) + 13 * random.multinomial(1, shares)
        place = (points[..., None, :] < points[..., :, None]).sum(axis=3)
        table = np.arange(boards * n)
        return Columns(
            bots=self.names(),
            board=table if self.independent else table // n,
            deals=np.ones(boards * n, np.int64),
            table=table.repeat(n),
            bot=bot.ravel(),
            points=points.ravel(),
            place=place.ravel(),
            faults=np.zeros(boards * n * n, np.int64),
        )

    def strengths(self) -> Floats:
        """Return the bots' strengths: as they are given, or the strongest takes about half the points of the weakest."""
        return np.array(self.given) if self.given else np.linspace(-0.4, 0.4, self.bots)

    def coverage(self, tournaments: int, endless: int = ENDLESS) -> float:
        """Return the part of the 95 % intervals, over all tournaments and pairs of bots, that hold the truth."""
        truth = rate(self.play(seed=0, matches=endless))
        held = asked = 0
        for seed in range(1, tournaments + 1):
            estimate = rate(self.play(seed, self.matches))
            for one, other in combinations(self.names(), 2):
                true, found = truth.difference(one, other), estimate.difference(one, other)
                if true and found:
                    asked += 1
                    held += abs(found[0] - true[0]) <= found[1]
        return held / asked

    def names(self) -> tuple[str, ...]:
        """Return the bots' names, the weakest first."""
        return tuple(f"bot{index:02}" for index in range(self.bots))


def rows(deals: int, bots: int) -> Iterator[Result]:
    """Yield results of one deal each as a tournament of four players would give them; each 97th has a fault, points recur."""
    random = np.random.default_rng(1)
    names = [f"bot{index}" for index in range(bots)]
    line_ups = [tuple(names[index] for index in random.permutation(bots)[:4]) for _ in range(deals // 16 + 1)]
    scores = [tuple(row) for row in random.multinomial(26, [0.25] * 4, size=4000).tolist()]
    placed = [(points, places(points)) for points in scores]
    for number in range(deals):
        board, table = divmod(number, 4)
        match, deal = divmod(board, 4)
        line_up = line_ups[match]
        points, place = placed[number % len(placed)]
        yield Result(
            (match, deal), table, line_up[table:] + line_up[:table], points, place, (0, 0, 0, int(number % 97 == 0))
        )


def measure_coverage(tournaments: int) -> None:
    """Print the coverage of each kind of tournament."""
    print(f"95 % intervals of rating differences that hold the truth, {tournaments} tournaments each")
    for independent, matches, deals in ((False, 60, 4), (True, 60, 4), (False, 15, 4), (True, 16, 1)):
        for players in (3, 4, 5, 6):
            simulation = Simulation(players, independent=independent, matches=matches, deals=deals)
            kind = "independent deals" if independent else "duplicate boards"
            boards = matches * deals * (players if independent else 1)
            print(f"{players} players, {boards} boards, {kind}: {simulation.coverage(tournaments):.1%}", flush=True)


def said_and_true(spread: float, bots: int, matches: int, tournaments: int) -> tuple[Floats, Floats]:
    """Return, for all pairs of bots in all tournaments, how likely their order was said to be, and whether it is true."""
    said, true = [], []
    for seed in range(tournaments):
        strengths = spread * np.random.default_rng([3, seed]).standard_normal(bots)
        simulation = Simulation(4, independent=False, matches=matches, bots=bots, given=tuple(strengths.tolist()))
        strength = dict(zip(simulation.names(), strengths, strict=True))
        ratings = rate(simulation.play(seed, matches))
        rated = sorted((-one.elo, one.bot) for one in ratings.ratings if one.elo is not None)
        pairs = list(combinations([bot for _, bot in rated], 2))
        for (bot, other), chance in zip(pairs, ratings.chances(pairs), strict=True):
            if chance is not None:
                said.append(chance)
                true.append(strength[bot] > strength[other])
    return np.array(said), np.array(true, np.float64)


def measure_chances(tournaments: int) -> None:
    """Print how often what was said to be likely is true."""
    print(f"said to be so likely: true (of so many pairs), {tournaments} tournaments each")
    for spread, bots, matches in product((0.02, 0.1, 0.4), (4, 8), (1, 4, 60)):
        said, true = said_and_true(spread, bots, matches, tournaments)
        levels = []
        for low, high in pairwise((0.5, 0.8, 0.9, 0.95, 0.99, 1.01)):
            here = (said >= low) & (said < high)
            if here.any():
                levels.append(f"{low:.2f}: {true[here].mean():.2f} ({here.sum()})")
        print(f"spread {spread}, {bots} bots, {matches * 4} boards  {', '.join(levels)}", flush=True)


def measure_speed(deals: int, bots: int) -> None:
    """Print the median times of five runs, from rows to standings, and the peak memory of the process."""
    elapsed, processor = [], []
    for _ in range(5):
        start, used = time.perf_counter(), time.process_time()
        standings = make_standings(rows(deals, bots))
        elapsed.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{deals} deals of {len(standings.rows)} bots: {statistics.median(elapsed):.2f} s "
        f"({statistics.median(processor):.2f} s of processor time), peak {peak:.0f} MiB"
    )


def main() -> None:
    """Run the part that is asked for."""
    parser = argparse.ArgumentParser(description="Coverage and speed of the ratings.")
    parts = parser.add_subparsers(dest="part", required=True)
    coverage = parts.add_parser("coverage")
    coverage.add_argument("--tournaments", type=int, default=400)
    chances = parts.add_parser("chances")
    chances.add_argument("--tournaments", type=int, default=400)
    speed = parts.add_parser("speed")
    speed.add_argument("--deals", type=int, default=1_000_000)
    speed.add_argument("--bots", type=int, default=200)
    options = parser.parse_args()
    if options.part == "coverage":
        measure_coverage(options.tournaments)
    elif options.part == "chances":
        measure_chances(options.tournaments)
    else:
        measure_speed(options.deals, options.bots)


if __name__ == "__main__":
    main()
