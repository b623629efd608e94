"""How the schedule of a tournament comes about: all of it before play, or step by step as results come in.

A step is stored before it is played and played to its end before the next is asked for, so that a plan sees nothing but
complete results in the order of the schedule: what it decides depends on them alone, however fast the tables are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from arena.match import Match
from arena.results import Result


@dataclass(frozen=True, slots=True)
class Played:
    """What a tournament has come to, every match of its schedule being played."""

    matches: Sequence[Match]
    results: Iterable[Result]
    """In the order of the schedule; read from the store as they are asked for, once."""
    disqualified: frozenset[str] = frozenset()
    """The bots that play no more matches; those that they were to play are left out of the results."""

    @property
    def boards(self) -> int:
        """How many boards the schedule has."""
        return count_boards(self.matches)


@dataclass(frozen=True, slots=True)
class Step:
    """The matches to play next: none where the tournament is over."""

    matches: tuple[Match, ...] = ()
    note: str = ""
    """What the results so far say, for the organiser."""
    paused: bool = False
    """Whether it is not over, although there is nothing to play: a larger budget goes on with it."""


class Plan(Protocol):
    """Decides what a tournament plays."""

    def begin(self) -> Sequence[Match]:
        """Return the matches that are written down before play begins."""

    def go_on(self, played: Played) -> Step:
        """Return what to play after all matches so far."""


@dataclass(frozen=True, slots=True)
class FixedPlan:
    """A schedule that is written down as a whole."""

    schedule: Sequence[Match]

    def begin(self) -> Sequence[Match]:
        """Return the schedule."""
        return self.schedule

    def go_on(self, played: Played) -> Step:
        """Return nothing more to play."""
        del played
        return Step()


def count_boards(matches: Iterable[Match]) -> int:
    """Return how many boards matches have: their deals, or one where a table plays a whole game."""
    return sum(match.deals or 1 for match in matches)
