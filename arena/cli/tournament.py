"""`arena tournament`: plays a tournament, or what is left of it, and shows its leaderboard."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from arena.cli import UNDECIDED
from arena.cli.leaderboard import print_leaderboard
from arena.cli.options import (
    PACE,
    USUAL_SERVER,
    bots_option,
    files_option,
    fresh_option,
    game_options,
    in_order,
    json_option,
    overrides_of,
    pace_options,
    play_options,
    server_of,
    server_options,
    shelf_of,
    store_option,
)
from arena.cli.output import print_note
from arena.cli.playing import pace_of, play_and_show
from arena.cli.standings import Form
from arena.errors import BadInput, Interrupted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.client import ServerAddress
    from arena.competitors import House
    from arena.config import Config
    from arena.events import Event
    from arena.store import Store

EXAMPLE = """\b
Examples:
  arena tournament --bots bots.yaml
  arena tournament --bots bots.yaml --game heartswitch --players 3
  arena tournament --bots bots.yaml --option moon=26 --json > result.json
  arena tournament --bots bots.yaml --until-settled 3 --budget 5000

Exit codes: 0 done, 4 --until-settled is open when the budget is spent.
"""


HOW: Final = ("skip_broken", "submitted", "house", "files", *PACE, "resume", "fresh", "incremental")
"""The parameters that say how it is played here, and change nothing in what is played."""

schedule_options = in_order(
    click.option("--schedule", metavar="round-robin|balanced|gauntlet|adaptive", help="How line-ups are made."),
    click.option("--boards", type=int, metavar="N", help="How many boards each bot plays at least."),
    click.option("--gauntlet", metavar="BOT", help="Every line-up contains this bot; the others meet evenly."),
    click.option("--until-settled", type=int, metavar="N", help="Play until the order of the best N is known."),
    click.option("--tie-margin", type=float, metavar="POINTS", help="So close a deal counts as a tie [default: 0.15]."),
    click.option("--budget", type=int, metavar="N", help="Boards at most with --until-settled [default: 20000]."),
    click.option("--fill", is_flag=True, default=None, help="Fill empty seats with copies of bots."),
)


@click.command(epilog=EXAMPLE)
@bots_option
@game_options
@schedule_options
@play_options
@click.option(
    "--submitted", is_flag=True, help="Play the bots that were submitted [default: if there is no bots.yaml]."
)
@click.option(
    "--house/--no-house", default=None, help="With bots of the house, or never [default: if seats are empty]."
)
@click.option("--skip-broken", is_flag=True, help="Play without the bots that don't start.")
@pace_options
@store_option
@files_option
@click.option("--resume", metavar="ID", help="Go on with this tournament, even if bots have changed.")
@fresh_option
@click.option(
    "--incremental", is_flag=True, help="Keep results between bots that are unchanged; play only what is new."
)
@server_options(usual=False)
@json_option
def command(path: Path, store: str, as_json: bool, **given: Any) -> int:
    """Play a tournament between the bots of a bots.yaml and show its leaderboard.

    Without a bots.yaml, or if it lists no bots, those play that were submitted (`arena submit`), and where they are too few
    for a table, sample bots of the house besides. What has been played is kept: after an interruption the same command plays
    the rest, and on a finished tournament it shows the leaderboard again. Options given here win over the file.
    """
    server = server_of(given, usual=False)
    how = {name: given.pop(name) for name in HOW}
    how["named"] = click.get_current_context().get_parameter_source("path") is not ParameterSource.DEFAULT
    overrides = overrides_of(given)
    for name, value in {"seed": given["seed"], "resume": how["resume"]}.items():
        if value == "":
            raise click.UsageError(f"--{name} is empty: give it a text, or leave it out.")
    if how["fresh"] and how["incremental"]:
        raise click.UsageError("--fresh and --incremental exclude each other: leave one of them out.")
    if how["resume"] and how["fresh"]:
        raise click.UsageError("--resume and --fresh exclude each other: leave one of them out.")
    if server is not None:
        _refuse_local_options(click.get_current_context())
        values = _play_on_server(server, path, overrides, how, as_json=as_json)
    else:
        if os.environ.get(USUAL_SERVER):
            print_note(f"it is played here: {USUAL_SERVER} is for the other commands, --server has it played there")
        values = _play_here(path, store, overrides, how, as_json=as_json)
    return UNDECIDED if values["settled"] is False else 0


def _refuse_local_options(context: click.Context) -> None:
    """Raise UsageError for options that a server would not heed."""
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT)
        if given and name in {"store", *HOW} - {"incremental", "fresh"}:
            raise click.UsageError(
                f"{parameter.opts[0]} is not for --server, which plays in its own way: leave it out."
            )


def _play_here(
    path: Path, store_url: str, overrides: Mapping[str, Any], how: Mapping[str, Any], *, as_json: bool
) -> dict[str, Any]:
    from arena.store import Store

    config = None if how["submitted"] or (not path.is_file() and not how["named"]) else _named_bots(path, overrides)
    house = None
    if config is None:
        config, house = _submitted_bots(store_url, path, overrides, how)
    with Store.open(store_url) as store:
        from arena.tournament import run_tournament
        from arena.verdict import plan_of

        grows = config.settings.settling is not None

        def play(stop: asyncio.Event) -> AsyncGenerator[Event, None]:
            return run_tournament(
                store,
                config.settings,
                config.entries,
                plan_of=plan_of,
                pace=pace_of(how),
                resume=how["resume"],
                fresh=how["fresh"],
                skip_broken=how["skip_broken"],
                house=house,
                incremental=how["incremental"],
                stop=stop,
            )

        tournament = play_and_show(play, lambda tournament: _current_leaderboard(store, tournament), grows=grows)
        return print_leaderboard(store, tournament, Form(as_json=as_json))


def _named_bots(path: Path, overrides: Mapping[str, Any]) -> Config | None:
    """Return what a bots.yaml says; None where it lists no bots."""
    from arena.config import load_config

    config = load_config(path, overrides, bots_needed=False)
    return load_config(path, overrides) if config.entries else None


def _submitted_bots(
    store_url: str, path: Path, overrides: Mapping[str, Any], how: Mapping[str, Any]
) -> tuple[Config, House]:
    """Return the bots that were submitted, with the settings of the bots.yaml if there is one; makes no database."""
    from arena.competitors import House, competitors
    from arena.config import Config, load_config, parse_config
    from arena.document import misnamed
    from arena.store import Store

    there, house = path.is_file() or how["named"], how["house"]
    config = (
        load_config(path, overrides, bots_needed=False)
        if there
        else parse_config("", path, overrides, bots_needed=False)
    )
    instead = "" if there else misnamed(path)
    notices = [f"no {path.name} is here{instead}"] if instead else []
    entries = list(config.entries)
    if Store.exists(store_url):
        with Store.open(store_url, create=False) as store:
            folder = shelf_of(store, how["files"]).whole
            entries += competitors(store, folder, config.settings.game, notices, config.entries)
    for notice in notices:
        print_note(notice)
    if not entries and not house:
        where = f"{path} lists no bots" if there else f"there is no {path} here"
        why = (
            f"no bot that was submitted plays {config.settings.game}"
            if len(notices) > bool(instead)
            else "no bot was submitted"
        )
        raise BadInput(f"{where}, and {why}: list some, or submit one with `arena submit DIR`")
    hint = " (--no-house leaves them out)"
    return Config(config.settings, tuple(entries)), House.beside(entries, wanted=house, hint=hint)


def _current_leaderboard(store: Store, tournament: str) -> RenderableType:
    from arena.cli.standings import make_leaderboard
    from arena.report import stored_document

    values = stored_document(store, store.tournament(tournament), pairs=False)
    return make_leaderboard({**values, "notes": []})  # the bar above it says how far it is


def _play_on_server(
    server: ServerAddress, path: Path, overrides: Mapping[str, Any], how: Mapping[str, Any], *, as_json: bool
) -> dict[str, Any]:
    from arena.cli.leaderboard import print_server_leaderboard
    from arena.client import run_on_server
    from arena.document import read_file

    text = read_file(path) if how["named"] or path.is_file() else ""
    texts = {
        name: "\n".join(value) if isinstance(value, tuple) else str(value).lower() if value is True else str(value)
        for name, value in overrides.items()
    }

    where = path.resolve()

    async def play(stop: asyncio.Event) -> AsyncGenerator[Event, None]:
        running = run_on_server(server, text, where, texts, incremental=how["incremental"], fresh=how["fresh"])
        async with contextlib.aclosing(running) as events:
            stopping = asyncio.create_task(stop.wait())
            while True:
                coming = asyncio.ensure_future(anext(events, None))
                await asyncio.wait({coming, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)
                    raise Interrupted(left)
                event = coming.result()
                if event is None:
                    stopping.cancel()
                    return
                yield event

    left = f"the server plays on: `arena leaderboard --server {server.address}` shows how far it is"
    tournament = play_and_show(play, lambda _tournament: None, stopping="leaving the server", stopped=left)
    return print_server_leaderboard(server, tournament, Form(as_json=as_json))
