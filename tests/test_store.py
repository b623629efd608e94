"""The store keeps whole matches or nothing, whatever happens, and says what is wrong with a database it cannot use."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
import stored_matches
from alembic.script import ScriptDirectory
from stored_matches import BOTS, new_matches, new_tournament, played_match, save_match

import arena.migrations.versions
from arena.competition import Program, State, Version
from arena.errors import BadInput, BadStore
from arena.faults import FaultKind
from arena.match import Match
from arena.results import Result
from arena.store import PartlyPlayed, Progress, Store
from arena.store.database import SCHEMA
from arena.store.rows import StoredFault

WRITER = [sys.executable, stored_matches.__file__]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arena.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        with Store.open(path) as opened:
            yield opened
        return
    url = os.environ.get("ARENA_TEST_POSTGRES")
    if not url:
        pytest.skip("ARENA_TEST_POSTGRES names no PostgreSQL database")
    _empty(url)
    with Store.open(url) as opened:
        yield opened


def _empty(url: str) -> None:
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()


# --- What is stored comes back ---


def test_tournament_comes_back_as_it_was_stored(store: Store) -> None:
    tournament = new_tournament()

    store.add_tournament(tournament, new_matches(3))

    assert store.tournament() == tournament
    assert store.tournaments() == [tournament]
    assert store.matches(tournament.id) == list(new_matches(3))


def test_match_comes_back_as_it_was_played(store: Store) -> None:
    tournament = new_tournament()
    matches = new_matches(3)
    tables = played_match(matches[1])
    store.add_tournament(tournament, matches)

    save_match(store, tournament.id, tables)

    assert list(store.results(tournament.id)) == [result for table in tables for result in table.results]
    expected = [(table.rotation, record) for table in tables for record in table.records]
    assert store.records(tournament.id, 2) == expected
    assert store.record(tournament.id, 2, 3, 1) == tables[3].records[0]
    assert store.faults(tournament.id) == [StoredFault(2, 0, 1, 2, "Ünï 蝶", FaultKind.TIMEOUT, retired=True)]


def test_done_matches_are_told_from_those_to_play(store: Store) -> None:
    tournament = new_tournament()
    matches = new_matches(3)
    store.add_tournament(tournament, matches)

    save_match(store, tournament.id, played_match(matches[1]))

    assert store.matches(tournament.id, done=True) == [matches[1]]
    assert store.matches(tournament.id, done=False) == [matches[0], matches[2]]
    assert store.progress(tournament.id) == Progress(matches=3, done=1, decisions=416, seconds=0.25)


def test_results_come_in_the_order_of_the_schedule_however_they_were_stored(store: Store) -> None:
    tournament = new_tournament()
    matches = new_matches(4, deals=1)
    store.add_tournament(tournament, matches)

    for match in reversed(matches):
        save_match(store, tournament.id, played_match(match))

    boards = [(result.board, result.table) for result in store.results(tournament.id)]
    assert boards == sorted(boards)
    assert len(boards) == 16


def test_results_are_complete_beyond_one_chunk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tournament = new_tournament()
    matches = new_matches(3)
    store.add_tournament(tournament, matches)
    for match in matches:
        save_match(store, tournament.id, played_match(match))
    whole = list(store.results(tournament.id))

    for size in (1, 5, 8, 24):
        monkeypatch.setattr("arena.store._CHUNK", size)
        assert list(store.results(tournament.id)) == whole


def test_game_results_belong_to_deal_zero(store: Store) -> None:
    tournament = new_tournament()
    match = new_matches(1)[0]
    result = Result((1, 0), 0, BOTS, (-3, 101, 60, 12), (0, 3, 2, 1), (0, 0, 0, 0), deals=9)
    store.add_tournament(tournament, [match])

    save_match(store, tournament.id, [replace(played_match(match)[0], results=(result,))])

    assert list(store.results(tournament.id)) == [result]


def test_a_schedule_can_grow(store: Store) -> None:
    store.add_tournament(new_tournament(), new_matches(2))
    more = (Match(3, BOTS, 0), Match(4, ("zed", "gopher"), 2, exchanged=True))

    store.add_matches("0123456789ab", more)

    assert store.matches("0123456789ab", done=False) == [*new_matches(2), *more]
    with pytest.raises(BadStore, match="has this already"):
        store.add_matches("0123456789ab", more[:1])


def test_two_tournaments_are_kept_apart(store: Store) -> None:
    for tournament_id in ("0123456789ab", "0123456789ab-2"):
        store.add_tournament(new_tournament(tournament_id), new_matches(2))

    save_match(store, "0123456789ab-2", played_match(new_matches(1)[0]))

    assert list(store.results("0123456789ab")) == []
    assert len(list(store.results("0123456789ab-2"))) == 8
    assert store.matches("0123456789ab", done=True) == []


# --- Finding tournaments ---


def test_tournament_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    store.add_tournament(new_tournament("aaaa00000000", "aaaa"), ())
    store.add_tournament(new_tournament("aaab00000000", "aaab"), ())
    store.add_tournament(new_tournament("aaab00000000-2", "aaab"), ())

    assert store.tournament("aaaa").id == "aaaa00000000"
    assert store.tournament("aaab00000000").id == "aaab00000000"
    assert store.tournament().id == "aaab00000000-2"
    assert [found.id for found in store.find("aaab")] == ["aaab00000000-2", "aaab00000000"]
    with pytest.raises(BadInput, match="any of aaab00000000-2, aaab00000000, aaaa00000000"):
        store.tournament("aaa")
    with pytest.raises(BadInput, match="no tournament '%'; it has: aaaa00000000, "):
        store.tournament("%")


def test_empty_store_says_how_to_play_a_tournament(store: Store) -> None:
    with pytest.raises(BadInput, match="arena tournament"):
        store.tournament()


@pytest.mark.parametrize("call", ["matches", "progress", "faults", "attempts", "finish"])
def test_unknown_tournament_is_refused(store: Store, call: str) -> None:
    with pytest.raises(BadInput, match="no tournament 'nothing'"):
        getattr(store, call)("nothing")


def test_unplayed_deal_is_refused(store: Store) -> None:
    store.add_tournament(new_tournament(), new_matches(1))

    with pytest.raises(BadInput, match="no deal 1 at table 0 of match 1"):
        store.record("0123456789ab", 1, 0, 1)


# --- Whole or not at all ---


def test_match_is_saved_only_once(store: Store) -> None:
    match = new_matches(1)[0]
    store.add_tournament(new_tournament(), [match])
    save_match(store, "0123456789ab", played_match(match))

    with pytest.raises(BadStore, match="match 1 of tournament 0123456789ab is done already"):
        save_match(store, "0123456789ab", played_match(match))

    assert len(list(store.results("0123456789ab"))) == 8


def test_match_that_fails_half_way_leaves_nothing(store: Store) -> None:
    match = new_matches(1)[0]
    tables = played_match(match)
    twice = [*tables[:3], replace(tables[3], results=(*tables[3].results, tables[3].results[0]))]
    store.add_tournament(new_tournament(), [match])

    with pytest.raises(BadStore, match="has this already"):
        save_match(store, "0123456789ab", twice)

    assert store.matches("0123456789ab", done=False) == [match]
    assert list(store.results("0123456789ab")) == []
    save_match(store, "0123456789ab", tables)


def test_id_is_taken_once(store: Store) -> None:
    store.add_tournament(new_tournament(), new_matches(1))

    with pytest.raises(BadStore, match="has this already"):
        store.add_tournament(new_tournament(), new_matches(1))

    assert len(store.tournaments()) == 1


def test_void_attempts_are_counted_until_the_match_is_done(store: Store) -> None:
    matches = new_matches(2)
    store.add_tournament(new_tournament(), matches)

    store.void_match("0123456789ab", 2, dealt_anew=True)
    store.void_match("0123456789ab", 2, dealt_anew=True)
    store.void_match("0123456789ab", 1, dealt_anew=False)

    assert store.attempts("0123456789ab") == {2: 2}
    save_match(store, "0123456789ab", played_match(matches[1], attempt=2))
    assert store.attempts("0123456789ab") == {2: 2}
    with pytest.raises(BadStore, match="done already"):
        store.void_match("0123456789ab", 2, dealt_anew=True)


def test_tables_are_kept_as_they_end_and_read_once_their_match_is_done(store: Store) -> None:
    match = new_matches(1)[0]
    tables = played_match(match)
    store.add_tournament(new_tournament(), [match])

    store.save_tables("0123456789ab", tables[:1])
    store.save_tables("0123456789ab", tables[2:])

    assert store.partly_played("0123456789ab") == {1: PartlyPlayed(frozenset({0, 2, 3}), deals=6, decisions=312)}
    assert list(store.results("0123456789ab")) == []
    assert store.records("0123456789ab", 1) == []
    assert store.faults("0123456789ab") == []
    assert [fault.table for fault in store.faults("0123456789ab", in_play=True)] == [0]
    assert store.progress("0123456789ab") == Progress(matches=1, done=0, decisions=0, seconds=0.0)

    store.save_tables("0123456789ab", tables[1:2], done=[1])

    assert store.partly_played("0123456789ab") == {}
    assert len(list(store.results("0123456789ab"))) == 8
    assert store.progress("0123456789ab") == Progress(matches=1, done=1, decisions=416, seconds=0.25)


@pytest.mark.parametrize("dealt_anew", [False, True])
def test_nothing_is_left_of_a_match_that_is_void(store: Store, dealt_anew: bool) -> None:
    match = new_matches(1)[0]
    tables = played_match(match)
    store.add_tournament(new_tournament(), [match])
    store.save_tables("0123456789ab", tables[:3])

    store.void_match("0123456789ab", 1, dealt_anew=dealt_anew)

    assert store.partly_played("0123456789ab") == {}
    assert store.attempts("0123456789ab") == ({1: 1} if dealt_anew else {})
    save_match(store, "0123456789ab", tables)
    assert store.progress("0123456789ab").decisions == 416


def test_finish_keeps_the_first_time(store: Store) -> None:
    store.add_tournament(new_tournament(), ())
    store.finish("0123456789ab")
    finished = store.tournament().finished

    store.finish("0123456789ab")

    assert finished is not None
    assert store.tournament().finished == finished


def test_threads_share_a_store(store: Store) -> None:
    matches = new_matches(12, deals=1)
    store.add_tournament(new_tournament(), matches)
    results = [played_match(match) for match in matches]
    failures: list[BaseException] = []

    def save(mine: list[int]) -> None:
        try:
            for i in mine:
                save_match(store, "0123456789ab", results[i])
                list(store.results("0123456789ab"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=save, args=(list(range(first, 12, 4)),)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert store.progress("0123456789ab").done == 12


# --- Killed, full, locked ---


@contextlib.contextmanager
def _writer(path: Path, **options: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*WRITER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_killed_process_leaves_whole_matches(path: Path) -> None:
    chance = random.Random(7)
    count = 150
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(count))

    done = 0
    for _ in range(3):
        with _writer(path) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline()) for _ in range(chance.randint(1, 20))]
            time.sleep(chance.random() / 50)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with Store.open(path) as store:
            stored = [match.number for match in store.matches("0123456789ab", done=True)]
            results = list(store.results("0123456789ab"))
            records = [len(store.records("0123456789ab", number)) for number in range(1, count + 1)]
        assert set(told) <= set(stored)
        assert [result.board[0] for result in results] == [number for number in stored for _ in range(8)]
        assert records == [8 if number in stored else 0 for number in range(1, count + 1)]
        assert done < len(stored)
        done = len(stored)

    with _writer(path) as process:
        assert process.communicate()[1] == ""
    with Store.open(path) as store:
        assert store.progress("0123456789ab").done == count
        assert store.tournament().finished is not None


def test_second_coordinator_is_told_who_holds_the_store(path: Path) -> None:
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(2000))
        with _writer(path) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            with pytest.raises(BadStore, match=f"is in use: process {process.pid} on .*--store"), store.coordinate():
                pass
            assert store.progress("0123456789ab").done > 0
        with store.coordinate():
            pass

    assert sorted(path.parent.iterdir()) == [path]


def test_one_process_coordinates_once(store: Store) -> None:
    with store.coordinate():
        with pytest.raises(BadStore, match=f"process {os.getpid()} on"), store.coordinate():
            pass
        store.add_tournament(new_tournament(), ())

    with store.coordinate():
        pass


@pytest.mark.slow
def test_readers_see_whole_matches_while_one_writes(path: Path) -> None:
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(150))
        with _writer(path) as process:
            seen = 0
            while process.poll() is None:
                results = list(store.results("0123456789ab"))
                assert len(results) % 8 == 0
                assert len(results) >= seen
                seen = len(results)
            assert process.communicate()[1] == ""
        assert len(list(store.results("0123456789ab"))) == 150 * 8


@pytest.mark.slow
def test_full_database_keeps_what_was_stored(path: Path) -> None:
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(200))
    limit = path.stat().st_size + 200_000

    process = subprocess.run(
        [*WRITER, str(path)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    assert "BadStore" in process.stderr
    assert "What was stored is safe" in process.stderr
    with Store.open(path) as store:
        done = store.progress("0123456789ab").done
        assert done == len(process.stdout.split())
        assert 0 < done < 200
        assert len(list(store.results("0123456789ab"))) == done * 8
    with _writer(path) as again:
        assert again.communicate()[1] == ""


def test_full_disk_is_told(path: Path) -> None:
    matches = new_matches(50)
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), matches)
        with store._database._engine.connect() as connection:  # the pool hands this connection out again
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 4}")

        with pytest.raises(BadStore, match=r"the disk is full\. What was stored is safe"):
            for match in matches:
                save_match(store, "0123456789ab", played_match(match))

        assert len(list(store.results("0123456789ab"))) == 8 * store.progress("0123456789ab").done


def test_locked_database_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.store.database._PATIENCE", 0.1)
    with Store.open(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(BadStore, match="is locked by another process"):
            store.add_tournament(new_tournament(), ())

        other.execute("ROLLBACK")
        store.add_tournament(new_tournament(), ())


def test_many_processes_may_open_a_new_store_at_once(path: Path) -> None:
    code = "import sys; from arena.store import Store; Store.open(sys.argv[1]).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]

    errors = [process.communicate()[1] for process in processes]

    assert errors == [""] * 3


# --- Databases that cannot be used ---


def test_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadStore, match="is a directory: name a file in it"):
        Store.open(tmp_path)
    with pytest.raises(BadStore, match=r"there is no directory .*missing; make it first"):
        Store.open(tmp_path / "missing" / "arena.db")
    with pytest.raises(BadStore, match="does not exist: name the database with --store"):
        Store.open(tmp_path / "arena.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://host/arena", "cannot be used: Arena stores in an SQLite file, or in PostgreSQL"),
        ("sqlite://", "cannot be used"),
        ("nothing://", "cannot be used"),
        ("://", "is no URL of a database"),
        ("oracle://me:secret@host/arena", r"oracle://me:\*\*\*@host/arena cannot be used"),
    ],
)
def test_other_databases_are_refused(url: str, message: str) -> None:
    with pytest.raises(BadStore, match=message):
        Store.open(url)


def test_sqlite_url_is_a_path(path: Path) -> None:
    with Store.open(f"sqlite:///{path}") as store:
        store.add_tournament(new_tournament(), ())

    with Store.open(str(path), create=False) as store:
        assert store.tournament() == new_tournament()


def test_file_that_is_no_database_is_refused_and_kept(path: Path) -> None:
    path.write_bytes(b"name: my notes\n" * 100)

    with pytest.raises(BadStore, match="is not an SQLite database"):
        Store.open(path)

    assert path.read_bytes() == b"name: my notes\n" * 100


def test_database_of_something_else_is_refused_and_kept(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE photos (name TEXT)")
    before = path.read_bytes()

    with pytest.raises(BadStore, match="is a database of something else"):
        Store.open(path)

    assert path.read_bytes() == before


def test_newer_database_is_refused_and_kept(path: Path) -> None:
    Store.open(path).close()
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '0999'")
    before = path.read_bytes()

    with pytest.raises(BadStore, match=f"schema 0999, made by a newer Arena; this one knows schemas up to {SCHEMA}"):
        Store.open(path)

    assert path.read_bytes() == before


def test_damaged_database_is_told(path: Path) -> None:
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(50))
        for match in new_matches(50):
            save_match(store, "0123456789ab", played_match(match))
    whole = path.read_bytes()
    path.write_bytes(whole[: 20 * 4096] + random.Random(3).randbytes(len(whole) - 20 * 4096))

    with (
        pytest.raises(
            BadStore, match=f"is damaged: restore a backup, or save what can be read with: sqlite3 {path} .recover"
        ),
        Store.open(path) as store,
    ):
        list(store.results("0123456789ab"))


def test_damaged_record_is_told(store: Store) -> None:
    match = new_matches(1)[0]
    store.add_tournament(new_tournament(), [match])
    save_match(store, "0123456789ab", played_match(match))
    with store._database.writing() as connection:
        connection.execute(sa.text("UPDATE records SET record = :data"), {"data": b"nothing"})

    with pytest.raises(BadStore, match="the records of match 1 cannot be read"):
        store.records("0123456789ab", 1)


AS_NOBODY = """
import os, sys
from stored_matches import new_tournament
from arena.errors import BadStore
from arena.store import Store
Store.open(sys.argv[2]).close()  # imports everything while it may
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    with Store.open(sys.argv[1]) as store:
        print(store.tournament().id)
        with store.coordinate():
            store.add_tournament(new_tournament("other"), ())
except BadStore as error:
    print(error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that every user can reach, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="arena-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "told"),
    [
        (0o444, 0o777, r"0123456789ab\n.*arena\.db may not be written: change the permissions.*\n"),
        (0o666, 0o555, r"0123456789ab\n.*arena\.db may not be written: change the permissions.*\n"),
        (0o000, 0o777, r".*arena\.db cannot be opened: the file and its directory must be readable.*\n"),
    ],
    ids=["read-only file", "read-only directory", "unreadable"],
)
def test_what_may_be_read_is_read_and_missing_permissions_are_told(
    tmp_path: Path, open_folder: Path, file_mode: int, folder_mode: int, told: str
) -> None:
    path = open_folder / "arena.db"
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), ())
    before = path.read_bytes()
    path.chmod(file_mode)
    open_folder.chmod(folder_mode)
    environment = {**os.environ, "PYTHONPATH": str(Path(stored_matches.__file__).parent)}

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(path), str(tmp_path / "other.db")],
        capture_output=True,
        text=True,
        env=environment,
    )

    assert done.stderr == ""
    assert re.fullmatch(told, done.stdout)
    assert path.read_bytes() == before
    assert [file.name for file in open_folder.iterdir()] == ["arena.db"]


def _permit_reading_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on files are said to be read-only; to root none is by its permissions."""
    monkeypatch.setattr(os, "access", lambda _path, mode: mode == os.R_OK)


def test_who_may_only_read_sees_what_is_written_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(path) as writer:
        writer.add_tournament(new_tournament(), new_matches(1))
        _permit_reading_only(monkeypatch)
        with Store.open(path) as reader:
            before = reader.progress("0123456789ab").done
            save_match(writer, "0123456789ab", played_match(new_matches(1)[0]))

            assert (before, reader.progress("0123456789ab").done) == (0, 1)
            with pytest.raises(BadStore, match="may not be written"):
                reader.finish("0123456789ab")


def test_a_read_only_copy_that_lacks_its_last_changes_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = path.with_name("copy of it?.db")
    with Store.open(path) as writer:
        writer.add_tournament(new_tournament(), ())
        shutil.copy(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
    _permit_reading_only(monkeypatch)

    with pytest.raises(BadStore, match=r"its last changes are still in copy of it\?\.db-wal: copy both into a folder"):
        Store.open(copy)
    Path(f"{copy}-wal").write_bytes(b"")
    shutil.copy(path, copy)
    with Store.open(copy) as store:
        assert store.tournament().id == "0123456789ab"


def test_a_read_only_database_of_an_earlier_schema_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(path).close()
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '0003'")
    _permit_reading_only(monkeypatch)

    with pytest.raises(
        BadStore, match=r"has schema 0003, made by an earlier Arena, .*copy it into a folder of your own"
    ):
        Store.open(path)


# --- Migrations ---


def test_schema_is_that_of_the_last_migration() -> None:
    folder = Path(arena.migrations.versions.__path__[0]).parent

    assert ScriptDirectory(str(folder)).get_current_head() == SCHEMA


def _undo_the_fourth(database: sqlite3.Connection) -> None:
    database.execute("ALTER TABLE matches DROP COLUMN origin")
    for table in ("tokens", "deeds", "steps", "submissions", "bots", "runs", "events"):
        database.execute(f"DROP TABLE {table}")
    database.execute("UPDATE alembic_version SET version_num = '0003'")


def test_matches_of_the_first_schema_are_kept(path: Path) -> None:
    """A database without the column for matches of two tables gets it, and none of its matches is one."""
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(2))
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        _undo_the_fourth(other)
        other.execute("ALTER TABLE matches DROP COLUMN exchanged")
        other.execute("ALTER TABLE tournaments DROP COLUMN enforced")
        other.execute("UPDATE alembic_version SET version_num = '0001'")

    with Store.open(path) as store:
        assert store.matches("0123456789ab") == list(new_matches(2))


def test_everything_of_the_third_schema_is_kept(path: Path) -> None:
    def everything(store: Store) -> list[object]:
        tournament = store.tournament()
        matches = store.matches(tournament.id)
        records = [store.records(tournament.id, match.number) for match in matches]
        rows = list(store.results(tournament.id)), store.faults(tournament.id), store.progress(tournament.id)
        return [tournament, matches, records, *rows]

    matches = new_matches(3)
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), matches)
        store.note_enforced("0123456789ab", "In a sandbox.")
        for match in matches[:2]:
            save_match(store, "0123456789ab", played_match(match))
        before = everything(store)
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        _undo_the_fourth(other)

    with Store.open(path) as store:
        assert everything(store) == before
        assert (store.tokens.all(), store.submissions.bots(), store.runs.unfinished()) == ([], [], [])
        save_match(store, "0123456789ab", played_match(matches[2]))
    Store.open(path.with_name("new.db")).close()
    assert _columns(path) == _columns(path.with_name("new.db"))


def test_a_new_database_is_for_its_owner_alone(path: Path) -> None:
    with Store.open(path) as store:
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in store.files}

    assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}


def test_bots_of_the_fourth_schema_are_kept_and_none_is_barred(path: Path) -> None:
    with Store.open(path) as store:
        which = "a" * 32
        store.submissions.receive(Version(which, "ada", State.WAITING, datetime(2030, 1, 2, tzinfo=UTC)))
        store.submissions.claim(which, Program("bot", command=("./bot",)), "d" * 64, 100)
        store.submissions.decide(which, State.ADMITTED)
        before = store.submissions.bots()
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("ALTER TABLE bots DROP COLUMN barred")
        other.execute("UPDATE alembic_version SET version_num = '0004'")

    with Store.open(path) as store:
        assert store.submissions.bots() == before
        assert not before[0].barred
        assert store.submissions.use("bot", 0, who="olga", organiser=True).barred
    Store.open(path.with_name("new.db")).close()
    assert _columns(path) == _columns(path.with_name("new.db"))


def _columns(path: Path) -> dict[str, set[tuple[str, str]]]:
    """Return the columns and the indexes of each table."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: {(name, kind) for _, name, kind, *_ in database.execute(f"PRAGMA table_info({table})")}
            | {(str(row[1]), "index") for row in database.execute(f"PRAGMA index_list({table})")}
            for table in tables
        }


def test_what_was_enforced_is_kept_once_for_each_way(path: Path) -> None:
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), new_matches(2))
        for sentence in ("In a sandbox.", "In none.", "In a sandbox."):
            store.note_enforced("0123456789ab", sentence)

    with Store.open(path) as store:
        assert store.tournament("0123456789ab").enforced == ("In a sandbox.", "In none.")


def test_opening_again_changes_nothing(path: Path) -> None:
    Store.open(path).close()
    before = path.read_bytes()

    Store.open(path).close()

    assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_database_that_is_taken_away_while_it_is_used_is_noticed(tmp_path: Path, how: str) -> None:
    path = tmp_path / "arena.db"
    Store.open(tmp_path / "other.db").close()
    with Store.open(path) as store:
        store.add_tournament(new_tournament(), [])
        path.unlink()
        if how == "replaced":
            path.with_name("other.db").replace(path)

        with pytest.raises(BadStore, match="was removed or replaced"):
            store.finish(new_tournament().id)
