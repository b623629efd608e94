"""Whoever is killed, the arena, the supervisor or a keeper: nothing is left running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.clock import TimeControl
from arena.decision import Decision
from arena.errors import BotUnusable
from arena.faults import Failure
from arena.players.base import Player
from arena.players.family import descendants
from arena.players.launcher import Launcher
from arena.players.process import Command

BOTS = Path(__file__).parent / "bots"

ARENA = """
import asyncio, sys
from pathlib import Path
from arena.clock import TimeControl
from arena.players.base import Setup
from arena.players.launcher import Launcher
from arena.settings import Entry

async def main(folder, bots, marker):
    launcher = Launcher(Setup(TimeControl(), Path(folder), asyncio.Semaphore(2)))
    ways = [("honest",), ("ignore-signals",), ("flood",), ("fork", marker)]
    players = [
        launcher.player(Entry("rogue", command=("python", "misbehaving.py", *way), directory=Path(bots)), "0")
        for way in ways
    ]
    await asyncio.gather(*(player.start() for player in players))
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main(*sys.argv[1:]))
"""


def wait_until(holds: Callable[[], bool], patience: float = 60.0) -> None:
    """Wait for a condition; fail if it does not come to hold."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def commands(word: bytes) -> list[int]:
    """Return the processes below this one with a word in their command."""
    found = []
    for pid in descendants(os.getpid()):
        command = Path(f"/proc/{pid}/cmdline")
        if command.exists() and word in command.read_bytes():
            found.append(pid)
    return found


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An arena in a process of its own, with four bots that run; its folder is `folder`."""
    (tmp_path / "folder").mkdir()
    marker = tmp_path / "grandchild"
    program = subprocess.Popen(
        [sys.executable, "-c", ARENA, str(tmp_path / "folder"), str(BOTS), str(marker)], stdout=subprocess.PIPE
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        wait_until(lambda: marker.exists() and bool(marker.read_text()))
        yield program
        program.kill()


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_nothing_outlives_the_arena(arena: subprocess.Popen[bytes], tmp_path: Path, number: signal.Signals) -> None:
    assert len(commands(b"misbehaving.py\0")) == 4
    grandchild = int((tmp_path / "grandchild").read_text())

    arena.send_signal(number)
    arena.wait()

    wait_until(lambda: not descendants(os.getpid()))
    wait_until(lambda: not (tmp_path / "folder").exists())
    assert not Path(f"/proc/{grandchild}").exists() or b"Z" in Path(f"/proc/{grandchild}/stat").read_bytes()


def test_an_interrupt_of_the_terminal_reaches_the_arena_only(arena: subprocess.Popen[bytes]) -> None:
    supervisors = commands(b"supervisor.py\0")

    assert os.getsid(arena.pid) not in {os.getsid(pid) for pid in supervisors}
    for pid in supervisors:
        os.kill(pid, signal.SIGINT)
    time.sleep(0.1)
    assert commands(b"supervisor.py\0") == supervisors


async def test_a_killed_keeper_is_a_lost_bot_and_leaves_nothing(
    launch: Callable[..., Player], decision: Callable[..., Decision], tmp_path: Path
) -> None:
    player = launch("fork", str(tmp_path / "pid"))
    await player.start()
    await asyncio.to_thread(wait_until, (tmp_path / "pid").exists)
    bots = commands(b"misbehaving.py\0")
    keeper = int(Path(f"/proc/{bots[0]}/stat").read_text().rpartition(")")[2].split()[1])

    os.kill(keeper, signal.SIGKILL)

    await asyncio.to_thread(wait_until, lambda: len(descendants(os.getpid())) == 1)
    assert await player.decide(decision(1))


async def test_a_killed_supervisor_is_replaced(launch: Callable[..., Player], launcher: Launcher) -> None:
    first = launch("honest")
    await first.start()
    supervisor = next(pid for pid in commands(b"supervisor.py\0") if os.getsid(pid) == pid)

    os.kill(supervisor, signal.SIGKILL)
    await asyncio.to_thread(wait_until, lambda: supervisor not in descendants(os.getpid()))
    await first.close()
    second = launch("honest")

    assert await second.start()


async def test_many_bots_that_end_at_once_are_all_reported(launcher: Launcher) -> None:
    command = Command(("/bin/sh", "-c", "echo $$; exit 4"), {}, Path("/"))

    processes = await asyncio.gather(*(launcher.supervisor.launch(command) for _ in range(100)))
    async with asyncio.timeout(60):
        exits = [await process.ended for process in processes]
    await asyncio.gather(*(process.stop() for process in processes))

    assert {each.exit_code for each in exits} == {4}
    assert [each.output for each in exits] == [str(process.pid) for process in processes]


async def test_a_bot_that_forks_without_end_is_killed(launcher: Launcher) -> None:
    hopping = "while :; do sleep 100 & setsid sh -c 'sleep 100 & sleep 100' & sleep 0.01; done"
    process = await launcher.supervisor.launch(Command(("/bin/sh", "-c", hopping), dict(os.environ), Path("/")))
    await asyncio.to_thread(wait_until, lambda: len(commands(b"sleep")) > 30)

    await process.stop()

    assert not commands(b"sleep")


async def test_a_process_whose_first_thread_has_ended_is_killed(launcher: Launcher) -> None:
    headless = (
        "import ctypes, os, threading, time; os.setsid();"
        " threading.Thread(target=time.sleep, args=[3600]).start(); ctypes.CDLL(None).pthread_exit(None)"
    )
    starting = ("/bin/sh", "-c", f"{sys.executable} -I -S -c '{headless}' & echo $!; wait")
    process = await launcher.supervisor.launch(Command(starting, {}, Path("/")))
    while not (output := await process.output()):
        await asyncio.sleep(0.01)
    state = Path(f"/proc/{output}/stat")
    await asyncio.to_thread(wait_until, lambda: b") Z " in state.read_bytes())

    await process.stop()

    assert not state.exists()


async def test_the_tail_of_the_output_is_bounded_and_clean(launcher: Launcher) -> None:
    script = r"i=0; while [ $i -lt 3000 ]; do printf '\033[31mline %d\033[0m\r\n' $i; i=$((i+1)); done; exit 0"
    process = await launcher.supervisor.launch(Command(("/bin/sh", "-c", script), {}, Path("/")))

    output = (await process.ended).output
    await process.stop()

    assert output.splitlines() == [f"line {number}" for number in range(2950, 3000)]


async def test_too_much_output_is_noticed(launcher: Launcher) -> None:
    process = await launcher.supervisor.launch(Command(("/bin/sh", "-c", "exec yes"), dict(os.environ), Path("/")))

    await asyncio.to_thread(wait_until, lambda: process.dropping)
    output = await process.output()
    await process.stop()

    assert output == "\n".join(["y"] * 50)


async def test_a_process_that_asks_for_time_to_end_gets_it(launcher: Launcher) -> None:
    script = "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done"
    process = await launcher.supervisor.launch(Command(("/bin/sh", "-c", script), dict(os.environ), Path("/")))
    while await process.output() != "up":
        await asyncio.sleep(0.01)

    await process.stop(grace=5)

    assert process.ended.result().exit_code == 5
    assert process.ended.result().output.endswith("bye")


async def test_a_command_the_system_refuses_is_said_so(launcher: Launcher) -> None:
    with pytest.raises(BotUnusable, match="No such file"):
        await launcher.supervisor.launch(Command(("/no/such/program",), {}, Path("/")))


async def test_a_start_that_is_cancelled_leaves_nothing(launch: Callable[..., Player]) -> None:
    player = launch("mute")
    starting = asyncio.create_task(player.start())
    await asyncio.to_thread(wait_until, lambda: bool(commands(b"misbehaving.py\0")))

    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert not commands(b"misbehaving.py\0")


async def test_closing_during_a_restart_leaves_nothing(
    launch: Callable[..., Player], decision: Callable[..., Decision]
) -> None:
    player = launch("crash", "1")
    await player.start()
    asked = asyncio.create_task(player.decide(decision(13, TimeControl(decision=5))))
    with pytest.raises(Failure):
        await asked
    again = asyncio.create_task(player.decide(decision(1)))
    await asyncio.to_thread(wait_until, lambda: bool(commands(b"misbehaving.py\0")))

    await player.close()

    with pytest.raises(Failure):
        await again
    assert not commands(b"misbehaving.py\0")
