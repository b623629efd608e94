"""Admissions that the store knows of: each step is kept as it ends, then the version is admitted or refused.

Whatever ends an admission before that (a kill, a full disk, a stop) leaves the version waiting, to be admitted from its
beginning another time.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from os import environ
from typing import Final

from arena.competition import AdmissionStep, Deed, Program, State, Version
from arena.errors import ArenaError, Refused
from arena.finding import Verdict
from arena.sockets import private_folder
from arena.store import Store
from arena.submission.admission import Claim, Event, Terms, admit
from arena.submission.pipe import LINE_BYTES, decode, decode_claim, decode_event, encode, encode_order
from arena.submission.shelf import Shelf
from arena.text import clean_line
from arena.threads import in_thread, write

PATIENCE: Final = 20.0
"""Seconds that a worker has to end by itself."""

_LOOK_AGAIN: Final = 0.1


async def admit_and_record(
    store: Store,
    version: Version,
    shelf: Shelf,
    terms: Terms,
    *,
    apart: bool,
    reserved: Collection[str] = (),
    most_bots: int | None = None,
    most_bytes: int | None = None,
) -> AsyncGenerator[Event | Version, None]:
    """Admit a waiting version, and yield what happens and at last what it has become; to be used under `aclosing`.

    With `apart` that is done in a process of its own. `reserved` are names that nobody may have, `most_bots` and
    `most_bytes` what an owner may have. Where the same content is there already, that version is the last value. Where another
    process admits the version, that is waited for, and what came of it is told. Raises ArenaError where the arena itself is at
    fault; the version then goes on waiting, as when this is cancelled.
    """
    async with _alone(shelf, version.submission):
        decided = store.submissions.find(version.submission)
        if decided is not None and decided.state is not State.WAITING:
            for step in store.submissions.steps(version.submission):
                yield step
            yield decided
            return
        recording = _Recording(store, version, shelf, reserved, most_bots, most_bytes)
        await write(partial(store.submissions.begin_again, version.submission))
        admitting = _admit_apart if apart else admit
        try:
            async with aclosing(admitting(version, shelf, terms, recording.claim)) as events:
                async for event in events:
                    if isinstance(event, AdmissionStep):
                        await write(partial(recording.add, event))
                    yield event
        finally:
            await in_thread(shelf.sweep)
        yield await write(recording.decide)


@asynccontextmanager
async def _alone(shelf: Shelf, submission: str) -> AsyncIterator[None]:
    """Hold a submission, once nobody else does."""
    while True:
        with shelf.alone(submission) as held:
            if held:
                yield
                return
        await asyncio.sleep(_LOOK_AGAIN)


@dataclass(slots=True)
class _Recording:
    """What the store is told of one admission."""

    store: Store
    version: Version
    shelf: Shelf
    reserved: Collection[str]
    most_bots: int | None
    most_bytes: int | None
    same: Version | None = None
    """An earlier version that has the same content, and stands in this one's place."""
    failure: AdmissionStep | None = None
    digest: str = ""

    async def claim(self, program: Program, digest: str, size: int) -> bool:
        """Claim the name and the room; return whether there is something left to do."""
        claiming = partial(
            self.store.submissions.claim,
            *(self.version.submission, program, digest, size),
            reserved=self.reserved,
            most_bots=self.most_bots,
            most_bytes=self.most_bytes,
        )
        claim = await write(claiming)
        if claim.version.submission != self.version.submission:
            self.same = claim.version
            return False
        self.digest = digest
        return True

    def add(self, step: AdmissionStep) -> None:
        """Keep a step."""
        if self.same is None:
            self.store.submissions.add_step(self.version.submission, step)
        if step.verdict is Verdict.FAIL:
            self.failure = step

    def decide(self) -> Version:
        """Admit or refuse it, write that down, and remove what is not needed any more."""
        submissions = self.store.submissions
        submission = self.version.submission
        decided = self.same or submissions.decide(submission, State.REFUSED if self.failure else State.ADMITTED)
        self.store.audit.add(self._deed(decided))
        self.shelf.remove_incoming(submission)
        if self.same is not None:
            return decided
        if self.failure and self.digest and self.digest not in submissions.digests():
            self.shelf.remove(self.digest)
        return decided

    def _deed(self, decided: Version) -> Deed:
        """Return what the audit log says of the decision."""
        named = f"{decided.program.name}, " if decided.program else ""
        named += f"version {decided.number}, " if decided.number else ""
        why = f": {self.failure.name}: {clean_line(self.failure.detail, 200)}" if self.failure else ""
        outcome = "there already" if self.same else decided.state.value
        return Deed(
            datetime.now(UTC), decided.owner, "", "admission", f"{named}of {self.version.submission}{why}", outcome
        )


async def _admit_apart(version: Version, shelf: Shelf, terms: Terms, claim: Claim) -> AsyncGenerator[Event, None]:
    """Admit in a process of its own; the same as `admit`."""
    with private_folder() as folder:
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "arena.submission.worker"),
            stdin=PIPE,
            stdout=PIPE,
            limit=LINE_BYTES,
            env={**environ, "TMPDIR": str(folder)},
            start_new_session=True,
        )
        try:
            async with aclosing(_follow(worker, version, shelf, terms, claim)) as events:
                async for event in events:
                    yield event
        finally:
            await _end(worker)


async def _follow(
    worker: Process, version: Version, shelf: Shelf, terms: Terms, claim: Claim
) -> AsyncGenerator[Event, None]:
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(encode(encode_order(version, shelf, terms)))
        while line := await worker.stdout.readline():
            message = decode(line)
            if event := decode_event(message):
                yield event
            elif "claim" in message:
                worker.stdin.write(encode(await _answer(claim, *decode_claim(message["claim"]))))
            elif "failed" in message:
                raise ArenaError(str(message["failed"]))
            elif "done" in message:
                return
    except ValueError as error:
        raise ArenaError(f"the process of an admission said what can't be understood: {error}") from error
    except OSError as error:
        raise ArenaError(f"the process of an admission can't be reached: {error}") from error
    raise ArenaError("the process of an admission ended before its work was done")


async def _answer(claim: Claim, program: Program, digest: str, size: int) -> dict[str, object]:
    try:
        return {"claimed": await claim(program, digest, size)}
    except Refused as refusal:
        return {"refused": [refusal.reason, str(refusal)]}


async def _end(worker: Process) -> None:
    """Have a worker end with all that it started, by itself if it can; what it still says is not heard any more."""
    assert worker.stdin is not None
    worker.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await _drain(worker)
            await worker.wait()
    if worker.returncode is None:
        worker.kill()
    await _drain(worker)
    await worker.wait()


async def _drain(worker: Process) -> None:
    assert worker.stdout is not None
    while await worker.stdout.read(LINE_BYTES):
        pass
