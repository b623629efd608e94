"""`arena serve`: a competition as a gRPC server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.options import files_option, in_order, store_option
from arena.cli.periods import Clock, Period

if TYPE_CHECKING:
    from arena.server import ArenaServer, Terms, Tls

EXAMPLE = """\b
Examples:
  arena serve
  arena serve --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem
  arena serve --store league.db --every 1h --incremental --config league.yaml
  arena serve --listen unix:/run/user/1000/arena.sock --at 08:00 --at 20:00
"""

_file = click.Path(exists=True, dir_okay=False, path_type=Path)

tls_options = in_order(
    click.option("--tls-cert", type=_file, help="The server's certificate, and those that vouch for it (PEM)."),
    click.option("--tls-key", type=_file, help="Its private key (PEM)."),
    click.option("--tls-client-ca", type=_file, help="Let in only callers with a certificate from one of these (PEM)."),
)
calendar_options = in_order(
    click.option("--every", type=Period(), metavar="PERIOD", help="Play a tournament so often, as in 30m, 1h, 1d."),
    click.option(
        "--at", type=Clock(), multiple=True, metavar="HH:MM", help="Play at this time each day; may be repeated."
    ),
    click.option(
        "--config", type=_file, help="What these tournaments play: a bots.yaml, with the bots of the house or none."
    ),
    click.option("--incremental", is_flag=True, help="Keep results between versions that have met before."),
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command line asks for."""

    listen: str
    store: str
    terms: Terms
    tls: Tls | None
    private: bool
    files: Path | None


@click.command(epilog=EXAMPLE)
@click.option(
    "--listen",
    default="127.0.0.1:50050",
    show_default=True,
    metavar="ADDRESS",
    help="host:port of this machine, or unix:/path.",
)
@store_option
@tls_options
@files_option
@click.option("--private", is_flag=True, help="Let nobody read without a token.")
@calendar_options
@click.option("--tables", type=click.IntRange(1, 4096), default=64, show_default=True, help="Tables in play at once.")
@click.option("--admissions", type=click.IntRange(1, 64), help="Admissions at once [default: the cores].")
@click.option("--quota", multiple=True, metavar="NAME=N", help="A limit for each owner, as in bots=5; may be repeated.")
@click.option("--private-addresses", is_flag=True, help="Take bots at addresses that only this network reaches, too.")
def command(
    listen: str,
    store: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    files: Path | None,
    private: bool,
    every: timedelta | None,
    at: Sequence[time],
    config: Path | None,
    incremental: bool,
    tables: int,
    admissions: int | None,
    quota: tuple[str, ...],
    private_addresses: bool,
) -> None:
    """Serve a competition until Ctrl-C or SIGTERM: take bots in, play tournaments, show leaderboards.

    While no token was made (`arena token create`), and it listens on the loopback interface or a unix socket only, whoever
    reaches the server is its organiser, and can have it run commands as you. Submissions, decisions and tournaments are told
    on stderr, and when the calendar's next one is due.

    Quotas, each with its default: calls=600 a minute, at_once=32, uploads=4, submissions=60 an hour, waiting=10, bots=10,
    megabytes=1000, refusals=30 bad tokens a minute.
    """
    if (tls_cert is None) is not (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together: give both, or neither.")
    if tls_client_ca is not None and tls_cert is None:
        raise click.UsageError("--tls-client-ca needs --tls-cert and --tls-key.")
    if incremental and every is None and not at:
        raise click.UsageError("--incremental is about the tournaments of --every and --at: give one of them.")
    from arena.document import read_file
    from arena.server import DRAINING, Terms, Tls
    from arena.server.calendar import Calendar
    from arena.server.limits import Quotas
    from arena.tournament import Pace

    terms = Terms(
        pace=Pace(tables=tables, freeze=True, grace=DRAINING),
        quotas=Quotas.parse(quota),
        admissions=admissions or os.cpu_count() or 1,
        calendar=Calendar(every, at),
        config=read_file(config) if config else "{}",
        config_path=(config or Path("bots.yaml")).absolute(),
        incremental=incremental,
        admission=replace(Terms().admission, private_addresses=private_addresses),
    )
    tls = Tls(tls_cert, tls_key, tls_client_ca) if tls_cert and tls_key else None
    asyncio.run(_serve(_Wanted(listen, store, terms, tls, private, files)))


async def _serve(wanted: _Wanted) -> None:
    from arena.cli.interrupts import stopping_on_signals
    from arena.cli.log import showing_log
    from arena.server import DRAINING, ArenaServer

    tell = f"stopping: what is in play has {DRAINING:.0f} seconds to finish; once more stops at once"
    with showing_log() as begin:
        server = await ArenaServer.start(
            wanted.store, wanted.listen, wanted.terms, tls=wanted.tls, private=wanted.private, files=wanted.files
        )
        try:
            with stopping_on_signals(lambda: click.echo(tell, err=True)) as stop:
                with suppress(OSError):  # whoever would read it may be gone
                    click.echo("\n".join(_description(server, wanted)), err=True)
                begin()
                await stop.wait()
                await server.close()
        except asyncio.CancelledError:
            await server.close(0.0)
            raise


def _description(server: ArenaServer, wanted: _Wanted) -> list[str]:
    """Say in lines where the server is, and who may do what."""
    listen = wanted.listen
    address = listen if listen.startswith("unix:") else f"{listen.rpartition(':')[0]}:{server.port}"
    lines = [f"arena serves at {address}{' with TLS' if wanted.tls else ''}; stop it with Ctrl-C"]
    lines.append(server.access)
    if obstacle := server.competition.obstacle:
        lines.append(f"it takes bots at addresses only, since there is no sandbox: {obstacle}")
    if wanted.terms.calendar:
        lines.append("tournaments begin by the calendar, among the bots that are admitted by then")
    return lines
