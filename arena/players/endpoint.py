"""Where an instance of a bot serves: in a process that the arena starts, or at an address where it finds it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from arena.players.process import Exit
from arena.settings import Entry


class Endpoint(ABC):
    """Where an instance serves, and what can be done about it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What to call the instance in messages."""

    @property
    @abstractmethod
    def launched(self) -> bool:
        """Whether it works on the arena's own processors."""

    @property
    def ended(self) -> asyncio.Future[Exit] | None:
        """Done once nobody is there to answer; None where the arena can't know."""
        return None

    @property
    def dropping(self) -> bool:
        """Whether its output is being dropped because there is too much of it."""
        return False

    @abstractmethod
    async def open(self, deadline: float) -> str:
        """Start it, or find it, and return its gRPC target; raise BotUnusable if that can't be.

        `deadline` is when it must have started, on the event loop's clock.
        """

    def freeze(self) -> None:  # noqa: B027 - what the arena doesn't run it can't stop
        """Let nothing of it run until it is thawed, if the organiser wants that."""

    def thaw(self) -> None:  # noqa: B027
        """Let it run again."""

    async def output(self) -> str:
        """Return the last lines that it wrote."""
        return ""

    @abstractmethod
    async def explain(self, reason: str) -> str:
        """Return the message for a bot that could not be used for this reason."""

    @abstractmethod
    async def close(self, *, in_peace: bool) -> None:
        """End it, if the arena started it; without `in_peace` at once."""


class Address(Endpoint):
    """A bot that serves at an address, started by somebody else."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @property
    def name(self) -> str:
        """The bot's name."""
        return self._entry.name

    @property
    def launched(self) -> bool:
        """Whether the arena's own processors do the work: not that it knows."""
        return False

    async def open(self, deadline: float) -> str:
        """Return the address."""
        return self._entry.address

    async def explain(self, reason: str) -> str:
        """Say what could not be reached, and the cure."""
        return f"bot {self._entry.name}: {self._entry.address} {reason}; start the bot there, or mend its address"

    async def close(self, *, in_peace: bool) -> None:
        """Nothing is the arena's to end."""
