"""Whole numbers on the command line."""

from __future__ import annotations

from typing import Any

import click


class WholeNumber(click.IntRange):
    """A whole number within bounds; what is none is told with an example of one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number."""
        if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
            self.fail(f"{value!r} is no whole number: write one such as {self.min}.", param, ctx)
        return int(super().convert(value, param, ctx))
