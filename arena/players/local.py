"""Bots in the arena's own process, for training and tests: `python: "module:Class"`, a subclass of `arena.sdk.Bot`.

They are trusted. A plain `play` can't be interrupted, so its time limit is only looked at when it returns, and nothing else
goes on meanwhile; an async one is cancelled in time.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from arena import wire
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import BotUnusable
from arena.faults import Evidence, Failure, FaultKind
from arena.players.base import Answer, Player, Setup, Transport
from arena.sdk import Bot, choose, tell
from arena.settings import Entry
from arena.text import clean_line, clean_lines, clip_bytes

FINISH_LIMIT = 1.0
"""Seconds that a bot has to take note of results."""


class LocalPlayer(Player):
    """One instance of a bot's class. It is asked one decision at a time, as if it were a process."""

    def __init__(self, entry: Entry, setup: Setup) -> None:
        self._entry = entry
        self._setup = setup
        self._bot: Bot | None = None
        self._asking = asyncio.Lock()
        self._warned = False

    async def start(self) -> Description:
        """Import the bot's class and make an instance."""
        try:
            if self._bot is None:
                self._bot = _find_class(self._entry)()
            return wire.decode_description(wire.encode_description(self._bot.describe()))
        except BotUnusable:
            raise
        except (Exception, SystemExit) as error:
            raise BotUnusable(f"bot {self._entry.name}: {self._entry.python} cannot start: {_last(error)}") from error

    async def decide(self, decision: Decision) -> Answer:
        """Ask the bot; what it raises makes its answer malformed."""
        if self._bot is None:
            raise Failure(Evidence(FaultKind.STARTUP, f"bot {self._entry.name} has not started"))
        limit = decision.decision_time + decision.bank_left
        async with self._asking:
            began = time.monotonic()
            try:
                async with asyncio.timeout(limit):
                    choice = await choose(self._bot, decision)
            except TimeoutError:
                raise _late(time.monotonic() - began, limit) from None
            except (Exception, SystemExit) as error:
                output = clean_lines("".join(traceback.format_exception(error)))
                evidence = Evidence(FaultKind.MALFORMED, _last(error), stderr=output)
                raise Failure(evidence, time.monotonic() - began) from error
            elapsed = time.monotonic() - began
        if elapsed > limit:
            raise _late(elapsed, limit)
        if len(choice.cards) != decision.count:
            detail = f"{decision.count} cards were asked for, {len(choice.cards)} came"
            raise Failure(Evidence(FaultKind.MALFORMED, detail, answer=clean_line(repr(choice))), elapsed)
        return Answer(Choice(choice.cards, clip_bytes(clean_line(choice.note), wire.MAX_NOTE_BYTES)), elapsed)

    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Tell the bot how deals ended."""
        if self._bot is None:
            return
        try:
            async with self._asking, asyncio.timeout(FINISH_LIMIT):
                for result in results:
                    await tell(self._bot, result)
        except (Exception, SystemExit) as error:
            if not self._warned:
                self._setup.warn(f"bot {self._entry.name}: deal_finished failed: {_last(error)}")
            self._warned = True

    async def close(self) -> None:
        """Let go of the bot."""
        self._bot = None


class Local(Transport):
    """Makes bots in this process."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def player(self, entry: Entry, instance: str) -> Player:
        """Return a player with an instance of the class of its own."""
        return LocalPlayer(entry, self._setup)

    async def close(self) -> None:
        """Nothing is held."""


def _find_class(entry: Entry) -> type[Bot]:
    """Import `module:Class`, also from the bot's directory; raise BotUnusable if it names no bot."""
    module_name, _, class_name = entry.python.partition(":")
    directory = str(Path(entry.directory).absolute())
    if directory not in sys.path:
        sys.path.append(directory)
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BotUnusable(
            f"bot {entry.name}: {entry.python!r} cannot be imported ({error}); write it as module:Class,"
            f" of a module in {directory} or installed for this Python"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Bot)):
        raise BotUnusable(f"bot {entry.name}: {entry.python} is no subclass of arena.sdk.Bot")
    return found


def _late(elapsed: float, limit: float) -> Failure:
    evidence = Evidence(FaultKind.TIMEOUT, f"no answer within {limit:.3g} s", overrun=max(0.0, elapsed - limit))
    return Failure(evidence, elapsed)


def _last(error: BaseException) -> str:
    """Return the last line of a traceback."""
    return clean_line(traceback.format_exception_only(error)[-1])
