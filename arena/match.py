"""A match: a line-up of bots and the same deals, played at one table for each distinct seating that rotation gives.

Deals, the bots' random numbers and table ids come from separate streams of the tournament's seed, named by match, attempt
and table, so that neither rotation nor concurrency nor a fault can change a deal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.cards import Card
from arena.dealing import Stream, opaque_id, random_word
from arena.game import Game
from arena.players.base import Player
from arena.players.roster import Place
from arena.record import DealRecord
from arena.results import Result, places
from arena.table import Table, TableRules


@dataclass(frozen=True, slots=True)
class Match:
    """One match of a schedule, as data, written before play."""

    number: int
    """From 1, in the order of the schedule."""
    line_up: tuple[str, ...]
    """The bots in the cyclic order of this match's circle, one a side. A bot may be in it more than once, as copies."""
    deals: int
    """How many deals each table plays; 0 where a table plays a game to its end."""
    exchanged: bool = False
    """Whether it has two tables instead of one for each rotation: on the second its two bots have exchanged their sides."""
    origin: tuple[str, int] | None = None
    """The id of the tournament and the number of the match in which it was really played, where results were kept."""

    def seatings(self, game: Game) -> tuple[tuple[int, ...], ...]:
        """Return each table's seating: for each seat the index in the line-up of the bot that sits there.

        Table r seats the line-up turned by r: side s of the table is line_up[(s + r) % sides], so that every bot holds
        every side's seats once.
        """
        count = len(game.sides)
        if self.exchanged:
            bot = self.line_up[0]
            other = next(place for place, name in enumerate(self.line_up) if name != bot)
            return game.side_of, tuple(other if self.line_up[side] == bot else 0 for side in game.side_of)
        return tuple(tuple((game.side_of[seat] + r) % count for seat in range(game.players)) for r in range(count))


@dataclass(frozen=True, slots=True)
class RotationResult:
    """A match at one of its rotations, as it was played: what the store keeps of a table, in one transaction."""

    match: Match
    rotation: int
    """Which table of the match it is: see `Match.seatings`."""
    attempt: int
    """How often the match was void before, through faults of the arena itself."""
    records: tuple[DealRecord, ...]
    """Its deals, in order."""
    results: tuple[Result, ...]
    decisions: int
    """How many decisions were asked."""
    seconds: float
    """How long it took."""


def deal_hands(key: bytes, game: Game, match: int, attempt: int, table: int | None, number: int) -> list[list[Card]]:
    """Return the hands of a deal: the same at every table of a match, unless `table` names one with deals of its own."""
    own = () if table is None else (table,)
    return Stream(key, "deal", match, attempt, number, *own).deal(game.deck, game.players)


def seat_places(match: Match, seating: Sequence[int], rotation: int) -> tuple[Place, ...]:
    """Return who sits at each seat: a bot, which of its instances, and a number for each of its seats at the table."""
    bots = [match.line_up[index] for index in seating]
    return tuple(Place(bot, rotation, bots[:seat].count(bot)) for seat, bot in enumerate(bots))


def make_table(
    rules: TableRules,
    key: bytes,
    match: Match,
    attempt: int,
    rotation: int,
    players: Sequence[Player],
    *,
    independent: bool,
) -> Table:
    """Return a table of a match: all that happens there follows from the seed's key and from what its players answer."""
    own_table = rotation if independent else None
    return Table(
        rules,
        players,
        [match.line_up[index] for index in match.seatings(rules.game)[rotation]],
        table_id=opaque_id(key, "table", match.number, attempt, rotation),
        deals=match.deals,
        hands_of=lambda number: deal_hands(key, rules.game, match.number, attempt, own_table, number),
        random_of=lambda seat, number: random_word(key, "bot", match.number, attempt, rotation, seat, number),
    )


def table_results(match: Match, table: int, records: Sequence[DealRecord]) -> tuple[Result, ...]:
    """Return what a table's records place: each deal by itself, or the game as a whole."""
    if records[-1].placed_by_game:
        return (_result(match, table, records, deal=0, points=records[-1].totals),)
    return tuple(
        _result(match, table, [record], deal=record.number, points=record.game.side_totals(record.scores))
        for record in records
    )


def _result(match: Match, table: int, records: Sequence[DealRecord], *, deal: int, points: tuple[int, ...]) -> Result:
    last = records[-1]
    sides = last.game.sides
    side_of = last.game.side_of
    fault_sides = [side_of[fault.seat] for record in records for fault in record.faults]
    return Result(
        board=(match.number, deal),
        table=table,
        bots=tuple(last.bots[seats[0]] for seats in sides),
        points=points,
        places=places(points, frozenset(side_of[seat] for seat in last.retired)),
        faults=tuple(fault_sides.count(side) for side in range(len(sides))),
        deals=len(records),
    )
