"""Plays and shows what happens: what every command does that plays a tournament."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from arena.cli.options import PACE
from arena.errors import Interrupted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.events import Event
    from arena.tournament import Pace

Play = Callable[[asyncio.Event], "AsyncGenerator[Event, None]"]
"""Plays until the event is set, or to the end."""


STOPPING = "stopping: matches in play have 5 seconds to finish; once more stops at once"


def play_and_show(
    play: Play,
    table: Callable[[str], RenderableType | None],
    *,
    grows: bool = False,
    stopping: str = STOPPING,
    stopped: str = "stopped at once; the same command plays the rest",
) -> str:
    """Play and show what happens on stderr; return the tournament's id, which `table` makes the live table of.

    With `grows` the schedule grows as it is played. `stopping` is said at the first Ctrl-C; at the second Interrupted is
    raised with what `stopped` says.
    """
    return asyncio.run(_show(play, table, stopping, stopped, grows=grows))


def pace_of(given: Mapping[str, Any]) -> Pace:
    """Return the pace that the options of `pace_options` ask for."""
    from arena.tournament import Pace

    return Pace(**{name: given[name] for name in PACE if given[name] is not None})


async def _show(
    play: Play, table: Callable[[str], RenderableType | None], stopping: str, stopped: str, *, grows: bool
) -> str:
    from rich.console import Console

    from arena.cli.interrupts import stopping_on_signals
    from arena.cli.progress import LiveDisplay, PlainDisplay
    from arena.events import Started

    console = Console(stderr=True)
    tournament = ""
    display = (
        LiveDisplay(console, lambda: table(tournament), grows=grows)
        if console.is_terminal
        else PlainDisplay(console, grows=grows)
    )
    with display, stopping_on_signals(lambda: console.print(stopping, markup=False)) as stop:
        try:
            async with contextlib.aclosing(play(stop)) as events:
                async for event in events:
                    if isinstance(event, Started):
                        tournament = event.tournament
                    display.show(event)
        except asyncio.CancelledError:
            raise Interrupted(stopped) from None
    return tournament
