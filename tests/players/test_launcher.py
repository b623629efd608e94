"""Bots as processes: how they start, what they are given, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from odd_names import ODD_NAMES
from player_fixtures import BOT

from arena.clock import TimeControl
from arena.decision import Decision
from arena.errors import BotUnusable
from arena.faults import Failure
from arena.players import supervisor
from arena.players.base import Player, Setup
from arena.players.family import descendants
from arena.players.launcher import Launcher, make_command, make_environment
from arena.players.supervisor import Output
from arena.settings import Entry
from arena.sockets import private_folder

Launch = Callable[..., Player]
Ask = Callable[..., Decision]


@pytest.mark.parametrize("tcp", [False, True], ids=["unix socket", "tcp"])
async def test_a_launched_bot_describes_itself_decides_and_is_gone(launch: Launch, decision: Ask, tcp: bool) -> None:
    player = launch("honest", tcp=tcp)

    description = await player.start()
    answer = await player.decide(decision())
    await player.close()

    assert description.name == "Red bot"
    assert description.max_batch == 1024
    assert answer.choice.cards == decision().legal[:3]
    assert answer.elapsed > 0
    assert not [pid for pid in descendants(os.getpid()) if b"misbehaving" in _command(pid)]


async def test_a_closed_player_can_be_started_again(launch: Launch, decision: Ask) -> None:
    player = launch("honest")
    await player.start()
    await player.close()

    await player.start()

    assert await player.decide(decision())


async def test_starting_a_running_player_only_describes_it(launch: Launch) -> None:
    player = launch("honest")

    first, second = await asyncio.gather(player.start(), player.start())

    assert first == second
    assert sum(b"misbehaving" in _command(pid) for pid in descendants(os.getpid())) == 1


async def test_a_bot_that_loads_for_a_while_is_waited_for(launch: Launch) -> None:
    assert (await launch("late").start()).name == "Red bot"


@pytest.mark.parametrize(
    ("way", "complaint"),
    [
        ("exit", r"exited with code 3 before it answered Describe.*ARENA_BOT_ADDRESS=unix:.*\n +no model file"),
        ("stranger", "serves, but not arena.v1.BotService"),
        ("garbled", "described itself in a message that cannot be read"),
    ],
)
async def test_what_can_never_work_is_refused_at_once(launch: Launch, way: str, complaint: str) -> None:
    with pytest.raises(BotUnusable, match=f"(?s)bot rogue: .*{complaint}"):
        await launch(way).start()


@pytest.mark.few(1)
@pytest.mark.parametrize("way", ["sleep", "mute"], ids=["never listens", "never describes itself"])
async def test_what_never_serves_is_refused_after_the_time_to_start(setup: Setup, way: str) -> None:
    launcher = Launcher(replace(setup, time=TimeControl(startup=0.7)))
    command = ("python", str(Path(__file__).parent / "bots" / "misbehaving.py"), way)
    player = launcher.player(Entry("rogue", command=command, directory=Path("/")), "0")

    with pytest.raises(BotUnusable, match=r"did not answer Describe within 0\.7 s.*ARENA_BOT_ADDRESS=unix:"):
        await player.start()

    await launcher.close()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("no-such-program-anywhere",), "there is no program 'no-such-program-anywhere' on the PATH"),
        (("./missing",), "/missing does not exist"),
        (("./plain.txt",), "/plain.txt is not executable"),
        (("./broken",), "/broken cannot be run: Exec format error"),
        (("./orphan",), "/orphan cannot be run: No such file or directory"),
    ],
    ids=["unknown", "missing", "not executable", "no program", "no interpreter"],
)
async def test_a_command_that_cannot_run_is_named(
    launcher: Launcher, tmp_path: Path, command: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "plain.txt").write_text("text")
    (tmp_path / "broken").write_text("\x7fELF")
    (tmp_path / "broken").chmod(0o755)
    (tmp_path / "orphan").write_text("#!/no/such/interpreter\n")
    (tmp_path / "orphan").chmod(0o755)

    with pytest.raises(BotUnusable, match=f"bot rogue: .*{complaint}"):
        await launcher.player(Entry("rogue", command=command, directory=tmp_path), "0").start()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(BotUnusable, match=r"its directory .*/nowhere does not exist"):
        make_command(Entry("rogue", command=("python",), directory=tmp_path / "nowhere"), "unix:/x")


async def test_a_folder_too_long_for_a_socket_is_refused(setup: Setup, tmp_path: Path) -> None:
    launcher = Launcher(replace(setup, folder=tmp_path / ("long" * 30)))

    with pytest.raises(BotUnusable, match=r"the path has [0-9]+ bytes, .*: set TMPDIR"):
        await launcher.player(Entry("rogue", command=("python",), directory=tmp_path), "0").start()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [*ODD_NAMES, "a,comma", "long" * 30])
async def test_a_bot_is_reached_whatever_tmpdir_is_called(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))

    with private_folder() as folder:
        launcher = Launcher(replace(setup, folder=folder))
        player = launcher.player(Entry("raw", command=("python", str(BOT), "honest"), directory=BOT.parent), "0")
        description = await player.start()
        await player.close()
        await launcher.close()

    assert description.name == "Red bot"
    assert not folder.exists()


def test_bots_get_neither_tokens_nor_proxies() -> None:
    inherited = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "GITHUB_TOKEN": "x",
        "http_proxy": "y",
        "HTTPS_PROXY": "z",
        "HOME": "/h",
    }

    environment = make_environment(inherited, "unix:/s")

    assert environment["ARENA_BOT_ADDRESS"] == "unix:/s"
    assert {"PATH", "LC_ALL", "HOME", "PYTHONUNBUFFERED"} <= environment.keys()
    assert not {"GITHUB_TOKEN", "http_proxy", "HTTPS_PROXY"} & environment.keys()


async def test_a_bot_that_ignores_signals_is_killed(launch: Launch) -> None:
    player = launch("ignore-signals")
    await player.start()

    await player.close()

    assert not [pid for pid in descendants(os.getpid()) if b"misbehaving" in _command(pid)]


async def test_a_grandchild_that_left_the_session_is_killed(launch: Launch, tmp_path: Path) -> None:
    player = launch("fork", str(tmp_path / "pid"))
    await player.start()
    async with asyncio.timeout(60):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
    grandchild = int((tmp_path / "pid").read_text())
    assert Path(f"/proc/{grandchild}").exists()

    await player.close()

    assert not Path(f"/proc/{grandchild}").exists()


async def test_a_bot_without_outputs_plays(launch: Launch, decision: Ask) -> None:
    player = launch("hush")
    await player.start()

    assert await player.decide(decision())


@pytest.mark.slow
async def test_a_flood_of_output_disturbs_nobody(launch: Launch, decision: Ask) -> None:
    player = launch("flood")
    await player.start()

    answer = await player.decide(decision())
    with pytest.raises(Failure) as failure:
        await asyncio.gather(player.close(), player.decide(decision()))

    assert answer.choice.cards
    assert "\x1b" not in failure.value.evidence.stderr


async def test_closing_the_launcher_ends_what_its_players_left(setup: Setup) -> None:
    launcher = Launcher(setup)
    player = launcher.player(
        Entry("rogue", command=("python", str(Path(__file__).parent / "bots" / "misbehaving.py"), "honest")), "0"
    )
    await player.start()

    await launcher.close()

    assert not descendants(os.getpid())
    assert setup.folder.exists()
    await player.close()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
async def test_what_a_bot_writes_can_be_kept_without_control_codes(setup: Setup, tmp_path: Path) -> None:
    launcher = Launcher(replace(setup, logs=tmp_path / "logs"))
    entry = Entry("my/bot", command=("python", str(BOT), "sleep"), directory=BOT.parent)
    player = launcher.player(entry, "1b")
    crashing = launcher.player(replace(entry, command=("python", "-c", r"print('\x1b[31mred\x07\x9b2J')")), "0")

    for each in (player, crashing):
        with pytest.raises(BotUnusable):
            await asyncio.wait_for(each.start(), 30)
        await each.close()
    await launcher.close()

    assert (tmp_path / "logs" / "my_bot-1b.log").read_text() == "waiting for Godot\n"
    assert (tmp_path / "logs" / "my_bot-0.log").read_text() == "[31mred2J\n"


async def test_a_log_that_cannot_be_written_is_told_as_that(setup: Setup, tmp_path: Path) -> None:
    launcher = Launcher(replace(setup, logs=tmp_path))
    (tmp_path / "my_bot-0.log").symlink_to(tmp_path / "missing" / "log")

    with pytest.raises(BotUnusable, match=rf"no logs of bots can be kept in {tmp_path}: .*; name another folder"):
        launcher.log_file(Entry("my bot", command=("./bot",)), "0")
    await launcher.close()


async def test_a_log_does_not_grow_without_end(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "flood.log"
    reading, writing = os.pipe()
    output = Output(reading, str(log))
    monkeypatch.setattr(supervisor, "LOG_BYTES", 1000)

    for _ in range(100):
        os.write(writing, b"x" * 100)
        output.read()
    os.close(writing)
    os.close(reading)

    assert log.stat().st_size == 1000
    assert len(output.text) == 10_000
