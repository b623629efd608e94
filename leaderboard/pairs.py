"""What is known of each two bots: by how much their ratings differ, and how often one was ahead of the other.

The error of a difference is its own: those of two ratings can't be added, since both rest on the same boards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from leaderboard.comparisons import Meeting
from leaderboard.ratings import Ratings


@dataclass(frozen=True, slots=True)
class Pair:
    """Two bots, the first of which stands higher. None where the results don't say it."""

    bot: str
    other: str
    boards: int
    """On how many boards they met."""
    wins: float | None
    """How often the first was ahead at their tables, as a share; with `ties` and `losses` it is 1."""
    ties: float | None
    losses: float | None
    difference: float | None
    """By how much the first is rated above the other, in Elo; also from what third ones did against both."""
    error: float | None
    """Half the width of its 95 % interval."""
    superiority: float | None
    """How likely the first is truly stronger, a probability (see `leaderboard.chance`)."""
    points_difference: float | None
    """How many penalty points a deal the first costs more than the other: negative is better."""
    points_error: float | None
    """Half the width of its 95 % interval."""


def make_pairs(ratings: Ratings, bots: Sequence[str]) -> tuple[Pair, ...]:
    """Return all pairs of the bots that have met or can be compared, those of the first bot first."""
    pairs = list(combinations(bots, 2))
    known = zip(pairs, ratings.meetings(pairs), ratings.chances(pairs), strict=True)
    return tuple(_pair(ratings, *pair, met, chance) for pair, met, chance in known if met or chance is not None)


def _pair(ratings: Ratings, bot: str, other: str, met: Meeting | None, chance: float | None) -> Pair:
    difference, error = ratings.difference(bot, other) or (None, None)
    points, points_error = ratings.points_difference(bot, other) or (None, None)
    return Pair(
        bot=bot,
        other=other,
        boards=met.boards if met else 0,
        wins=met.wins if met else None,
        ties=met.ties if met else None,
        losses=met.losses if met else None,
        difference=difference,
        error=error,
        superiority=chance,
        points_difference=points,
        points_error=points_error,
    )
