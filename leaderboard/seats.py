"""Are all seats alike? How those who sat at each did, whoever they were, and how evenly the bots took them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Floats
from leaderboard.estimate import Estimate, Means, Sums
from leaderboard.flags import beyond_chance
from leaderboard.sides import Entries, Sides


@dataclass(frozen=True, slots=True)
class Seat:
    """How those who sat at one side's seats did, whoever they were, against the mean of their tables."""

    side: int
    points: Estimate
    """A deal; negative is better."""
    place: Estimate
    flagged: bool
    """Whether points or place are beyond chance, among all seats."""


def find_seats(sides: Sides) -> tuple[Seat, ...]:
    """Return how each side's seats did, by board."""
    entries = Entries.of(sides.board, sides.side)
    places = int(sides.side.max()) + 1
    points, place = entries.mean(sides.points), entries.mean(sides.place)

    def means(values: Floats) -> Means:
        return Sums.of(values, entries.what, places).means()

    def deviates(order: Whole | slice) -> Floats:
        return np.concatenate([means(values[order]).deviates() for values in (points, place)])

    flags = beyond_chance(deviates(slice(None)), lambda random: deviates(entries.turn(random)), 2 * len(entries.what))
    flagged = (flags[:places] | flags[places:]).tolist()
    rows = zip(means(points).estimates(), means(place).estimates(), flagged, strict=True)
    return tuple(Seat(side, *row) for side, row in enumerate(rows))


def seat_surplus(sides: Sides) -> int:
    """Return how much more often a bot took one side's seats than another's, at most."""
    places = int(sides.side.max()) + 1
    counts = np.bincount(sides.bot * places + sides.side, minlength=(int(sides.bot.max()) + 1) * places)
    return int(np.ptp(counts.reshape(-1, places), axis=1).max())
