"""Where servers listen: which addresses others reach, how gRPC reads them, and unix sockets as files.

Room is made for a socket without harm to anybody, and it is removed by whoever bound it, and nobody else. gRPC reads addresses
as URIs, so none goes there but by `grpc_target`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from arena.errors import BadInput
from arena.text import clean_line

_CALLED: Final = re.compile(r"unix:.+|(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%A-Za-z0-9]+\]):(?P<port>[0-9]{1,5})")

LONGEST_PATH: Final = 107 if sys.platform == "linux" else 103
"""Bytes that the kernel takes as a socket's path (`sun_path` in unix(7), less the zero at its end)."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./~+=:@-]*")
"""Paths that read the same as a URI, whatever library reads them."""

_PLAIN_FOLDER: Final = "/tmp"  # noqa: S108 - what is made there is private

_MOST_BELOW: Final = 40
"""Bytes that the name of a private folder, of one in it, and of a socket there come to at most."""


def socket_path(address: str) -> Path | None:
    """Return the path of `unix:/path`, and None for any other address."""
    return Path(re.sub("^//+", "/", address.removeprefix("unix:"))) if address.startswith("unix:") else None


def check_path(path: Path) -> None:
    """Raise BadInput where no socket can be bound at a path, or none reached there."""
    if path == Path():
        raise BadInput("unix: no path of a socket is named; write one, as in unix:/tmp/arena.sock")
    size = len(os.fsencode(path))
    if size > LONGEST_PATH:
        raise BadInput(
            f"unix:{clean_line(str(path), 200)}: the path has {size} bytes, and that of a socket can have {LONGEST_PATH}"
            " at most; choose a shorter one"
        )
    if not {",", "\0"}.isdisjoint(str(path)):
        raise BadInput(
            f"unix:{clean_line(str(path), 200)}: gRPC reaches no socket with a comma in its path; choose another"
        )


def grpc_target(address: str) -> str:
    """Return `host:port` or `unix:/path` as gRPC takes it, with what a URI means otherwise escaped in the path.

    Raises BadInput as `check_path` does.
    """
    path = socket_path(address)
    if path is None:
        return address
    check_path(path)
    return f"unix:{quote(os.fsencode(path))}"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Offer a folder that is ours alone, with room for sockets in folders of it, and remove it with all that is in it.

    It is where TMPDIR says, unless paths there are too long, or mean something else to a program that takes `unix:/path` for
    a URI: then it is in /tmp, as far as that can be written to.
    """
    parent = tempfile.gettempdir()
    serves = _PLAIN.fullmatch(parent) and len(parent) + _MOST_BELOW <= LONGEST_PATH
    usable = serves or not os.access(_PLAIN_FOLDER, os.W_OK | os.X_OK)
    folder = Path(tempfile.mkdtemp(prefix="arena-", dir=None if usable else _PLAIN_FOLDER))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_local(address: str) -> bool:
    """Return whether only this machine's users reach `host:port` or `unix:/path`."""
    if socket_path(address) is not None:
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
    """Remove the socket file of a server that is gone; raise BadInput if something else is in the way, or no socket can be."""
    check_path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        _check_room(path)
        return
    except OSError as error:
        raise _refusal(path, str(error.strerror)) from error
    if stat.S_ISDIR(mode):
        raise _refusal(path, "there is a folder", f"name a socket in it, as in unix:{path / 'arena.sock'}")
    if not stat.S_ISSOCK(mode):
        raise _refusal(path, "there is a file that is no socket", "remove it")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            _remove(path)
        except OSError as error:
            raise _refusal(path, str(error.strerror)) from error
        else:
            raise _refusal(path, "another server is listening there")


def _check_room(path: Path) -> None:
    """Raise BadInput where no socket can be made at a path at which nothing was found."""
    if path.is_symlink():
        raise _refusal(path, "there is a link that leads nowhere", "remove it")
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if not nearest.is_dir():
        raise _refusal(path, f"{nearest} is no folder")
    if nearest != path.absolute().parent:
        raise _refusal(path, f"the folder {path.parent} is not there", "make it")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise _refusal(path, f"the folder {path.parent} may not be written to")


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        raise _refusal(path, f"the socket of a server that is gone can't be removed ({error.strerror})") from error


def _refusal(path: Path, cause: str, cure: str = "") -> BadInput:
    ways = f"{cure}, or choose another path" if cure else "choose another path"
    return BadInput(clean_line(f"cannot serve at unix:{path}: {cause}; {ways}", 600))


@contextmanager
def owned_socket(address: str) -> Iterator[None]:
    """Remove the socket file of `unix:/path` at the end, if it is still the one that is there now; else do nothing."""
    path = socket_path(address)
    identity = path and _identity(path)
    try:
        yield
    finally:
        if path is not None and identity is not None and _identity(path) == identity:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
