"""The interface of every player, and what is known of a bot.

A `Player` here is one instance of a bot, ready to sit down at many tables: it answers decisions, each of which names its
table. Where it runs (in this process, in one that the arena launched, at an address) is the business of its `Transport`, a
class found in the entry point group `arena.players` under the name that `Entry.transport` gives; one of each is made for a
tournament.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from arena.clock import TimeControl
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import BadInput
from arena.players.sandbox import Sandbox
from arena.settings import Entry


def _ignore(_text: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Answer:
    """A player's choice, and the seconds that it took."""

    choice: Choice
    elapsed: float
    """What is charged for it."""
    credit: float = 0.0
    """What is not: the arena's own lateness meanwhile."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What all players of one tournament share."""

    time: TimeControl
    folder: Path
    """A private folder for sockets; its path is short, and its owner removes it at the end."""
    parallel: asyncio.Semaphore
    """At most so many requests to launched bots are in flight."""
    warn: Callable[[str], None] = _ignore
    """Takes notices for the organiser."""
    sandbox: Sandbox | None = None
    """What launched bots are confined in; None if they aren't."""
    logs: Path | None = None
    """The folder where what launched bots write is kept, a file an instance; None if only the last lines are."""
    freeze: bool = False
    """Whether launched bots that aren't being asked are stopped."""


class Player(ABC):
    """One instance of a bot."""

    @abstractmethod
    async def start(self) -> Description:
        """Start or reach the bot and return its description; raise BotUnusable with the reason if that fails.

        Starting a player that runs does nothing but return its description.
        """

    @abstractmethod
    async def decide(self, decision: Decision) -> Answer:
        """Ask for one decision; raise Failure if there is no answer that can be read in time.

        Whether the answer is legal is for the table to say. Many decisions may be waiting at once, for different tables.
        """

    @abstractmethod
    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Tell how deals ended; never raises, and never waits longer than its own limit."""

    @abstractmethod
    async def close(self) -> None:
        """End the instance: afterwards nothing of it runs. It may be started again."""


class Transport(ABC):
    """One way of reaching bots."""

    @abstractmethod
    def __init__(self, setup: Setup) -> None: ...

    @abstractmethod
    def player(self, entry: Entry, instance: str) -> Player:
        """Return a new player for a bot, not started yet. `instance` names it within the tournament, such as "2" or "2b"."""

    @abstractmethod
    async def close(self) -> None:
        """Free what the transport holds; its players are closed by then."""


def find_transport(entry: Entry) -> type[Transport]:
    """Return the transport of an entry, from the entry point group `arena.players`; raise BadInput if there is none."""
    for point in entry_points(group="arena.players", name=entry.transport):
        return cast("type[Transport]", point.load())
    raise BadInput(f"bot {entry.name}: no transport named {entry.transport!r} is installed")
