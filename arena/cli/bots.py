"""`arena bots`: the bots of a competition, their versions, and what their admission came to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from arena.cli.admission import print_step, version_values
from arena.cli.options import json_option, server_of, server_options, store_option
from arena.cli.output import make_console, print_json
from arena.errors import BadInput
from arena.text import clean_line

if TYPE_CHECKING:
    from arena.client import ServerAddress
    from arena.competition import AdmissionStep, ListedBot, Version

EXAMPLE = """\b
Examples:
  arena bots
  arena bots my-bot --server arena.example.org:443
  arena bots my-bot --log build --version 2
"""

Versions = list[tuple["Version", list["AdmissionStep"]]]


@click.command(epilog=EXAMPLE)
@click.argument("bot", required=False, metavar="[BOT]")
@click.option("--log", "step", type=click.Choice(["unpack", "build", "check", "play"]), help="Print the log of a step.")
@click.option("--version", "number", type=click.IntRange(1), help="Of this version [default: the latest].")
@store_option
@server_options()
@json_option
def command(bot: str | None, step: str | None, number: int | None, store: str, as_json: bool, **given: Any) -> None:
    """List the bots of a competition; or the versions of one bot of yours, with the steps of their admission."""
    server = server_of(given)
    if bot is None:
        if step or number:
            raise click.UsageError("--log and --version are about one bot: name it.")
        _print_bots(_bots(server, store), as_json=as_json)
        return
    about, versions = _versions(server, store, bot)
    if step:
        _print_log(about, versions, step, number)
        return
    chosen = [each for each in versions if number in (None, each[0].number)]
    if not chosen:
        raise BadInput(
            f"{clean_line(bot)} has no version {number}: it has {sum(version.number > 0 for version, _ in versions)}"
        )
    _print_versions(about, chosen, as_json=as_json)


def _bots(server: ServerAddress | None, store_url: str) -> list[ListedBot]:
    if server is not None:
        from arena.client import list_bots

        return asyncio.run(list_bots(server))
    from arena.store import Store

    with Store.open(store_url, create=False) as store:
        return [bot.listed for bot in store.submissions.bots()]


def _versions(server: ServerAddress | None, store_url: str, bot: str) -> tuple[ListedBot, Versions]:
    if server is not None:
        from arena.client import list_versions

        return asyncio.run(list_versions(server, bot))
    from arena.store import Store

    with Store.open(store_url, create=False) as store:
        about = store.submissions.bot(bot, hopeless=True).listed
        versions = store.submissions.versions(bot)
        return about, [(version, store.submissions.steps(version.submission)) for version in versions]


def _print_bots(bots: Sequence[ListedBot], *, as_json: bool) -> None:
    from rich.table import Table

    if as_json:
        print_json(
            [
                {
                    "bot": bot.name,
                    "owner": bot.owner,
                    "author": bot.author,
                    "games": list(bot.games),
                    "version": bot.current or None,
                    "versions": bot.versions,
                    "barred": bot.barred,
                }
                for bot in bots
            ]
        )
        return
    if not bots:
        click.echo("no bot was submitted yet: `arena submit DIR` submits one")
        return
    table = Table("bot", "owner", "plays", "author", "games", box=None, pad_edge=False)
    for bot in bots:
        table.add_row(bot.name, bot.owner, bot.state, bot.author, ", ".join(bot.games) or "all")
    make_console().print(table)


def _print_versions(bot: ListedBot, versions: Versions, *, as_json: bool) -> None:
    if as_json:
        print_json([version_values(version, steps, logs=False) for version, steps in versions])
        return
    console = make_console()
    console.print(f"{bot.name} of {bot.owner} plays {bot.state}", soft_wrap=True)
    for version, steps in versions:
        which = f"version {version.number}: {version.state}" if version.number else f"{version.state}"
        console.print(f"{which}, {version.created:%Y-%m-%d %H:%M} UTC", style="bold")
        for step in steps:
            print_step(console, step)


def _print_log(bot: ListedBot, versions: Versions, name: str, number: int | None) -> None:
    """Print the log of a step of a version, the latest by default."""
    for version, steps in reversed(versions):
        if number in (None, version.number):
            log = next((step.log for step in steps if step.name == name), None)
            if log is None:
                which = f"version {version.number}" if version.number else "what was refused"
                raise BadInput(f"{which} of {bot.name} has not come to the step {name}")
            nothing = f"nothing is to be read of the step {name}: it has no log, or {bot.owner} alone may read it"
            click.echo(log.rstrip("\n") or nothing)
            return
    raise BadInput(f"{bot.name} has no version {number}: it has {sum(version.number > 0 for version, _ in versions)}")
