"""`arena token`: who may do what on a server, and who did what."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from arena.cli.options import json_option, store_option
from arena.cli.output import make_console, print_json
from arena.cli.periods import Period
from arena.errors import BadInput

if TYPE_CHECKING:
    from arena.competition import Token
    from arena.store import Store

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
@json_option
def create(owner: str, role: str, expires: timedelta, store: str, as_json: bool) -> None:
    """Make a token for OWNER and print it: it can't be shown again, since only a hash of it is kept.

    Contestants submit and withdraw their own bots; organisers also run tournaments, and withdraw anybody's.
    """
    from arena.competition import Role
    from arena.store import Store
    from arena.tokens import draw_token

    name = _read_owner(owner)
    with Store.open(store) as opened:
        _refuse_other_spelling(name, opened.tokens.all())
        token, text = draw_token(name, Role(role), expires)
        opened.tokens.add(token)
        _note(opened, "token create", f"{token.id} for {name}, {role}")
    if as_json:
        print_json(_values(token, datetime.now(UTC)) | {"token": text})
    else:
        click.echo(text)
    click.echo(
        f"token {token.id} of {name}, {role}, is valid until {_day(token.expires)}. It is shown this once: pass it on in"
        f" private, to be set as ARENA_TOKEN or kept in a file for --token-file. `arena token revoke {token.id}` ends it",
        err=True,
    )


@command.command("list", epilog="\b\nExample:\n  arena token list --store league.db\n")
@store_option
@json_option
def list_(store: str, as_json: bool) -> None:
    """List all tokens, without their secrets."""
    from rich.table import Table

    from arena.store import Store
    from arena.text import clean_line

    with Store.open(store, create=False) as opened:
        tokens = opened.tokens.all()
    now = datetime.now(UTC)
    if as_json:
        print_json([_values(token, now) for token in tokens])
        return
    if not tokens:
        click.echo("no tokens yet: `arena token create OWNER` makes one", err=True)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("id", "owner", "role", "created", "expires", "state"):
        table.add_column(name, no_wrap=name != "owner", overflow="fold")
    for token in tokens:
        days = _day(token.created), _day(token.expires)
        table.add_row(token.id, clean_line(token.owner), token.role, *days, _state(token, now))
    make_console().print(table)


@command.command(epilog="\b\nExample:\n  arena token revoke 3f9a01bc\n")
@click.argument("token_id", metavar="ID")
@store_option
@json_option
def revoke(token_id: str, store: str, as_json: bool) -> None:
    """Revoke the token of this ID: it lets nobody in any more."""
    from arena.store import Store
    from arena.tokens import revoke as revoked

    with Store.open(store, create=False) as opened:
        token = opened.tokens.find(token_id)
        if token is None:
            raise BadInput(f"there is no token {token_id!r}: `arena token list` lists them")
        now = datetime.now(UTC).replace(microsecond=0)
        token = revoked(token, now)
        opened.tokens.change(token)
        _note(opened, "token revoke", f"{token.id} of {token.owner}")
    if as_json:
        print_json(_values(token, now))
    else:
        click.echo(f"token {token.id} of {token.owner} is revoked")


@command.command(epilog="\b\nExample:\n  arena token log --last 20\n")
@click.option("--last", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many entries.")
@store_option
@json_option
def log(last: int, store: str, as_json: bool) -> None:
    """Show the audit log, a line a deed: who did what, when, and how it ended.

    Without a token nobody is known: what was done on the server's own machine is done by `local`, and a stranger has no name.
    """
    from rich.cells import cell_len, set_cell_size

    from arena.store import Store
    from arena.text import clean_line

    with Store.open(store, create=False) as opened:
        deeds = opened.audit.last(last)
    if as_json:
        names = ("who", "token", "deed", "what", "outcome")
        print_json([{"time": deed.time.isoformat()} | {name: getattr(deed, name) for name in names} for deed in deeds])
        return
    rows: list[tuple[str, ...]] = [("time (UTC)", "who", "token", "deed", "outcome", "what")]
    for deed in deeds:
        texts = (clean_line(text) for text in (deed.who, deed.token, deed.deed, deed.outcome, deed.what))
        rows.append((f"{deed.time:%Y-%m-%d %H:%M:%S}", *texts))
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(map(set_cell_size, row, widths)).rstrip())


def _read_owner(text: str) -> str:
    """Return an owner's name, to which the same applies as to a bot's."""
    from arena.document import Wrong
    from arena.entries import check_name
    from arena.likeness import resembled

    try:
        name = check_name(text)
    except Wrong as wrong:
        raise BadInput(f"{text!r} can't be an owner's name: {wrong.message}") from None
    if resembled(name, _RESERVED):
        raise BadInput(f"{name!r} is a name that the arena itself has: choose another one")
    return name


def _refuse_other_spelling(name: str, tokens: Iterable[Token]) -> None:
    """Refuse a name that can be taken for that of another owner: whoever got such a token would own none of their bots."""
    from arena.likeness import alike

    for token in tokens:
        if token.owner != name and alike(token.owner, name):
            raise BadInput(f"there is an owner {token.owner!r} already: write the name so, or choose another one")


def _values(token: Token, now: datetime) -> dict[str, str | None]:
    return {
        "id": token.id,
        "owner": token.owner,
        "role": token.role.value,
        "created": token.created.isoformat(),
        "expires": None if token.expires is None else token.expires.isoformat(),
        "state": _state(token, now),
    }


def _day(time: datetime | None) -> str:
    return "never" if time is None else f"{time:%Y-%m-%d}"


def _state(token: Token, now: datetime) -> str:
    if token.revoked is not None:
        return "revoked"
    return "expired" if token.expires is not None and token.expires <= now else "valid"


def _note(store: Store, deed: str, what: str) -> None:
    from arena.competition import LOCAL, Deed

    store.audit.add(Deed(datetime.now(UTC), LOCAL, "", deed, what, "done"))
