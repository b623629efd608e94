"""Instances that nobody asks anything stand still, with all that they have started."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sandboxes import ENFORCED, needs_sandbox

from arena.clock import TimeControl
from arena.decision import Decision
from arena.players import launcher as launching
from arena.players.base import Player, Setup
from arena.players.family import descendants
from arena.players.freezer import PATIENCE, find_groups
from arena.players.launcher import Launcher
from arena.players.sandbox import Sandbox
from arena.settings import Entry

BOT = Path(__file__).parent / "bots" / "misbehaving.py"
WAYS = [
    pytest.param(None, False, id="by signals, without a sandbox"),
    pytest.param(ENFORCED.sandbox, False, id="by signals, in the sandbox", marks=[needs_sandbox, pytest.mark.slow]),
    *(
        [pytest.param(ENFORCED.sandbox, True, id="as a cgroup", marks=[needs_sandbox, pytest.mark.slow])]
        if find_groups()
        else []
    ),
]
PATIENT = TimeControl(decision=10.0, bank=5.0)
Ask = Callable[..., Decision]


@pytest.fixture
async def busy(
    setup: Setup, sandbox: Sandbox | None, groups: bool, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Player]:
    """A bot that floods its output without end, asked or not."""
    if not groups:
        monkeypatch.setattr(launching, "find_groups", lambda: None)
    time_control = TimeControl(decision=5.0, bank=5.0, startup=20.0)
    launcher = Launcher(replace(setup, sandbox=sandbox, time=time_control, freeze=True))
    player = launcher.player(
        Entry("busy", command=("python", str(BOT), "flood"), directory=BOT.parent, whole_directory=True), "0"
    )
    await player.start()
    yield player
    await player.close()
    await launcher.close()


def processor_time() -> int:
    """Return the processor time that bots have used so far, in ticks of the system."""
    total = 0
    for pid in descendants(os.getpid()):
        if b"misbehaving.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    return total


@pytest.mark.parametrize(("sandbox", "groups"), WAYS)
async def test_who_is_not_asked_does_not_run(busy: Player, decision: Ask) -> None:
    await busy.decide(decision(0, PATIENT))
    await asyncio.sleep(3 * PATIENCE)

    before = processor_time()
    await asyncio.sleep(0.3)

    assert processor_time() == before
    for number in range(3):
        assert await busy.decide(decision(number, PATIENT))


@pytest.mark.parametrize(("sandbox", "groups"), WAYS)
async def test_who_once_ran_without_being_asked_never_does_again(busy: Player, decision: Ask) -> None:
    await busy.decide(decision(0, PATIENT))
    await asyncio.sleep(3 * PATIENCE)
    await busy.decide(decision(1, PATIENT))

    used = []
    for _ in range(5):
        used.append(processor_time())
        await asyncio.sleep(PATIENCE / 10)

    assert used[-1] - used[0] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("sandbox", "groups"), WAYS)
async def test_a_frozen_bot_is_asked_to_end_like_any_other(busy: Player, decision: Ask) -> None:
    await busy.decide(decision(0, PATIENT))
    await asyncio.sleep(3 * PATIENCE)

    await busy.close()

    assert processor_time() == 0
    groups = find_groups()
    assert groups is None or not list(groups.glob("arena-test-*"))
