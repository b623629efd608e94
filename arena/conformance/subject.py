"""The bot under check: one instance, asked one request at a time, exactly as the step wants it.

The arena's usual players collect decisions in requests and ask again what failed; here nothing is smoothed over.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from arena import wire
from arena.clock import TimeControl
from arena.conformance.watched import WatchedBot
from arena.decision import Choice, Decision, Description
from arena.errors import Malformed
from arena.faults import Evidence, Failure, FaultKind
from arena.players.base import Setup
from arena.players.channel import CallFailed, Channel
from arena.players.connection import COUNTED
from arena.players.endpoint import Address
from arena.players.instance import Instance
from arena.players.isolation import Enforcement, enforce
from arena.players.launcher import Launcher, make_command
from arena.players.process import Exit
from arena.settings import Entry, Isolation, Limits
from arena.sockets import private_folder

LOOK = 0.05
"""Seconds between two looks at the bot's processes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a bot answered to one request."""

    choices: tuple[Choice | Malformed, ...]
    elapsed: float
    """Seconds from the request's being written to the reply's being read."""
    size: int
    """Bytes."""


class Subject:
    """One instance of the bot, and what it takes to make others."""

    def __init__(self, entry: Entry, setup: Setup, launcher: Launcher, enforcement: Enforcement | None) -> None:
        self.entry = entry
        self.setup = setup
        self.enforcement = enforcement
        """What its processes are confined by; None where the arena doesn't start them."""
        self._launcher = launcher
        self._watched: list[WatchedBot] = []
        self.launched = self.another() if entry.launched else None
        """Its process; None where the arena doesn't start it."""
        self._instance = Instance(self.launched or Address(entry), setup.time.startup)
        self._requests = 0

    @property
    def description(self) -> Description:
        """What the bot last said of itself when it started."""
        return self._instance.description

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._instance.alive

    def another(self) -> WatchedBot:
        """Return another instance of a launched bot, not started yet."""
        self._watched.append(WatchedBot(self.entry, f"{len(self._watched)}", self._launcher))
        return self._watched[-1]

    @property
    def most_tasks(self) -> int:
        """The most processes and threads that an instance was seen to have."""
        return max((bot.most_tasks for bot in self._watched), default=0)

    @property
    def excess(self) -> str:
        """What an instance used too much of in the sandbox; empty if none did."""
        return next((bot.excess for bot in self._watched if bot.excess), "")

    async def start(self) -> None:
        """Start the bot, or reach it; raise BotUnusable with the reason if that fails."""
        await self._instance.open()

    async def ready(self) -> None:
        """Start the bot again if it isn't alive; raise Failure if it doesn't start."""
        await self._instance.ready()

    async def kill(self) -> None:
        """End the instance at once."""
        await self._instance.put_down()

    async def call(self, method: str, request: bytes, limit: float) -> bytes:
        """Call a method and return its reply; raise TimeoutError after `limit` seconds, CallFailed or EOFError."""
        channel: Channel = await self._instance.ready()
        deadline = asyncio.get_running_loop().time() + limit
        return await channel.call(method, request, lambda: deadline, self._instance.endpoint.ended)

    async def ask(self, decisions: Sequence[Decision]) -> Reply:
        """Ask decisions in one request; raise Failure where there is no answer that can be read in time."""
        self._requests += 1
        limit = time_limit(decisions)
        request = wire.encode_request(self._requests, limit, decisions)
        return await self.exchange(request, self._requests, decisions, limit)

    async def exchange(self, request: bytes, request_id: int, decisions: Sequence[Decision], limit: float) -> Reply:
        """Send a request as it is, which asks these decisions; otherwise as `ask`."""
        await self._instance.ready()
        began = asyncio.get_running_loop().time()
        try:
            reply = await self.call("Decide", request, limit)
        except (TimeoutError, EOFError, CallFailed) as error:
            elapsed = asyncio.get_running_loop().time() - began
            evidence = await self._instance.explain(error, elapsed, limit)
            if evidence.kind is not FaultKind.MALFORMED:
                await self._instance.put_down()
            raise Failure(evidence, elapsed) from None
        elapsed = asyncio.get_running_loop().time() - began
        try:
            choices = wire.decode_response(reply, request_id, decisions)
        except Malformed as error:
            output = await self._instance.endpoint.output()
            raise Failure(Evidence(FaultKind.MALFORMED, str(error), stderr=output), elapsed) from None
        return Reply(tuple(choices), elapsed, len(reply))

    async def output(self) -> str:
        """Return the last lines that the bot wrote, also where it was put down; none where the arena doesn't start it."""
        return await self.launched.output() if self.launched else ""

    def look(self) -> None:
        """Note what can be seen of all instances now."""
        for bot in self._watched:
            bot.look()

    async def build(self, command: Sequence[str], limit: float) -> Exit | None:
        """Run a command in the bot's folder, with the arena's own environment; return None where it takes too long.

        Raises BotUnusable if it can't be run.
        """
        found = make_command(replace(self.entry, command=tuple(command)), "")
        process = await self._launcher.supervisor.launch(replace(found, environment=dict(os.environ)))
        await asyncio.wait({process.ended}, timeout=limit)
        ended = process.ended.result() if process.ended.done() else None
        await process.stop()
        return ended

    async def close(self) -> None:
        """End the instance."""
        await self._instance.put_down(in_peace=True)


def time_limit(decisions: Sequence[Decision]) -> float:
    """Return how many seconds a request of these decisions may take."""
    decision_time = min(decision.decision_time for decision in decisions)
    return min(len(decisions), COUNTED) * decision_time + min(decision.bank_left for decision in decisions)


async def _watch(subject: Subject) -> None:
    while True:
        subject.look()
        await asyncio.sleep(LOOK)


@asynccontextmanager
async def open_subject(entry: Entry, time: TimeControl, isolation: Isolation, limits: Limits) -> AsyncIterator[Subject]:
    """Offer the bot, not started yet; at the end nothing of it is left. Raises BadInput as `enforce` does."""
    with private_folder() as folder:
        enforcement = await enforce(isolation, limits, folder) if entry.launched else None
        setup = Setup(time, folder, asyncio.Semaphore(1), sandbox=enforcement.sandbox if enforcement else None)
        launcher = Launcher(setup)
        subject = Subject(entry, setup, launcher, enforcement)
        watching = asyncio.create_task(_watch(subject))
        try:
            yield subject
        finally:
            watching.cancel()
            await asyncio.wait({watching})
            await subject.close()
            await launcher.close()
