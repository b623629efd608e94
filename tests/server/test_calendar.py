"""When the server plays by itself."""

from __future__ import annotations

import time as machine
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

import pytest

from arena.server.calendar import Calendar

NOON = datetime(2030, 6, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let this machine be in a time zone: the one that a test names, or UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", getattr(request, "param", "UTC"))
        machine.tzset()
        yield
    machine.tzset()


pytestmark = pytest.mark.usefixtures("zone")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("calendar", "last", "due"),
    [
        (Calendar(), None, None),
        (Calendar(every=HOUR), None, NOON),
        (Calendar(every=HOUR), NOON - timedelta(minutes=20), NOON + timedelta(minutes=40)),
        (Calendar(every=HOUR), NOON - timedelta(days=3), NOON),
        (Calendar(at=[time(20)]), None, NOON + timedelta(hours=8)),
        (Calendar(at=[time(8)]), None, NOON + timedelta(hours=20)),
        (Calendar(at=[time(12)]), None, NOON),
        (Calendar(at=[time(12)]), NOON, NOON + timedelta(days=1)),
        (Calendar(at=[time(8), time(20)]), None, NOON + timedelta(hours=8)),
        (Calendar(every=24 * HOUR, at=[time(20)]), NOON - HOUR, NOON + timedelta(hours=8)),
    ],
    ids=[
        "never",
        "the first at once",
        "after the last",
        "missed ones once",
        "later today",
        "tomorrow",
        "now",
        "not twice",
        "the next of several",
        "both",
    ],
)
def test_tournaments_begin_when_they_are_due(calendar: Calendar, last: datetime | None, due: datetime | None) -> None:
    assert calendar.next(last, NOON) == due
    assert bool(calendar) is (due is not None)


def test_whoever_goes_by_it_plays_every_day_once() -> None:
    calendar = Calendar(at=[time(20), time(8)])
    played: list[datetime] = []
    for _ in range(6):
        due = calendar.next(played[-1] if played else None, played[-1] if played else NOON)
        assert due is not None
        played.append(due)

    assert [(each.day, each.hour) for each in played] == [(1, 20), (2, 8), (2, 20), (3, 8), (3, 20), (4, 8)]


@pytest.mark.parametrize("zone", [BERLIN], indirect=True)
@pytest.mark.parametrize(
    ("clocks", "begin", "due"),
    [
        ([time(20)], "2026-03-28T12:00", ["2026-03-28T19:00", "2026-03-29T18:00", "2026-03-30T18:00"]),
        ([time(20)], "2026-10-24T12:00", ["2026-10-24T18:00", "2026-10-25T19:00", "2026-10-26T19:00"]),
        ([time(2, 30)], "2026-03-28T12:00", ["2026-03-29T01:30", "2026-03-30T00:30"]),
        ([time(2, 30), time(3, 30)], "2026-03-28T12:00", ["2026-03-29T01:30", "2026-03-30T00:30"]),
        ([time(2, 30)], "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ([time(0)], "2026-10-24T12:00", ["2026-10-24T22:00", "2026-10-25T23:00"]),
    ],
    ids=["in spring", "in autumn", "left out", "left out, and the one it falls upon", "twice", "midnight"],
)
def test_times_of_the_day_stay_the_same_when_clocks_are_changed(clocks: list[time], begin: str, due: list[str]) -> None:
    calendar = Calendar(at=clocks)
    played: list[datetime] = []
    for _ in due:
        moment = calendar.next(played[-1] if played else None, played[-1] if played else utc(begin))
        assert moment is not None
        played.append(moment)

    assert played == [utc(each) for each in due]


@pytest.mark.parametrize("zone", [BERLIN], indirect=True)
def test_who_begins_in_the_hour_that_comes_twice_does_not_play_what_was_due_in_the_first() -> None:
    assert Calendar(at=[time(2, 30)]).next(None, utc("2026-10-25T01:10")) == utc("2026-10-26T01:30")
