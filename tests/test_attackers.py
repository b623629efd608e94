"""Bots that attack, each contained: no harm to the machine, the arena or the others, and nothing of them is left.

The attackers are in tests/attackers. None does anything outside the sandbox, and each is bounded, so that a hole in the
sandbox would harm nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from sandboxes import needs_sandbox

from arena.cards import Card
from arena.clock import TimeControl
from arena.dealing import Seed, opaque_id
from arena.decision import Decision
from arena.errors import BotUnusable
from arena.faults import Failure, FaultKind, substitute
from arena.players.base import Player, Setup
from arena.players.family import descendants
from arena.players.freezer import PATIENCE
from arena.players.launcher import Launcher
from arena.players.sandbox import OPEN_FILES
from arena.report import stored_document
from arena.settings import Entry, Isolation, Limits, Settings
from arena.store import Store
from arena.tournament import Pace, run_tournament

pytestmark = needs_sandbox

HERE = Path(__file__).parent
BOTS = HERE / "players" / "bots"
TOKEN = secrets.token_hex(8)
NAMESPACES = [
    str(path.readlink()) for path in map(Path, ("/proc/self/ns/pid", "/proc/self/ns/net")) if path.is_symlink()
]
PATIENT = TimeControl(decision=60.0, bank=10.0, startup=60.0)
Ask = Callable[[], Decision]
Enter = Callable[..., Awaitable[Player]]


def attacker(folder: Path, name: str, *arguments: str) -> Entry:
    command = ("python", f"{name}.py", TOKEN, *NAMESPACES, *arguments)
    return Entry(" ".join((name, *arguments[:1])), command=command, directory=folder, whole_directory=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """The attackers, where any user can read them, with the marker that lets them loose."""
    made = Path(tempfile.mkdtemp(prefix="arena-attackers-", dir="/tmp"))
    shutil.copytree(HERE / "attackers", made, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (made / "marker").write_text(TOKEN)
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def patient(boxed: Setup) -> Setup:
    return replace(boxed, time=PATIENT)


@pytest.fixture
async def launcher(patient: Setup) -> AsyncIterator[Launcher]:
    """A launcher, of which nothing may be left in the end."""
    launcher = Launcher(patient)
    yield launcher
    await launcher.close()
    assert list(patient.folder.iterdir()) == []


@pytest.fixture
async def enter(launcher: Launcher, folder: Path) -> AsyncIterator[Enter]:
    """Start an attacker in the sandbox."""
    players: list[Player] = []

    async def make(name: str, *arguments: str) -> Player:
        players.append(launcher.player(attacker(folder, name, *arguments), f"{len(players)}"))
        await players[-1].start()
        return players[-1]

    yield make
    await asyncio.gather(*(player.close() for player in players))


@pytest.fixture
async def neighbour(launcher: Launcher) -> AsyncIterator[Player]:
    """An honest bot that runs beside the attacker."""
    entry = Entry("honest", command=("python", "misbehaving.py", "honest"), directory=BOTS, whole_directory=True)
    player = launcher.player(entry, "0")
    await player.start()
    yield player
    await player.close()


@pytest.fixture
def ask(decision: Callable[..., Decision]) -> Ask:
    """Make a decision with plenty of time."""
    return lambda: decision(0, PATIENT)


async def attack(player: Player, question: Decision, neighbour: Player | None = None) -> str:
    """Have an attacker attack, and return its report; an honest bot beside it must not notice."""
    answer = await player.decide(question)
    assert answer.choice.cards == substitute(question.legal, question.count)
    if neighbour is not None:
        for number in range(5):
            other = await neighbour.decide(replace(question, number=number))
            assert other.choice.cards == question.legal[:3]
    assert (await player.decide(question)).choice.cards == answer.choice.cards
    return answer.choice.note


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("fork", r"\d\d? Resource temporarily unavailable"),
        ("leave_session", "done"),
        ("hop", "done"),
        ("stay", "done"),
        ("hoard", r"[12]?\d0"),
        ("hide_memory", "nothing"),
        ("fill", "/tmp=64 /dev/shm=16 /run/arena=1"),
        ("burn", "done"),
        ("crowd", r"\d{1,4}"),
        ("kill", "hit 0"),
        ("trace", "nothing"),
    ],
)
async def test_an_attack_is_contained_and_harms_nobody(
    enter: Enter, ask: Ask, neighbour: Player, name: str, report: str
) -> None:
    player = await enter(name)

    found = await attack(player, ask(), neighbour)

    assert re.fullmatch(report, found)
    if name == "crowd":
        assert int(found) <= OPEN_FILES


@pytest.mark.slow
async def test_who_burns_all_cores_stands_still_while_others_think(patient: Setup, folder: Path, ask: Ask) -> None:
    launcher = Launcher(replace(patient, freeze=True))
    player = launcher.player(attacker(folder, "burn"), "0")
    try:
        await player.start()
        await attack(player, ask())
        await asyncio.sleep(3 * PATIENCE)
        before = burnt()
        await asyncio.sleep(0.3)
        after = burnt()
    finally:
        await player.close()
        await launcher.close()

    assert len(before) > 15
    assert after == before


def burnt() -> dict[int, tuple[str, ...]]:
    """Return the processor time of each process of that attacker, in ticks of the system."""
    own = [pid for pid in descendants(os.getpid()) if b"\0burn.py\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return {pid: tuple(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]) for pid in own}


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("hoard", ["children"], "it used more than 300 MB (limits.memory)"),
        ("fill", ["files"], "it made more than 20,000 files"),
    ],
    ids=["memory of 50 children", "files without content"],
)
async def test_a_bot_that_uses_too_much_as_a_whole_is_ended(
    enter: Enter, ask: Ask, neighbour: Player, name: str, arguments: list[str], reason: str
) -> None:
    player = await enter(name, *arguments)

    with pytest.raises(Failure) as failure:
        async with asyncio.timeout(60):
            while True:
                await player.decide(ask())
                await neighbour.decide(ask())

    assert failure.value.evidence.kind is FaultKind.DISCONNECTED
    assert failure.value.evidence.detail == f"the process was ended because {reason} while it was being asked"
    assert await neighbour.decide(ask())


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "file"])
async def test_what_is_no_socket_is_never_dialled(enter: Enter, kind: str, folder: Path, neighbour: Player) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(folder / "other.sock"))
        listener.listen()
        listener.setblocking(False)

        with pytest.raises(BotUnusable, match=f"bot plant {kind}: .*did not open its socket: .*bot.sock is no socket"):
            await enter("plant", kind, str(folder / "other.sock"))

        with pytest.raises(BlockingIOError):
            listener.accept()


async def test_nobody_else_can_be_reached(enter: Enter, ask: Ask, patient: Setup) -> None:
    name = f"arena-test-{secrets.token_hex(4)}"
    with contextlib.ExitStack() as stack:
        tcp, path, named = (
            stack.enter_context(contextlib.closing(socket.socket(family)))
            for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_UNIX)
        )
        tcp.bind(("127.0.0.1", 0))
        path.bind(str(patient.folder / "other.sock"))
        named.bind(f"\0{name}")
        for listener in (tcp, path, named):
            listener.listen()
            listener.setblocking(False)
        (patient.folder / "other.sock").chmod(0o777)
        places = (f"tcp:{tcp.getsockname()[1]}", f"path:{patient.folder / 'other.sock'}", f"name:{name}")

        found = await attack(await enter("connect", *places), ask())

        for listener in (tcp, path, named):
            with pytest.raises(BlockingIOError):
                listener.accept()
    (patient.folder / "other.sock").unlink()
    assert found == "nothing"


async def test_nothing_of_others_can_be_read(
    enter: Enter, ask: Ask, folder: Path, patient: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_TOKEN", f"secret-{secrets.token_hex(4)}")
    others = Path(tempfile.mkdtemp(prefix="arena-others-", dir="/tmp"))
    others.chmod(0o755)
    for name in ("arena.db", "bot.py", "token"):
        (others / name).write_text("open to all")
    (folder / "bots.yaml").write_text("seed: secret")

    found = await attack(await enter("read", str(others), *map(str, others.iterdir()), str(patient.folder)), ask())

    shutil.rmtree(others)
    assert found == "nothing"


async def test_the_arenas_own_files_in_a_bots_folder_are_hidden(enter: Enter, ask: Ask, folder: Path) -> None:
    with Store.open(folder / "arena.db") as store:
        store.tournaments()
        (folder / "bots.yaml").write_text("seed: secret")

        found = await attack(await enter("load", str(folder / "arena.db")), ask())

    assert found == "nothing"


async def test_instances_leave_each_other_no_marks(enter: Enter, ask: Ask) -> None:
    first = await attack(await enter("mark"), ask())
    second = await attack(await enter("mark"), ask())

    assert first == second == "saw nothing, made 3"


@pytest.mark.parametrize(
    ("seed", "found"), [(Seed.draw(), "nothing"), (Seed.from_text("7"), "7")], ids=["a drawn seed", "a chosen seed"]
)
async def test_table_ids_tell_of_seeds_that_can_be_guessed_only(enter: Enter, ask: Ask, seed: Seed, found: str) -> None:
    question = replace(ask(), table_id=opaque_id(seed.key, "table", 1, 0, 2))

    assert await attack(await enter("guess"), question) == found
    assert seed.secret is (found == "nothing")


@pytest.mark.slow
async def test_neither_ids_nor_order_nor_time_tell_who_holds_the_queen(folder: Path, tmp_path: Path) -> None:
    others = [Entry(name, python=f"in_process:{name}") for name in ("Lowest", "Highest", "Random")]
    settings = Settings(boards=96, seed="foretell", isolation=Isolation.BUBBLEWRAP)

    await play(tmp_path / "arena.db", settings, [attacker(folder, "foretell"), *others])

    hits = [0, 0, 0, 0]
    deals = 0
    with Store.open(tmp_path / "arena.db") as store:
        tournament = store.tournament().id
        for match in store.matches(tournament):
            for _, record in store.records(tournament, match.number):
                holder = next(seat for seat, hand in enumerate(record.hands) if Card("QS") in hand)
                for note in record.notes:
                    if note.seat != holder:
                        deals += 1
                        for sign, guess in enumerate(note.text.split()):
                            hits[sign] += int(guess) == holder
    assert deals > 150
    for count in hits:
        assert abs(count - deals / 3) < 5 * math.sqrt(deals * 2 / 9), (hits, deals)


def test_no_attacker_acts_outside() -> None:
    spec = spec_from_file_location("attacker_base", HERE / "attackers" / "attacker.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    marker = HERE / "attackers" / "marker"

    assert not marker.exists()
    assert not module.is_inside(TOKEN, *NAMESPACES)
    assert not module.is_inside(TOKEN, "pid:[1]", "net:[1]")


async def play(path: Path, settings: Settings, entries: Sequence[Entry], tables: int = 64) -> Mapping[str, Any]:
    """Play a tournament without the bots that don't start, and return its leaderboard's document."""
    with Store.open(path) as store:
        playing = run_tournament(store, settings, entries, pace=Pace(tables=tables), skip_broken=True)
        async with contextlib.aclosing(playing) as events:
            async for _ in events:
                pass
        return stored_document(store, store.tournament())


@pytest.mark.slow
async def test_memory_is_worth_something_to_trusted_bots_and_nothing_to_isolated_ones(
    folder: Path, tmp_path: Path
) -> None:
    others = [Entry(name, python="in_process:Lowest") for name in ("a", "b", "c")]
    settings = Settings(options={"passing": False}, boards=12, seed="memory", time=PATIENT)

    async def edge(*, trust: bool) -> float:
        """Return how many points a deal it does better than others that play as it does without its memory."""
        document = await play(
            tmp_path / f"{trust}.db",
            replace(settings, trust_bots=trust, isolation=Isolation.BUBBLEWRAP),
            [attacker(folder, "remember"), *others],
            tables=1,
        )
        points = {row["bot"]: row["points_per_deal"] for row in document["standings"]}
        return float(points["a"] - points["remember"])

    assert await edge(trust=True) > 3
    assert await edge(trust=False) == 0


ATTACKS = (
    *("fork", "leave_session", "hop", "stay", "hoard", "hoard children", "hide_memory", "fill", "fill files", "burn"),
    *(
        "connect tcp:50050",
        "read arena.db",
        "mark",
        "plant pipe",
        "plant link",
        "crowd",
        "kill",
        "trace",
        "load",
        "guess",
        "foretell",
    ),
)
MISHAPS = (
    *("exit", "sleep", "mute", "garbled", "stranger", "late", "hang", "slow", "crash 7", "crash SIGSEGV", "short"),
    *("wrong-id", "unknown-card", "too-many-cards", "huge", "bomb", "status UNAVAILABLE", "slow-to-learn", "flood"),
    *("hush", "ignore-signals"),
)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_good_bots_come_out_in_the_same_order_beside_every_kind_of_bad_one(folder: Path, tmp_path: Path) -> None:
    samples = HERE.parent / "sample_bots" / "python"
    good = [
        Entry(name, command=("python", f"{file}.py"), directory=samples)
        for name, file in (("random", "random_bot"), ("lowest", "lowest"), ("counting", "counting"))
    ]
    bad = [attacker(folder, *words.split()) for words in ATTACKS] + [
        Entry(words, command=("python", "misbehaving.py", *words.split()), directory=BOTS, whole_directory=True)
        for words in MISHAPS
    ]
    settings = Settings(
        game="heartswitch",
        players=3,
        boards=12,
        seed="siege",
        isolation=Isolation.BUBBLEWRAP,
        limits=Limits(memory=300_000_000),
        time=TimeControl(decision=2.0, bank=5.0, startup=20.0),
    )

    alone = await play(tmp_path / "alone.db", settings, good)
    besieged = await play(tmp_path / "besieged.db", settings, [*good, *bad], tables=12)

    def order(document: Mapping[str, Any]) -> list[str]:
        return [row["bot"] for row in document["standings"] if row["bot"] in ("random", "lowest", "counting")]

    assert order(besieged) == order(alone)
    assert {row["bot"]: row["faults"] for row in besieged["standings"] if row["bot"] in order(alone)} == {
        "random": 0,
        "lowest": 0,
        "counting": 0,
    }
    assert besieged["notes"][-1].startswith("Bots ran in a sandbox")


if os.geteuid() == 0:

    @pytest.mark.slow
    @pytest.mark.timeout(600)
    def test_all_of_this_holds_for_an_ordinary_user() -> None:
        executable = Path(sys.executable)
        hidden = [path for path in (*executable.parents, *executable.resolve().parents) if not path.stat().st_mode & 1]
        if hidden:
            pytest.skip(f"other users can't run the Python under {hidden[-1]}: allow it with chmod o+x")
        with tempfile.TemporaryDirectory(prefix="arena-user-", dir="/tmp") as made:
            Path(made).chmod(0o777)
            become = ("setpriv", "--reuid", "63999", "--regid", "63999", "--clear-groups", "--reset-env")
            tests = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", f"{made}/tests")
            ran = subprocess.run(
                [*become, *tests, __file__, str(HERE / "players" / "test_sandbox.py")],
                cwd=HERE.parent,
                capture_output=True,
                text=True,
            )

        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "skipped" not in ran.stdout
