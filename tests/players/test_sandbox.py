"""The sandbox: what bots see and may do in it, and that the arena says when there is none."""

from __future__ import annotations

import asyncio
import os
import re
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sandboxes import needs_sandbox

from arena.decision import Decision
from arena.errors import BadInput, BotUnusable
from arena.faults import Failure, FaultKind
from arena.players import instance, isolation
from arena.players.base import Player, Setup
from arena.players.family import family
from arena.players.isolation import enforce
from arena.players.launcher import Launcher, find_socket, make_command
from arena.players.process import Command, Process
from arena.players.sandbox import SOCKET, Sandbox
from arena.players.system_calls import REFUSED, make_filter
from arena.players.watchdog import Watchdog, resident, share
from arena.settings import Entry, Isolation, Limits
from arena.store import Store

BOT = Path(__file__).parent / "bots" / "misbehaving.py"
Ask = Callable[..., Decision]
Launch = Callable[..., Player]
Run = Callable[..., object]


@pytest.fixture
async def launch(boxed: Setup) -> AsyncIterator[Launch]:
    """Return an instance of the misbehaving bot in the sandbox, not started yet."""
    launcher = Launcher(boxed)
    players: list[Player] = []

    def make(*arguments: str, tcp: bool = False, whole_directory: bool = False) -> Player:
        command = ("python", str(BOT), *arguments)
        entry = Entry("rogue", command=command, directory=BOT.parent, tcp=tcp, whole_directory=whole_directory)
        players.append(launcher.player(entry, "0"))
        return players[-1]

    yield make
    await asyncio.gather(*(player.close() for player in players))
    await launcher.close()


@needs_sandbox
@pytest.mark.parametrize("tcp", [False, True], ids=["unix socket", "tcp"])
@pytest.mark.parametrize("whole", [False, True], ids=["its files", "its directory"])
async def test_a_bot_plays_in_the_sandbox_and_is_gone(launch: Launch, decision: Ask, tcp: bool, whole: bool) -> None:
    player = launch("honest", tcp=tcp, whole_directory=whole)

    description = await player.start()
    answer = await player.decide(decision())
    await player.close()

    assert description.name == "Red bot"
    assert answer.choice.cards == decision().legal[:3]


@needs_sandbox
@pytest.mark.parametrize(
    ("way", "complaint"),
    [
        (["exit"], r"exited with code 3 before it answered Describe.*unix:/run/arena/bot\.sock.*\n +no model file"),
        (["stranger"], "serves, but not arena.v1.BotService"),
    ],
    ids=["exit", "stranger"],
)
async def test_why_a_bot_does_not_start_is_told_as_without_the_sandbox(
    launch: Launch, way: list[str], complaint: str
) -> None:
    with pytest.raises(BotUnusable, match=f"(?s)bot rogue: .*{complaint}"):
        await launch(*way).start()


async def test_a_socket_is_not_waited_for_behind_a_process_that_has_just_ended() -> None:
    ending = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ending.pid, os.WEXITED | os.WNOWAIT)  # not reaped: its part of /proc is there, but root's
    ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    process = SimpleNamespace(folder=f"/proc/{ending.pid}/fd/3", ended=ended)
    loop = asyncio.get_running_loop()
    loop.call_later(0.05, ended.set_result, None)

    with pytest.raises(FileNotFoundError):
        await find_socket(cast("Process", process), loop.time() + 60)

    assert ended.done()
    ending.wait()


@needs_sandbox
@pytest.mark.parametrize(
    ("how", "code", "number"), [("7", 7, None), ("SIGSEGV", None, 11), ("SIGKILL", None, 9)], ids=str
)
async def test_how_a_bot_ended_is_told_as_without_the_sandbox(
    launch: Launch, decision: Ask, how: str, code: int | None, number: int | None
) -> None:
    player = launch("crash", how)
    await player.start()

    with pytest.raises(Failure) as failure:
        await player.decide(decision(13))

    evidence = failure.value.evidence
    assert (evidence.kind, evidence.exit_code, evidence.signal) == (FaultKind.DISCONNECTED, code, number)
    assert evidence.stderr == "table flipped"


@needs_sandbox
@pytest.mark.parametrize(
    ("way", "detail"),
    [
        (["greedy", "error"], "an error instead of an answer: INTERNAL: MemoryError; "),
        (["greedy", "end"], "the process exited with code 1 while it was being asked; "),
    ],
    ids=["error", "end"],
)
async def test_a_process_that_is_refused_memory_is_told_which_limit_it_may_have_met(
    launch: Launch, decision: Ask, way: list[str], detail: str
) -> None:
    player = launch(*way)
    await player.start()

    with pytest.raises(Failure) as failure:
        await player.decide(decision(13))

    assert failure.value.evidence.detail == detail + "it may have used more than 300 MB (limits.memory)"


@needs_sandbox
async def test_who_is_given_up_after_many_restarts_is_told_which_limit_it_may_have_met(
    launch: Launch, decision: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "MAX_RESTARTS", 2)
    player = launch("greedy", "end")
    await player.start()

    for _ in range(4):
        with pytest.raises(Failure) as failure:
            await player.decide(decision(13))

    evidence = failure.value.evidence
    assert evidence.detail.endswith(
        "is given up after 2 restarts: exited with code 1 while it was being asked; it may have used more than 300 MB"
        " (limits.memory)"
    )
    assert (evidence.exit_code, evidence.stderr) == (1, "MemoryError")


@needs_sandbox
async def test_a_bot_that_ends_on_request_has_the_time_for_it(boxed: Setup) -> None:
    script = """import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(os.write(1, b"farewell") * 0))
os.write(1, b"here\\n")
while True:
    time.sleep(1)"""
    entry = Entry("b", command=("python", "-c", script), directory=BOT.parent)
    launcher = Launcher(boxed)
    assert boxed.sandbox is not None
    staging = launcher.make_folder()
    process = await launcher.supervisor.launch(
        boxed.sandbox.confine(entry, make_command(entry, f"unix:{SOCKET}"), staging, 0)
    )
    try:
        async with asyncio.timeout(60):
            while "here" not in await process.output():
                await asyncio.sleep(0.01)
    finally:
        await process.stop(5.0)
        await launcher.close()

    assert process.ended.result().output == "here\nfarewell"
    assert process.ended.result().exit_code == 0


def confined(limits: Limits, entry: Entry, *, root: bool = False) -> Command:
    sandbox = Sandbox("/usr/bin/bwrap", limits, root=root)
    return sandbox.confine(entry, make_command(entry, f"unix:{SOCKET}"), Path("/staging"), 3)


def seen(command: Command) -> list[str]:
    """Return what a sandbox shows, by its places inside."""
    assert command.sandbox is not None
    words = command.sandbox["arguments"]
    return [words[place + 2] for place, word in enumerate(words) if word == "--ro-bind"]


def test_a_bot_sees_the_files_that_its_command_names_and_no_others(tmp_path: Path) -> None:
    for name in ("bot.py", "weights.bin", "other.py", "arena.db"):
        (tmp_path / name).touch()
    entry = Entry("b", command=("python", "bot.py", "--model=weights.bin"), directory=tmp_path)

    named = [path for path in seen(confined(Limits(), entry)) if path.startswith(str(tmp_path))]
    whole = seen(confined(Limits(), replace(entry, whole_directory=True)))

    assert sorted(named) == [str(tmp_path / "bot.py"), str(tmp_path / "weights.bin")]
    assert {path.name for path in map(Path, whole) if path.is_relative_to(tmp_path)} == {
        "bot.py",
        "weights.bin",
        "other.py",
    }
    assert not {"/", "/home", "/root", "/var", "/tmp", "/etc", str(Path.home())} & {*whole, *named}


def test_what_lies_beside_python_in_its_folder_is_not_seen() -> None:
    entry = Entry("b", command=("python", "-V"), directory=Path("/"))

    shown = {Path(path) for path in seen(confined(Limits(), entry))}

    for prefix in {Path(sys.prefix), Path(sys.base_prefix)} - {Path("/usr")}:
        assert not any(prefix.is_relative_to(path) for path in shown)
        assert {path.name for path in shown if path.parent == prefix} >= {"bin", "lib"}


@needs_sandbox
async def test_the_arenas_database_is_not_there_for_a_bot_in_whose_folder_it_lies(boxed: Setup, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with Store.open(tmp_path / "league.db") as store:
        script = "import os, sys; os.write(1, b'%d found' % sum(map(os.path.exists, sys.argv[1:]))); sys.exit(1)"
        command = ("python", "-c", script, *(path.name for path in store.files))
        entry = Entry("b", command=command, directory=tmp_path, whole_directory=True)
        assert boxed.sandbox is not None
        launcher = Launcher(replace(boxed, sandbox=replace(boxed.sandbox, hidden=store.files)))
        with pytest.raises(BotUnusable, match=r"\n +0 found"):
            await launcher.player(entry, "0").start()
        await launcher.close()

        assert sum(path.stat().st_size for path in store.files) > 10_000


def test_the_limits_are_those_of_the_settings(tmp_path: Path) -> None:
    entry = Entry("b", command=("python",), directory=tmp_path)

    command = confined(Limits(memory=123_000_000, processes=7), entry)

    assert command.sandbox is not None
    assert command.sandbox["allowed"]["memory"] == 123_000_000
    assert "RLIMIT_NPROC=8,RLIMIT_DATA=123000000,RLIMIT_NOFILE=1024," in command.argv[5]
    assert command.environment["HOME"] == "/tmp"


def test_what_other_users_cannot_read_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    entry = Entry("b", command=("python", "bot.py"), directory=tmp_path, whole_directory=True)

    with pytest.raises(BotUnusable, match=rf"bot b: {tmp_path} can't be read in the sandbox.*chmod o\+rx"):
        confined(Limits(), entry, root=True)


async def test_a_sandbox_that_does_not_work_is_refused_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program, said in (
        (None, "bubblewrap is not installed: install"),
        ("/bin/ls", "option.*info-fd.*see docs/operations.md"),
    ):
        monkeypatch.setattr(isolation, "find_bubblewrap", lambda program=program: program)

        found = await enforce(Isolation.AUTO, Limits(), tmp_path)

        assert found.sandbox is None
        assert re.search(said, found.obstacle)
        assert str(found).startswith("Bots ran without a sandbox")
        with pytest.raises(
            BadInput, match=f"isolation: bubblewrap is asked for, but the sandbox doesn't work: .*{said}"
        ):
            await enforce(Isolation.BUBBLEWRAP, Limits(), tmp_path)


async def test_no_sandbox_is_made_where_none_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "find_bubblewrap", lambda: pytest.fail("looked for"))

    assert await enforce(Isolation.NONE, Limits(), tmp_path) == isolation.Enforcement(None)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_refuses_what_it_says_and_allows_the_rest(machine: str) -> None:
    column, architecture, sockets = (0, 0xC000003E, 41) if machine == "x86_64" else (1, 0xC00000B7, 198)
    program = make_filter(machine)

    refused = {number for number in range(600) if not allows(program, architecture, number, 1)}

    assert refused == {numbers[column] for numbers in REFUSED.values()}
    assert {family for family in range(50) if allows(program, architecture, sockets, family)} == {1, 2, 10, 16}
    assert not allows(program, 0x40000003, 1, 1)
    assert not allows(program, architecture, 0x40000000, 1)
    assert make_filter("sparc") == b""


def allows(program: bytes, architecture: int, number: int, argument: int) -> bool:
    """Run a filter as the kernel would."""
    data = struct.pack("=IIQQ", number, architecture, 0, argument)
    place = loaded = 0
    while True:
        code, yes, no, operand = struct.unpack_from("=HBBI", program, 8 * place)
        place += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                place += yes if loaded == operand else no
            case 0x35:
                place += yes if loaded >= operand else no
            case 0x06:
                return bool(operand == 0x7FFF0000)


SHARING = "import os, time; held = os.urandom(50_000_000); os.fork(); print('ready', flush=True); time.sleep(30)"


def test_memory_that_processes_share_is_counted_once() -> None:
    with subprocess.Popen([sys.executable, "-I", "-c", SHARING], stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            parent.stdout.readline()
            parent.stdout.readline()
            processes = family(parent.pid)
            pages, exact = sum(map(resident, processes)), sum(map(share, processes))

            assert len(processes) == 2
            assert pages > 100_000_000 > exact > 50_000_000
            assert Watchdog(parent.pid, [], 100_000_000, "m", 100).look() == ""
            assert Watchdog(parent.pid, [], 50_000_000, "m", 100).look() == "it used more than 50 MB (m)"
        finally:
            for pid in family(parent.pid)[::-1]:
                os.kill(pid, 9)
