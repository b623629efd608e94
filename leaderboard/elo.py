"""Live Elo for the ladder: each result moves the ratings of all who sat at the table at once.

R_i += K / (n - 1) * sum over j of (S_ij - E_ij), with all E from the ratings before the result. The sum over all bots doesn't
change. The order of results matters here, so every published table uses `ratings` instead.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from arena.results import Result

START = 1500.0
"""The rating of a bot without results."""
FACTOR = 16.0
"""K: how far a result can move a rating of one side, at most."""


def expected(rating: float, other: float) -> float:
    """Return the expected score against the other: between 0 and 1.

    >>> round(expected(1900, 1500), 4)
    0.9091
    """
    return 0.5 + 0.5 * math.tanh((rating - other) * math.log(10) / 800)


def update(ratings: Mapping[str, float], result: Result, factor: float = FACTOR) -> dict[str, float]:
    """Return all ratings after a result; bots that have none yet start at 1500.

    The lower place scores 1 against the higher, equal places 1/2 each. Copies of one bot say nothing of each other, and
    each copy adds its part to their bot. The order of the sides doesn't matter.
    """
    before = dict.fromkeys(result.bots, START) | dict(ratings)
    share = factor / max(len(result.bots) - 1, 1)
    changes: defaultdict[str, list[float]] = defaultdict(list)
    sides = sorted(zip(result.bots, result.places, strict=True))
    for (bot, place), (other, other_place) in combinations(sides, 2):
        if bot != other:
            score = (1 + (place < other_place) - (place > other_place)) / 2
            change = share * (score - expected(before[bot], before[other]))
            changes[bot].append(change)
            changes[other].append(-change)
    return {bot: math.fsum((rating, *changes[bot])) for bot, rating in before.items()}
