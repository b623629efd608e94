"""Who plays no more matches: bots that were retired from too many of their tables.

Decided after each block of 50 matches in the order of the schedule, once the whole block is played, so that it depends on
nothing but what was played. It is never stored, but worked out from the schedule and the retirements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from arena.match import Match

BLOCK: Final = 50
"""How many matches are played between decisions."""

LEAST_TABLES: Final = 3
"""A bot that was retired from fewer tables than this goes on."""

MOST_PERCENT: Final = 10
"""A bot that was retired from no more of its tables than this goes on."""


def blocks(matches: Sequence[Match]) -> list[Sequence[Match]]:
    """Return the matches of a schedule in blocks, after each of which is decided."""
    return [matches[start : start + BLOCK] for start in range(0, len(matches), BLOCK)]


def disqualified(played: Iterable[Match], retirements: Iterable[tuple[int, str]], tables: int) -> frozenset[str]:
    """Return the bots that play no more matches after those that were played, whole blocks of them.

    `retirements` has the match number and the bot of each, one for a table; `tables` is how many a match has.
    """
    sat: Counter[str] = Counter()
    numbers = set()
    for match in played:
        numbers.add(match.number)
        for bot in set(match.line_up):
            sat[bot] += tables
    retired = Counter(bot for match, bot in retirements if match in numbers)
    return frozenset(
        bot for bot, count in retired.items() if count >= LEAST_TABLES and 100 * count > MOST_PERCENT * sat[bot]
    )
