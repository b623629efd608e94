"""What is kept: tournaments with their schedules, and of each match its results, records and faults.

The store is the truth: ratings are always computed from it. It is an SQLite file or a PostgreSQL database; one process
coordinates, any number may read meanwhile. Every change is one short transaction, and the schedule is there before play. Tables
are kept one by one as they end, so that a process killed at any moment loses what is in play and no more; a match is done
when its last table is, and readers see nothing of one that isn't. SQLite writes its log without waiting for the disk at each
table (WAL, synchronous NORMAL): a power cut may undo the last ones, which are then played again, but damages nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Self

import sqlalchemy as sa

from arena.competition import ListedTournament
from arena.errors import BadInput, BadStore, DamagedStore, Malformed
from arena.match import Match, RotationResult
from arena.record import DealRecord
from arena.results import Result
from arena.settings import Tournament
from arena.store.audit import Audit
from arena.store.database import Database, database_exists
from arena.store.rows import (
    StoredFault,
    fault_rows,
    match_row,
    read_fault,
    read_match,
    read_origin,
    read_record,
    read_result,
    read_tournament,
    record_row,
    result_row,
    tournament_row,
)
from arena.store.runs import Runs
from arena.store.submissions import Submissions
from arena.store.tables import FAULTS, MATCHES, RECORDS, RESULTS, TOURNAMENTS
from arena.store.tokens import Tokens

_CHUNK: Final = 10_000  # results read in one transaction


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tournament has come."""

    matches: int
    done: int
    decisions: int
    """How many decisions the done matches asked."""
    seconds: float
    """How long they took, added up."""


@dataclass(frozen=True, slots=True)
class PartlyPlayed:
    """What is kept of a match that is not done."""

    tables: frozenset[int]
    deals: int
    decisions: int


class Store:
    """An open database; safe to use from several threads. Every method raises BadStore where the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[str, int] = {}
        self.submissions = Submissions(database)
        self.tokens = Tokens(database)
        self.audit = Audit(database)
        self.runs = Runs(database)

    @classmethod
    def open(cls, where: str | Path, *, create: bool = True) -> Self:
        """Open an SQLite file or the database at an SQLAlchemy URL, make it if need be, and bring it up to date.

        A file that may not be written is opened to be read. Raises BadStore where it cannot be used, which is never damaged
        by trying; also where it does not exist and `create` is false.
        """
        return cls(Database.open(where, create=create))

    @staticmethod
    def exists(where: str | Path) -> bool:
        """Return whether there is an SQLite file; of PostgreSQL that is taken for granted."""
        return database_exists(where)

    @property
    def place(self) -> str:
        """The path of the database, or its URL without the password."""
        return self._database.place

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the database, in which seeds and tokens are; none where it is no file."""
        return self._database.files

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def coordinate(self) -> AbstractContextManager[None]:
        """Hold the right to play tournaments in this store, for one process at a time.

        Raises BadStore with the holder's process where it is taken. The right ends with the process, however it ends.
        """
        return self._database.coordinate()

    def serve(self) -> AbstractContextManager[None]:
        """Hold the right to be the server of this store, for one process at a time; otherwise as `coordinate`."""
        return self._database.serve()

    # --- Writing ---

    def add_tournament(self, tournament: Tournament, matches: Sequence[Match]) -> None:
        """Store a tournament and its schedule; raise BadStore where its id is taken.

        Matches with an origin are done at once, with results and faults as they are there; their records stay where they are.
        """
        row = tournament_row(tournament)
        origins = {match.number: (self._key(match.origin[0]), match.origin[1]) for match in matches if match.origin}
        with self._database.writing() as connection:
            key = connection.execute(sa.insert(TOURNAMENTS).values(row).returning(TOURNAMENTS.c.key)).scalar_one()
            if matches:
                connection.execute(sa.insert(MATCHES), [match_row(key, match) for match in matches])
            for number, origin in origins.items():
                _copy_match(connection, (key, number), origin)

    def add_matches(self, tournament_id: str, matches: Sequence[Match]) -> None:
        """Add matches to a schedule that grows; raise BadStore where a number is taken."""
        key = self._key(tournament_id)
        with self._database.writing() as connection:
            connection.execute(sa.insert(MATCHES), [match_row(key, match) for match in matches])

    def note_enforced(self, tournament_id: str, sentence: str) -> None:
        """Note what keeps a tournament's bots apart from the machine; once is enough."""
        noted = self.tournament(tournament_id).enforced
        if sentence in noted:
            return
        key = self._key(tournament_id)
        with self._database.writing() as connection:
            changed = {"enforced": json.dumps([*noted, sentence])}
            connection.execute(sa.update(TOURNAMENTS).where(TOURNAMENTS.c.key == key).values(changed))

    def save_tables(self, tournament_id: str, tables: Sequence[RotationResult], *, done: Collection[int] = ()) -> None:
        """Keep tables with their results, records and faults, and turn the matches to done of which all tables are there.

        `done` has the numbers of these. Raises BadStore where a match is done already.
        """
        key = self._key(tournament_id)
        c = MATCHES.c
        changes: dict[int, dict[str, Any]] = {}
        for number, of_match in groupby(sorted(tables, key=_match_number), _match_number):
            played = list(of_match)
            changes[number] = {
                "attempt": played[-1].attempt,
                "decisions": sa.func.coalesce(c.decisions, 0) + sum(table.decisions for table in played),
                "seconds": sa.func.coalesce(c.seconds, 0) + sum(table.seconds for table in played),
            }
        for number in done:
            changes.setdefault(number, {}).update(done=True, finished=datetime.now(UTC).isoformat())
        rows = [
            (RESULTS, [result_row(key, one) for table in tables for one in table.results]),
            (RECORDS, [record_row(key, table, record) for table in tables for record in table.records]),
            (FAULTS, [row for table in tables for row in fault_rows(key, table)]),
        ]
        with self._database.writing() as connection:
            for number, change in changes.items():
                self._change_match(connection, key, tournament_id, number, change)
            for of, values in rows:
                if values:
                    connection.execute(sa.insert(of), values)

    def void_match(self, tournament_id: str, number: int, *, dealt_anew: bool) -> None:
        """Drop what is kept of a match that is void, and count the attempt where it is to be dealt anew.

        Counted it stays, even if the process is killed now.
        """
        attempt = MATCHES.c.attempt + 1 if dealt_anew else MATCHES.c.attempt
        self.drop_tables(tournament_id, [number], {"attempt": attempt})

    def drop_tables(
        self, tournament_id: str, numbers: Collection[int], changes: Mapping[str, Any] | None = None
    ) -> None:
        """Drop what is kept of matches that are not done, and change what else is known of them."""
        key = self._key(tournament_id)
        values = {"decisions": None, "seconds": None, **(changes or {})}
        with self._database.writing() as connection:
            for number in numbers:
                self._change_match(connection, key, tournament_id, number, values)
                for of in (RESULTS, RECORDS, FAULTS):
                    of_match = (of.c.tournament == key) & (of.c.match == number)
                    connection.execute(sa.delete(of).where(of_match))

    def finish(self, tournament_id: str) -> None:
        """Note that a tournament is over, with the time; nothing changes where it is noted already."""
        key = self._key(tournament_id)
        with self._database.writing() as connection:
            unfinished = (TOURNAMENTS.c.key == key) & TOURNAMENTS.c.finished.is_(None)
            connection.execute(sa.update(TOURNAMENTS).where(unfinished).values(finished=datetime.now(UTC).isoformat()))

    # --- Reading ---

    def tournament(self, id_or_prefix: str | None = None) -> Tournament:
        """Return a tournament by its id or the beginning of it; without one, the latest.

        Raises BadInput where there is none, or several that begin so.
        """
        query = sa.select(TOURNAMENTS).order_by(TOURNAMENTS.c.key.desc())
        if id_or_prefix is not None:
            query = query.where(TOURNAMENTS.c.id.startswith(id_or_prefix, autoescape=True))
        with self._database.reading() as connection:
            rows = connection.execute(query if id_or_prefix is not None else query.limit(1)).mappings().all()
        exact = [row for row in rows if row["id"] == id_or_prefix]
        if len(rows) == 1 or exact:
            return self._tournament((exact or rows)[0])
        if id_or_prefix is None:
            raise BadInput(f"{self.place} has no tournament yet: `arena tournament` plays one")
        if rows:
            raise BadInput(f"{id_or_prefix!r} may be any of {', '.join(row['id'] for row in rows)}: write more of it")
        known = ", ".join(tournament.id for tournament in self.tournaments()) or "none"
        raise BadInput(f"{self.place} has no tournament {id_or_prefix!r}; it has: {known}")

    def latest_result(self, *, contest: bool = False) -> Tournament:
        """Return whose results are meant where no tournament is named: the latest that is finished, or else the latest.

        For a `contest` comparisons and replays count only where there is nothing else. Raises BadInput where there is none.
        """
        found = self.tournaments()
        if not found:
            return self.tournament()
        order = [(not contest or each.settings.contest, each.finished is not None, i) for i, each in enumerate(found)]
        return found[max(order)[-1]]

    def in_play(self, shown: Tournament) -> ListedTournament | None:
        """Return the latest tournament that began after the one that is shown and isn't finished, if there is one."""
        later: list[Tournament] = []
        for each in self.tournaments():
            later = [] if each.id == shown.id else [*later, each]
        unfinished = [each for each in later if each.finished is None and each.settings.contest]
        return self.listed(unfinished[-1]) if unfinished else None

    def tournaments(self) -> list[Tournament]:
        """Return all tournaments, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(TOURNAMENTS).order_by(TOURNAMENTS.c.key)).mappings().all()
        return [self._tournament(row) for row in rows]

    def find(self, fingerprint: str) -> list[Tournament]:
        """Return the tournaments with this fingerprint, newest first."""
        query = sa.select(TOURNAMENTS).where(TOURNAMENTS.c.fingerprint == fingerprint)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(TOURNAMENTS.c.key.desc())).mappings().all()
        return [self._tournament(row) for row in rows]

    def matches(self, tournament_id: str, *, done: bool | None = None) -> list[Match]:
        """Return a tournament's matches in order: all, or only those that are done, or not."""
        c = MATCHES.c
        columns = c.number, c.line_up, c.deals, c.exchanged, c.origin
        query = sa.select(*columns).where(MATCHES.c.tournament == self._key(tournament_id))
        if done is not None:
            query = query.where(MATCHES.c.done == done)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(MATCHES.c.number)).all()
        with self._readable("the schedule"):
            return [read_match(*row) for row in rows]

    def attempts(self, tournament_id: str) -> dict[int, int]:
        """Return how often matches were void, by number; those that never were are left out."""
        void = (MATCHES.c.tournament == self._key(tournament_id)) & (MATCHES.c.attempt > 0)
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(MATCHES.c.number, MATCHES.c.attempt).where(void)).all()
        return dict(sorted((number, attempt) for number, attempt in rows))

    def progress(self, tournament_id: str) -> Progress:
        """Return how far a tournament has come."""
        done = sa.case((MATCHES.c.done, 1), else_=0)
        counted = (done, *(sa.case((MATCHES.c.done, column)) for column in (MATCHES.c.decisions, MATCHES.c.seconds)))
        sums = (sa.func.coalesce(sa.func.sum(column), 0) for column in counted)
        query = sa.select(sa.func.count(), *sums).where(MATCHES.c.tournament == self._key(tournament_id))
        with self._database.reading() as connection:
            matches, played, decisions, seconds = connection.execute(query).one()
        return Progress(int(matches), int(played), int(decisions), float(seconds))

    def partly_played(self, tournament_id: str) -> dict[int, PartlyPlayed]:
        """Return what is kept of the matches that are not done, by number; those of which there is nothing are left out."""
        key = self._key(tournament_id)
        c = RESULTS.c
        tables = sa.select(c.match, c.table, sa.func.sum(c.deals)).where((c.tournament == key) & _is_in_play(c))
        asked = sa.select(MATCHES.c.number, MATCHES.c.decisions)
        asked = asked.where((MATCHES.c.tournament == key) & ~MATCHES.c.done & MATCHES.c.decisions.is_not(None))
        with self._database.reading() as connection:
            rows = connection.execute(tables.group_by(c.match, c.table)).all()
            decisions = {row.number: row.decisions for row in connection.execute(asked)}
        kept: dict[int, dict[int, int]] = {}
        for match, table, deals in rows:
            kept.setdefault(match, {})[table] = deals
        return {
            match: PartlyPlayed(frozenset(deals), sum(deals.values()), decisions[match])
            for match, deals in kept.items()
        }

    def listed(self, tournament: Tournament) -> ListedTournament:
        """Return a tournament as everybody may see it, with how far it has come."""
        progress = self.progress(tournament.id)
        return ListedTournament(
            tournament.id,
            tournament.settings.game,
            tournament.settings.players,
            tournament.created,
            progress.matches,
            progress.done,
            tournament.finished is not None,
            tuple(entry.name for entry in tournament.entries),
        )

    def results(self, tournament_id: str) -> Iterator[Result]:
        """Yield the results of a tournament in order of match, table and deal; each match is in them wholly or not at all."""
        c = RESULTS.c
        place = sa.tuple_(c.match, c.table, c.deal)
        columns = c.match, c.table, c.deal, c.bots, c.points, c.places, c.faults, c.deals
        query = sa.select(*columns).where((c.tournament == self._key(tournament_id)) & ~_is_in_play(c))
        query = query.order_by(c.match, c.table, c.deal).limit(_CHUNK)
        last = (0, 0, 0)
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(query.where(place > last)).all()
            with self._readable("the results"):
                results = [read_result(*row) for row in rows]
            yield from results
            if len(rows) < _CHUNK:
                return
            last = rows[-1][:3]

    def origin(self, tournament_id: str, match: int) -> tuple[str, int]:
        """Return where a match was really played: the id of the tournament, and its number there."""
        one = (MATCHES.c.tournament == self._key(tournament_id)) & (MATCHES.c.number == match)
        with self._database.reading() as connection:
            cell = connection.execute(sa.select(MATCHES.c.origin).where(one)).scalar()
        with self._readable("the schedule"):
            return (tournament_id, match) if cell is None else read_origin(cell)

    def record(self, tournament_id: str, match: int, table: int, deal: int) -> DealRecord:
        """Return the record of a deal; raise BadInput where it was not played."""
        for played, record in self.records(tournament_id, match):
            if (played, record.number) == (table, deal):
                return record
        raise BadInput(f"tournament {tournament_id} has no deal {deal} at table {table} of match {match}, or not yet")

    def records(self, tournament_id: str, match: int) -> list[tuple[int, DealRecord]]:
        """Return the records of a match with their tables, in order of table and deal; none where it is not done.

        Those of a match whose results were kept are where it was really played.
        """
        tournament_id, match = self.origin(tournament_id, match)
        c = RECORDS.c
        query = sa.select(c.table, c.deal, c.record)
        query = query.where((c.tournament == self._key(tournament_id)) & (c.match == match) & ~_is_in_play(c))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(c.table, c.deal)).all()
        with self._readable(f"the records of match {match}"):
            return [(table, read_record(data)) for table, _, data in rows]

    def faults(self, tournament_id: str, *, in_play: bool = False) -> list[StoredFault]:
        """Return all faults of a tournament, in order of match, table and when they happened.

        Those of matches that are not done are among them where what is `in_play` counts.
        """
        c = FAULTS.c
        columns = c.match, c.table, c.deal, c.seat, c.bot, c.kind, c.retired
        query = sa.select(*columns).where(c.tournament == self._key(tournament_id))
        query = query if in_play else query.where(~_is_in_play(c))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(c.match, c.table, c.position)).all()
        with self._readable("the faults"):
            return [read_fault(*row) for row in rows]

    # --- Inside ---

    def _tournament(self, row: Mapping[Any, Any]) -> Tournament:
        with self._readable(f"what is kept of tournament {row['id']}"):
            return read_tournament(row)

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        """Raise DamagedStore where rows do not hold what they should."""
        try:
            yield
        except (ValueError, TypeError, KeyError, AttributeError, zlib.error, Malformed) as error:
            raise DamagedStore(f"{self.place}: {what} cannot be read ({error}); {self._database.cure}") from error

    def _key(self, tournament_id: str) -> int:
        """Return the number that stands for a tournament in the other tables."""
        if tournament_id not in self._keys:
            query = sa.select(TOURNAMENTS.c.key).where(TOURNAMENTS.c.id == tournament_id)
            with self._database.reading() as connection:
                key = connection.execute(query).scalar()
            if key is None:
                raise BadInput(f"{self.place} has no tournament {tournament_id!r}")
            self._keys[tournament_id] = key
        return self._keys[tournament_id]

    def _change_match(
        self, connection: sa.Connection, key: int, tournament_id: str, number: int, values: Mapping[str, Any]
    ) -> None:
        waiting = (MATCHES.c.tournament == key) & (MATCHES.c.number == number) & ~MATCHES.c.done
        if connection.execute(sa.update(MATCHES).where(waiting).values(values)).rowcount != 1:
            raise BadStore(f"match {number} of tournament {tournament_id} is done already, or was never to be played")


def _match_number(table: RotationResult) -> int:
    return table.match.number


def _is_in_play(c: sa.ColumnCollection[str, Any]) -> sa.Exists:
    """Return the condition that a row is of a match that is not done, by the columns of its table."""
    of_match = (MATCHES.c.tournament == c.tournament) & (MATCHES.c.number == c.match)
    return sa.exists(sa.select(1).select_from(MATCHES).where(of_match & ~MATCHES.c.done))


def _copy_match(connection: sa.Connection, to: tuple[int, int], origin: tuple[int, int]) -> None:
    """Let a match be done as another one is: keys and numbers of both."""
    of_origin = {"tournament": origin[0], "match": origin[1]}
    for table in (RESULTS, FAULTS):
        names = [column.name for column in table.columns if column.name not in ("tournament", "match")]
        rows = sa.select(sa.literal(to[0]), sa.literal(to[1]), *(table.c[name] for name in names))
        rows = rows.where(*(table.c[name] == value for name, value in of_origin.items()))
        connection.execute(sa.insert(table).from_select(["tournament", "match", *names], rows))
    c = MATCHES.c
    kept = ("attempt", "done", "decisions", "seconds", "finished")
    played = sa.select(*(c[name] for name in kept)).where((c.tournament == origin[0]) & (c.number == origin[1]))
    values = connection.execute(played).mappings().one()
    connection.execute(sa.update(MATCHES).where((c.tournament == to[0]) & (c.number == to[1])).values(dict(values)))
