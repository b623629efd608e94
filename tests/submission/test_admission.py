"""Admission: only a bot that unpacks, builds, passes the check and plays without a fault may play; others are told why."""

from __future__ import annotations

import re
import sys
import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import pytest
from sandboxes import needs_sandbox
from submitted_bots import BOTS, PYTHON, TERMS, Claims, admitted, submit

from arena.clock import TimeControl
from arena.competition import AdmissionStep, Program, State, Version
from arena.errors import ArenaError, BadInput, Refused
from arena.finding import Verdict
from arena.players.base import Setup
from arena.players.launcher import LaunchedBot, Launcher
from arena.settings import Entry, Isolation
from arena.submission import admission
from arena.submission.admission import Terms
from arena.submission.archive import tree_digest
from arena.submission.concealment import Concealment
from arena.submission.selfplay import play_itself
from arena.submission.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.beside(tmp_path / "secret-place" / "arena.db")


def verdicts(steps: dict[str, AdmissionStep]) -> list[Verdict]:
    return [steps[name].verdict for name in ("unpack", "build", "check", "play")]


def misbehaving(*way: str, bot: str = "misbehaving.py") -> dict[str, str]:
    words = ", ".join(["python", "bot.py", *way])
    others = {name: (BOTS / name).read_text() for name in ("misbehaving.py", "rogue.py")}
    return {**others, "bot.py": (BOTS / bot).read_text(), "bot.yaml": f"name: rogue\ncommand: [{words}]\n"}


@needs_sandbox
@pytest.mark.slow
async def test_a_sound_bot_is_admitted_and_lies_on_the_shelf(shelf: Shelf, tmp_path: Path) -> None:
    claims = Claims()

    steps = await admitted(submit(shelf, PYTHON, tmp_path), shelf, claim=claims)

    ((program, digest, size),) = claims.made
    assert verdicts(steps) == [Verdict.PASS, Verdict.SKIPPED, Verdict.PASS, Verdict.PASS]
    assert program == Program("plain", command=("python", "bot.py"))
    assert size == sum(len(text) for text in PYTHON.values())
    assert tree_digest(shelf.folder(digest)) == digest
    assert list((shelf.root / "staging").iterdir()) == []
    assert "16 deals of hearts-classic with 4 players against itself" in steps["play"].detail
    assert steps["check"].detail == "18 of 19 steps passed, 1 for information, none failed"
    assert len(steps["check"].log.splitlines()) == 19


async def test_what_is_there_already_is_not_admitted_again(shelf: Shelf, tmp_path: Path) -> None:
    first, second = (submit(shelf, PYTHON, tmp_path) for _ in range(2))
    claims = Claims(answer=False)
    assert (await admitted(first, shelf, claim=claims)).keys() == {"unpack"}  # there was nothing: it is put back
    files = shelf.whole(claims.made[0][1]).stat()

    steps = await admitted(second, shelf, claim=claims)

    assert steps == {}
    assert shelf.whole(claims.made[0][1]).stat() == files


async def test_a_name_that_is_taken_fails_the_unpacking(shelf: Shelf, tmp_path: Path) -> None:
    async def claim(_program: Program, _digest: str, _size: int) -> bool:
        raise Refused("NAME_TAKEN", "the name plain is another owner's: choose another one")

    steps = await admitted(submit(shelf, PYTHON, tmp_path), shelf, claim=claim)

    assert verdicts(steps) == [Verdict.FAIL, *[Verdict.SKIPPED] * 3]
    assert steps["unpack"].detail == "the name plain is another owner's: choose another one"


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"bot.py": "x"}, "there is no bot.yaml"),
        ({"bot.yaml": "name: x\n"}, r"bot.yaml:1:1: `command` is missing"),
        ({"bot.yaml": "name: x\ncommand: [./x]\nnmae: y\n"}, r"bot.yaml:3:1: .*nmae"),
        ({"bot.yaml": "name: [" * 1000}, "bot.yaml"),
        ({"bot.yaml": "# " + "x" * 70_000}, "larger than 65,536 bytes"),
        ({"bot.yaml": 'name: "a\\u001b[31mb"\ncommand: [./x]'}, "bot.yaml"),
        ({"bot.yaml/x": "x"}, "there is no bot.yaml"),
    ],
    ids=["no manifest", "no command", "unknown key", "nested", "large", "control characters", "a folder"],
)
async def test_a_manifest_that_is_wrong_fails_the_unpacking(
    shelf: Shelf, tmp_path: Path, files: dict[str, str], complaint: str
) -> None:
    claims = Claims()

    steps = await admitted(submit(shelf, files, tmp_path / "from"), shelf, claim=claims)

    assert verdicts(steps) == [Verdict.FAIL, *[Verdict.SKIPPED] * 3]
    assert re.search(complaint, steps["unpack"].detail)
    assert str(tmp_path) not in str(steps)
    assert "\x1b" not in str(steps)
    assert claims.made == []


@pytest.mark.parametrize("archive", [b"", b"no archive", b"\x1f\x8b\x08" + b"\0" * 100], ids=["empty", "text", "gzip"])
async def test_an_archive_that_cannot_be_read_fails_the_unpacking(shelf: Shelf, archive: bytes) -> None:
    version = Version(token_hex(16), "somebody", State.WAITING, datetime.now(UTC))
    shelf.incoming(version.submission).write_bytes(archive)

    steps = await admitted(version, shelf)

    assert verdicts(steps) == [Verdict.FAIL, *[Verdict.SKIPPED] * 3]


async def test_a_path_that_leads_outside_fails_the_unpacking(shelf: Shelf, tmp_path: Path) -> None:
    version = Version(token_hex(16), "somebody", State.WAITING, datetime.now(UTC))
    with tarfile.open(shelf.incoming(version.submission), "w") as tar:
        tar.add(__file__, "../../../outside.py")

    steps = await admitted(version, shelf)

    assert steps["unpack"].verdict is Verdict.FAIL
    assert list(tmp_path.rglob("outside.py")) == []


async def test_an_archive_that_is_gone_has_to_be_submitted_again(shelf: Shelf) -> None:
    steps = await admitted(Version(token_hex(16), "somebody", State.WAITING, datetime.now(UTC)), shelf)

    assert (steps["unpack"].verdict, steps["unpack"].cure) == (Verdict.FAIL, "submit it again")


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (misbehaving("exit"), "exited with code 3"),
        (misbehaving("stranger"), "not arena.v1.BotService"),
        (misbehaving("other-game", bot="unsound.py"), "no game of this arena"),
        ({"bot.yaml": "name: x\ncommand: [./bot]\n"}, r"\bbot does not exist"),
        ({"bot.yaml": "name: x\ncommand: [no-such-program]\n"}, "no program 'no-such-program'"),
    ],
    ids=["exit", "stranger", "other game", "no program", "not on the path"],
)
async def test_a_bot_that_fails_the_check_is_told_why_and_what_helps(
    shelf: Shelf, tmp_path: Path, files: dict[str, str], complaint: str
) -> None:
    steps = await admitted(submit(shelf, files, tmp_path), shelf)

    assert verdicts(steps) == [Verdict.PASS, Verdict.SKIPPED, Verdict.FAIL, Verdict.SKIPPED]
    assert re.search(complaint, steps["check"].detail)
    assert steps["check"].cure
    assert not any(place in str(steps) for place in ("secret-place", sys.prefix, sys.base_prefix))
    assert str(tmp_path) not in str(steps)


async def test_the_log_has_what_the_bot_wrote_and_no_places_of_the_machine(shelf: Shelf, tmp_path: Path) -> None:
    program = "import os\nprint('\\x1b[31mred')\nraise ValueError(os.getcwd() + '/x')\n"
    files = {"bot.py": program, "bot.yaml": "name: mine\ncommand: [python, bot.py]\n"}

    steps = await admitted(submit(shelf, files, tmp_path), shelf, replace(TERMS, isolation=Isolation.NONE))

    log = steps["check"].log.splitlines()
    wrote = log.index("   it wrote:")
    assert log[wrote + 1 : wrote + 4] == [
        "      red",
        "      Traceback (most recent call last):",
        '        File "bot.py", line 3, in <module>',
    ]
    assert "      ValueError: x" in log


SULKING = """
import os
from arena.sdk import Bot

class Sulking(Bot):
    asked = 0

    def play(self, view):
        if len(view.totals) == 4 and view.random and view.seat == 2 and view.number == 35:
            print("no", os.getcwd(), flush=True)
            os._exit(7)
        return view.legal[0]

Sulking().run()
"""


@pytest.mark.slow
async def test_one_fault_in_the_match_against_itself_is_one_too_many(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(SULKING)
    entry = Entry("sulking", command=("python", "bot.py"), directory=tmp_path, whole_directory=True)

    finding, log = await play_itself(entry, ("hearts-classic",), setup)

    assert finding.verdict is Verdict.FAIL
    assert "table 1, deal 3, seat 2, decision 35: disconnected: " in finding.detail
    assert "keep the process" in finding.cure
    assert "exited with code 7" in log


@pytest.mark.slow
async def test_a_bot_at_an_address_plays_against_the_arenas_own(
    launcher: Launcher, setup: Setup, shelf: Shelf, tmp_path: Path
) -> None:
    (tmp_path / "bot.py").write_text(PYTHON["bot.py"])
    entry = Entry("served", command=("python", "bot.py"), directory=tmp_path, whole_directory=True, tcp=True)
    bot = LaunchedBot(entry, "0", launcher)
    address = (await bot.open(0.0)).address
    program = Program("neighbour", address=address, games=("heartswitch",))
    version = Version(token_hex(16), "somebody", State.WAITING, datetime.now(UTC), program=program)
    claims = Claims()
    try:
        refused = await admitted(version, shelf)
        steps = await admitted(version, shelf, replace(TERMS, private_addresses=True), claim=claims)
    finally:
        await bot.close(in_peace=True)

    assert verdicts(refused)[2] == Verdict.FAIL
    assert "not reachable from everywhere (127.0.0.1)" in refused["check"].detail
    assert claims.made == [(program, "", 0)]
    assert verdicts(steps) == [Verdict.SKIPPED, Verdict.SKIPPED, Verdict.PASS, Verdict.PASS]
    assert "heartswitch with 4 players against a simple bot" in steps["play"].detail


@pytest.mark.slow
async def test_a_bot_at_an_address_where_nobody_is_fails_the_check(shelf: Shelf) -> None:
    program = Program("nobody", address="127.0.0.1:1")
    version = Version(token_hex(16), "somebody", State.WAITING, datetime.now(UTC), program=program)
    terms = replace(TERMS, time=TimeControl(startup=0.5))

    steps = await admitted(version, shelf, terms)

    assert verdicts(steps) == [Verdict.SKIPPED, Verdict.SKIPPED, Verdict.FAIL, Verdict.SKIPPED]


@pytest.mark.slow
@needs_sandbox
async def test_a_bot_that_is_slow_all_the_time_does_not_keep_others_waiting(shelf: Shelf, tmp_path: Path) -> None:
    terms = replace(TERMS, time=TimeControl(decision=2.0), step_seconds=1.0)

    steps = await admitted(submit(shelf, misbehaving("sluggish", bot="unsound.py"), tmp_path), shelf, terms)

    assert verdicts(steps) == [Verdict.PASS, Verdict.SKIPPED, Verdict.FAIL, Verdict.SKIPPED]
    assert steps["check"].detail == "it was not over within 1 s"


@pytest.mark.slow
async def test_ones_own_bot_without_a_sandbox_is_admitted_with_a_warning(shelf: Shelf, tmp_path: Path) -> None:
    steps = await admitted(submit(shelf, PYTHON, tmp_path), shelf, replace(TERMS, isolation=Isolation.NONE))

    assert verdicts(steps) == [Verdict.PASS, Verdict.SKIPPED, Verdict.WARNING, Verdict.PASS]
    assert "without a sandbox" in steps["check"].detail


async def test_a_server_that_has_lost_its_sandbox_says_nothing_about_the_bot(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.players.isolation.find_bubblewrap", lambda: None)

    with pytest.raises(BadInput, match="isolation: bubblewrap"):
        await admitted(submit(shelf, PYTHON, tmp_path), shelf, replace(TERMS, isolation=Isolation.BUBBLEWRAP))


async def test_a_fault_of_the_arena_says_nothing_about_the_bot(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(admission, "unpack", fail)

    with pytest.raises(ArenaError, match="No space left"):
        await admitted(submit(shelf, PYTHON, tmp_path), shelf)


def test_terms_survive_json() -> None:
    terms = Terms(TimeControl(0.1, 0.2, 0.3), Isolation.NONE, build_seconds=7.0)

    assert Terms.from_json(terms.to_json()) == terms


def test_places_are_told_as_the_bots_own_names(tmp_path: Path) -> None:
    own = tmp_path / "staging" / "unpacked"
    conceal = Concealment([own], {tmp_path: "shelf"})

    assert conceal.line(f"{own}/src/main.go:3: in {own} of {tmp_path}/x") == "src/main.go:3: in . of shelf/x"


def test_logs_are_the_last_of_what_was_written_and_safe_to_show(tmp_path: Path) -> None:
    conceal = Concealment([tmp_path], {})

    log = conceal.log("\x1b[31mred\n" * 50_000 + "é" * 499 + "\nlast")

    assert len(log.encode()) > 60_000 or len(log.splitlines()) == 2000
    assert len(log.encode()) <= 64 << 10
    assert log.endswith("\nlast")
    assert "\x1b" not in log
