"""Where bots may be reached: a server must not be made to ask what only its own network can reach."""

from __future__ import annotations

import asyncio
import re
import socket
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

from arena.errors import Refused
from arena.text import clean_line
from arena.threads import LOOKING_UP

PATIENCE: Final = 10.0
"""Seconds that finding a name's addresses may take."""

_Number: TypeAlias = IPv4Address | IPv6Address

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
    if not private:
        await _resolve_public(host, port)


async def public_target(address: str) -> str:
    """Return the gRPC target of numbers that a public `host:port` stands for now; raise Refused where it is no such.

    Whoever dials that is led nowhere else by a name that means something else a moment later.
    """
    host, port = _parse(address)
    found = await _resolve_public(host, port)
    family = next((each.version for each in found if _has_route(each, port)), found[0].version)
    numbers = [f"[{each}]:{port}" if family == 6 else f"{each}:{port}" for each in found if each.version == family]
    return f"ipv{family}:{','.join(numbers)}"


def _parse(address: str) -> tuple[str, int]:
    form = _FORM.fullmatch(address)
    if form is None or (form["name"] or "").lower() in _SCHEMES or not 0 < int(form["port"]) < 1 << 16:
        raise _refuse(
            f"{clean_line(address, 100)!r} is no address of a bot: write host:port, such as bots.example.org:443"
        )
    return form["name"] or form["six"], int(form["port"])


async def _resolve_public(host: str, port: int) -> list[_Number]:
    """Return the addresses of a host, one at least; raise Refused where any is not reachable from everywhere."""
    found = await _resolve(host, port)
    for each in found:
        if not _is_public(each):
            raise _refuse(
                f"{clean_line(host, 100)}:{port} is not reachable from everywhere ({each}): give a public address,"
                f" or submit the bot's files"
            )
    return found


async def _resolve(host: str, port: int) -> list[_Number]:
    try:
        async with asyncio.timeout(PATIENCE):
            asking = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
            found = await asyncio.get_running_loop().run_in_executor(LOOKING_UP, asking)
        return [ip_address(str(where[0]).partition("%")[0]) for *_, where in found]
    except (OSError, TimeoutError, ValueError):
        raise _refuse(f"the name {clean_line(host, 100)} is not found: mend it, or try again later") from None


def _has_route(address: _Number, port: int) -> bool:
    """Return whether this machine knows a way to an address; nothing is sent."""
    with socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        return probe.connect_ex((str(address), port)) == 0


def _is_public(address: _Number) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner and not _is_public(inner):
            return False
        if any(address in network for network in _HOLDS_FOUR) or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _refuse(text: str) -> Refused:
    return Refused("BAD_ADDRESS", text)
