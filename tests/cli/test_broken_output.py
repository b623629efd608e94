"""Work and its report are two things: a command's work goes on without its readers, and its exit code is the work's own."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import environment
from small_tournaments import KINDS
from submitted_bots import LOWEST

from arena.store import Store

READERS = ("stdout broken", "stderr broken", "both broken", "both closed")

BOTS = "".join(f"  - {{name: {kind}, python: 'in_process:{kind}'}}\n" for kind in KINDS)


def without_reader(folder: Path, readers: str, *arguments: str) -> int:
    """Run `arena` in a folder without readers, and return its exit code."""
    reading, broken = os.pipe()
    os.close(reading)
    program = [sys.executable, "-m", "arena", *arguments]
    closing = ["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh"] if readers == "both closed" else []
    stdout, stderr = (broken if readers in (f"{name} broken", "both broken") else None for name in ("stdout", "stderr"))
    try:
        done = subprocess.run(
            [*closing, *program], cwd=folder, env=environment(), stdout=stdout, stderr=stderr, timeout=100
        )
    finally:
        os.close(broken)
    return done.returncode


def made_project(folder: Path) -> bool:
    return (folder / "new" / ".gitignore").is_file()  # the last file written


def made_token(folder: Path) -> bool:
    with Store.open(folder / "arena.db", create=False) as store:
        return [token.owner for token in store.tokens.all()] == ["alice"]


def played_all(folder: Path) -> bool:
    with Store.open(folder / "arena.db", create=False) as store:
        return store.tournament(None).finished is not None


def left_nothing(folder: Path) -> bool:
    return not list(folder.glob("arena.db*"))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arguments", "code", "done", "readers"),
    [
        *(("token create alice", 0, made_token, readers) for readers in READERS),
        ("new-bot python new", 0, made_project, "both broken"),
        ("tournament --boards 8", 0, played_all, "both broken"),
        ("tournament --game none", 2, left_nothing, "stderr broken"),
        ("check --quick --isolation none -- python missing.py", 1, left_nothing, "both closed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_work_goes_on_without_its_readers(
    arguments: str, code: int, done: Callable[[Path], bool], readers: str, tmp_path: Path
) -> None:
    (tmp_path / "bots.yaml").write_text(f"bots:\n{BOTS}", encoding="utf-8")

    assert without_reader(tmp_path, readers, *arguments.split()) == code
    assert done(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("readers", READERS)
def test_a_bot_is_admitted_though_nobody_reads_it(readers: str, tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.yaml").write_text("name: mine\ncommand: [python, bot.py]\n", encoding="utf-8")
    (tmp_path / "bot" / "bot.py").write_text(LOWEST, encoding="utf-8")

    assert without_reader(tmp_path, readers, "submit", "bot") == 0

    with Store.open(tmp_path / "arena.db", create=False) as store:
        assert [version.number for version in store.submissions.versions("mine")] == [1]


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    without_reader(tmp_path, "both closed", "token", "create", "alice")

    with sqlite3.connect(tmp_path / "arena.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_result_that_could_not_be_kept_is_told_when_the_work_is_done(tmp_path: Path) -> None:
    line = f"{sys.executable} -m arena token create alice >/dev/full"
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, encoding="utf-8", timeout=60
    )

    assert done.returncode == 2
    assert done.stderr.endswith("arena: the output can't be written: No space left on device\n")
    assert made_token(tmp_path)
