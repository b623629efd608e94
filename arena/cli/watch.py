"""`arena watch`: the events of a tournament that a server plays, as they happen."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.numbers import WholeNumber
from arena.cli.options import server_of, server_options
from arena.cli.output import make_console, reader_is_gone
from arena.cli.standings import make_leaderboard
from arena.errors import BadInput, Interrupted, Refused
from arena.text import clean_line

if TYPE_CHECKING:
    from arena.client import NumberedEvent, ServerAddress

EVERY: Final = 10.0
"""Seconds at least between two lines with standings."""

LEADERS: Final = 5
"""So many bots are in such a line."""

EXAMPLE = """\b
Examples:
  arena watch --server 127.0.0.1:50050
  arena watch 3f9a --server arena.example.org:443 --from 200
  arena watch --server arena.example.org:443 --json > events.jsonl
"""


@click.command(epilog=EXAMPLE)
@click.argument("tournament", required=False, default="")
@click.option("--from", "first", type=WholeNumber(1), default=1, metavar="NUMBER", help="Begin with this event.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as JSON, one a line.")
@server_options()
def command(tournament: str, first: int, as_json: bool, **given: Any) -> None:
    """Watch a tournament of a server: TOURNAMENT is an id or its beginning, the latest if left out.

    The standings are told now and then, and at the end the leaderboard and who won. After a broken connection it goes on with
    the next event. It ends with the tournament; after Ctrl-C the exit code is 3, and what is said then goes on from there.
    """
    server = server_of(given)
    if server is None:
        raise click.UsageError("Name the server with --server, or in the variable ARENA_SERVER.")
    asyncio.run(_watch(server, tournament, first, as_json=as_json))


async def _watch(server: ServerAddress, tournament: str, first: int, *, as_json: bool) -> None:
    from arena.cli.interrupts import stopping_on_signals
    from arena.client import watch

    following, known = first, tournament
    show = _print_values if as_json else _Shown(server).show

    async def follow() -> None:
        nonlocal following, known
        try:
            async with aclosing(watch(server, tournament, first)) as events:
                async for event in events:
                    following, known = event.number + 1, event.tournament
                    await show(event)
                    if reader_is_gone():
                        return
        except Refused as error:
            if tournament or error.reason != "NO_SUCH_TOURNAMENT":
                raise
            cure = f"`arena tournament --server {server.address}` plays one, or the server's calendar does"
            raise Refused(error.reason, f"{error}: {cure}") from error
        if following == first:
            raise BadInput(await _why_nothing(server, tournament, first))

    with stopping_on_signals(lambda: None) as stop:
        tasks = asyncio.create_task(follow()), asyncio.create_task(stop.wait())
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        if stop.is_set():
            again = f"arena watch {known} --from {following} --server {server.address}".replace("  ", " ")
            raise Interrupted(f"stopped watching; `{again}` goes on")
        if isinstance(ended[0], BaseException):
            raise ended[0]


async def _why_nothing(server: ServerAddress, tournament: str, first: int) -> str:
    """Say why a tournament that is over has no events from a number on."""
    from arena.client import watch

    last = 0
    async with aclosing(watch(server, tournament, 1)) as events:
        async for event in events:
            last, tournament = event.number, event.tournament
    if last:
        return f"tournament {tournament} has {last} events, and none of number {first}: begin with an earlier one"
    return (
        f"the server has no events of {f'tournament {tournament}' if tournament else 'the latest tournament'}, which was not"
        f" played by it: `arena leaderboard --server {server.address}` shows how it ended"
    )


class _Shown:
    """Events as people read them, with the standings now and then, and the leaderboard at the end."""

    def __init__(self, server: ServerAddress) -> None:
        self._server = server
        self._console = make_console()
        self._told = time.monotonic()

    async def show(self, event: NumberedEvent) -> None:
        """Print an event, and the standings where they are due; they are the server's at this moment."""
        from arena.events import Finished, MatchPlayed

        self._print(f"{event.number:6} {event.time:%H:%M:%S}", clean_line(_words(event), 1000))
        if isinstance(event.event, Finished):
            values = await self._leaderboard(event.tournament)
            self._console.print()
            self._console.print(make_leaderboard(values))
            self._console.print()
            self._console.print(winner_text(values), soft_wrap=not self._console.is_terminal)
        elif isinstance(event.event, MatchPlayed) and time.monotonic() - self._told >= EVERY:
            self._print(" " * 15, standings_text(await self._leaderboard(event.tournament)))
            self._told = time.monotonic()

    def _print(self, where: str, text: str) -> None:
        """Print a line, on a terminal wrapped between words beside where it belongs."""
        from rich.table import Table
        from rich.text import Text

        if not self._console.is_terminal:
            self._console.print(f"{where} {text}", soft_wrap=True)
            return
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column()
        grid.add_row(where, Text(text))
        self._console.print(grid)

    async def _leaderboard(self, tournament: str) -> Mapping[str, Any]:
        from arena.client import leaderboard_of_server

        document, _ = await leaderboard_of_server(self._server, tournament)
        values: dict[str, Any] = json.loads(document)
        return values


async def _print_values(event: NumberedEvent) -> None:
    sys.stdout.write(f"{json.dumps(_as_values(event))}\n")
    sys.stdout.flush()


def standings_text(values: Mapping[str, Any]) -> str:
    """Say in a line how the bots stand that are ranked, the first ones by name."""
    rated = [row for row in values["standings"] if row["rank"] is not None]
    shown = [f"{row['rank']} {clean_line(row['bot'])} {row['elo']:.0f}" for row in rated[:LEADERS]]
    more = [f"{len(rated) - LEADERS} more"] * (len(rated) > LEADERS)
    return f"standings: {', '.join([*shown, *more])}" if rated else "standings: none yet"


def winner_text(values: Mapping[str, Any]) -> str:
    """Say who won, and who may be as strong: whose ranks, taken together, reach the first."""
    rated = [row for row in values["standings"] if row["rank"] is not None]
    first = [clean_line(row["bot"]) for row in rated if row["rank"] == 1]
    if not first:
        return "Nobody won: no bot is ranked."
    won = f"{' and '.join(first)} won{', together' * (len(first) > 1)}"
    others = [
        clean_line(row["bot"])
        for row in rated
        if row["rank"] > 1 and (interval := row["joint_rank_interval"] or row["rank_interval"]) and interval[0] == 1
    ]
    return f"{won}; not beyond doubt: {', '.join(others)} may be as strong." if others else f"{won}."


def _words(event: NumberedEvent) -> str:
    from arena.events import Finished, MatchPlayed, Notice, Started, TablePlayed

    match event.event:
        case Started(tournament, matches, already_played, boards, commitment):
            before = f", {already_played} of them played before" if already_played else ""
            return f"tournament {tournament}: {matches} matches, {boards} boards{before}; seed commitment {commitment}"
        case TablePlayed(match, table, played, tables, decisions, faults):
            told = f"; {'; '.join(faults)}" if faults else ""
            return f"table {table} of match {match} ({played} of {tables} tables): {decisions:,} decisions{told}"
        case MatchPlayed(match, played, matches, deals, decisions):
            return f"match {match} is done ({played} of {matches}): {deals} deals, {decisions:,} decisions"
        case Notice(text):
            return f"note: {text}"
        case Finished(tournament, seed):
            return f"tournament {tournament} is finished; seed {seed}"


def _as_values(event: NumberedEvent) -> dict[str, Any]:
    from dataclasses import asdict

    kinds = {
        "Started": "started",
        "TablePlayed": "table",
        "MatchPlayed": "match",
        "Notice": "notice",
        "Finished": "finished",
    }
    return {
        "number": event.number,
        "time": event.time.isoformat(timespec="milliseconds"),
        "event": kinds[type(event.event).__name__],
        **asdict(event.event),
        "tournament": event.tournament,
    }
