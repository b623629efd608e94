"""Results for tests: written by hand, or played by simulated bots."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from arena.results import Result, places


def result(
    board: int, bots: str | Sequence[str], points: Sequence[int], faults: Sequence[int] = (), table: int = 0
) -> Result:
    """Return one table's result; bots with names of one letter can be given as a word."""
    return Result(
        board=(board, 0),
        table=table,
        bots=tuple(bots),
        points=tuple(points),
        places=places(tuple(points)),
        faults=tuple(faults) or (0,) * len(points),
    )


def turn(bots: str, by: int) -> str:
    """Turn a line-up: each bot in turn comes first."""
    by %= len(bots)
    return bots[by:] + bots[:by]


def play(
    bots: Sequence[str], boards: int, *, players: int = 4, seed: int = 1, first: int = 0, faulty: str = ""
) -> list[Result]:
    """Simulate duplicate boards: the earlier in the list, the stronger. Bots in `faulty` fail on every tenth board."""
    random = Random(seed)
    results = []
    for board in range(first, first + boards):
        line_up = random.sample(list(bots), players)
        luck = [random.uniform(0.5, 2) for _ in line_up]
        for table in range(players):
            seated = line_up[table:] + line_up[:table]
            weights = [luck[seat] * (1 + bots.index(bot) / len(bots)) for seat, bot in enumerate(seated)]
            hearts = random.choices(range(players), weights, k=13)
            faults = [int(bot in faulty and board % 10 == 0) for bot in seated]
            results.append(result(board, seated, [hearts.count(seat) for seat in range(players)], faults, table))
    return results
