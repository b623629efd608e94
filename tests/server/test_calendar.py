"""When the server plays by itself."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from arena.server.calendar import Calendar

NOON = datetime(2030, 6, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


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
