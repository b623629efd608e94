"""What the tests of players share: short limits, a folder, a launcher, and decisions to ask."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sandboxes import ENFORCED

from arena.clock import TimeControl
from arena.decision import Decision
from arena.games import find_game
from arena.players.base import Player, Setup
from arena.players.launcher import Launcher
from arena.settings import Entry

BOT = Path(__file__).parent / "players" / "bots" / "misbehaving.py"
TIME = TimeControl(decision=0.4, bank=0.2, startup=5.0)


@pytest.fixture
def notices() -> list[str]:
    """What the organiser was told."""
    return []


@pytest.fixture
def setup(notices: list[str]) -> Iterator[Setup]:
    """What players share."""
    folder = Path(tempfile.mkdtemp(prefix="arena-test-", dir="/tmp"))
    yield Setup(TIME, folder, asyncio.Semaphore(2), notices.append)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def boxed(setup: Setup) -> Setup:
    """The same for players whose bots are confined in the sandbox."""
    return replace(setup, sandbox=ENFORCED.sandbox)


@pytest.fixture
async def launcher(setup: Setup) -> AsyncIterator[Launcher]:
    """A launcher with a supervisor of its own."""
    launcher = Launcher(setup)
    yield launcher
    await launcher.close()


@pytest.fixture
async def launch(launcher: Launcher) -> AsyncIterator[Callable[..., Player]]:
    """Return an instance of the misbehaving bot, not started yet, by the arguments that say how it misbehaves."""
    players: list[Player] = []

    def make(*arguments: str, tcp: bool = False) -> Player:
        entry = Entry("rogue", command=("python", str(BOT), *arguments), directory=BOT.parent, tcp=tcp)
        players.append(launcher.player(entry, "0"))
        return players[-1]

    yield make
    await asyncio.gather(*(player.close() for player in players))


@pytest.fixture
def decision() -> Callable[..., Decision]:
    """Make a decision: the misbehaving bot fails those with number 13."""

    def make(number: int = 0, time: TimeControl = TIME) -> Decision:
        deal = find_game("hearts-classic", players=4).random_deal(number)
        return Decision(deal.observe(0), "t", number, False, 0, (0,) * 4, time.decision, time.bank, None, 7)

    return make
