"""Where servers listen: which addresses others reach, and unix sockets as files.

Room is made for a socket without harm to anybody, and it is removed by whoever bound it, and nobody else.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from arena.errors import BadInput
from arena.text import clean_line

_CALLED: Final = re.compile(r"unix:.+|(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%A-Za-z0-9]+\]):(?P<port>[0-9]{1,5})")


def is_local(address: str) -> bool:
    """Return whether only this machine's users reach `host:port` or `unix:/path`."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0]
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def check_server(address: str) -> str:
    """Return the address of a server that is to be called; raise BadInput where it is neither host:port nor unix:/path."""
    form = _CALLED.fullmatch(address)
    if form is None or not (address.startswith("unix:") or 0 < int(form["port"]) < 1 << 16):
        raise BadInput(
            f"{clean_line(address, 100)} is no address of a server: write host:port, as in arena.example.org:443, or unix:/path"
        )
    return address


def free_socket(path: Path) -> None:
    """Remove the socket file of a server that is gone; raise BadInput if something else is in the way."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise BadInput(
            f"cannot serve at unix:{path}: there is a file that is no socket; remove it, or choose another path"
        )
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise BadInput(f"cannot serve at unix:{path}: another server is listening there; choose another path")


@contextmanager
def owned_socket(address: str) -> Iterator[None]:
    """Remove the socket file of `unix:/path` at the end, if it is still the one that is there now; else do nothing."""
    path = Path(address.removeprefix("unix:"))
    identity = _identity(path) if address.startswith("unix:") else None
    try:
        yield
    finally:
        if identity is not None and _identity(path) == identity:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
