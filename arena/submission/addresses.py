"""Whether a bot may be reached at an address: a server must not be made to ask what only its own network can reach."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

from arena.competition import Program
from arena.document import Wrong
from arena.entries import check_name
from arena.errors import Refused
from arena.games import game_names
from arena.manifest import MAX_AUTHOR
from arena.text import clean_line

PATIENCE: Final = 10.0
"""Seconds that finding a name's addresses may take."""

_FORM: Final = re.compile(r"(?:(?P<name>[A-Za-z0-9_.-]{1,253})|\[(?P<six>[0-9A-Fa-f:.]{2,45})\]):(?P<port>[0-9]{1,5})")
_SCHEMES: Final = frozenset({"unix", "unix-abstract", "dns", "ipv4", "ipv6", "vsock", "xds", "http", "https"})
"""What would be read as a kind of address instead of a name."""

_HOLDS_FOUR: Final = IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48")
"""Where translation to IPv4 begins, which may lead anywhere."""


async def check_address(address: str, *, private: bool) -> None:
    """Raise Refused where `address` is not `host:port`, or leads to where a server does not ask bots.

    Unless `private` addresses are allowed, that is whatever is not reachable from everywhere: the machine itself, its own
    network, multicast and reserved ones. A name is refused if any of its addresses is.
    """
    host, port = _parse(address)
    if private:
        return
    for found in await _resolve(host, port):
        if not _is_public(found):
            raise _refuse(
                f"{clean_line(address, 100)} is not reachable from everywhere ({found}): give a public address,"
                f" or submit the bot's files"
            )


async def running_program(address: str, name: str, games: Iterable[str], author: str, *, private: bool) -> Program:
    """Return what a version of a bot that runs already is; raise Refused for an address, a name or a game that is none."""
    await check_address(address, private=private)
    try:
        named = check_name(name)
    except Wrong as wrong:
        raise Refused("BAD_NAME", f"{clean_line(name)!r} can't be a bot's name: {wrong.message}") from None
    played = tuple(games)
    for game in played:
        if game not in game_names():
            raise Refused(
                "BAD_INPUT", f"no game is called {clean_line(game, 64)!r}: there are {', '.join(game_names())}"
            )
    return Program(named, address=address, games=played, author=clean_line(author, MAX_AUTHOR))


def _parse(address: str) -> tuple[str, int]:
    form = _FORM.fullmatch(address)
    if form is None or (form["name"] or "").lower() in _SCHEMES or not 0 < int(form["port"]) < 1 << 16:
        raise _refuse(
            f"{clean_line(address, 100)!r} is no address of a bot: write host:port, such as bots.example.org:443"
        )
    return form["name"] or form["six"], int(form["port"])


async def _resolve(host: str, port: int) -> list[IPv4Address | IPv6Address]:
    try:
        async with asyncio.timeout(PATIENCE):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [ip_address(str(where[0]).partition("%")[0]) for *_, where in found]
    except (OSError, TimeoutError, ValueError):
        raise _refuse(f"the name {clean_line(host, 100)} is not found: mend it, or try again later") from None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner and not _is_public(inner):
            return False
        if any(address in network for network in _HOLDS_FOUR) or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _refuse(text: str) -> Refused:
    return Refused("BAD_ADDRESS", text)
