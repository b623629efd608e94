"""Where an instance of a bot serves: in a process that the arena starts, or at an address where it finds it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass

from arena.errors import BadInput, BotUnusable
from arena.players.addresses import public_target
from arena.players.process import Exit
from arena.settings import Entry
from arena.sockets import grpc_target


@dataclass(frozen=True, slots=True)
class Target:
    """Where a channel leads."""

    address: str
    """In gRPC's words, such as `host:port`, `ipv4:NUMBER:port` or `unix:/path`."""
    authority: str = ""
    """What the server there is called, where its address doesn't say it."""


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
    async def open(self, deadline: float) -> Target:
        """Start it, or find it, and return where it serves; raise BotUnusable if that can't be.

        `deadline` is when it must have started, on the event loop's clock.
        """

    def freeze(self) -> None:  # noqa: B027 - what the arena doesn't run it can't stop
        """Let nothing of it run until it is thawed, if the organiser wants that."""

    def thaw(self) -> None:  # noqa: B027
        """Let it run again."""

    async def output(self) -> str:
        """Return the last lines that it wrote."""
        return ""

    def suspect(self, text: str) -> str:
        """Return which limits it may have met by an error of these words, as far as the arena sets any."""
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

    async def open(self, deadline: float) -> Target:
        """Return the address; by its numbers, looked up now, where it has to be public."""
        try:
            if not self._entry.public_only:
                return Target(grpc_target(self._entry.address))
            return Target(await public_target(self._entry.address), authority=self._entry.address)
        except BadInput as refusal:
            raise BotUnusable(f"bot {self._entry.name}: {refusal}") from None

    async def explain(self, reason: str) -> str:
        """Say what could not be reached, and the cure."""
        return f"bot {self._entry.name}: {self._entry.address} {reason}; start the bot there, or mend its address"

    async def close(self, *, in_peace: bool) -> None:
        """Nothing is the arena's to end."""
