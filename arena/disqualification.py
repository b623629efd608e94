"""Who plays no more matches: bots that were retired from too many of their tables.

Decided after each block of 50 matches in the order of the schedule, once the whole block is played, so that it depends on
nothing but what was played. It is never stored, but worked out from the schedule and the retirements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from arena.match import Match

BLOCK: Final = 50
"""How many matches are played between decisions."""

LEAST_TABLES: Final = 3
"""A bot that was retired from fewer tables than this goes on."""

MOST_PERCENT: Final = 10
"""A bot that was retired from no more of its tables than this goes on."""

Retirement = tuple[int, int, str]
"""A match, a table of it and the bot that was retired there, once or at several seats."""


def blocks(matches: Sequence[Match]) -> list[Sequence[Match]]:
    """Return the matches of a schedule in blocks, after each of which is decided."""
    return [matches[start : start + BLOCK] for start in range(0, len(matches), BLOCK)]


def owed(block: Iterable[Match], out: Collection[str]) -> list[Match]:
    """Return the matches of a block that are played: none of a disqualified bot, but all whose results were kept."""
    return [match for match in block if match.origin or not any(bot in out for bot in match.line_up)]


class Conduct:
    """How bots behaved in the matches so far: at how many tables each sat, and from how many it was retired."""

    def __init__(self, tables: int) -> None:
        """`tables` is how many a match has."""
        self._tables = tables
        self._sat: Counter[str] = Counter()
        self._retired: Counter[str] = Counter()

    def add(self, matches: Iterable[Match], retirements: Iterable[Retirement]) -> None:
        """Add a block that was played, and who was retired in its matches."""
        for match in matches:
            for bot in set(match.line_up):
                self._sat[bot] += self._tables
        for _, _, bot in set(retirements):
            self._retired[bot] += 1

    def disqualified(self) -> frozenset[str]:
        """Return the bots that play no more matches."""
        return frozenset(
            bot
            for bot, count in self._retired.items()
            if count >= LEAST_TABLES and 100 * count > MOST_PERCENT * self._sat[bot]
        )


def disqualified(
    schedule: Sequence[Match], done: Callable[[Match], bool], retirements: Iterable[Retirement], tables: int
) -> frozenset[str]:
    """Return who is disqualified after the blocks of a schedule that are played, up to the first that is not.

    The matches of a block that a disqualified bot was to play are not owed, so the block is played without them.
    """
    by_match: dict[int, list[Retirement]] = {}
    for retirement in retirements:
        by_match.setdefault(retirement[0], []).append(retirement)
    conduct = Conduct(tables)
    for block in blocks(schedule):
        played = owed(block, conduct.disqualified())
        if not all(map(done, played)):
            break
        conduct.add(played, [each for match in played for each in by_match.get(match.number, ())])
    return conduct.disqualified()
