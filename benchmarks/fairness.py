"""How often does `arena fairness` flag what is fair, and how often does it find a seat that isn't?

    python benchmarks/fairness.py false [--tournaments 400] [--bots 4]
    python benchmarks/fairness.py power [--tournaments 400] [--bots 4]
    python benchmarks/fairness.py real [--tournaments 12]

Tournaments of bots that are alike are simulated: who meets whom is the schedule's, points of the deals are drawn so that their
spread, their skewness and what tables with the same deals share are those of Hearts among random players. Counted are the
tournaments with one flag or more, by kind. With bots that are `uneven`, each has a strength and an unsteadiness of its own, and
still none does otherwise when another sits there. `real` plays a few tournaments in this process, card by card, and
compares the spread with the simulation's.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from arena.cards import Card
from arena.decision import Decision
from arena.games import find_game
from arena.results import Result, places
from arena.schedule import make_schedule
from arena.settings import Settings
from arena.simulate import simulate
from leaderboard.changes import Change, find_changes
from leaderboard.columns import Columns, Whole
from leaderboard.company import Context, Influence
from leaderboard.fairness import find_fairness
from leaderboard.seats import Seat
from leaderboard.sides import Entries, Sides

GAME = find_game("hearts-classic")
SIDES = 4
DEALS = 4

HANDS, PLAY = 0.5, 0.6
"""How far luck of the hands, and of play, spreads the chances to take a point, as standard deviations of their logarithms."""

ADVANTAGE = 0.12
"""By so much the logarithm of a seat's chances is lower where it is to have an advantage of 0.5 points a deal."""

SIZES = tuple((bots, boards) for bots in (4, 8, 20) for boards in (120, 240, 600, 2_400))

Points = NDArray[np.int64]
"""By board, table and seat."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """Tournaments of a kind."""

    bots: int
    boards: int
    independent: bool = False
    """Whether every table has deals of its own."""
    uneven: bool = False
    """Whether bots differ in strength and in how unsteady they are."""
    advantage: bool = False
    """Whether seat 1 has an advantage."""

    def play(self, seed: int) -> Columns:
        """Simulate one tournament."""
        line_ups = schedule(self.bots, self.boards)
        return columns(line_ups, self._points(np.random.default_rng(seed), line_ups), self.bots)

    def substitute(self, seed: int) -> tuple[list[Result], list[Result]]:
        """Simulate the matches of one bot, and the same deals with a stand-in that plays as it does."""
        random = np.random.default_rng(seed)
        line_ups = schedule(self.bots, self.boards)
        line_ups = line_ups[(line_ups == 0).any(axis=1)]
        hands = self._hands(random, len(line_ups))
        before, after = (self._points(random, line_ups, hands) for _ in range(2))
        return rows(line_ups, before, "0"), rows(line_ups, after, "stand-in")

    def _hands(self, random: np.random.Generator, boards: int) -> NDArray[np.float64]:
        return HANDS * random.standard_normal((boards, SIDES if self.independent else 1, SIDES))

    def _points(self, random: np.random.Generator, line_ups: Whole, hands: NDArray[np.float64] | None = None) -> Points:
        """Draw points: 13 fall one by one and 13 at a stroke, as hearts and the queen do."""
        shape = len(line_ups), SIDES, SIDES
        luck = (self._hands(random, len(line_ups)) if hands is None else hands) + PLAY * random.standard_normal(shape)
        luck[..., 1] -= ADVANTAGE * self.advantage
        chances = np.exp(luck)
        chances /= chances.sum(axis=2, keepdims=True)
        points = random.multinomial(13, chances) + 13 * random.multinomial(1, chances)
        if self.uneven:
            own = np.arange(self.bots)[seated(line_ups)]
            unsteady = random.standard_normal(shape) * (own * 7 % self.bots) * 8 / self.bots
            points = points + own * 4 // self.bots + np.rint(unsteady).astype(np.int64)
        return points


@cache
def schedule(bots: int, boards: int) -> Whole:
    """Return the line-up of each board, as far as there are to be boards, by the number of the bot."""
    names = [f"{bot:02}" for bot in range(bots)]
    matches = make_schedule(Settings(boards=boards * SIDES // bots), GAME, names, bytes(32))
    line_ups = np.array([[int(name) for name in match.line_up] for match in matches[: boards // DEALS]])
    return line_ups.repeat(DEALS, axis=0)


def seated(line_ups: Whole) -> Whole:
    """Return who sits where, by board, table and seat: table r turns the line-up by r."""
    return np.stack([np.roll(line_ups, -table, axis=1) for table in range(SIDES)], axis=1)


def columns(line_ups: Whole, points: Points, bots: int) -> Columns:
    """Return what was played as results by column."""
    tables = points.shape[0] * SIDES
    return Columns(
        bots=tuple(f"{bot:02}" for bot in range(bots)),
        board=np.arange(tables) // SIDES,
        deals=np.ones(tables, np.int64),
        table=np.arange(tables).repeat(SIDES),
        bot=seated(line_ups).ravel(),
        points=points.ravel(),
        place=(points[..., None, :] < points[..., :, None]).sum(axis=3).ravel(),
        faults=np.zeros(points.size, np.int64),
    )


def rows(line_ups: Whole, points: Points, first: str) -> list[Result]:
    """Return what was played as results by table, bot 0 being called `first`."""
    return [
        Result(
            (board, 0), table, tuple(str(bot) if bot else first for bot in bots), scores, places(scores), (0,) * SIDES
        )
        for board, tables in enumerate(zip(seated(line_ups).tolist(), points.tolist(), strict=True))
        for table, (bots, scores) in enumerate(zip(*tables, strict=True))
        for scores in [tuple(scores)]
    ]


def flagged(simulation: Simulation, seed: int) -> list[str]:
    """Return of which kinds something is flagged in one tournament."""
    fairness = find_fairness(simulation.play(seed))
    names = [str(bot) for bot in range(simulation.bots)]
    kinds: dict[str, Sequence[Seat | Context | Influence | Change]] = {
        "seats": fairness.seats,
        "contexts": fairness.contexts,
        "influences": fairness.influences,
        "changes": find_changes(*simulation.substitute(seed), "0", "stand-in", names),
    }
    return [kind for kind, found in kinds.items() if any(one.flagged for one in found)]


def advantage_found(simulation: Simulation, seed: int) -> list[str]:
    """Return whether the seat with the advantage is flagged, as a list of one kind or of none."""
    return ["seat"] * find_fairness(simulation.play(seed)).seats[1].flagged


def share(
    simulation: Simulation,
    find: Callable[[Simulation, int], Sequence[str]],
    tournaments: int,
    run: Callable[..., Iterator[Sequence[str]]] = map,
) -> dict[str, float]:
    """Return in which part of so many tournaments each kind is found."""
    counts = Counter(kind for kinds in run(partial(find, simulation), range(tournaments)) for kind in kinds)
    return {kind: count / tournaments for kind, count in counts.items()}


def measure(tournaments: int, sizes: Sequence[tuple[int, int]], *, advantage: bool) -> None:
    """Print the share of tournaments with flags for each size and kind of tournament."""
    kinds = ("seat",) if advantage else ("seats", "contexts", "influences", "changes")
    with ProcessPoolExecutor() as pool:
        run = partial(pool.map, chunksize=8)
        for bots, boards in sizes:
            for name, plain in (
                ("duplicate", {}),
                ("independent", {"independent": True}),
                ("uneven", {"uneven": True}),
            ):
                simulation = Simulation(bots, boards, advantage=advantage, **plain)
                found = share(simulation, advantage_found if advantage else flagged, tournaments, run)
                figures = "  ".join(f"{kind} {found.get(kind, 0.0):5.1%}" for kind in kinds)
                print(f"{bots:2} bots, {boards:5,} boards, {name:11}  {figures}", flush=True)


def play_cards(bots: int, boards: int, seed: int) -> Columns:
    """Play one tournament of random players, card by card."""
    line_ups = schedule(bots, boards)
    tables = [
        simulate(GAME, [partial(play_at_random, Random(f"{seed} {table}"))] * SIDES, seed=seed, deals=len(line_ups))
        for table in range(SIDES)
    ]
    return columns(line_ups, np.array([table.scores for table in tables]).transpose(1, 0, 2), bots)


def play_at_random(random: Random, decision: Decision) -> Card | Sequence[Card]:
    """Pass any cards, play any card."""
    return random.choice(decision.legal) if decision.count == 1 else random.sample(decision.legal, decision.count)


def spread(played: Columns) -> dict[str, float]:
    """Return how points a deal spread at a table, and by board: those of a seat, their skewness, and those of a bot."""
    sides = Sides.of(played)
    seats, bots = (Entries.of(sides.board, what).mean(sides.points) for what in (sides.side, sides.bot))
    skewness = ((seats - seats.mean()) ** 3).mean() / seats.std() ** 3
    return {"table": sides.points.std(), "seat": seats.std(), "skewness": skewness, "bot": bots.std()}


def compare(tournaments: int) -> None:
    """Print the spread of real tournaments and of simulated ones, and in how many of the real ones something is flagged."""
    simulation = Simulation(8, 240)
    real = [play_cards(simulation.bots, simulation.boards, seed) for seed in range(tournaments)]
    for name, played in (("real", real), ("simulated", [simulation.play(seed) for seed in range(400)])):
        found = [spread(one) for one in played]
        print(name, {what: round(float(np.mean([one[what] for one in found])), 2) for what in found[0]})
    fair = [find_fairness(played) for played in real]
    for kind in ("seats", "contexts", "influences"):
        count = sum(any(one.flagged for one in getattr(found, kind)) for found in fair)
        print(f"{kind}: flagged in {count} of {tournaments} real tournaments")


def main() -> None:
    """Run the part that is asked for."""
    parser = argparse.ArgumentParser(description="How often fairness is flagged, rightly and wrongly.")
    parser.add_argument("part", choices=("false", "power", "real"))
    parser.add_argument("--tournaments", type=int)
    parser.add_argument("--bots", type=int, choices=(4, 8, 20), help="only tournaments of so many")
    options = parser.parse_args()
    if options.part == "real":
        compare(options.tournaments or 12)
    else:
        sizes = [size for size in SIZES if options.bots in (size[0], None)]
        measure(options.tournaments or 400, sizes, advantage=options.part == "power")


if __name__ == "__main__":
    main()
