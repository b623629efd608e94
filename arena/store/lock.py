"""A lock that one process holds and the kernel gives back when it ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.errors import BadStore


@contextmanager
def hold_lock(path: Path, deed: str) -> Iterator[None]:
    """Hold the lock of a file while the context lasts; the file says who holds it, and goes with the lock.

    `deed` says what its holder does.

    Raises BadStore with the holder if the lock is taken, by this process too, or if the file cannot be written.
    """
    file = _take(path, deed)
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def _take(path: Path, deed: str) -> int:
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BadStore(f"{path} cannot be written: {error.strerror}; it marks who uses the database") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(file, path):
                return file
            os.close(file)  # its holder has just removed it: another one may lie there by now
        except OSError as error:
            holder = os.pread(file, 200, 0).decode(errors="replace") or "another process"
            os.close(file)
            raise BadStore(
                f"{str(path).removesuffix('.lock').removesuffix('.server')} is in use: {holder} {deed}. "
                "Wait until it is done, stop it, or name another database with --store"
            ) from error


def is_at(file: int, path: Path) -> bool:
    """Return whether an open file, or folder, is the one that lies at a path now."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
