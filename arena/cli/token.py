"""`arena token`: who may do what on a server, and who did what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from arena.cli.options import json_option, store_option
from arena.cli.output import make_console, print_json
from arena.cli.periods import Period
from arena.errors import BadInput

if TYPE_CHECKING:
    from arena.competition import Token

LIFETIME: Final = timedelta(days=365)

_RESERVED: Final = ("local", "calendar")


@click.group(
    epilog="""\b
Examples:
  arena token create alice
  arena token list
"""
)
def command() -> None:
    """Make, list and revoke the tokens of a server, and show its audit log."""


@command.command(
    epilog="""\b
Examples:
  arena token create alice
  arena token create carol --role organiser --expires 30d
  TOKEN=$(arena token create alice)
"""
)
@click.argument("owner")
@click.option(
    "--role",
    type=click.Choice(["contestant", "organiser"]),
    default="contestant",
    show_default=True,
    help="What it allows.",
)
@click.option(
    "--expires", type=Period(), metavar="PERIOD", default="365d", show_default=True, help="How long it is valid."
)
@store_option
def create(owner: str, role: str, expires: timedelta, store: str) -> None:
    """Make a token for OWNER and print it: it can't be shown again, since only a hash of it is kept."""
    from arena.competition import Role
    from arena.store import Store
    from arena.tokens import draw_token

    name = _owner(owner)
    with Store.open(store) as opened:
        token, text = draw_token(name, Role(role), expires)
        opened.tokens.add(token)
        _note(opened, "token create", f"{token.id} for {name}, {role}")
    click.echo(text)
    click.echo(
        f"token {token.id} of {name}, {role}, is valid until {token.expires:%Y-%m-%d}; give it to nobody else, and set"
        f" ARENA_TOKEN to it. `arena token revoke {token.id}` ends it",
        err=True,
    )


@command.command("list", epilog="\b\nExample:\n  arena token list --store league.db\n")
@store_option
@json_option
def list_(store: str, as_json: bool) -> None:
    """List all tokens, without their secrets."""
    from rich.table import Table

    from arena.store import Store

    with Store.open(store, create=False) as opened:
        tokens = opened.tokens.all()
    now = datetime.now(UTC)
    if as_json:
        print_json(
            [
                {
                    "id": token.id,
                    "owner": token.owner,
                    "role": token.role.value,
                    "created": token.created.isoformat(),
                    "expires": token.expires and token.expires.isoformat(),
                    "state": _state(token, now),
                }
                for token in tokens
            ]
        )
        return
    table = Table("id", "owner", "role", "created", "expires", "state", box=None, pad_edge=False)
    for token in tokens:
        expires = "never" if token.expires is None else f"{token.expires:%Y-%m-%d}"
        table.add_row(token.id, token.owner, token.role, f"{token.created:%Y-%m-%d}", expires, _state(token, now))
    make_console().print(table)


@command.command(epilog="\b\nExample:\n  arena token revoke 3f9a01bc\n")
@click.argument("token_id", metavar="ID")
@store_option
def revoke(token_id: str, store: str) -> None:
    """Revoke the token of this ID: it lets nobody in any more."""
    from arena.store import Store
    from arena.tokens import revoke as revoked

    with Store.open(store, create=False) as opened:
        token = opened.tokens.find(token_id)
        if token is None:
            raise BadInput(f"there is no token {token_id!r}: `arena token list` lists them")
        opened.tokens.change(revoked(token, datetime.now(UTC).replace(microsecond=0)))
        _note(opened, "token revoke", f"{token.id} of {token.owner}")
    click.echo(f"token {token.id} of {token.owner} is revoked")


@command.command(epilog="\b\nExample:\n  arena token log --last 20\n")
@click.option("--last", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many entries.")
@store_option
@json_option
def log(last: int, store: str, as_json: bool) -> None:
    """Show the audit log: who did what, when, and how it ended."""
    from rich.table import Table

    from arena.store import Store

    with Store.open(store, create=False) as opened:
        deeds = opened.audit.last(last)
    if as_json:
        names = ("who", "token", "deed", "what", "outcome")
        print_json([{"time": deed.time.isoformat()} | {name: getattr(deed, name) for name in names} for deed in deeds])
        return
    table = Table("time (UTC)", "who", "token", "deed", "about", "outcome", box=None, pad_edge=False)
    for deed in deeds:
        time = f"{deed.time:%Y-%m-%d %H:%M:%S}"
        table.add_row(time, deed.who or "nobody", deed.token, deed.deed, deed.what, deed.outcome)
    make_console().print(table)


def _owner(text: str) -> str:
    """Return an owner's name, to which the same applies as to a bot's."""
    from arena.document import Node, Place, Wrong
    from arena.entries import name_key, read_name

    try:
        name = read_name(Node(text, Place(), text))
    except Wrong as wrong:
        raise BadInput(f"{text!r} can't be an owner's name: {wrong.message}") from None
    if name_key(name) in _RESERVED:
        raise BadInput(f"{name!r} is a name that the arena itself has: choose another one")
    return name


def _state(token: Token, now: datetime) -> str:
    if token.revoked is not None:
        return "revoked"
    return "expired" if token.expires is not None and token.expires <= now else "valid"


def _note(store: object, deed: str, about: str) -> None:
    from arena.competition import LOCAL, Deed
    from arena.store import Store

    assert isinstance(store, Store)
    store.audit.add(Deed(datetime.now(UTC), LOCAL, "", deed, about, "done"))
