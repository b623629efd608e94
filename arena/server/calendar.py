"""When the server plays by itself: every so often, or at times of the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta


@dataclass(frozen=True, slots=True)
class Calendar:
    """When tournaments begin."""

    every: timedelta | None = None
    at: Sequence[time] = ()
    """Times of the day, in the time zone of the machine."""

    def __bool__(self) -> bool:
        return self.every is not None or bool(self.at)

    def next(self, last: datetime | None, now: datetime) -> datetime | None:
        """Return when the next tournament begins, not before `now`; None if never.

        `last` is when the one before began. Times that were missed are made up for once by `every`, and not at all by `at`. All
        have a time zone, and what is returned is in UTC. Where clocks are changed, a time of the day that comes twice is due the
        first time only, and one that is left out as much later as they are put forward.
        """
        now = now.astimezone(UTC)
        due = []
        if self.every is not None:
            due.append(max(now, last + self.every) if last is not None else now)
        for clock in self.at:
            day = now.astimezone().date()
            while (moment := _moment(day, clock)) < now or (last is not None and moment <= last):
                day += timedelta(days=1)
            due.append(moment)
        return min(due, default=None)


def _moment(day: date, clock: time) -> datetime:
    """Return when it is so late on a day, by the clock of this machine."""
    return datetime.fromtimestamp(datetime.combine(day, clock).timestamp(), UTC)
