"""A schedule that plays where the order of the best is still open, until it is known.

After an opening in which all bots play equally often, three matches of four are for the bots of comparisons that are not
settled, are ties as yet, or are sure by little, those first that played least; seats that are left over, and each fourth match,
go to whoever of all played least, so that a mistake of the opening is found out. So bots that can't be told apart play equally
often, whatever luck they had. Were the closest preferred, a bot with bad luck would play less than its equals and keep it:
ratings would be too far apart, and the intervals about them too short (benchmarks/adaptive.py measures it).

The order of the top is known once each of its comparisons (first and second, second and third, the last of the top and each bot
below) is settled: the bot that is rated higher is surely stronger, or it is declared tied, being surely not weaker by more than
the tie margin. Whether bots that close differ after all is not asked: that would take most of the boards. Looks at the results
are a quarter of the boards so far apart.

The ratings come from above, as a callable: here is only decided what follows from them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from statistics import NormalDist
from typing import Final

from arena.dealing import Stream
from arena.game import Game
from arena.match import Match
from arena.plan import Played, Step
from arena.results import Result
from arena.schedule import circles
from arena.settings import Settling

RISK: Final = 0.05
"""The chance of an error that all comparisons of a look share."""

GROWTH: Final = 1.25
"""From look to look the boards grow by this factor."""

EVERY: Final = 4
"""Each so many matches one is for all bots alike."""

_LEEWAY: Final = 0.7  # standard errors: a bot plays on until it is so much surer, lest bad luck alone put it aside


@dataclass(frozen=True, slots=True)
class Lead:
    """How far one bot is ahead of another."""

    certainty: float
    """In standard errors of the difference of their ratings; negative where it is behind."""
    points: float
    """How many points fewer a deal costs it."""
    points_error: float
    """The standard error of that."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """What ratings say of some bots."""

    bots: tuple[str, ...]
    """The strongest first."""
    lead: Callable[[str, str], Lead | None]
    """The lead of one bot over another; None where the results don't say it."""


Rate = Callable[[Iterable[Result]], Strengths]


class Order(Enum):
    """What is known of the order of two bots, the first of which is rated higher."""

    STRONGER = ">"
    """Surely stronger."""
    TIED = ">="
    """Surely not weaker by more than the tie margin; perhaps stronger."""
    OPEN = "?"


@dataclass(frozen=True, slots=True)
class Ranked:
    """One comparison that the order of the top depends on."""

    bot: str
    other: str
    order: Order
    certainty: float
    """As in `Lead`, without its sign; 0 where nothing is known."""


def ranked(strengths: Strengths, settling: Settling) -> tuple[Ranked, ...]:
    """Return the comparisons that the order of the top depends on, each settled or open."""
    bots = strengths.bots
    top = min(settling.top, len(bots))
    pairs = [*pairwise(bots[:top]), *((bots[top - 1], other) for other in bots[top:])]
    bound = _bound(len(pairs))
    return tuple(_ranked(*pair, strengths.lead(*pair), bound, settling.tie_margin) for pair in pairs)


def _bound(comparisons: int) -> float:
    """Return beyond how many standard errors each of so many comparisons is sure."""
    return NormalDist().inv_cdf(1 - RISK / max(comparisons, 1))


def known_order(
    strengths: Strengths, bots: Iterable[str], disqualified: Collection[str], settling: Settling
) -> tuple[Strengths, tuple[Ranked, ...]]:
    """Return what is known of these bots without the disqualified, those that have no rating coming last, and their order."""
    rated = [bot for bot in strengths.bots if bot not in disqualified]
    unrated = [bot for bot in sorted(bots) if bot not in strengths.bots and bot not in disqualified]

    def lead(bot: str, other: str) -> Lead | None:
        return None if bot in unrated or other in unrated else strengths.lead(bot, other)

    known = Strengths((*rated, *unrated), lead)
    return known, ranked(known, settling)


def _ranked(bot: str, other: str, lead: Lead | None, bound: float, margin: float) -> Ranked:
    if lead is None:
        return Ranked(bot, other, Order.OPEN, 0.0)
    tied = lead.points + margin > bound * lead.points_error
    order = Order.STRONGER if lead.certainty > bound else Order.TIED if tied else Order.OPEN
    return Ranked(bot, other, order, abs(lead.certainty))


class AdaptivePlan:
    """Plays an opening, then steps of matches for the pairs whose order is open."""

    def __init__(
        self,
        opening: Sequence[Match],
        bots: Iterable[str],
        *,
        game: Game,
        key: bytes,
        settling: Settling,
        rate: Rate,
        every: int = EVERY,
    ) -> None:
        self._opening = opening
        self._bots = sorted(bots)
        self._sides = len(game.sides)
        self._key = key
        self._settling = settling
        self._rate = rate
        self._every = every

    def begin(self) -> Sequence[Match]:
        """Return the opening, as far as the budget goes."""
        return self._opening[: max(1, self._settling.budget // (self._opening[0].deals or 1))]

    def go_on(self, played: Played) -> Step:
        """Look at the results, and return the matches before the next look."""
        strengths, known = known_order(self._rate(played.results), self._bots, played.disqualified, self._settling)
        bots = strengths.bots
        note = describe(bots[: self._settling.top], known, played.boards)
        matches = self._affordable(played) if any(one.order is Order.OPEN for one in known) else 0
        return Step(self._step(played, bots, known, matches), note)

    def _affordable(self, played: Played) -> int:
        """Return how many matches there are before the next look."""
        deals = played.matches[0].deals or 1
        boards = math.ceil(played.boards * GROWTH)
        return min(math.ceil((boards - played.boards) / deals), (self._settling.budget - played.boards) // deals)

    def _step(self, played: Played, bots: Sequence[str], known: Sequence[Ranked], count: int) -> tuple[Match, ...]:
        seating = _Seating([bot for bot in self._bots if bot in bots], self._sides, played.matches)
        stream = Stream(self._key, "adaptive", len(played.matches))
        deals = self._opening[0].deals
        sure = _bound(len(known)) + _LEEWAY
        close = [one for one in known if one.order is not Order.STRONGER or one.certainty < sure]
        wanted = sorted({bot for one in close for bot in (one.bot, one.other)})
        matches = []
        for number in range(len(played.matches) + 1, len(played.matches) + count + 1):
            matches.append(Match(number, seating.seat(wanted if number % self._every else (), stream), deals))
        return tuple(matches)


class _Seating:
    """Makes line-ups, and counts who has met whom and sat where to whom, so that both stay even."""

    def __init__(self, bots: Sequence[str], sides: int, matches: Iterable[Match]) -> None:
        self._bots = bots
        self._sides = sides
        self._circles = circles(sides)
        self._met: Counter[tuple[str, str]] = Counter()
        self._behind: Counter[tuple[str, str, int]] = Counter()
        for match in matches:
            self._count(match.line_up)

    def seat(self, wanted: Sequence[str], stream: Stream) -> tuple[str, ...]:
        """Return a line-up in the order of its circle: of those that are wanted, then of all, the ones that met least.

        Where there are no more bots than sides all play, and copies of some.
        """
        copies, free = divmod(self._sides, len(self._bots)) if len(self._bots) < self._sides else (0, self._sides)
        chosen: list[str] = []
        while len(chosen) < free:
            left = [bot for bot in wanted if bot not in chosen] or [bot for bot in self._bots if bot not in chosen]
            chosen.append(self._least_met(left, chosen, stream))
        line_up = [*self._bots] * copies + chosen
        candidates = [tuple(line_up[place] for place in circle) for circle in self._circles]
        costs = [self._repeats(candidate) for candidate in candidates]
        best = [candidate for candidate, cost in zip(candidates, costs, strict=True) if cost == min(costs)]
        seated = best[stream.below(len(best))]
        self._count(seated)
        return seated

    def _least_met(self, left: Sequence[str], chosen: Sequence[str], stream: Stream) -> str:
        """Return the bot that played least; of these the one that met the chosen ones least."""
        return min(
            stream.shuffle(left),
            key=lambda bot: (self._met[bot, bot], sum(self._met[bot, other] for other in chosen)),
        )

    def _repeats(self, line_up: Sequence[str]) -> int:
        """Return how often these bots have sat at these distances behind each other."""
        return sum(self._behind[pair] for pair in self._distances(line_up))

    def _distances(self, line_up: Sequence[str]) -> list[tuple[str, str, int]]:
        """Return who sits how far behind whom, as far as half-way round the table: the other half follows."""
        return [
            (bot, line_up[(place + distance) % self._sides], distance)
            for place, bot in enumerate(line_up)
            for distance in range(1, self._sides // 2 + 1)
        ]

    def _count(self, line_up: Sequence[str]) -> None:
        self._met.update((bot, other) for bot in line_up for other in line_up)
        self._behind.update(self._distances(line_up))


def describe(top: Sequence[str], known: Sequence[Ranked], boards: int) -> str:
    """Say in a line what is known of the order of the top.

    >>> known = (Ranked("A", "B", Order.TIED, 0.1), Ranked("B", "C", Order.STRONGER, 4.0), Ranked("B", "D", Order.OPEN, 1.0))
    >>> describe(("A", "B"), known, 1200)
    'after 1,200 boards the order of the top 2 is open: A >= B; 1 of 3 comparisons open'
    """
    inside, below = known[: len(top) - 1], known[len(top) - 1 :]
    order = "".join(f"{one.bot} {one.order.value} " for one in inside) + "".join(top[-1:])
    tied = [one.other for one in below if one.order is Order.TIED]
    left = sum(one.order is Order.OPEN for one in known)
    text = f"after {boards:,} boards the order of the top {len(top)} is {'open' if left else 'known'}: {order}"
    text += f" (tied with {', '.join(tied)})" if tied else ""
    return f"{text}; {left} of {len(known)} comparisons open" if left else text
