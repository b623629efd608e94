"""Options that several commands share, in groups; each is a decorator."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from arena.errors import BadInput
from arena.sockets import check_server

if TYPE_CHECKING:
    from arena.client import ServerAddress
    from arena.store import Store
    from arena.submission.shelf import Shelf

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]

PACE: Final = ("tables", "parallel", "processes", "freeze", "bot_logs")
"""The parameters of `pace_options`."""


def in_order(*options: Decorator[Any]) -> Decorator[Any]:
    """Make one decorator of several options, which the help lists in this order."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


bots_option = click.option(
    "--bots",
    "path",
    type=click.Path(path_type=Path),
    default=Path("bots.yaml"),
    show_default=True,
    help="The bots.yaml.",
)

game_options = in_order(
    click.option("--game", metavar="NAME", help="The game; `arena games` lists them."),
    click.option("--players", type=int, metavar="N", help="How many sit at a table."),
    click.option("--sides", metavar="single|partners", help="Whether partners play together."),
    click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the game; may be given again."),
    click.option("--format", "format_", metavar="duplicate|game", help="Place each deal, or whole games."),
)

play_options = in_order(
    click.option("--seed", metavar="TEXT", help="The seed of all deals, instead of 32 random bytes."),
    click.option("--decision-time", metavar="TIME", help="Time for a decision, such as 500ms."),
    click.option("--bank", metavar="TIME", help="Extra time a table, such as 10s."),
    click.option("--startup-time", metavar="TIME", help="Time to start, such as 30s."),
    click.option("--max-faults", type=int, metavar="N", help="So many faults retire a player from a table."),
    click.option("--fault-policy", metavar="substitute|forfeit", help="With forfeit the first fault retires."),
    click.option("--independent", is_flag=True, default=None, help="Deal anew at every table."),
    click.option(
        "--trust-bots", is_flag=True, default=None, help="One process a bot: saves memory, trusts it to forget."
    ),
    click.option(
        "--isolation", metavar="auto|bubblewrap|none", help="Whether bots run in a sandbox [default: where it works]."
    ),
)

pace_options = in_order(
    click.option(
        "--tables", type=click.IntRange(1, 4096), default=64, show_default=True, help="Tables in play at once."
    ),
    click.option(
        "--parallel", type=click.IntRange(1, 1024), help="Requests to bots in flight at once [default: the cores]."
    ),
    click.option(
        "--processes", type=click.IntRange(1, 65536), help="Bot processes at once [default: half the memory]."
    ),
    click.option("--freeze", is_flag=True, help="Stop bots while they aren't being asked."),
    click.option(
        "--bot-logs",
        type=click.Path(file_okay=False, path_type=Path),
        help="Keep what bots write in this folder, a file an instance, at most 16 MiB each.",
    ),
)

store_option = click.option(
    "--store",
    default="arena.db",
    show_default=True,
    envvar="ARENA_STORE",
    metavar="PATH|URL",
    help="The database: a file, or an SQLAlchemy URL.",
)

files_option = click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ARENA_FILES",
    metavar="DIR",
    help="The folder for the files of bots that are submitted [default: beside the database].",
)

_file = click.Path(exists=True, dir_okay=False, path_type=Path)

USUAL_SERVER: Final = "ARENA_SERVER"
"""The variable that names the server of all commands but `arena tournament`."""

_CALLING: Final = ("token_file", "tls_ca", "tls_cert", "tls_key", "plaintext")


def server_options(*, usual: bool = True) -> Callable[[F], F]:
    """Return the options that name a server; with `usual` the variable ARENA_SERVER names one too."""
    default = " [default: the variable ARENA_SERVER]" if usual else ""
    return in_order(
        click.option("--server", metavar="ADDRESS", help=f"The arena at host:port or unix:/path{default}."),
        click.option("--token-file", type=_file, help="The file with your token [default: the variable ARENA_TOKEN]."),
        click.option(
            "--tls-ca",
            type=_file,
            envvar="ARENA_TLS_CA",
            help="Trust servers that this certificate vouches for (PEM) [default: the variable ARENA_TLS_CA].",
        ),
        click.option("--tls-cert", type=_file, help="Your own certificate, where the server wants one (PEM)."),
        click.option("--tls-key", type=_file, help="Its private key (PEM)."),
        click.option("--plaintext", is_flag=True, help="Speak without TLS to another machine; no token is sent then."),
    )


fresh_option = click.option("--fresh", is_flag=True, help="Play again on new deals, even if it was played before.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else on stdout."
)


def shelf_of(store: Store, files: Path | None) -> Shelf:
    """Return where the files of a store's bots are; raise BadInput where that has to be said."""
    from arena.submission.shelf import Shelf

    return Shelf.at(files) if files is not None else Shelf.beside(store.place)


def server_of(given: dict[str, Any], *, usual: bool = True) -> ServerAddress | None:
    """Take the options of `server_options` out of those given, and return the server that they name, if any.

    A store that is named on the command line wins over ARENA_SERVER. Raises UsageError, or BadInput for an address or a token
    that is none.
    """
    address = given.pop("server")
    token_file, authority, certificate, key, plaintext = (given.pop(name) for name in _CALLING)
    context = click.get_current_context()
    named = {name for name in ("store", *_CALLING) if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if address and "store" in named:
        raise click.UsageError("--server and --store name two places: leave one of them out.")
    if not address and usual and "store" not in named:
        address = os.environ.get(USUAL_SERVER)
    if not address:
        if calling := [name for name in _CALLING if name in named]:
            raise click.UsageError(f"--{calling[0].replace('_', '-')} is about a server: name it with --server.")
        return None
    if (certificate is None) is not (key is None):
        raise click.UsageError("--tls-cert and --tls-key go together: give both, or neither.")
    from arena.client import ServerAddress

    token = _token(token_file)
    return ServerAddress(check_server(address), token, authority, certificate, key, plaintext)


def _token(file: Path | None) -> str:
    """Return the caller's token, empty for none; raise BadInput for what can't be one."""
    from arena.tokens import token_id

    source = str(file) if file else "the variable ARENA_TOKEN"
    text = file.read_text(encoding="utf-8-sig", errors="replace") if file else os.environ.get("ARENA_TOKEN", "")
    token = text.strip()
    if (token or file) and not token_id(token):
        raise BadInput(f"{source} holds no token: one reads arena_ID_SECRET, as `arena token create` has shown it")
    return token


def overrides_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of game and play that were given, by the names that `arena.config.load_config` knows."""
    return {name.rstrip("_"): value for name, value in given.items() if value not in (None, ())}
