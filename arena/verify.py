"""Verifies a tournament from what is kept of it: every deal from the seed, every choice by the rules, every sum.

The seed, the settings and the entries decide the schedule, the seats and the deals; the records decide results, faults and
disqualifications. All of that is worked out again and compared, and the choices that bots made are played again by the
rules. The first difference is raised, with its place. Ratings are compared through a document that was printed earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile, zip_longest
from typing import Generic, TypeVar

from arena.cards import format_cards
from arena.dealing import Seed
from arena.difference import Difference, compare_rows, located
from arena.disqualification import BLOCK, Conduct, Retirement
from arena.errors import BadInput, DamagedStore
from arena.game import Game
from arena.incremental import conditions, unchanged_bots
from arena.match import Match, deal_hands, table_results
from arena.plan import Plan, Played
from arena.record import DealRecord
from arena.replay import TableReplay
from arena.results import Result
from arena.settings import Format, Tournament, game_of
from arena.store import Store
from arena.store.rows import StoredFault
from arena.table import TableRules
from arena.tournament import fixed_plan

Row = TypeVar("Row", Match, Result, StoredFault)


@dataclass(slots=True)
class Verified:
    """What was found to be as it must be."""

    finished: bool
    scheduled: int = 0
    """The matches of the schedule."""
    matches: int = 0
    """The matches that were played."""
    deals: int = 0
    """The deals that were played, over all tables."""
    decisions: int = 0
    """The decisions that bots were asked."""
    faults: int = 0
    kept: int = 0
    """The matches whose results were kept from earlier tournaments."""
    dealt_anew: list[int] = field(default_factory=list)
    """The matches on deals of a later attempt, since they were void before."""
    disqualified: frozenset[str] = frozenset()


def verify_tournament(
    store: Store,
    tournament: Tournament,
    *,
    commitment: str | None = None,
    plan_of: Callable[[Tournament], Plan] = fixed_plan,
) -> Verified:
    """Verify all that is kept of a tournament, finished or not, and return what that was.

    `commitment` is what was published before play as the SHA-256 of the seed; `plan_of` makes the plan that decided the
    schedule. Raises Difference at the first thing that is not as it must be.
    """
    _verify_seed(tournament, commitment)
    try:
        game, plan = game_of(tournament.settings), plan_of(tournament)
        first = plan.begin()
    except BadInput as error:
        raise Difference("the settings", "some that can be played", error) from error
    try:
        return _Verification(store, tournament, game).run(plan, first)
    except DamagedStore as error:
        raise Difference("what is kept", "readable rows", error) from error


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

    def __init__(self, store: Store, tournament: Tournament, game: Game) -> None:
        settings = tournament.settings
        self._store = store
        self._tournament = tournament
        self._game = game
        self._rules = TableRules(game, settings.format is Format.GAME, settings.time, settings.faults)
        self._done = self._played()  # read first: what is played meanwhile is left for another time
        self._attempts = store.attempts(tournament.id)
        self._faults = _Rows("faults", lambda: iter(store.faults(tournament.id)), lambda row: row.match)
        self._results = _Rows("results", lambda: store.results(tournament.id), lambda row: row.board[0])
        self._left_over = store.partly_played(tournament.id) if tournament.finished else {}
        self._retirements: list[Retirement] = []
        self._owed: list[Match] = []
        self._conduct: Conduct | None = None
        self._dealt = tournament.seed.key, 0
        """By which seed, and as which match, the deals of the match that is verified were dealt."""
        self._waiting: Match | None = None
        """The first match that was to be played, and wasn't yet."""
        self._verified = Verified(finished=tournament.finished is not None)

    def run(self, plan: Plan, first: Sequence[Match]) -> Verified:
        """Verify everything, step by step of the plan."""
        kept = self._store.matches(self._tournament.id)
        verified, schedule = 0, list(first)
        while verified < len(schedule):
            compare_rows("the match in the schedule", schedule[verified:], kept[verified : len(schedule)], _by_number)
            for match in schedule[verified:]:
                self._verify_scheduled(match)
            verified = len(schedule)
            if self._waiting is None and (self._verified.finished or len(kept) > verified):
                schedule += self._next_step(plan, schedule)
        compare_rows("the match in the schedule", [], kept[verified:], _by_number)
        self._verify_ends()
        self._verified.scheduled = verified
        self._verified.disqualified = self._disqualified()
        return self._verified

    def _next_step(self, plan: Plan, schedule: Sequence[Match]) -> tuple[Match, ...]:
        """Return what the plan adds to a schedule that is played as a whole."""
        results = self._store.results(self._tournament.id)
        known = takewhile(lambda row: row.board[0] <= len(schedule), results)
        return plan.go_on(Played(tuple(schedule), known, self._disqualified())).matches

    def _verify_scheduled(self, match: Match) -> None:
        """Verify one match of the schedule, which was to be played, or not."""
        if match.number % BLOCK == 1:
            self._verified.disqualified = self._disqualified()
        out = frozenset() if match.origin else self._verified.disqualified.intersection(match.line_up)
        done = match.number in self._done
        if done:
            self._verify_owed(match, out)
        elif not out and self._verified.finished:
            raise Difference("the match", "played, since the tournament is over", "not played", match=match.number)
        rows = self._results.of(match.number), self._faults.of(match.number)
        if done:
            with located(match=match.number):
                self._verify_match(match, *rows)
        elif match.number in self._left_over:
            raise Difference("what is kept of a match that was not played", "nothing", "rows", match=match.number)
        if not out:
            self._owed.append(match)
            if not done and self._waiting is None:
                self._waiting = match

    def _verify_owed(self, match: Match, out: Collection[str]) -> None:
        """See that a match that was played was to be played: no disqualified bot's, and no block before it unfinished."""
        waiting = self._waiting
        unfinished = waiting is not None and _block(waiting) < _block(match)
        if out or unfinished:
            why = f"{', '.join(sorted(out))} is disqualified" if out else "an earlier block is unfinished"
            raise Difference("the match", f"not played, since {why}", "played", match=match.number)

    def _disqualified(self) -> frozenset[str]:
        """Return who plays no more after what was verified so far, if that is complete."""
        if self._waiting is None and self._owed:
            self._conduct = self._conduct or Conduct(len(self._owed[0].seatings(self._game)))
            self._conduct.add(self._owed, self._retirements)
            self._owed, self._retirements = [], []
        return self._conduct.disqualified() if self._conduct else frozenset()

    def _verify_ends(self) -> None:
        """See that nothing is kept beyond the schedule, and that the counts are right."""
        for what, rows in (("results", self._results), ("faults", self._faults)):
            if (number := rows.next_match) is not None and number not in self._played():
                raise Difference(f"the {what}", "none of such a match", "one", match=number)
        asked = self._store.progress(self._tournament.id).decisions
        if self._verified.finished and asked != self._verified.decisions:
            raise Difference("the number of decisions asked in all matches", self._verified.decisions, asked)

    def _played(self) -> set[int]:
        return {match.number for match in self._store.matches(self._tournament.id, done=True)}

    # --- One match ---

    def _verify_match(self, match: Match, results: Sequence[Result], faults: Sequence[StoredFault]) -> None:
        self._verify_attempt(match)
        self._verify_origin(match)
        tables = self._tables(match)
        for table, (seating, records) in enumerate(zip(match.seatings(self._game), tables, strict=True)):
            bots = tuple(match.line_up[index] for index in seating)
            with located(table=table):
                self._verify_table(match, table, bots, records)
        expected = [row for table, records in enumerate(tables) for row in table_results(match, table, records)]
        compare_rows("the result", expected, results, lambda row: (row.board[0], row.table, row.board[1]))
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
        compare_rows("the fault that is listed", booked, faults, lambda row: (row.match, row.table, row.deal))
        self._retirements += [(fault.match, fault.table, fault.bot) for fault in booked if fault.retired]
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

    def _verify_origin(self, match: Match) -> None:
        """See that a match that was kept was played like that elsewhere, under these conditions, by bots that are the same."""
        self._dealt = self._tournament.seed.key, match.number
        if match.origin is None:
            return
        earlier, played = self._earlier(match.origin)
        bots = unchanged_bots(earlier, self._tournament)
        if earlier.finished is None or conditions(earlier.settings) != conditions(self._tournament.settings):
            raise Difference("where it was kept from", "a finished tournament under the same conditions", earlier.id)
        if played != replace(match, number=match.origin[1], origin=None) or not bots.issuperset(match.line_up):
            raise Difference("the match that was kept", f"the same by the same versions in {earlier.id}", played)
        attempt = self._store.attempts(earlier.id).get(played.number, 0)
        if attempt != self._attempts.get(match.number, 0):
            raise Difference("the number of times that it was dealt anew", attempt, self._attempts.get(match.number, 0))
        self._verified.kept += 1
        self._dealt = earlier.seed.key, played.number

    def _earlier(self, origin: tuple[str, int]) -> tuple[Tournament, Match]:
        """Return the tournament and the match from which something was kept."""
        try:
            earlier = self._store.tournament(origin[0])
        except BadInput as error:
            raise Difference("where it was kept from", f"tournament {origin[0]}", "none") from error
        for match in self._store.matches(earlier.id, done=True):
            if match.number == origin[1]:
                return earlier, match
        raise Difference("where it was kept from", f"match {origin[1]} of {earlier.id}, played", "none")

    def _tables(self, match: Match) -> list[list[DealRecord]]:
        """Return the records by table."""
        count = len(match.seatings(self._game))
        tables: list[list[DealRecord]] = [[] for _ in range(count)]
        try:
            kept = self._store.records(self._tournament.id, match.number)
        except DamagedStore as error:
            raise Difference("the records", "readable ones", error.__cause__) from error
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
            with located(deal=number):
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
        key, number = self._dealt
        hands = deal_hands(key, self._game, number, attempt, own_table, record.number)
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
        while self._next is not None and self.next_match == match:
            rows.append(self._next)
            self._next = next(self._rows, None)
        return rows

    @property
    def next_match(self) -> int | None:
        """The match of the next row, None at their end."""
        return None if self._next is None else self._match_of(self._next)

    def _read(self, rows: Callable[[], Iterable[Row]]) -> Iterator[Row]:
        try:
            yield from rows()
        except DamagedStore as error:
            raise Difference(f"the {self._what}", "readable ones", error.__cause__) from error


def _block(match: Match) -> int:
    return (match.number - 1) // BLOCK


def _by_number(match: Match) -> tuple[int]:
    return (match.number,)
