"""The sandbox: what bots see and may do in it, and that the arena says when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sandboxes import needs_sandbox

from arena.decision import Decision
from arena.players.base import Player, Setup
from arena.players.launcher import Launcher
from arena.settings import Entry

BOT = Path(__file__).parent / "bots" / "misbehaving.py"
Ask = Callable[..., Decision]
Launch = Callable[..., Player]
Run = Callable[..., object]


@pytest.fixture
async def launch(boxed: Setup) -> AsyncIterator[Launch]:
    """Return an instance of the misbehaving bot in the sandbox, not started yet."""
    launcher = Launcher(boxed)
    players: list[Player] = []

    def make(*arguments: str, **how: bool) -> Player:
        entry = Entry("rogue", command=("python", str(BOT), *arguments), directory=BOT.parent, **how)
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
