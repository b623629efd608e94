"""A match: a line-up of bots and the same deals, played at one table for each distinct seating that rotation gives."""

from __future__ import annotations

from dataclasses import dataclass

from arena.game import Game
from arena.record import DealRecord
from arena.results import Result


@dataclass(frozen=True, slots=True)
class Match:
    """One match of a schedule, as data, written before play."""

    number: int
    """From 1, in the order of the schedule."""
    line_up: tuple[str, ...]
    """The bots in the cyclic order of this match's circle, one a side. A bot may be in it more than once, as copies."""
    deals: int
    """How many deals each table plays; 0 where a table plays a game to its end."""

    def seatings(self, game: Game) -> tuple[tuple[int, ...], ...]:
        """Return each table's seating: for each seat the index in the line-up of the bot that sits there.

        Table r seats the line-up turned by r: side s of the table is line_up[(s + r) % sides], so that every bot holds
        every side's seats once.
        """
        count = len(game.sides)
        return tuple(tuple((game.side_of[seat] + r) % count for seat in range(game.players)) for r in range(count))


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match as it was played: what the store keeps of it, in one transaction."""

    match: Match
    attempt: int
    """How often the match was void before, through faults of the arena itself."""
    tables: tuple[tuple[DealRecord, ...], ...]
    """The records of each table's deals, in order."""
    results: tuple[Result, ...]
    decisions: int
    """How many decisions were asked, over all tables."""
    seconds: float
    """How long the match took."""
