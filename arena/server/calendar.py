"""When the server plays by itself: every so often, or at times of the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta


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
        times have a time zone; times of the day are those of `now`'s.
        """
        due = []
        if self.every is not None:
            due.append(max(now, last + self.every) if last is not None else now)
        for clock in self.at:
            moment = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
            while moment < now or (last is not None and moment <= last):
                moment += timedelta(days=1)
            due.append(moment)
        return min(due, default=None)
