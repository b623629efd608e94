"""Do bots do otherwise when certain others sit at their table? Leads of pairs with and without a third, and points of each.

What the bots' own strengths explain is taken away. The values of a pair's, or a bot's, boards are split by whether the
other one in question sits there, and the two means compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from leaderboard.columns import Whole
from leaderboard.comparisons import Floats
from leaderboard.estimate import Estimate, Means, Sums
from leaderboard.flags import Flags, beyond_chance
from leaderboard.sides import Entries, Sides

Found = TypeVar("Found")

LEAST_BOARDS = 8
"""With fewer boards of either kind, with and without the other, nothing is said of it."""


@dataclass(frozen=True, slots=True)
class Context:
    """How one bot fares against another while a third one sits at the table."""

    bot: str
    other: str
    third: str
    boards: int
    lead: Estimate
    """By how many points a deal the bot is ahead of the other."""
    shift: Estimate
    """How much more that is than without the third, strengths allowed for."""
    flagged: bool
    """Whether the shift is beyond chance, among all contexts."""


@dataclass(frozen=True, slots=True)
class Influence:
    """How one bot's presence changes another's points, beyond what the strengths of all at the table explain."""

    bot: str
    on: str
    boards: int
    points: Estimate
    """A deal; negative: the other does better with this bot at the table."""
    flagged: bool
    """Whether the points are beyond chance, among all influences."""


def find_contexts(sides: Sides, bots: Sequence[str]) -> tuple[Context, ...]:
    """Return the leads of all pairs by who else sits there, the surest shifts first."""
    entries = Entries.of(sides.board, sides.bot)
    one, other = _pairs(entries)
    split = _Split.of(entries.what[one] * len(bots) + entries.what[other], *_thirds(entries, one, other), len(bots))
    points, surplus = entries.mean(sides.points), entries.mean(sides.points - sides.explained)

    def leads(values: Floats) -> Floats:
        return values[other] - values[one]

    shifts = split.shifts(leads(surplus))
    flags = _flags(split, shifts, entries, lambda order: leads(surplus[order]))
    rows = zip(
        *(_names(bots, numbers) for numbers in np.divmod(split.owner, len(bots))),
        _names(bots, split.company),
        split.boards.tolist(),
        split.inside(leads(points)).estimates(),
        shifts.estimates(),
        flags.tolist(),
        strict=True,
    )
    return _surest(shifts, [Context(*row) for row in rows])


def find_influences(sides: Sides, bots: Sequence[str]) -> tuple[Influence, ...]:
    """Return how each bot does with each other one at its table, the surest first."""
    entries = Entries.of(sides.board, sides.bot)
    split = _Split.of(entries.what, *_others(entries), len(bots))
    surplus = entries.mean(sides.points - sides.explained)
    shifts = split.shifts(surplus)
    flags = _flags(split, shifts, entries, lambda order: surplus[order])
    rows = zip(
        _names(bots, split.company),
        _names(bots, split.owner),
        split.boards.tolist(),
        shifts.estimates(),
        flags.tolist(),
        strict=True,
    )
    return _surest(shifts, [Influence(*row) for row in rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Values that belong to owners, and by owner and company, where there are enough of both, those at which it sits there."""

    owners: Whole
    """By value: the number of its owner."""
    owner: Whole
    """By owner and company, as all that follows: the key of the owner."""
    company: Whole
    boards: Whole
    _number: Whole
    _chosen: Whole
    _split: Whole

    @classmethod
    def of(cls, owner: Whole, value: Whole, company: Whole, bots: int) -> _Split:
        """Split values, each with the key of its owner, by which company each of them has: so many bots at most."""
        keys, owners, values = np.unique(owner, return_inverse=True, return_counts=True)
        pairs, number, boards = np.unique(owners[value] * bots + company, return_inverse=True, return_counts=True)
        of_pair, with_bot = np.divmod(pairs, bots)
        told = (boards >= LEAST_BOARDS) & (values[of_pair] - boards >= LEAST_BOARDS)
        kept = told[number]
        return cls(
            owners=owners,
            owner=keys[of_pair[told]],
            company=with_bot[told],
            boards=boards[told],
            _number=of_pair[told],
            _chosen=value[kept],
            _split=(np.cumsum(told) - 1)[number[kept]],
        )

    @property
    def size(self) -> int:
        """How many numbers go into the shifts."""
        return len(self.owners) + len(self._chosen) + len(self.owner)

    def inside(self, values: Floats) -> Means:
        """Return the means of the values with the company."""
        return self._inside(values).means()

    def shifts(self, values: Floats) -> Means:
        """Return how much more these are than the means without it."""
        inside = self._inside(values)
        whole = Sums.of(values, self.owners, int(self.owners.max(initial=-1)) + 1)
        return inside.means().minus(whole.without(inside, self._number).means())

    def _inside(self, values: Floats) -> Sums:
        return Sums.of(values[self._chosen], self._split, len(self.owner))


def _pairs(entries: Entries) -> tuple[Whole, Whole]:
    """Return the entries of each two bots of a board, that with the lower number first."""
    found = [np.empty((2, 0), np.int64)]
    for apart in range(1, int(entries.count.max(initial=1))):
        here = np.flatnonzero(entries.first[:-apart] == entries.first[apart:])
        swapped = entries.what[here] > entries.what[here + apart]
        found.append(np.stack((here + apart * swapped, here + apart * ~swapped)))
    one, other = np.concatenate(found, axis=1)
    return one, other


def _thirds(entries: Entries, one: Whole, other: Whole) -> tuple[Whole, Whole]:
    """Return, for each pair and each third bot of its board, the number of the pair and the bot."""
    pair, third = _around(entries, one)
    others = third != other[pair]
    return pair[others], entries.what[third[others]]


def _others(entries: Entries) -> tuple[Whole, Whole]:
    """Return, for each entry and each other bot of its board, the entry and the bot."""
    entry, other = _around(entries, np.arange(len(entries.what)))
    return entry, entries.what[other]


def _around(entries: Entries, some: Whole) -> tuple[Whole, Whole]:
    """Return, for each of some entries, its index and each other entry of its board."""
    found = [np.empty((2, 0), np.int64)]
    for distance in range(1, int(entries.count.max(initial=1))):
        here = np.flatnonzero(entries.count[some] > distance)
        found.append(np.stack((here, entries.neighbour(distance)[some[here]])))
    index, other = np.concatenate(found, axis=1)
    return index, other


def _flags(split: _Split, shifts: Means, entries: Entries, values: Callable[[Whole], Floats]) -> Flags:
    """Return which shifts are beyond chance: all boards turned, `values` says what belongs where."""

    def draw(random: np.random.Generator) -> Floats:
        return split.shifts(values(entries.turn(random))).deviates()

    return beyond_chance(shifts.deviates(), draw, split.size)


def _names(bots: Sequence[str], numbers: Whole) -> list[str]:
    return [bots[number] for number in numbers.tolist()]


def _surest(shifts: Means, found: Sequence[Found]) -> tuple[Found, ...]:
    """Return what is found in the order of how sure it is."""
    return tuple(found[place] for place in np.argsort(-shifts.deviates(), kind="stable"))
