"""Admissions in the store: every step is kept, and whatever is killed, nothing is lost and nothing runs on."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import pytest
from sandboxes import needs_sandbox
from submitted_bots import BOTS, PYTHON, TERMS, submit

from arena.competition import AdmissionStep, State, Version
from arena.errors import ArenaError
from arena.finding import Verdict
from arena.players.family import descendants
from arena.store import Store
from arena.submission import pipe
from arena.submission.admission import Event, StepBegun
from arena.submission.recording import admit_and_record
from arena.submission.shelf import Shelf
from arena.submission.worker import MEMORY

SLEEPING = {"bot.py": "import time; time.sleep(3600)", "bot.yaml": "name: sleepy\ncommand: [python, bot.py]\n"}
EXITING = {
    "bot.py": (BOTS / "misbehaving.py").read_text(),
    "bot.yaml": "name: plain\ncommand: [python, bot.py, exit]\n",
}

BUILT = {
    "bot.py": f"open('table')\n{PYTHON['bot.py']}",
    "make.py": "open('table', 'w').write('x' * 100_000)",
    "bot.yaml": "name: plain\ncommand: [python, bot.py]\nbuild: [python, make.py]\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as store:
        yield store


@pytest.fixture
def shelf(store: Store) -> Shelf:
    return Shelf.beside(store.place)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; short, since sockets are in them."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def received(store: Store, shelf: Shelf, tmp_path: Path) -> Callable[..., Version]:
    """Return what receives a submission of these files."""

    def receive(files: dict[str, str] = PYTHON, *, build: bool = False) -> Version:
        return store.submissions.receive(submit(shelf, files, tmp_path / "from", build=build))

    return receive


async def record(store: Store, version: Version, shelf: Shelf, *, apart: bool) -> list[Event | Version]:
    async with aclosing(admit_and_record(store, version, shelf, TERMS, apart=apart)) as events:
        return [event async for event in events]


def nothing_is_left(shelf: Shelf, *kept: str) -> bool:
    """Return whether the shelf holds the folders of these digests, and nothing that was received or begun."""
    folders = {path.name for path in shelf.root.iterdir()} - {".gitignore", "incoming", "listings", "staging"}
    received, begun = (list((shelf.root / name).iterdir()) for name in ("incoming", "staging"))
    return folders == set(kept) and not received and not begun


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize("apart", [False, True], ids=["here", "apart"])
async def test_a_sound_bot_becomes_current_with_all_its_steps(
    store: Store, shelf: Shelf, received: Callable[..., Version], apart: bool
) -> None:
    version = received()

    *events, decided = await record(store, version, shelf, apart=apart)

    steps = [event for event in events if isinstance(event, AdmissionStep)]
    assert isinstance(decided, Version)
    assert (decided.state, decided.number) == (State.ADMITTED, 1)
    assert store.submissions.bot("plain").current == decided
    assert store.submissions.steps(version.submission) == steps
    assert [step.name for step in steps] == ["unpack", "build", "check", "play"]
    assert [event.name for event in events if isinstance(event, StepBegun)] == ["unpack", "check", "play"]
    assert nothing_is_left(shelf, decided.digest)
    assert store.submissions.waiting() == []


@needs_sandbox
@pytest.mark.parametrize("apart", [False, True], ids=["here", "apart"])
async def test_a_refused_bot_leaves_its_steps_and_no_files(
    store: Store, shelf: Shelf, received: Callable[..., Version], apart: bool
) -> None:
    version = received(EXITING)

    decided = (await record(store, version, shelf, apart=apart))[-1]

    assert isinstance(decided, Version)
    assert decided.state is State.REFUSED
    verdicts = [step.verdict for step in store.submissions.steps(version.submission)]
    assert verdicts == [Verdict.PASS, Verdict.SKIPPED, Verdict.FAIL, Verdict.SKIPPED]
    assert nothing_is_left(shelf)
    assert store.submissions.bots() == []
    (deed,) = store.audit.last(9)
    assert (deed.who, deed.deed, deed.outcome) == ("somebody", "admission", "refused")
    assert deed.what.startswith(f"plain, of {version.submission}: check: starts in time")


@needs_sandbox
async def test_two_who_admit_the_same_submission_see_one_admission(
    store: Store, shelf: Shelf, received: Callable[..., Version]
) -> None:
    version = received(EXITING)

    first, second = await asyncio.gather(*(record(store, version, shelf, apart=apart) for apart in (False, True)))

    assert first[-1] == second[-1]
    assert isinstance(first[-1], Version)
    assert first[-1].state is State.REFUSED
    begun = [event for event in (*first, *second) if isinstance(event, StepBegun)]
    assert [step.name for step in begun] == ["unpack", "check"]
    steps = [[event for event in events if isinstance(event, AdmissionStep)] for events in (first, second)]
    assert steps[0] == steps[1] == store.submissions.steps(version.submission)
    assert nothing_is_left(shelf)


@pytest.mark.slow
@needs_sandbox
async def test_a_refused_bot_that_is_submitted_again_is_admitted_anew(
    store: Store, shelf: Shelf, received: Callable[..., Version]
) -> None:
    first = (await record(store, received(EXITING), shelf, apart=False))[-1]

    again = (await record(store, received(EXITING), shelf, apart=False))[-1]

    assert isinstance(first, Version)
    assert isinstance(again, Version)
    assert (again.number, again.digest, again.state) == (first.number, first.digest, State.REFUSED)
    assert again.submission != first.submission
    assert len(store.submissions.steps(again.submission)) == 4
    assert nothing_is_left(shelf)


@needs_sandbox
@pytest.mark.slow
async def test_the_same_content_is_kept_once_and_a_changed_bot_is_a_new_version(
    store: Store, shelf: Shelf, received: Callable[..., Version]
) -> None:
    first = (await record(store, received(), shelf, apart=False))[-1]

    again = await record(store, received(), shelf, apart=False)
    other = (await record(store, received({**PYTHON, "notes.txt": "new"}), shelf, apart=False))[-1]

    assert isinstance(first, Version)
    assert isinstance(other, Version)
    assert again[-1] == first
    assert [type(event) for event in again] == [StepBegun, Version]
    assert (other.number, other.state) == (2, State.ADMITTED)
    assert store.submissions.bot("plain").current == other
    assert nothing_is_left(shelf, first.digest, other.digest)


@needs_sandbox
@pytest.mark.slow
async def test_files_that_were_built_stay_where_the_same_ones_are_submitted_unbuilt(
    store: Store, shelf: Shelf, received: Callable[..., Version]
) -> None:
    built = (await record(store, received(BUILT, build=True), shelf, apart=False))[-1]

    unbuilt = (await record(store, received(BUILT), shelf, apart=False))[-1]
    again = (await record(store, received(BUILT, build=True), shelf, apart=False))[-1]

    assert isinstance(built, Version)
    assert isinstance(unbuilt, Version)
    assert (built.state, unbuilt.state) == (State.ADMITTED, State.REFUSED)
    assert built.size == sum(len(text) for text in BUILT.values()) + 100_000
    assert again == built
    assert store.submissions.playing() == [built]
    assert (shelf.folder(built.digest) / "table").exists()
    assert nothing_is_left(shelf, built.digest)


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True], ids=["here", "apart"])
async def test_a_build_that_takes_more_room_than_its_owner_has_is_refused(
    store: Store, shelf: Shelf, received: Callable[..., Version], apart: bool
) -> None:
    version = received(BUILT, build=True)
    admitting = admit_and_record(store, version, shelf, TERMS, apart=apart, most_bytes=50_000)

    async with aclosing(admitting) as recorded:
        *_, decided = [event async for event in recorded]

    steps = store.submissions.steps(version.submission)
    assert isinstance(decided, Version)
    assert decided.state is State.REFUSED
    assert [step.verdict for step in steps] == [Verdict.PASS, Verdict.FAIL, *[Verdict.SKIPPED] * 2]
    assert "your bots take 0.1 MB of 0 MB" in steps[1].detail
    assert store.submissions.usage("somebody").bytes == 0
    assert nothing_is_left(shelf)


@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True], ids=["here", "apart"])
async def test_names_of_others_and_of_the_house_are_refused(
    store: Store, shelf: Shelf, received: Callable[..., Version], apart: bool
) -> None:
    version = received()

    async with aclosing(admit_and_record(store, version, shelf, TERMS, apart=apart, reserved={"plain"})) as recorded:
        events = [event async for event in recorded]

    assert "house" in store.submissions.steps(version.submission)[0].detail
    assert isinstance(events[-1], Version)
    assert events[-1].state is State.REFUSED
    assert nothing_is_left(shelf)


@needs_sandbox
@pytest.mark.slow
async def test_what_was_begun_before_a_kill_is_forgotten_and_made_again(
    store: Store, shelf: Shelf, received: Callable[..., Version]
) -> None:
    version = received()
    store.submissions.add_step(version.submission, AdmissionStep("unpack", Verdict.PASS, "before the kill"))

    await record(store, version, shelf, apart=False)

    steps = store.submissions.steps(version.submission)
    assert [step.name for step in steps] == ["unpack", "build", "check", "play"]
    assert steps[0].detail != "before the kill"


async def a_bot_runs() -> None:
    """Wait until a bot under check is there."""
    async with asyncio.timeout(60):
        while not any("bot.py" in command(pid) for pid in descendants(os.getpid())):
            await asyncio.sleep(0.02)


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def worker() -> int:
    (pid,) = [pid for pid in descendants(os.getpid()) if "arena.submission.worker" in command(pid)]
    return pid


async def gone(*pids: int) -> None:
    async with asyncio.timeout(60):
        while any(command(pid) for pid in pids):
            await asyncio.sleep(0.02)


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], ids=["kill", "crash", "term"])
async def test_a_worker_that_is_killed_leaves_the_version_waiting_and_nothing_running(
    store: Store, shelf: Shelf, received: Callable[..., Version], temporary: Path, number: int
) -> None:
    version = received(SLEEPING)
    admitting = asyncio.create_task(record(store, version, shelf, apart=True))
    await a_bot_runs()
    started = set(descendants(os.getpid()))
    os.kill(worker(), number)

    with pytest.raises(ArenaError, match="ended before its work was done"):
        await admitting

    await gone(*started)
    assert store.submissions.waiting() == [store.submissions.find(version.submission)]
    assert shelf.incoming(version.submission).exists()
    assert list((shelf.root / "staging").iterdir()) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize("apart", [False, True], ids=["here", "apart"])
async def test_an_admission_that_is_cancelled_ends_all_and_goes_on_another_time(
    store: Store, shelf: Shelf, received: Callable[..., Version], temporary: Path, apart: bool
) -> None:
    version = received(SLEEPING)
    admitting = asyncio.create_task(record(store, version, shelf, apart=apart))
    await a_bot_runs()
    started = set(descendants(os.getpid()))

    admitting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await admitting

    await gone(*started)
    found = store.submissions.find(version.submission)
    assert found is not None
    assert found.state is State.WAITING
    assert shelf.incoming(version.submission).exists()
    assert list((shelf.root / "staging").iterdir()) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@needs_sandbox
async def test_a_worker_unpacks_within_its_memory_and_ends_with_all_when_its_input_closes(
    shelf: Shelf, received: Callable[..., Version], temporary: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "arena.submission.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(pipe.encode(pipe.encode_order(received(SLEEPING), shelf, TERMS)))
    while "claim" not in pipe.decode(await process.stdout.readline()):
        pass
    limit = resource.prlimit(process.pid, resource.RLIMIT_DATA)
    process.stdin.write(pipe.encode({"claimed": True}))
    await a_bot_runs()
    started = set(descendants(os.getpid()))
    assert limit[0] == MEMORY
    assert resource.prlimit(process.pid, resource.RLIMIT_DATA) == resource.getrlimit(resource.RLIMIT_DATA)
    assert os.getpriority(os.PRIO_PROCESS, process.pid) - os.getpriority(os.PRIO_PROCESS, 0) in (9, 10)

    process.stdin.close()
    rest = await process.stdout.read()

    assert await process.wait() == 0
    assert b"failed" not in rest
    await gone(*started)
    assert list((shelf.root / "staging").iterdir()) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "said",
    ["nonsense", "[]", '{"step": {"name": "unpack"}}', '{"step": 7}', '{"claim": {}}', '{"begun": {"x": 1}}', ""],
    ids=["no JSON", "no object", "half a step", "a number", "no claim", "unknown", "nothing"],
)
async def test_a_worker_that_talks_nonsense_decides_nothing(
    store: Store,
    shelf: Shelf,
    received: Callable[..., Version],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    version = received()

    with pytest.raises(ArenaError, match="the process of an admission"):
        await record(store, version, shelf, apart=True)

    assert [each.submission for each in store.submissions.waiting()] == [version.submission]


async def test_a_line_without_end_is_not_read_without_end(
    store: Store,
    shelf: Shelf,
    received: Callable[..., Version],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec head -c 10000000 /dev/zero\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    with pytest.raises(ArenaError, match="can't be understood"):
        await record(store, received(), shelf, apart=True)


def test_orders_survive_the_pipe(shelf: Shelf, received: Callable[..., Version]) -> None:
    version = replace(received(), submission=token_hex(16), build=True)

    order = pipe.decode(pipe.encode(pipe.encode_order(version, shelf, TERMS)))
    decoded, place, terms = pipe.decode_order(order)

    assert (decoded, place.root, terms) == (replace(version, size=0), shelf.root, TERMS)


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True], ids=["here", "apart"])
@pytest.mark.parametrize("built", [False, True], ids=["as it is", "built"])
async def test_the_same_content_sent_again_puts_damaged_files_back(
    store: Store, shelf: Shelf, received: Callable[..., Version], apart: bool, built: bool
) -> None:
    files = BUILT if built else PYTHON
    first = (await record(store, received(files, build=built), shelf, apart=False))[-1]
    assert isinstance(first, Version)
    (shelf.folder(first.digest) / "bot.py").write_text("")

    *events, again = await record(store, received(files, build=built), shelf, apart=apart)

    steps = [event for event in events if isinstance(event, AdmissionStep)]
    assert [step.name for step in steps] == (["unpack", "build"] if built else ["unpack"])
    assert "the files that were there are damaged (bot.py was changed), and are put back" in steps[0].detail
    assert again == first
    assert shelf.whole(first.digest).joinpath("bot.py").read_text() == files["bot.py"]
    assert nothing_is_left(shelf, first.digest)
