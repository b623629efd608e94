"""Periods and times of the day on the command line: `90s`, `30m`, `1h`, `7d`; `20:00`."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import Any, Final

import click

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_PERIOD: Final = re.compile(r"([0-9]{1,6})([smhd])")
_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


class Period(click.ParamType[timedelta]):
    """A number of seconds, minutes, hours or days, not zero."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read one."""
        if isinstance(value, timedelta):
            return value
        match = _PERIOD.fullmatch(str(value))
        if match is None or not int(match[1]):
            self.fail(f"{value!r} is no period: write a number and s, m, h or d, as in 90s, 30m, 1h or 7d", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Clock(click.ParamType[time]):
    """A time of the day."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> time:
        """Read one."""
        if isinstance(value, time):
            return value
        match = _CLOCK.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is no time of the day: write it as 20:00", param, ctx)
        return time(int(match[1]), int(match[2]))
