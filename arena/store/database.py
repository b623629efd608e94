"""An open database: its transactions, the lock of its coordinator, and what its errors mean."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Final, Self

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError

from arena.contents import DATABASE_MARK
from arena.errors import BadStore
from arena.store.lock import hold_lock

SCHEMA: Final = "0005"
"""The newest migration in `arena.migrations`; later ones have larger numbers."""

_PATIENCE = 20.0  # seconds to wait while another process writes
_CONNECTIONS = 64  # to an SQLite file: more than threads may wait with, so that readers always find one
_ADVISORY_LOCK = 0x41524E41  # of PostgreSQL, within the database


class Database:
    """An open SQLite file or PostgreSQL database, with the schema that this Arena needs.

    A file that may not be written, or lies in such a folder, can be read.
    """

    def __init__(self, engine: sa.Engine, place: str, *, read_only: bool = False) -> None:
        self._engine = engine
        self._read_only = read_only
        self.place = place
        """The path, or the URL without its password."""
        self._file: tuple[int, int] | None = None  # which file it is, in SQLite

    @classmethod
    def open(cls, where: str | Path, *, create: bool) -> Self:
        """Open or make a database and bring it up to date; raise BadStore where that cannot be."""
        url = _url(where)
        sqlite = url.get_backend_name() == "sqlite"
        place = str(url.database) if sqlite else url.render_as_string(hide_password=True)
        if sqlite:
            _check_path(Path(place), create=create)
        read_only = sqlite and _is_read_only(Path(place))
        database = cls(_engine(_reading_url(Path(place)) if read_only else url), place, read_only=read_only)
        try:
            database._bring_up_to_date()
            database._file = _identity(Path(place)) if sqlite else None
        except BaseException:
            database.close()
            raise
        return database

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in which it is; none where it is no file."""
        if self._engine.dialect.name != "sqlite":
            return ()
        return tuple(Path(f"{self.place}{suffix}") for suffix in ("", "-wal", "-shm"))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Begin a transaction that reads; raise BadStore where the file is not there any more."""
        self._check_file()
        with self._telling(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[sa.Connection]:
        """Begin a transaction that writes, and commit it at the end; whatever goes wrong, it leaves nothing.

        `alone` is for one that reads what it then decides by: no other such one runs meanwhile. In SQLite that holds for all.
        """
        with self._telling(), self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            if alone and self._engine.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK + 3)))
            yield connection
        self._check_file()

    @property
    def cure(self) -> str:
        """What helps where the database is damaged."""
        backup = "restore a backup"
        if self._engine.dialect.name != "sqlite":
            return backup
        return f"{backup}, or save what can be read with: sqlite3 {shlex.quote(self.place)} .recover"

    def coordinate(self) -> AbstractContextManager[None]:
        """Hold the right to play tournaments, as one process at a time; raise BadStore where it is taken."""
        if self._engine.dialect.name == "sqlite":
            return self._file_lock(".lock", "plays a tournament there")
        return self._advisory_lock(_ADVISORY_LOCK, "plays a tournament there")

    def serve(self) -> AbstractContextManager[None]:
        """Hold the right to admit bots and keep the calendar, as one server at a time; raise BadStore where it is taken."""
        if self._engine.dialect.name == "sqlite":
            return self._file_lock(".server.lock", "serves it")
        return self._advisory_lock(_ADVISORY_LOCK + 2, "serves it")

    def _check_file(self) -> None:
        if self._file is not None and _identity(Path(self.place)) != self._file:
            raise BadStore(
                f"{self.place} was removed or replaced while it was in use: what was played since then is lost"
            )

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say in a BadStore what a database's error means."""
        try:
            yield
        except IntegrityError as error:
            raise BadStore(f"{self.place} has this already: {_one_line(error.orig)}") from error
        except DBAPIError as error:
            raise BadStore(f"{self.place} {self._meaning(error.orig)}") from error
        except sqlite3.Error as error:
            raise BadStore(f"{self.place} {self._meaning(error)}") from error

    def _meaning(self, error: BaseException | None) -> str:
        name = getattr(error, "sqlite_errorname", None) or ""
        if name.startswith("SQLITE_CORRUPT"):
            return f"is damaged: {self.cure}"
        for beginning, meaning in _MEANINGS.items():
            if name.startswith(beginning):
                return meaning
        return f"cannot be used: {_one_line(error)}"

    def _bring_up_to_date(self) -> None:
        with self.reading() as connection:
            found = self._found_schema(connection)
        if found == SCHEMA:
            return
        if self._read_only and found is not None:
            raise BadStore(
                f"{self.place} has schema {found}, made by an earlier Arena, and may not be written: to be read it has to be"
                f" brought up to schema {SCHEMA} first; copy it into a folder of your own and read it there"
            )
        with self._telling():
            if found is None and self._engine.dialect.name == "sqlite":
                _prepare_file(self._engine)
        with self.writing() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK + 1)))
            if self._found_schema(connection) != SCHEMA:  # another process may have been faster
                _migrate(connection)

    def _found_schema(self, connection: sa.Connection) -> str | None:
        """Return the database's schema, None where it is empty; raise BadStore where it is not for this Arena."""
        tables = sa.inspect(connection).get_table_names()
        if not tables:
            return None
        if "alembic_version" not in tables or "tournaments" not in tables:
            raise BadStore(f"{self.place} is a database of something else: name another one with --store")
        found = str(connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar())
        if found > SCHEMA:
            raise BadStore(
                f"{self.place} has schema {found}, made by a newer Arena; this one knows schemas up to {SCHEMA}. "
                "Upgrade Arena, or name another database with --store"
            )
        return found

    def _file_lock(self, suffix: str, deed: str) -> AbstractContextManager[None]:
        if self._read_only:
            raise BadStore(f"{self.place} {_MEANINGS['SQLITE_READONLY']}")
        return hold_lock(Path(f"{self.place}{suffix}"), deed)

    @contextmanager
    def _advisory_lock(self, number: int, deed: str) -> Iterator[None]:
        lock = sa.literal(number)
        with self._telling(), self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if not connection.execute(sa.select(sa.func.pg_try_advisory_lock(lock))).scalar():
                holder = connection.execute(_HOLDER, {"lock": number}).scalar() or "another process"
                raise BadStore(
                    f"{self.place} is in use: {holder} {deed}. "
                    "Wait until it is done, stop it, or name another database with --store"
                )
            try:
                yield
            finally:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(lock)))


# --- Opening ---


def database_exists(where: str | Path) -> bool:
    """Return whether there is an SQLite file; of PostgreSQL that is taken for granted."""
    url = _url(where)
    return url.get_backend_name() != "sqlite" or Path(str(url.database)).exists()


_HOLDER = sa.text(
    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)"
    " WHERE locktype = 'advisory' AND granted AND objid = :lock AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def _url(where: str | Path) -> sa.URL:
    if "://" not in str(where):
        return sa.URL.create("sqlite", database=str(Path(where).resolve()))
    try:
        url = sa.make_url(str(where))
        backend = url.get_backend_name()
    except ArgumentError as error:
        raise BadStore(f"--store {where} is no URL of a database: write sqlite:///arena.db or a path") from error
    if backend == "sqlite" and url.database and url.database != ":memory:":
        return url.set(database=str(Path(url.database).resolve()))
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    shown = url.render_as_string(hide_password=True)
    raise BadStore(f"{shown} cannot be used: Arena stores in an SQLite file, or in PostgreSQL (postgresql://...)")


def _check_path(path: Path, *, create: bool) -> None:
    """Make the file if it is to be, for its owner alone: there are seeds in it that nobody may know yet."""
    if path.is_dir():
        raise BadStore(f"{path} is a directory: name a file in it, such as {path / 'arena.db'}")
    if not path.parent.is_dir():
        raise BadStore(f"{path} cannot be made: there is no directory {path.parent}; make it first")
    if not create and not path.exists():
        raise BadStore(
            f"{path} does not exist: name the database with --store; `arena tournament` and `arena submit` make one"
        )
    if not path.exists():
        with suppress(OSError):  # what keeps it from being made is told as it is opened
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _is_read_only(path: Path) -> bool:
    """Return whether a file can be read, but no changes to it be stored."""
    return os.access(path, os.R_OK) and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _reading_url(path: Path) -> sa.URL:
    """Return the URL that reads a file and writes nothing.

    While others have the file open its log (WAL) lies beside it, with an index, and what they do is heeded. Without them
    nothing changes it. Raises BadStore for a log with content that lacks its index, which would have to be written.
    """
    log = Path(f"{path}-wal")
    if log.exists() and Path(f"{path}-shm").exists():
        how = {"mode": "ro"}
    elif log.exists() and log.stat().st_size:
        raise BadStore(
            f"{path} may not be written, and its last changes are still in {log.name}: copy both into a folder of your own and"
            " read them there"
        )
    else:
        how = {"mode": "ro", "immutable": "1"}
    return sa.URL.create("sqlite", database=path.as_uri(), query={**how, "uri": "true"})


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() == "postgresql":
        name = f"process {os.getpid()} on {gethostname()}"
        try:
            return sa.create_engine(url, connect_args={"application_name": name})
        except (ImportError, NoSuchModuleError) as error:
            raise BadStore("PostgreSQL needs one more package: pip install 'hearts-arena[postgres]'") from error
    engine = sa.create_engine(url, pool_size=_CONNECTIONS, connect_args={"timeout": _PATIENCE})
    sa.event.listen(engine, "connect", _prepare)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    """Leave the beginning of transactions to `_begin`, and set what SQLite sets by connection."""
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction: one that writes takes its turn at once, so that it cannot fail for another's sake half-way."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_file(engine: sa.Engine) -> None:
    """Let a new file be read while it is written, and be known as Arena's; the file remembers it."""
    raw = engine.raw_connection()
    try:
        raw.cursor().execute(f"PRAGMA application_id = {DATABASE_MARK}")
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        raw.close()


def _migrate(connection: sa.Connection) -> None:
    """Bring the schema up to date, in the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "arena:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


# --- What errors mean ---

_MEANINGS = {
    "SQLITE_FULL": "cannot grow: the disk is full. What was stored is safe: free some space and run the same command again",
    "SQLITE_IOERR": "cannot be read or written: the disk or a limit on file sizes refuses. What was stored is safe: mend that "
    "and run the same command again",
    "SQLITE_BUSY": "is locked by another process: wait until it is done, and run the same command again",
    "SQLITE_LOCKED": "is locked by another process: wait until it is done, and run the same command again",
    "SQLITE_READONLY": "may not be written: change the permissions of the file and its directory, or name another database "
    "with --store",
    "SQLITE_PERM": "may not be used: change the permissions of the file and its directory",
    "SQLITE_CANTOPEN": "cannot be opened: the file and its directory must be readable and writable",
    "SQLITE_NOTADB": "is not an SQLite database: name another file with --store",
}


def _one_line(error: BaseException | None) -> str:
    return " ".join(str(error).split())


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file is at a path, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
