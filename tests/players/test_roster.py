"""Which instance sits where, how many run at once, and what is known of bots before play."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from arena.decision import Decision
from arena.errors import BadInput
from arena.faults import Failure, FaultKind
from arena.players.base import Setup
from arena.players.family import descendants
from arena.players.instance import Instance
from arena.players.roster import Place, Roster
from arena.settings import Entry

BOTS = Path(__file__).parent / "bots"
Ask = Callable[..., Decision]
MakeRoster = Callable[..., Roster]


def launched(name: str, *arguments: str) -> Entry:
    """Return an entry of the misbehaving bot."""
    return Entry(name, command=("python", "misbehaving.py", *(arguments or ("honest",))), directory=BOTS)


def local(name: str, class_name: str = "Lowest") -> Entry:
    """Return an entry of a bot in this process."""
    return Entry(name, python=f"local_bots:{class_name}", directory=BOTS)


def running() -> int:
    """Return how many bots run."""
    count = 0
    for pid in descendants(os.getpid()):
        command = Path(f"/proc/{pid}/cmdline")
        count += command.exists() and b"misbehaving" in command.read_bytes()
    return count


@pytest.fixture
async def roster(setup: Setup) -> AsyncIterator[MakeRoster]:
    """Make rosters that are closed at the end."""
    made: list[Roster] = []

    def make(*entries: Entry, processes: int | None = None, trust_bots: bool = False) -> Roster:
        made.append(Roster(entries, setup, processes=processes, trust_bots=trust_bots))
        return made[-1]

    yield make
    for each in made:
        await each.close()


async def test_each_rotation_and_each_copy_has_an_instance_of_its_own(roster: MakeRoster) -> None:
    table = roster(launched("a"))

    async with (
        table.seated([Place("a", 0), Place("a", 0, 1)]) as first,
        table.seated([Place("a", 1)]) as second,
        table.seated([Place("a", 0)]) as again,
    ):
        assert len({*first, *second}) == 3
        assert again == first[:1]
        assert running() == 3


async def test_trusted_bots_have_one_instance_for_all_rotations_but_not_for_two_seats(roster: MakeRoster) -> None:
    table = roster(launched("a"), trust_bots=True)

    async with table.seated([Place("a", 0), Place("a", 0, 1)]) as first, table.seated([Place("a", 1)]) as second:
        assert second == first[:1]
        assert first[0] is not first[1]


async def test_local_bots_serve_all_rotations_and_seats_have_instances_of_their_own(roster: MakeRoster) -> None:
    table = roster(local("a"))

    async with table.seated([Place("a", 0), Place("a", 0, 1)]) as first, table.seated([Place("a", 1)]) as second:
        assert second == first[:1]
        assert first[0] is not first[1]


async def test_a_dialled_bot_may_not_hold_two_seats(roster: MakeRoster) -> None:
    table = roster(Entry("afar", address="127.0.0.1:1"))

    with pytest.raises(BadInput, match="bot afar holds several seats at one table"):
        async with table.seated([Place("afar", 0), Place("afar", 0, 1)]):
            pass


def test_what_the_arena_does_not_launch_may_remember(setup: Setup) -> None:
    table = Roster([launched("a"), local("b"), Entry("c", address="127.0.0.1:1")], setup)

    assert not table.may_remember(["a"])
    assert table.may_remember(["a", "b"])
    assert table.may_remember(["c"])


async def test_no_more_processes_run_than_may(roster: MakeRoster) -> None:
    table = roster(launched("a"), launched("b"), processes=2)
    most = 0

    async def play(rotation: int) -> None:
        nonlocal most
        async with table.seated([Place("a", rotation), Place("b", rotation)]):
            most = max(most, running())

    await asyncio.gather(*map(play, [0, 1, 2, 0, 1, 2]))

    assert most == 2
    assert running() == 2


async def test_a_table_that_needs_more_than_may_run_plays_alone(roster: MakeRoster) -> None:
    table = roster(launched("a"), launched("b"), processes=1)

    async with table.seated([Place("a", 0), Place("b", 0)]):
        waiting = asyncio.create_task(table.seated([Place("a", 1)]).__aenter__())
        await asyncio.sleep(0.05)
        assert not waiting.done()

    await waiting
    assert running() == 1


async def test_a_table_that_stops_waiting_holds_nothing(roster: MakeRoster) -> None:
    table = roster(launched("a"), launched("b"), processes=1)

    async def play(bot: str) -> None:
        async with table.seated([Place(bot, 0)]):
            await asyncio.sleep(3600)

    playing = [asyncio.create_task(play(bot)) for bot in ("a", "b", "b")]
    while not running():
        await asyncio.sleep(0.01)
    for task in playing:
        task.cancel()
    await asyncio.gather(*playing, return_exceptions=True)

    async with asyncio.timeout(60), table.seated([Place("b", 1)]):
        assert running() == 1


async def test_bots_that_cannot_play_are_known_before(roster: MakeRoster) -> None:
    entries = [
        launched("honest"),
        launched("broken", "exit"),
        local("mine"),
        local("hearts", "HeartsOnly"),
        launched("odd", "stranger"),
    ]
    table = roster(*entries)

    failures = await table.check(entries, "heartswitch")

    assert list(failures) == ["broken", "hearts", "odd"]
    assert "exited with code 3" in failures["broken"]
    assert failures["hearts"] == "bot hearts plays only hearts-classic, not heartswitch; leave it out"
    assert table.descriptions["honest"].name == "Red bot"


async def test_a_bot_that_does_not_start_fails_its_decisions_only(roster: MakeRoster, decision: Ask) -> None:
    table = roster(launched("broken", "exit"), local("mine"))

    async with table.seated([Place("broken", 0), Place("mine", 0)]) as (broken, mine):
        with pytest.raises(Failure) as failure:
            await broken.decide(decision(1))
        assert await mine.decide(decision(1))

    assert failure.value.evidence.kind is FaultKind.STARTUP
    assert "exited with code 3" in failure.value.evidence.detail


async def test_ended_instances_are_gone_and_their_players_start_anew(roster: MakeRoster) -> None:
    table = roster(launched("a"), local("mine"))
    async with table.seated([Place("a", 0), Place("mine", 0)]) as before:
        pass

    await table.end_instances()

    assert running() == 0
    async with table.seated([Place("a", 0), Place("mine", 0)]) as after:
        assert after == before
        assert running() == 1


def test_only_launched_bots_that_are_not_trusted_forget(roster: MakeRoster) -> None:
    assert roster(launched("a"), local("b")).isolates
    assert not roster(launched("a"), local("b"), trust_bots=True).isolates
    assert not roster(local("b"), Entry("c", address="127.0.0.1:1")).isolates


@pytest.mark.slow
async def test_closing_takes_no_longer_for_many(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Roster([launched(name, "ignore-signals") for name in "abcd"], setup)
    async with table.seated([Place(name, 0) for name in "abcd"]):
        pass
    all_at_once = asyncio.Barrier(4)

    async def put_down(self: Instance, **how: bool) -> None:
        await all_at_once.wait()
        await put_one_down(self, **how)

    put_one_down = Instance.put_down
    monkeypatch.setattr(Instance, "put_down", put_down)

    async with asyncio.timeout(60):
        await table.close()

    assert running() == 0
