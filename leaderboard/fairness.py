"""Was a tournament fair? Seats, what its duplicate deals were worth, and whether bots do otherwise when certain others sit there.

Everything is computed from points a deal relative to the mean of the table, averaged over the tables of a board: the board is
the unit, and errors are half the widths of 95 % intervals over boards, each by itself. Of each kind, seats, contexts and
influences, something is flagged in one tournament of twenty where nothing is wrong (leaderboard/flags.py). A flag is a reason
to look closer, and proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arena.results import Result
from leaderboard.columns import Columns
from leaderboard.company import Context, Influence, find_contexts, find_influences
from leaderboard.seats import Seat, find_seats, seat_surplus
from leaderboard.sides import Sides
from leaderboard.worth import Worth, find_worth


@dataclass(frozen=True, slots=True)
class Fairness:
    """All that is found."""

    boards: int
    seats: tuple[Seat, ...]
    seat_surplus: int
    """How much more often a bot took one side's seats than another's, at most: 0 where seats are balanced."""
    worth: Worth | None
    """None with too few boards, or where a board has one table."""
    contexts: tuple[Context, ...]
    """The most certain shifts first."""
    influences: tuple[Influence, ...]
    """The most certain first."""


def find_fairness(results: Iterable[Result] | Columns) -> Fairness:
    """Return what the results say of a tournament's fairness."""
    columns = results if isinstance(results, Columns) else Columns.of(results)
    if not columns.boards:
        return Fairness(0, (), 0, None, (), ())
    sides = Sides.of(columns)
    return Fairness(
        boards=columns.boards,
        seats=find_seats(sides),
        seat_surplus=seat_surplus(sides),
        worth=find_worth(columns, sides),
        contexts=find_contexts(sides, columns.bots),
        influences=find_influences(sides, columns.bots),
    )
