"""The admissions of a server: a queue of what was submitted, in the order in which it was received.

Each runs in a process of its own. Whoever submitted follows what happens; whoever comes late is told from the beginning. What
was not decided when the server ended is admitted again when it starts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

from arena.competition import AdmissionStep, Version
from arena.errors import ArenaError, Refused
from arena.store import Store
from arena.submission.admission import StepBegun

log = logging.getLogger(__name__)

ATTEMPTS: Final = 3
"""After so many attempts that failed through the arena's own fault whoever follows an admission is told so."""

FIRST_PAUSE: Final = 2.0
LONGEST_PAUSE: Final = 600.0
"""Seconds between attempts, which grow from the first to the longest; meanwhile others are admitted."""

Event = StepBegun | AdmissionStep | Version
Admit = Callable[[Version], AsyncGenerator[Event, None]]
"""Admits a version and records it: see `arena.submission.recording.admit_and_record`."""


@dataclass(slots=True)
class _Admission:
    """One submission on its way."""

    version: Version
    attempts: int = 0
    """How many have failed through the arena's own fault."""
    events: list[Event] = field(default_factory=list)
    error: ArenaError | None = None
    over: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def tell(self, event: Event | None = None, *, error: ArenaError | None = None, over: bool = False) -> None:
        async with self.changed:
            if event is not None:
                self.events.append(event)
            self.error, self.over = error, over
            self.changed.notify_all()

    async def more(self, position: int) -> None:
        """Wait until there are more events than `position`, or it is over."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.over or position < len(self.events))


class Admissions:
    """All admissions of a server."""

    def __init__(self, store: Store, admit: Admit, at_once: int) -> None:
        self._store = store
        self._admit = admit
        self._at_once = at_once
        self._queue: deque[_Admission] = deque()
        self._known: dict[str, _Admission] = {}
        self._wanted = asyncio.Semaphore(0)
        self._workers: list[asyncio.Task[None]] = []
        self._resting: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin, with what an earlier server left."""
        for version in self._store.submissions.waiting():
            self.add(version)
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._at_once)]

    def add(self, version: Version) -> int:
        """Put a waiting version into the queue, where it isn't yet; return how many are before it."""
        if version.submission not in self._known:
            self._known[version.submission] = admission = _Admission(version)
            self._put(admission)
        return next(
            (place for place, each in enumerate(self._queue) if each.version.submission == version.submission), 0
        )

    async def close(self) -> None:
        """Stop; what is not decided stays to be decided."""
        for task in (*self._workers, *self._resting):
            task.cancel()
        await asyncio.gather(*self._workers, *self._resting, return_exceptions=True)

    async def follow(self, submission: str) -> AsyncGenerator[Event, None]:
        """Yield what happens to a submission, from its first step to its decision; raise ArenaError where that fails.

        The submission must be there. Where the arena itself was at fault, steps are made again.
        """
        admission = self._known.get(submission)
        if admission is None:
            for step in self._store.submissions.steps(submission):
                yield step
            version = self._store.submissions.find(submission)
            assert version is not None
            yield version
            return
        position = 0
        while not admission.over or position < len(admission.events):
            for event in admission.events[position:]:
                position += 1
                yield event
            await admission.more(position)
        if admission.error is not None:
            raise admission.error

    def _put(self, admission: _Admission) -> None:
        self._queue.append(admission)
        self._wanted.release()

    async def _work(self) -> None:
        while True:
            await self._wanted.acquire()
            admission = self._queue.popleft()
            failure = await self._try(admission)
            if failure is None:
                del self._known[admission.version.submission]
                continue
            admission.attempts += 1
            if admission.attempts >= ATTEMPTS:
                text = f"{failure}: this is the arena's own fault, and it is tried again; `arena bots` shows what becomes of it"
                await admission.tell(error=ArenaError(text), over=True)
            resting = asyncio.create_task(self._rest(admission))
            self._resting.add(resting)
            resting.add_done_callback(self._resting.discard)

    async def _rest(self, admission: _Admission) -> None:
        """Put an admission that failed into the queue again after a while; who follows it then sees a new beginning."""
        try:
            await asyncio.sleep(pause_after(admission.attempts))
        except asyncio.CancelledError:
            await _stopped(admission)
            raise
        if admission.over:
            admission = _Admission(admission.version, attempts=admission.attempts)
            self._known[admission.version.submission] = admission
        self._put(admission)

    async def _try(self, admission: _Admission) -> ArenaError | None:
        """Admit; return what went wrong where the arena itself fails, so that it is worth to try again."""
        try:
            async with aclosing(self._admit(admission.version)) as events:
                async for event in events:
                    if isinstance(event, Version):
                        _log(event, admission.version.submission)
                    await admission.tell(event)
            await admission.tell(over=True)
        except asyncio.CancelledError:
            await _stopped(admission)
            raise
        except Refused as gone:
            await admission.tell(error=gone, over=True)
        except Exception as error:
            log.exception("admission %s failed, attempt %d", admission.version.submission, admission.attempts + 1)
            return error if isinstance(error, ArenaError) else ArenaError(f"{type(error).__name__}: {error}")
        return None


def pause_after(attempts: int) -> float:
    """Return for how many seconds to wait after so many attempts that failed, however many they are."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempts - 1, 100))


async def _stopped(admission: _Admission) -> None:
    """Tell who follows an admission that the server ends."""
    if not admission.over:
        stopped = ArenaError("the server was stopped: the admission goes on when it is started again")
        with suppress(asyncio.CancelledError):
            await admission.tell(error=stopped, over=True)


def _log(decided: Version, submission: str) -> None:
    named = f"{decided.program.name}, version {decided.number}," if decided.program and decided.number else "a bot"
    log.info("%s of %s is %s (submission %s)", named, decided.owner, decided.state, submission)
