"""`arena tournament`: plays a tournament, or what is left of it, and shows its leaderboard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.leaderboard import print_leaderboard, store_option
from arena.errors import BadInput, Interrupted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.events import Event
    from arena.store import Store
    from arena.tournament import Pace

EXAMPLE = """\b
Examples:
  arena tournament --bots bots.yaml
  arena tournament --bots bots.yaml --game heartswitch --players 3 --boards 240
  arena tournament --bots bots.yaml --option moon=26 --seed 7 --json > result.json
"""


@click.command(epilog=EXAMPLE)
@click.option(
    "--bots",
    "path",
    type=click.Path(path_type=Path),
    default=Path("bots.yaml"),
    show_default=True,
    help="The bots.yaml.",
)
@click.option("--game", metavar="NAME", help="The game; `arena games` lists them.")
@click.option("--players", type=int, metavar="N", help="How many sit at a table.")
@click.option("--sides", metavar="single|partners", help="Whether partners play together.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the game; may be given again.")
@click.option("--format", "format_", metavar="duplicate|game", help="Place each deal, or whole games.")
@click.option("--schedule", metavar="round-robin|balanced", help="How line-ups are made.")
@click.option("--boards", type=int, metavar="N", help="How many boards each bot plays at least.")
@click.option("--seed", metavar="TEXT", help="The seed of all deals, instead of 32 random bytes.")
@click.option("--decision-time", metavar="TIME", help="Time for a decision, such as 500ms.")
@click.option("--bank", metavar="TIME", help="Extra time a table, such as 10s.")
@click.option("--startup-time", metavar="TIME", help="Time to start, such as 30s.")
@click.option("--max-faults", type=int, metavar="N", help="So many faults retire a player from a table.")
@click.option("--fault-policy", metavar="substitute|forfeit", help="With forfeit the first fault retires.")
@click.option("--fill", is_flag=True, default=None, help="Fill empty seats with copies of bots.")
@click.option("--independent", is_flag=True, default=None, help="Deal anew at every table.")
@click.option("--trust-bots", is_flag=True, default=None, help="One process a bot: saves memory, trusts it to forget.")
@click.option("--skip-broken", is_flag=True, help="Play without the bots that don't start.")
@click.option("--tables", type=click.IntRange(1, 4096), default=64, show_default=True, help="Tables in play at once.")
@click.option(
    "--parallel", type=click.IntRange(1, 1024), help="Requests to bots in flight at once [default: the cores]."
)
@click.option("--processes", type=click.IntRange(1, 65536), help="Bot processes at once [default: half the memory].")
@store_option
@click.option("--resume", metavar="ID", help="Go on with this tournament, even if bots have changed.")
@click.option("--fresh", is_flag=True, help="Play again on new deals, even if it was played before.")
@click.option("--server", metavar="ADDRESS", help="Have the arena at this address play it.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else on stdout.")
def command(path: Path, store: str, server: str | None, as_json: bool, **given: Any) -> None:
    """Play a tournament between the bots of a bots.yaml and show its leaderboard.

    What has been played is kept: after an interruption the same command plays the rest, and on a finished tournament it shows
    the leaderboard again. Options given here win over the file.
    """
    how = {name: given.pop(name) for name in ("skip_broken", "tables", "parallel", "processes", "resume", "fresh")}
    overrides = {name.rstrip("_"): value for name, value in given.items() if value not in (None, ())}
    if how["resume"] and how["fresh"]:
        raise click.UsageError("--resume and --fresh exclude each other: leave one of them out.")
    if server is not None:
        _play_on_server(server, path, overrides, as_json=as_json)
    else:
        _play_here(path, store, overrides, how, as_json=as_json)


def _play_here(
    path: Path, store_url: str, overrides: Mapping[str, Any], how: Mapping[str, Any], *, as_json: bool
) -> None:
    from arena.config import load_config

    config = load_config(path, overrides)
    from arena.store import Store
    from arena.tournament import run_tournament

    with Store.open(store_url) as store:

        def play(stop: asyncio.Event) -> AsyncGenerator[Event, None]:
            return run_tournament(
                store,
                config.settings,
                config.entries,
                pace=_pace(how),
                resume=how["resume"],
                fresh=how["fresh"],
                skip_broken=how["skip_broken"],
                stop=stop,
            )

        tournament = asyncio.run(_show(play, lambda tournament: _current_leaderboard(store, tournament)))
        print_leaderboard(store, tournament, as_json=as_json)


def _pace(how: Mapping[str, Any]) -> Pace:
    from arena.tournament import Pace

    given = {name: how[name] for name in ("tables", "parallel", "processes") if how[name] is not None}
    return Pace(**given)


def _current_leaderboard(store: Store, tournament: str) -> RenderableType:
    from arena.cli.leaderboard import make_leaderboard
    from arena.report import stored_document

    return make_leaderboard(stored_document(store, store.tournament(tournament)))


async def _show(
    play: Callable[[asyncio.Event], AsyncGenerator[Event, None]],
    leaderboard: Callable[[str], RenderableType | None],
) -> str:
    """Play and show what happens on stderr; return the tournament's id."""
    from rich.console import Console

    from arena.cli.interrupts import stopping_on_signals
    from arena.cli.progress import LiveDisplay, PlainDisplay
    from arena.events import Started

    console = Console(stderr=True)
    tournament = ""
    display = LiveDisplay(console, lambda: leaderboard(tournament)) if console.is_terminal else PlainDisplay(console)
    with display, stopping_on_signals(lambda text: console.print(text, markup=False)) as stop:
        try:
            async with contextlib.aclosing(play(stop)) as events:
                async for event in events:
                    if isinstance(event, Started):
                        tournament = event.tournament
                    display.show(event)
        except asyncio.CancelledError:
            raise Interrupted("stopped at once; the same command plays the rest") from None
    return tournament


def _play_on_server(server: str, path: Path, overrides: Mapping[str, Any], *, as_json: bool) -> None:
    from arena.cli.leaderboard import print_server_leaderboard
    from arena.client import run_on_server

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: this can't be read: {error}; correct the path given with --bots") from error
    texts = {
        name: "\n".join(value) if isinstance(value, tuple) else str(value).lower() if value is True else str(value)
        for name, value in overrides.items()
    }

    def play(_stop: asyncio.Event) -> AsyncGenerator[Event, None]:
        return run_on_server(server, text, path.resolve(), texts)

    tournament = asyncio.run(_show(play, lambda _tournament: None))
    print_server_leaderboard(server, tournament, as_json=as_json)
