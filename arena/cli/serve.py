"""`arena serve`: the arena as a gRPC server."""

from __future__ import annotations

import asyncio

import click

from arena.cli.options import store_option

GRACE = 30.0
"""Seconds that the server has to end its tournaments once it is to stop."""

EXAMPLE = """\b
Examples:
  arena serve
  arena serve --listen unix:/run/user/1000/arena.sock --store league.db
"""


@click.command(epilog=EXAMPLE)
@click.option(
    "--listen",
    default="127.0.0.1:50050",
    show_default=True,
    metavar="ADDRESS",
    help="host:port of this machine, or unix:/path.",
)
@store_option
@click.option("--tables", type=click.IntRange(1, 4096), default=64, show_default=True, help="Tables in play at once.")
def command(listen: str, store: str, tables: int) -> None:
    """Serve tournaments and leaderboards on this machine, until Ctrl-C or SIGTERM.

    Whoever can reach the server can have it run commands as you: it listens on the loopback interface or a unix socket only.
    """
    asyncio.run(_serve(listen, store, tables))


async def _serve(listen: str, store_url: str, tables: int) -> None:
    from arena.cli.interrupts import stopping_on_signals
    from arena.server import ArenaServicer, create_server
    from arena.sockets import owned_socket
    from arena.store import Store
    from arena.tournament import Pace

    Store.open(store_url).close()
    servicer = ArenaServicer(store_url, Pace(tables=tables, freeze=True))
    server, port = await create_server(servicer, listen)
    address = listen if listen.startswith("unix:") else f"{listen.rpartition(':')[0]}:{port}"
    click.echo(f"arena serves at {address}; stop it with Ctrl-C", err=True)
    tell = "stopping: what is in play has 5 seconds to finish; once more stops at once"
    with owned_socket(listen), stopping_on_signals(lambda: click.echo(tell, err=True)) as stop:
        try:
            await stop.wait()
        finally:
            await servicer.close(GRACE)
            await server.stop(grace=1.0)
