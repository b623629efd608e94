"""The tournaments of a server: asked for or on the calendar, played one after the other, watched by whoever likes.

What was asked for and all events are in the store, so that a server that is started again plays on, and whoever watched goes on
with the next event. A tournament runs in the server, not in the call that asked for it: ending the call ends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from secrets import token_hex
from typing import Final, TypeVar

from arena.competition import Deed, Run
from arena.errors import ArenaError, Interrupted, Refused
from arena.events import Event, Notice
from arena.server.calendar import Calendar
from arena.server.status import FAULT
from arena.store import Store
from arena.threads import write
from arena.v1 import arena_pb2
from arena.wire import encode_event

log = logging.getLogger(__name__)

CALENDAR: Final = "calendar"
"""Who asks for the tournaments of the calendar."""

PAUSE: Final = 10.0
"""Seconds after which something is tried again that the store has refused, as while a disk is full."""

LOOK: Final = 60.0
"""Seconds after which the clock is looked at again while the next tournament is not due."""

_READ: Final = 500  # events that are read at once

T = TypeVar("T")

Play = Callable[[Run], AsyncGenerator[Event, None]]
"""Plays what was asked for, or what is left of it, and yields its events."""


@dataclass(slots=True)
class _Play:
    """A tournament that was asked for, while somebody may still wait for it."""

    run: Run
    tournament: str = ""
    first: int = 0
    """The number of its first event in this server's time."""
    error: ArenaError | None = None
    over: bool = False
    early: list[Event] = field(default_factory=list)
    """What happened before the tournament was known."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    def explain(self, error: ArenaError) -> ArenaError:
        """Return the error with what led to it, where nobody can have heard of that."""
        error.args = ("\n".join([str(error), *(event.text for event in self.early if isinstance(event, Notice))]),)
        return error

    async def begun(self) -> None:
        """Wait until the tournament is known, or it is over."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.over or bool(self.tournament))

    async def end(self, error: ArenaError | None) -> None:
        self.error, self.over = error, True
        await self.tell()


class Tournaments:
    """All tournaments of a server."""

    def __init__(self, store: Store, play: Play) -> None:
        self._store = store
        self._play = play
        self._plays: dict[str, _Play] = {}
        self._queue: asyncio.Queue[_Play] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    def start(self, calendar: Calendar, ask: Callable[[], Run]) -> None:
        """Begin, with what an earlier server left; `ask` says what the calendar asks for."""
        for run in self._store.runs.unfinished():
            self._enqueue(run)
        self._tasks = [asyncio.create_task(self._work())]
        if calendar:
            self._tasks.append(asyncio.create_task(self._keep(calendar, ask)))

    async def close(self, grace: float) -> None:
        """Wait until the tournament in play has stopped, which is told to stop elsewhere; end everything after `grace`."""
        self._stopping = True
        playing = [play for play in self._plays.values() if not play.over]
        if any(play.tournament for play in playing):
            current = next(play for play in playing if play.tournament)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace), current.changed:
                    await current.changed.wait_for(lambda: current.over)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for play in list(self._plays.values()):
            if not play.over:
                await play.end(Interrupted("the server was stopped: it plays on when it is started again"))

    async def ask(self, run: Run) -> None:
        """Ask for a tournament, to be played after those that were asked for before; once for each request."""
        await write(partial(self._store.runs.add, run), then=self._enqueue)

    def _enqueue(self, run: Run) -> None:
        if not run.over and run.request not in self._plays:
            play = self._plays[run.request] = _Play(run)
            self._queue.put_nowait(play)

    async def follow_request(self, request: str) -> AsyncGenerator[arena_pb2.TournamentEvent, None]:
        """Yield the events of what a request asked for until it is over; raise the error that ended it, if one did."""
        play = self._plays.get(request)
        if play is None:
            run = self._store.runs.find(request)
            if run is None:
                raise Refused("NO_SUCH_TOURNAMENT", "nothing was asked for by this id")
            if run.error:
                raise ArenaError(run.error)
            async for event in self._stored(run.tournament, 1):
                yield event
            return
        await play.begun()
        if play.tournament:
            async for event in self._follow(play, play.first):
                yield event
        if play.error is not None:
            raise play.error

    async def watch(self, tournament: str, first: int) -> AsyncGenerator[arena_pb2.TournamentEvent, None]:
        """Yield a tournament's events from number `first` on, of the latest if none is named, until it is over or not played.

        Where none is named and one is about to begin, that one is waited for. Raises BadInput where there is no such one.
        """
        play = None if tournament else next((each for each in reversed(self._plays.values()) if not each.over), None)
        if play is not None:
            await play.begun()
        if play is None or not play.tournament:
            known = self._store.tournament(tournament or None).id
            playing = (each for each in self._plays.values() if not each.over)
            play = next((each for each in playing if known in (each.tournament, each.run.tournament)), None)
            if play is not None:  # what an earlier server left may not have begun again yet
                await play.begun()
            if play is None or not play.tournament:
                async for event in self._stored(known, first):
                    yield event
                return
        async for event in self._follow(play, first):
            yield event
        if isinstance(play.error, Interrupted):
            raise play.error

    async def _follow(self, play: _Play, first: int) -> AsyncGenerator[arena_pb2.TournamentEvent, None]:
        position = max(first, 1)
        while True:
            over = play.over
            async for event in self._stored(play.tournament, position):
                position = event.number + 1
                yield event
            if over:
                return
            await self._wait(play, position)

    async def _wait(self, play: _Play, position: int) -> None:
        """Wait until there is an event of number `position`, or no more to come."""
        async with play.changed:
            await play.changed.wait_for(lambda: play.over or self._store.runs.last_event(play.tournament) >= position)

    async def _stored(self, tournament: str, first: int) -> AsyncGenerator[arena_pb2.TournamentEvent, None]:
        position = max(first, 1)
        while events := self._store.runs.events(tournament, position, _READ):
            for number, _time, data in events:
                event = arena_pb2.TournamentEvent.FromString(data)
                event.number = number
                position = number + 1
                yield event

    async def _work(self) -> None:
        while True:
            play = await self._queue.get()
            if self._stopping:
                return
            error: ArenaError | None = None
            try:
                await self._play_one(play)
            except Interrupted as interrupted:
                await play.end(interrupted)
                continue
            except ArenaError as refused:
                error = play.explain(refused)
                log.error(
                    "%s: %s", f"{_named(play)} ended in an error" if play.tournament else "nothing is played", error
                )
            except Exception:
                log.exception("%s ended in an error of the arena", _named(play))
                error = ArenaError(FAULT)
            else:
                log.info("%s ended", _named(play))
            finish = partial(self._store.runs.finish, play.run.request, str(error or ""))
            await _insist(finish, meanwhile=partial(play.end, error))
            await play.end(error)
            del self._plays[play.run.request]

    async def _play_one(self, play: _Play) -> None:
        async with contextlib.aclosing(self._play(play.run)) as events:
            async for event in events:
                named = getattr(event, "tournament", "")
                if named and not play.tournament:
                    play.first = self._store.runs.last_event(named) + 1
                    play.tournament = named
                    await write(partial(self._store.runs.set_tournament, play.run.request, named))
                    if not play.run.tournament:
                        deed = Deed(datetime.now(UTC), play.run.who, "", "tournament", named, "begun")
                        await write(partial(self._store.audit.add, deed))
                    log.info("%s begins, asked for by %s", _named(play), play.run.who)
                if not play.tournament:
                    play.early.append(event)
                    continue
                early, play.early = play.early, []
                for each in (event, *early):
                    now = datetime.now(UTC)
                    data = encode_event(0, now, play.tournament, each).SerializeToString()
                    await write(partial(self._store.runs.add_event, play.tournament, now, data))
                    await play.tell()

    async def _keep(self, calendar: Calendar, ask: Callable[[], Run]) -> None:
        """Ask for a tournament whenever the calendar says so, but not while the one before is still to be played."""
        since, told = datetime.now(UTC), None
        while True:
            last = await _insist(partial(self._store.runs.last, CALENDAR))
            due, now = calendar.next(last.created if last else None, since), datetime.now(UTC)
            if due is None:
                return
            if due > now:
                if due != told:
                    log.info("the next tournament of the calendar is due at %s", f"{due.astimezone():%F %T}")
                    told = due
                await asyncio.sleep(min(LOOK, (due - now) / timedelta(seconds=1)))
                continue
            since = now
            if any(play.run.who == CALENDAR and not play.over for play in self._plays.values()):
                await asyncio.sleep(1.0)
            else:
                self._enqueue(await _insist(partial(self._store.runs.add, ask())))


async def _insist(deed: Callable[[], T], meanwhile: Callable[[], Awaitable[None]] | None = None) -> T:
    """Do in a thread what needs the store, again and again until it works; where it doesn't at first, do `meanwhile` too."""
    while True:
        try:
            return await write(deed)
        except Exception as error:
            text = "the arena tries again in %.0f s what the store has refused: %s"
            log.error(text, PAUSE, error, exc_info=not isinstance(error, ArenaError))
        if meanwhile is not None:
            await meanwhile()
        await asyncio.sleep(PAUSE)


def _named(play: _Play) -> str:
    return f"tournament {play.tournament}" if play.tournament else "a tournament"


def new_request() -> str:
    """Return an id for a request that has none."""
    return token_hex(16)
