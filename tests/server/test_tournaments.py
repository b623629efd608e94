"""The tournaments of a server go on after whatever the store refuses for a while, and the log says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition import Run
from arena.errors import ArenaError, BadInput, BadStore
from arena.events import Event, Finished, Notice, Started
from arena.server import tournaments
from arena.server.calendar import Calendar
from arena.server.tournaments import CALENDAR, Play, Tournaments
from arena.store import Store
from arena.wire import decode_event


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournaments, "PAUSE", 0.001)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as store:
        yield store


def asked(who: str = "carol") -> Run:
    return Run(token_hex(16), who, "", "bots.yaml", {}, created=datetime.now(UTC), incremental=False, fresh=False)


async def play(run: Run) -> AsyncGenerator[Event, None]:
    """Play a tournament without matches."""
    yield Started(run.request, 0, 0, 0, "c0ffee")
    yield Finished(run.request, "5eed")


@asynccontextmanager
async def running(store: Store, calendar: Calendar | None = None, play: Play = play) -> AsyncIterator[Tournaments]:
    """Play what is asked for, by the calendar too."""
    running = Tournaments(store, play)
    running.start(calendar or Calendar(), lambda: asked(CALENDAR))
    try:
        async with asyncio.timeout(60):
            yield running
    finally:
        await running.close(0.0)


def refusing(do: Callable[..., Any], times: int) -> Callable[..., Any]:
    """Return what does the same, but is refused by a full disk at first."""
    left = times

    def refused(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise BadStore("the disk is full")
        return do(*arguments)

    return refused


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0.001)


async def test_what_is_noticed_before_a_tournament_begins_is_told_after_that(store: Store) -> None:
    async def play(run: Run) -> AsyncGenerator[Event, None]:
        yield Notice("plays without exp")
        yield Started(run.request, 0, 0, 0, "c0ffee")
        yield Finished(run.request, "5eed")

    async with running(store, play=play) as tournaments:
        run = asked()
        await tournaments.ask(run)
        events = [decode_event(event) async for event in tournaments.follow_request(run.request)]

    assert [type(event) for event in events] == [Started, Notice, Finished]


async def test_what_is_noticed_before_nothing_is_played_is_told_with_the_error(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(_run: Run) -> AsyncGenerator[Event, None]:
        yield Notice("plays without exp: it exited with code 1")
        raise BadInput("4 bots are needed, and there are 3")

    async with running(store, play=play) as tournaments:
        run = asked()
        await tournaments.ask(run)
        with pytest.raises(ArenaError, match=r"4 bots are needed, and there are 3\nplays without exp: it exited"):
            _ = [event async for event in tournaments.follow_request(run.request)]

    assert "plays without exp: it exited with code 1" in caplog.text


@pytest.mark.parametrize("what", ["last", "add"])
async def test_the_calendar_outlives_a_store_that_can_not_be_used_for_a_while(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    last = store.runs.last
    monkeypatch.setattr(store.runs, what, refusing(getattr(store.runs, what), 3))

    async with running(store, Calendar(every=timedelta(hours=1))):
        await until(lambda: bool((run := last(CALENDAR)) and run.over))

    assert caplog.text.count("tries again") == caplog.text.count("the disk is full") == 3


async def test_what_can_not_be_noted_as_over_is_told_all_the_same_and_noted_later(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    free = asyncio.Event()
    finish = store.runs.finish

    def refused(request: str, error: str = "") -> None:
        if not free.is_set():
            raise BadStore("the disk is full")
        finish(request, error)

    monkeypatch.setattr(store.runs, "finish", refused)
    first, second = asked(), asked()
    async with running(store) as tournaments:
        await tournaments.ask(first)
        events = [event async for event in tournaments.follow_request(first.request)]
        await tournaments.ask(second)
        free.set()
        later = [event async for event in tournaments.follow_request(second.request)]
        await until(lambda: not store.runs.unfinished())

    assert [event.WhichOneof("what") for event in events] == ["started", "finished"]
    assert [event.WhichOneof("what") for event in later] == ["started", "finished"]
    assert "the disk is full" in caplog.text


async def test_an_event_that_can_not_be_kept_ends_its_tournament_and_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store.runs, "add_event", refusing(store.runs.add_event, 1))
    first, second = asked(), asked()
    async with running(store) as tournaments:
        await tournaments.ask(first)
        with pytest.raises(BadStore, match="disk is full"):
            async for _ in tournaments.follow_request(first.request):
                pass
        await tournaments.ask(second)
        events = [event async for event in tournaments.follow_request(second.request)]

    assert len(events) == 2
    assert f"tournament {first.request} ended in an error: the disk is full" in caplog.text


async def test_the_log_says_when_a_tournament_is_due_begins_and_ends(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "arena")
    async with running(store, Calendar(every=timedelta(hours=1))):
        await until(lambda: "due at" in caplog.text and "ended" in caplog.text)
    last = store.runs.last(CALENDAR)

    assert last is not None
    due = (last.created + timedelta(hours=1)).astimezone()
    assert sorted(record.getMessage() for record in caplog.records) == [
        f"the next tournament of the calendar is due at {due:%F %T}",
        f"tournament {last.request} begins, asked for by calendar",
        f"tournament {last.request} ended",
    ]


async def test_who_watches_what_an_earlier_server_left_waits_until_it_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()
    left = replace(asked(), tournament="c" * 12)
    store.runs.add(left)
    monkeypatch.setattr(store, "tournament", lambda _: SimpleNamespace(id=left.tournament))

    async def resume(run: Run) -> AsyncGenerator[Event, None]:
        await go_on.wait()
        yield Started(run.tournament, 0, 0, 0, "c0ffee")
        yield Finished(run.tournament, "5eed")

    running = Tournaments(store, resume)
    running.start(Calendar(), asked)
    watching = asyncio.create_task(anext(running.watch(left.tournament, 2)))
    await asyncio.sleep(0)
    go_on.set()
    async with asyncio.timeout(60):
        event = await watching
    await running.close(1.0)

    assert event.WhichOneof("what") == "finished"
