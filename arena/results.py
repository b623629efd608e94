"""What ratings are computed from: one `Result` for each thing that was placed at a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """How the sides of one table did in one deal (format `duplicate`) or in one whole game (format `game`).

    All tuples are by side. Results with the same `board` share their luck: the board is the unit of statistics.
    """

    board: tuple[int, int]
    """Match number and deal number; in format `game` (match number, 0): the match is the board."""
    table: int
    """Which rotation of the match this is, from 0."""
    bots: tuple[str, ...]
    """The bot at each side. A bot may sit at several sides of one table, as copies."""
    points: tuple[int, ...]
    """Penalty points: lower is better."""
    places: tuple[int, ...]
    """0 for the best, equal for ties, with gaps after ties (0, 1, 1, 3). Retired players come last, whatever their points."""
    faults: tuple[int, ...]
    """How many faults each side's players committed."""
    deals: int = 1
    """How many deals this covers: 1, or as many as the game took."""


def places(points: tuple[int, ...], retired: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """Place sides by points, lowest first, ties equal; retired sides share the last place.

    >>> places((5, 0, 5, 16))
    (1, 0, 1, 3)
    >>> places((5, 0, 5, 16), frozenset({1}))
    (0, 3, 0, 2)
    """
    keys = [(side in retired, 0 if side in retired else count) for side, count in enumerate(points)]
    return tuple(sum(other < key for other in keys) for key in keys)
