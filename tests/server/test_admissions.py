"""The queue of admissions: in order, none lost, and begun again after a fault of the arena's own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import pytest

from arena.competition import Program, State, Version
from arena.errors import ArenaError, Refused
from arena.server import admissions
from arena.server.admissions import ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE, Admissions, Event, pause_after
from arena.store import Store
from arena.submission.admission import StepBegun


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admissions, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(admissions, "LONGEST_PAUSE", 0.001)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as store:
        yield store


@pytest.fixture
def received(store: Store) -> Callable[[], Version]:
    def receive() -> Version:
        return store.submissions.receive(Version(token_hex(16), "ann", State.WAITING, datetime.now(UTC)))

    return receive


class Admitting:
    """Admits, but for the first failures of each submission."""

    def __init__(self, store: Store, failures: int, error: Exception) -> None:
        self._store = store
        self._failures = failures
        self._error = error
        self.tried: list[str] = []

    async def __call__(self, version: Version) -> AsyncGenerator[Event, None]:
        self.tried.append(version.submission)
        yield StepBegun("unpack")
        if self.tried.count(version.submission) <= self._failures:
            raise self._error
        yield self._store.submissions.decide(version.submission, State.ADMITTED)


async def followed(queue: Admissions, version: Version) -> list[Event]:
    return [event async for event in queue.follow(version.submission)]


async def admitted(store: Store, version: Version) -> None:
    """Wait until a submission is admitted."""
    async with asyncio.timeout(60):
        while (found := store.submissions.find(version.submission)) is None or found.state is not State.ADMITTED:
            await asyncio.sleep(0.001)


async def test_what_fails_now_and_then_is_decided_all_the_same(
    store: Store, received: Callable[[], Version], caplog: pytest.LogCaptureFixture
) -> None:
    admitting = Admitting(store, ATTEMPTS - 1, OSError("no space left"))
    queue = Admissions(store, admitting, at_once=1)
    version = received()
    queue.start()

    events = await followed(queue, version)

    assert isinstance(events[-1], Version)
    assert events[-1].state is State.ADMITTED
    assert admitting.tried == [version.submission] * ATTEMPTS
    assert caplog.text.count("no space left") >= ATTEMPTS - 1
    await queue.close()


async def test_what_fails_for_long_is_told_of_and_decided_once_that_is_mended(
    store: Store, received: Callable[[], Version]
) -> None:
    admitting = Admitting(store, ATTEMPTS + 3, ArenaError("the shelf is gone"))
    queue = Admissions(store, admitting, at_once=1)
    version = received()
    queue.start()

    with pytest.raises(ArenaError, match=r"the shelf is gone: .*own fault.*tried again"):
        await followed(queue, version)
    await admitted(store, version)

    assert len(admitting.tried) == ATTEMPTS + 4
    await queue.close()


async def test_others_are_admitted_while_one_rests(
    store: Store, received: Callable[[], Version], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admissions, "FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(admissions, "LONGEST_PAUSE", 3600.0)
    bad, good = received(), received()

    async def admit(version: Version) -> AsyncGenerator[Event, None]:
        if version.submission == bad.submission:
            raise ArenaError("the arena's own fault")
        yield store.submissions.decide(version.submission, State.ADMITTED)

    queue = Admissions(store, admit, at_once=1)
    queue.start()
    following = asyncio.create_task(followed(queue, bad))

    assert isinstance((await followed(queue, good))[-1], Version)
    assert not following.done()

    await queue.close()
    with pytest.raises(ArenaError, match="when it is started again"):
        await following
    assert [version.submission for version in store.submissions.waiting()] == [bad.submission]


async def test_what_is_not_there_any_more_is_not_tried_again(store: Store, received: Callable[[], Version]) -> None:
    admitting = Admitting(store, 100, Refused("NO_SUCH_SUBMISSION", "there is no such submission"))
    queue = Admissions(store, admitting, at_once=1)
    version = received()
    queue.start()

    with pytest.raises(Refused, match="no such"):
        await followed(queue, version)
    other = received()
    queue.add(other)
    with pytest.raises(Refused, match="no such"):
        await followed(queue, other)

    assert admitting.tried == [version.submission, other.submission]
    await queue.close()


async def test_the_log_says_what_was_decided(
    store: Store, received: Callable[[], Version], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "arena")

    async def admit(version: Version) -> AsyncGenerator[Event, None]:
        if version.submission == good.submission:
            store.submissions.claim(version.submission, Program("hers", ("./bot",)), "0" * 64, 10)
        state = State.ADMITTED if version.submission == good.submission else State.REFUSED
        yield store.submissions.decide(version.submission, state)

    good, bad = received(), received()
    queue = Admissions(store, admit, at_once=1)
    queue.start()
    for version in (good, bad):
        await followed(queue, version)
    await queue.close()

    assert [record.getMessage() for record in caplog.records] == [
        f"hers, version 1, of ann is admitted (submission {good.submission})",
        f"a bot of ann is refused (submission {bad.submission})",
    ]


def test_pauses_grow_to_the_longest_and_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admissions, "FIRST_PAUSE", FIRST_PAUSE)
    monkeypatch.setattr(admissions, "LONGEST_PAUSE", LONGEST_PAUSE)

    pauses = [pause_after(attempts) for attempts in (1, 2, 3, 9, 10, 2000)]

    assert pauses == [2, 4, 8, 512, 600, 600]
