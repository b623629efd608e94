"""What `arena compare` plays: two bots against each other, in steps, until a test on their boards has an answer.

A board is a deal played twice: with the two bots in a pattern over the sides, half of the sides each or as near to it as can
be, and with the bots exchanged. The patterns are stepped through match by match: all ways to give so many sides to one bot
that are not each other's exchange, so that over all of them the bots sit in every position to each other equally often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from arena.game import Game
from arena.match import Match
from arena.plan import Played, Step
from arena.results import Result
from arena.settings import Comparison, Format, Tournament

FIRST_LOOK: Final = 48
"""The test is asked for the first time after at least so many boards."""

GROWTH: Final = 1.1
"""From look to look the boards grow by this factor, or by one match of each pattern where that is more."""

BUDGET: Final = 10_000
"""So many boards are played at most where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a test says of the boards so far."""

    decided: bool
    text: str


Test = Callable[[Iterable[Result]], Finding]


def patterns(sides: int) -> tuple[tuple[bool, ...], ...]:
    """Return the patterns, each saying of every side whether the first bot has it.

    >>> ["".join("BA"[first] for first in pattern) for pattern in patterns(4)]
    ['AABB', 'ABAB', 'ABBA']
    >>> ["".join("BA"[first] for first in pattern) for pattern in patterns(3)]
    ['ABB', 'BAB', 'BBA']
    """
    chosen = combinations(range(sides), sides // 2)
    return tuple(tuple(side in places for side in range(sides)) for places in chosen if sides % 2 or 0 in places)


def other_bot(tournament: Tournament, comparison: Comparison) -> str:
    """Return the bot that the one in question is compared with."""
    return next(entry.name for entry in tournament.entries if entry.name != comparison.bot)


class ComparisonPlan:
    """Plays two bots against each other until the test decides, or the budget of boards is spent."""

    def __init__(self, bot: str, other: str, *, game: Game, placed: Format, test: Test, budget: int) -> None:
        self._bots = (other, bot)
        self._patterns = patterns(len(game.sides))
        self._deals = len(game.pass_cycle) if placed is Format.DUPLICATE else 0
        self._test = test
        self._budget = budget

    def begin(self) -> Sequence[Match]:
        """Return the matches before the first look."""
        return self._matches(0)

    def go_on(self, played: Played) -> Step:
        """Ask the test, and return the matches before the next look."""
        if played.disqualified:
            return Step()
        finding = self._test(played.results)
        if finding.decided:
            return Step(note=finding.text)
        matches = self._matches(len(played.matches))
        return Step(matches, finding.text, paused=not matches)

    def _matches(self, number: int) -> tuple[Match, ...]:
        """Return the matches after so many, up to the next look, as far as the budget goes."""
        affordable = max(self._budget // (self._deals or 1), len(self._patterns))
        last = min(self._next_look(number), affordable)
        return tuple(self._match(index) for index in range(number, last))

    def _next_look(self, number: int) -> int:
        """Return how many matches are played at the first look after so many."""
        stride = len(self._patterns)
        look = math.ceil(FIRST_LOOK / (self._deals or 1) / stride) * stride
        while look <= number:
            look = max(look + stride, math.ceil(look * GROWTH / stride) * stride)
        return look

    def _match(self, index: int) -> Match:
        pattern = self._patterns[index % len(self._patterns)]
        return Match(index + 1, tuple(self._bots[first] for first in pattern), self._deals, exchanged=True)
