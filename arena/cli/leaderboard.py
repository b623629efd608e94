"""`arena leaderboard`: the leaderboard of a tournament, also while it is played."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from arena.cli.options import server_of, server_options, store_option
from arena.cli.output import make_console, print_json
from arena.cli.standings import Form, print_document
from arena.errors import BadInput

if TYPE_CHECKING:
    from arena.client import ServerAddress
    from arena.competition import ListedTournament
    from arena.store import Store

EXAMPLE = """\b
Examples:
  arena leaderboard
  arena leaderboard 3f9a --csv > leaderboard.csv
  arena leaderboard 3f9a --simultaneous
  arena leaderboard --pairs
  arena leaderboard --server arena.example.org:443 --json
"""


@click.command(epilog=EXAMPLE)
@click.argument("tournament", required=False)
@store_option
@click.option("--anchor", metavar="BOT", help="Rate this bot 1500, instead of the mean.")
@click.option("--simultaneous", is_flag=True, help="Show ranks that hold with 95 % all at once, as prizes need them.")
@click.option("--json", "as_json", is_flag=True, help="Print the document of `arena tournament --json`.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, a line a bot.")
@click.option("--pairs", is_flag=True, help="Print the chance to be the stronger of each two; with --csv, all of them.")
@click.option("--list", "as_list", is_flag=True, help="List all tournaments, the latest last.")
@server_options()
def command(
    tournament: str | None,
    store: str,
    anchor: str | None,
    simultaneous: bool,
    as_json: bool,
    as_csv: bool,
    pairs: bool,
    as_list: bool,
    **given: Any,
) -> None:
    """Show the leaderboard of a tournament: TOURNAMENT is an id or its beginning.

    If left out it is the latest that is finished, with a line on a later one in play; or the latest, if none is finished yet.
    """
    server = server_of(given)
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other: leave one of them out.")
    form = Form(as_json=as_json, as_csv=as_csv, pairs=pairs, simultaneous=simultaneous)
    if server is not None:
        if anchor is not None:
            raise click.UsageError(
                "A server gives the leaderboard as it is: leave --anchor out, or name a database with --store."
            )
        if as_list:
            from arena.client import list_tournaments

            _print_list(asyncio.run(list_tournaments(server))[::-1], as_json=as_json)
            return
        print_server_leaderboard(server, tournament, form)
        return
    from arena.store import Store

    with Store.open(store, create=False) as opened:
        if as_list:
            _print_list([opened.listed(each) for each in opened.tournaments()], as_json=as_json)
            return
        print_leaderboard(opened, tournament, form, anchor=anchor)


def _print_list(tournaments: Sequence[ListedTournament], *, as_json: bool) -> None:
    from rich.table import Table

    if as_json:
        print_json(
            [
                {
                    "tournament": each.id,
                    "game": each.game,
                    "players": each.players,
                    "created": each.created.isoformat(timespec="seconds"),
                    "finished": each.finished,
                    "matches": each.matches,
                    "played": each.played,
                    "bots": list(each.bots),
                }
                for each in tournaments
            ]
        )
        return
    if not tournaments:
        click.echo("no tournament was played here yet: `arena tournament` plays one")
        return
    table = Table("tournament", "game", "players", "created (UTC)", "matches", box=None, pad_edge=False)
    for each in tournaments:
        played = f"{each.matches}" if each.finished else f"{each.played} of {each.matches}"
        created = f"{each.created:%Y-%m-%d %H:%M}"
        table.add_row(each.id, each.game, str(each.players), created, played)
    make_console().print(table)


def print_leaderboard(store: Store, tournament: str | None, form: Form, *, anchor: str | None = None) -> dict[str, Any]:
    """Print a stored tournament's leaderboard to stdout, and return its document.

    Raises BadInput for an unknown tournament or anchor.
    """
    from arena.report import stored_document

    found = store.latest_result(contest=True) if tournament is None else store.tournament(tournament)
    try:
        values = stored_document(store, found, anchor=anchor, pairs=form.needs_pairs)
    except ValueError as error:
        raise BadInput(str(error)) from error
    print_document(values, form, store.in_play(found) if tournament is None else None)
    return values


def print_server_leaderboard(server: ServerAddress, tournament: str | None, form: Form) -> dict[str, Any]:
    """Print a server's leaderboard to stdout, and return its document."""
    from arena.client import leaderboard_of_server

    text, later = asyncio.run(leaderboard_of_server(server, tournament, pairs=form.needs_pairs))
    values: dict[str, Any] = json.loads(text)
    print_document(values, form, later)
    return values
