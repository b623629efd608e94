"""`arena withdraw`: a bot plays no more, or an earlier version of it plays again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from arena.cli.options import server_of, server_options, store_option
from arena.text import clean_line

if TYPE_CHECKING:
    from arena.client import ServerAddress
    from arena.competition import ListedBot

EXAMPLE = """\b
Examples:
  arena withdraw my-bot
  arena withdraw my-bot --back-to 2
  arena withdraw my-bot --server arena.example.org:443
"""


@click.command(epilog=EXAMPLE)
@click.argument("bot", metavar="BOT")
@click.option("--back-to", type=click.IntRange(1), metavar="VERSION", help="Let this earlier version play again.")
@store_option
@server_options()
def command(bot: str, back_to: int | None, store: str, **given: Any) -> None:
    """Withdraw a bot from the tournaments to come, or go back to an earlier version of it.

    Its results stay. To have it play again, submit it again, or use --back-to; what an organiser has withdrawn of another owner
    only an organiser brings back.
    """
    now = _change(server_of(given), store, bot, back_to or 0)
    name = clean_line(now.name)
    click.echo(f"{name}: version {now.current} plays now" if now.current else f"{name} is withdrawn")


def _change(server: ServerAddress | None, store_url: str, bot: str, version: int) -> ListedBot:
    if server is not None:
        from arena.client import withdraw

        return asyncio.run(withdraw(server, bot, version))
    from arena.competition import LOCAL, Deed
    from arena.store import Store

    with Store.open(store_url, create=False) as store:
        changed = store.submissions.use(bot, version, who=LOCAL, organiser=True).listed
        about = f"{changed.name}, back to version {version}" if version else changed.name
        store.audit.add(Deed(datetime.now(UTC), LOCAL, "", "withdraw", about, "done"))
        return changed
