"""Verifies a tournament from what is kept of it: every deal from the seed, every choice by the rules, every sum.

The seed, the settings and the entries decide the schedule, the seats and the deals; the records decide results, faults and
disqualifications. All of that is worked out again and compared, and the choices that bots made are played again by the
rules. The first difference is raised, with its place. Ratings are compared through a document that was printed earlier.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from typing import Any, Generic, TypeVar

from arena.cards import format_cards
from arena.dealing import Seed
from arena.disqualification import blocks, disqualified
from arena.errors import BadInput, BadStore, Malformed
from arena.game import Game
from arena.match import Match, deal_hands, table_results
from arena.record import DealRecord
from arena.replay import Difference, TableReplay
from arena.results import Result
from arena.schedule import make_schedule
from arena.settings import Format, Tournament
from arena.store import Store
from arena.store.rows import StoredFault
from arena.table import TableRules
from arena.tournament import game_of

Row = TypeVar("Row", Match, Result, StoredFault)


@dataclass(slots=True)
class Verified:
    """What was found to be as it must be."""

    scheduled: int
    """The matches of the schedule."""
    finished: bool
    matches: int = 0
    """The matches that were played."""
    deals: int = 0
    """The deals that were played, over all tables."""
    decisions: int = 0
    """The decisions that bots were asked."""
    faults: int = 0
    dealt_anew: list[int] = field(default_factory=list)
    """The matches on deals of a later attempt, since they were void before."""
    disqualified: frozenset[str] = frozenset()


def verify_tournament(store: Store, tournament: Tournament, *, commitment: str | None = None) -> Verified:
    """Verify all that is kept of a tournament, finished or not, and return what that was.

    `commitment` is what was published before play as the SHA-256 of the seed. Raises Difference at the first thing that is
    not as it must be.
    """
    _verify_seed(tournament, commitment)
    names = [entry.name for entry in tournament.entries]
    try:
        game = game_of(tournament.settings)
        schedule = make_schedule(tournament.settings, game, names, tournament.seed.key)
    except BadInput as error:
        raise Difference("the settings", "some that can be played", error) from error
    _compare("the match in the schedule", schedule, store.matches(tournament.id), lambda match: (match.number,))
    return _Verification(store, tournament, game, schedule).run()


def compare_documents(printed: Any, kept: Any, path: str = "") -> None:
    """Compare a leaderboard's document as it was printed with what the store gives; raise Difference at the first."""
    if isinstance(printed, Mapping) and isinstance(kept, Mapping):
        for name in [*printed, *(name for name in kept if name not in printed)]:
            inner = f"{path}.{name}" if path else name
            compare_documents(printed.get(name, _NOTHING), kept.get(name, _NOTHING), inner)
    elif isinstance(printed, list) and isinstance(kept, list):
        for place, pair in enumerate(zip_longest(printed, kept, fillvalue=_NOTHING)):
            compare_documents(*pair, f"{path}[{place}]")
    elif printed != kept:
        raise Difference(f"`{path or 'all'}` in the document", _shown(kept), _shown(printed))


_NOTHING = object()


def _shown(value: object) -> str:
    return "nothing" if value is _NOTHING else repr(value)


def _verify_seed(tournament: Tournament, commitment: str | None) -> None:
    seed, text = tournament.seed, tournament.settings.seed
    expected = Seed(seed.key) if text is None else Seed.from_text(text)
    if seed.key != expected.key:
        raise Difference("the seed", expected.key.hex(), seed.key.hex())
    if seed.text != expected.text or len(seed.key) != 32:
        raise Difference("the seed", f"32 bytes made of {expected.text!r}", f"{len(seed.key)} made of {seed.text!r}")
    if commitment is not None and seed.commitment != commitment.lower():
        raise Difference("the SHA-256 of the seed", commitment.lower(), seed.commitment)


class _Verification:
    """One tournament being verified, match by match in the order of the schedule."""

    def __init__(self, store: Store, tournament: Tournament, game: Game, schedule: Sequence[Match]) -> None:
        self._store = store
        self._tournament = tournament
        settings = tournament.settings
        self._game = game
        self._rules = TableRules(game, settings.format is Format.GAME, settings.time, settings.faults)
        self._schedule = schedule
        self._done = self._played()  # read first: what is played meanwhile is left for another time
        self._attempts = store.attempts(tournament.id)
        self._faults = _Rows("faults", lambda: iter(store.faults(tournament.id)), lambda row: row.match)
        self._results = _Rows("results", lambda: store.results(tournament.id), lambda row: row.board[0])
        self._retirements: list[tuple[int, str]] = []
        self._verified = Verified(len(schedule), tournament.finished is not None)

    def run(self) -> Verified:
        """Verify everything."""
        for match in self._owed():
            rows = self._results.of(match.number), self._faults.of(match.number)
            if match.number in self._done:
                with _located(match=match.number):
                    self._verify_match(match, *rows)
            elif any(rows) or self._store.records(self._tournament.id, match.number):
                self._verify_played_meanwhile(match.number)
        self._results.verify_end()
        self._faults.verify_end()
        asked = self._store.progress(self._tournament.id).decisions
        if self._verified.finished and asked != self._verified.decisions:
            raise Difference("the number of decisions asked in all matches", self._verified.decisions, asked)
        return self._verified

    def _played(self) -> set[int]:
        return {match.number for match in self._store.matches(self._tournament.id, done=True)}

    def _verify_played_meanwhile(self, number: int) -> None:
        if number not in self._played():
            raise Difference("what is kept of a match that was not played", "nothing", "rows", match=number)

    def _owed(self) -> Iterator[Match]:
        """Yield all matches, and see that those are played that were to be: none of a disqualified bot's."""
        complete = True
        played: list[Match] = []
        tables = len(self._schedule[0].seatings(self._game))
        for block in blocks(self._schedule):
            out = self._verified.disqualified
            owed = [match for match in block if not out.intersection(match.line_up)]
            for match in block:
                self._verify_done(match, owed=complete and match in owed)
                yield match
            complete = complete and all(match.number in self._done for match in owed)
            played += owed
            if complete:
                self._verified.disqualified = out | disqualified(played, self._retirements, tables)

    def _verify_done(self, match: Match, *, owed: bool) -> None:
        done = match.number in self._done
        if done and not owed:
            out = ", ".join(sorted(self._verified.disqualified.intersection(match.line_up)))
            why = f"{out} is disqualified" if out else "matches of an earlier block are left to play"
            raise Difference("the match", f"not played, since {why}", "played", match=match.number)
        if owed and not done and self._verified.finished:
            raise Difference("the match", "played, since the tournament is over", "not played", match=match.number)

    # --- One match ---

    def _verify_match(self, match: Match, results: Sequence[Result], faults: Sequence[StoredFault]) -> None:
        self._verify_attempt(match)
        tables = self._tables(match)
        for table, (seating, records) in enumerate(zip(match.seatings(self._game), tables, strict=True)):
            bots = tuple(match.line_up[index] for index in seating)
            with _located(table=table):
                self._verify_table(match, table, bots, records)
        expected = [row for table, records in enumerate(tables) for row in table_results(match, table, records)]
        _compare("the result", expected, results, lambda row: (row.board[0], row.table, row.board[1]))
        booked = [
            StoredFault(
                match=match.number,
                table=table,
                deal=record.number,
                seat=fault.seat,
                bot=record.bots[fault.seat],
                kind=fault.evidence.kind,
                retired=fault.retired,
            )
            for table, records in enumerate(tables)
            for record in records
            for fault in record.faults
        ]
        _compare("the fault that is listed", booked, faults, lambda row: (row.match, row.table, row.deal))
        self._retirements += [(fault.match, fault.bot) for fault in booked if fault.retired]
        self._verified.faults += len(booked)
        self._verified.matches += 1

    def _verify_attempt(self, match: Match) -> None:
        """See that a match was only dealt anew where a bot took part that could remember its deals."""
        attempt = self._attempts.get(match.number, 0)
        if not attempt:
            return
        if all(entry.launched for entry in self._tournament.entries if entry.name in match.line_up):
            raise Difference("the number of times that it was dealt anew", "0, as no bot could remember", attempt)
        self._verified.dealt_anew.append(match.number)

    def _tables(self, match: Match) -> list[list[DealRecord]]:
        """Return the records by table."""
        count = len(match.seatings(self._game))
        tables: list[list[DealRecord]] = [[] for _ in range(count)]
        try:
            kept = self._store.records(self._tournament.id, match.number)
        except BadStore as error:
            if isinstance(error.__cause__, zlib.error | Malformed):
                raise Difference("the records", "readable ones", error.__cause__) from error
            raise
        for table, record in kept:
            if not 0 <= table < count:
                raise Difference("the record", "none of such a table", "one", table=table, deal=record.number)
            tables[table].append(record)
        return tables

    # --- One table ---

    def _verify_table(self, match: Match, table: int, bots: tuple[str, ...], records: Sequence[DealRecord]) -> None:
        played = TableReplay(self._rules, match.deals)
        for number, record in enumerate(records, 1):
            if played.over or record.number < number:
                raise Difference("the record", "none", "one", deal=record.number)
            if record.number > number:
                raise Difference("the record", "one", "none", deal=number)
            with _located(deal=number):
                self._verify_deal(match, table, bots, record)
                self._verified.decisions += played.follow(record)
        if not played.over:
            raise Difference("the record", f"one, since {played.why_not_over}", "none", deal=len(records) + 1)
        self._verified.deals += len(records)

    def _verify_deal(self, match: Match, table: int, bots: tuple[str, ...], record: DealRecord) -> None:
        """See that a deal is of the right game, the right players and the right hands."""
        if record.game != self._game:
            raise Difference("the game", _game_text(self._game), _game_text(record.game))
        if record.placed_by_game != self._rules.placed_by_game:
            raise Difference(
                "what is placed", *("a game" if each.placed_by_game else "a deal" for each in (self._rules, record))
            )
        for seat, (bot, found) in enumerate(zip_longest(bots, record.bots)):
            if bot != found:
                raise Difference(f"the bot at seat {seat}", bot, found)
        attempt = self._attempts.get(match.number, 0)
        own_table = table if self._tournament.settings.independent else None
        hands = deal_hands(self._tournament.seed.key, self._game, match.number, attempt, own_table, record.number)
        for seat, (dealt, hand) in enumerate(zip_longest(hands, record.hands, fillvalue=())):
            if tuple(dealt) != hand:
                raise Difference(f"the hand of seat {seat}", format_cards(dealt), format_cards(hand))


def _game_text(game: Game) -> str:
    return f"{game.name} for {game.players}{' in partnerships' if game.partners else ''} with {dict(game.options)}"


# --- Rows ---


class _Rows(Generic[Row]):
    """Rows in the order of their matches, taken match by match."""

    def __init__(self, what: str, rows: Callable[[], Iterable[Row]], match_of: Callable[[Row], int]) -> None:
        self._what = what
        self._match_of: Callable[[Row], int] = match_of
        self._rows: Iterator[Row] = self._read(rows)
        self._next: Row | None = next(self._rows, None)

    def of(self, match: int) -> list[Row]:
        """Return the rows of a match, after those of all matches before it."""
        rows = []
        while self._next is not None and self._match_of(self._next) == match:
            rows.append(self._next)
            self._next = next(self._rows, None)
        return rows

    def verify_end(self) -> None:
        """See that there are no more, as there would be of matches that don't exist."""
        if self._next is not None:
            raise Difference(f"the {self._what}", "none of such a match", "one", match=self._match_of(self._next))

    def _read(self, rows: Callable[[], Iterable[Row]]) -> Iterator[Row]:
        try:
            yield from rows()
        except ValueError as error:
            raise Difference(f"the {self._what}", "readable ones", error) from error


def _compare(what: str, expected: Sequence[Row], found: Sequence[Row], place: Callable[[Row], tuple[int, ...]]) -> None:
    """Compare rows that are in the order of their places; raise Difference at the first place where they differ."""
    for one, other in zip_longest(expected, found):
        if one == other:
            continue
        if other is None or (one is not None and place(one) < place(other)):
            raise Difference(what, "one", "none", **_named(place(one)))
        if one is None or place(one) != place(other):
            raise Difference(what, "none", "one", **_named(place(other)))
        for each in fields(one):
            if getattr(one, each.name) != getattr(other, each.name):
                shown = (_plain(getattr(row, each.name)) for row in (one, other))
                raise Difference(f"{what}, its {each.name.replace('_', ' ')}", *shown, **_named(place(one)))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _named(place: Sequence[int]) -> dict[str, int | None]:
    """Return a place as what Difference calls it; deal 0 stands for a whole game."""
    named: dict[str, int | None] = dict(zip(("match", "table", "deal"), place, strict=False))
    return {name: number for name, number in named.items() if name != "deal" or number}


@contextmanager
def _located(*, match: int | None = None, table: int | None = None, deal: int | None = None) -> Iterator[None]:
    """Say of a difference where it is."""
    try:
        yield
    except Difference as difference:
        if match is not None:
            difference.match = match
        if table is not None:
            difference.table = table
        if deal is not None:
            difference.deal = deal
        raise
