"""Archives of bots, unpacked so that nothing in them can do harm, and made so that the same files give the same bytes.

What is read is counted as it comes. Every file is written new, by a name that was looked at part by part, into a folder that
holds nothing else, with a mode of our own; links are made last, and only such as stay inside.
"""

from __future__ import annotations

import errno
import gzip
import os
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from arena.document import misnamed
from arena.errors import BadInput
from arena.submission.members import Member
from arena.submission.streams import CHUNK, COMPRESSED, Bounded, Readable, decompressed
from arena.submission.tars import HEADERS, tar_members
from arena.submission.tree import FREE_BYTES, Bounds, Links, Names, check_tree, refuse, show, too_many, tree_digest
from arena.submission.zips import zip_members
from arena.text import clean_line

__all__ = ["MANIFEST", "Bounds", "check_tree", "is_archive", "tree_digest", "unpack", "write_archive"]

MANIFEST: Final = "bot.yaml"

_BESIDE: Final = "__MACOSX"  # the folder that a Mac's zips have beside what was packed
_ZIP: Final = b"PK"
_FILE, _PROGRAM, _FOLDER = 0o644, 0o755, 0o755
_BROKEN: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    struct.error,
    ValueError,
    RuntimeError,
)
"""What reading a broken archive raises, besides OSError; among them are UnicodeError and NotImplementedError."""

_OURS: Final = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    )
)
"""Errors of the machine, for which no archive is to blame."""


def is_archive(path: Path) -> bool:
    """Return whether a file begins as an archive does, be the rest as it may."""
    with path.open("rb") as file:
        head = file.read(tarfile.BLOCKSIZE)
    if head.startswith((_ZIP, *COMPRESSED)):
        return True
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def unpack(archive: Path, into: Path, bounds: Bounds | None = None) -> Path:
    """Unpack a tar, tar.gz, tar.xz, tar.bz2 or zip into an empty folder, and return the bot's folder in it.

    That is the folder itself, or the only one in it if that has the manifest. Raises Refused for whatever may do harm, is
    too large, or can't be read; what was unpacked until then may be left in `into`, and nothing is anywhere else. Raises
    OSError where the machine fails, such as for a full disk.
    """
    bounds = bounds or Bounds()
    size = archive.stat().st_size
    if not size:
        raise refuse("the archive is empty: pack the bot's folder")
    if size > bounds.archive_bytes:
        raise refuse(
            f"the archive has {size:,} bytes, and {bounds.archive_bytes:,} are the most: leave out what isn't needed"
        )
    unpacking = _Unpacking(into, bounds, size)
    try:
        with closing(_read(archive, bounds)) as members:
            for member in members:
                unpacking.add(member)
        return unpacking.finish()
    except _BROKEN as error:
        raise refuse(f"this archive can't be read ({clean_line(str(error), 100)}): pack it again") from error
    except OSError as error:
        if error.errno in _OURS:
            raise
        raise refuse(
            f"this archive can't be unpacked ({clean_line(str(error.strerror), 100)}): pack it again"
        ) from error


def _read(archive: Path, bounds: Bounds) -> Generator[Member, None, None]:
    with archive.open("rb") as file:
        head = file.read(6)
        file.seek(0)
        if head.startswith(_ZIP):
            yield from zip_members(archive, bounds)
            return
        most = bounds.most_unpacked(archive.stat().st_size) + bounds.files * HEADERS + FREE_BYTES
        yield from tar_members(Bounded(decompressed(file, head), most))


class _Unpacking:
    """An archive on its way into a folder."""

    def __init__(self, into: Path, bounds: Bounds, size: int) -> None:
        self._into = into
        self._bounds = bounds
        self._most = bounds.most_unpacked(size)
        self._end = time.monotonic() + bounds.seconds
        self._bytes = 0
        self._members = 0
        self._names = Names(bounds)
        self._links: dict[Path, str] = {}

    def add(self, member: Member) -> None:
        """Write one member, or note it if it is a link."""
        self._look_at_the_clock()
        self._members += 1
        if self._members > self._bounds.files:
            raise too_many(self._bounds)
        folder = member.content is None and member.target is None
        parts = self._names.take(member.name, folder=folder)
        path = self._into.joinpath(*parts)
        self._make_folders(parts if folder else parts[:-1])
        if not folder and not parts:
            raise refuse(f"{show(member.name)} is no name of a file: rename it")
        if not folder and (path in self._links or path.exists()):
            raise refuse(f"{show(member.name)} is there twice: pack it once")
        if member.target is not None:
            self._links[path] = member.target
        elif member.content is not None:
            self._write(path, member.content, program=member.program)

    def finish(self) -> Path:
        """Make the links in the bot's folder, now that nothing is written any more, and return that folder."""
        root = self._bot_folder()
        links = {
            path.relative_to(root).as_posix(): target for path, target in self._links.items() if root in path.parents
        }
        for name, target in links.items():
            if not target.isprintable() or not target:
                raise refuse(f"the link {show(name)} leads nowhere: put the file itself there")
            (root / name).symlink_to(target)
        made = Links(root, self._bounds)
        for name in links:
            self._look_at_the_clock()
            made.check(name)
        return root

    def _bot_folder(self) -> Path:
        inner = [path for path in self._into.iterdir() if path.name != _BESIDE]
        for folder in [self._into, *(inner if len(inner) == 1 else [])]:
            if (folder / MANIFEST).is_file():
                return folder
        if any(path.name == MANIFEST for path in self._links) or (self._into / MANIFEST).exists():
            raise refuse(
                f"there is no {MANIFEST} in it, but a folder or a link of that name: put the file itself there"
            )
        raise refuse(
            f"there is no {MANIFEST} in it: write one, such as `name: my-bot` and `command: [./bot]` in two lines"
            f"{misnamed(self._into / MANIFEST)}"
        )

    def _make_folders(self, parts: tuple[str, ...]) -> None:
        path = self._into
        for part in parts:
            path /= part
            if not path.is_dir():
                path.mkdir()
                path.chmod(_FOLDER)

    def _write(self, path: Path, content: Readable, *, program: bool) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            while chunk := content.read(CHUNK):
                self._look_at_the_clock()
                self._bytes += len(chunk)
                if self._bytes > self._most:
                    raise refuse(self._too_much())
                file.write(chunk)
            os.fchmod(file.fileno(), _PROGRAM if program else _FILE)

    def _look_at_the_clock(self) -> None:
        if time.monotonic() >= self._end:
            raise refuse(f"it was not unpacked within {self._bounds.seconds:g} seconds: leave out what isn't needed")

    def _too_much(self) -> str:
        if self._most == self._bounds.unpacked_bytes:
            return f"more than {self._most:,} bytes come out of it: leave out what isn't needed"
        return (
            f"more than {self._bounds.ratio} times its size comes out of it, as from no usual program: leave out"
            " what is made of one thing repeated"
        )


def write_archive(files: Mapping[str, Path], out: Path) -> None:
    """Write files, by their names in the archive, as a tar.gz: the same files give the same bytes.

    Links are written as links. Raises BadInput for a file that can't be read, or shrinks meanwhile.
    """
    with (
        out.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(files):
            try:
                _write_member(tar, name, files[name])
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise BadInput(
                    f"{files[name]} can't be read: {error.strerror or 'it was changed meanwhile'}"
                ) from error


def _write_member(tar: tarfile.TarFile, name: str, path: Path) -> None:
    info = tarfile.TarInfo(name)
    if path.is_symlink():
        info.type, info.linkname = tarfile.SYMTYPE, os.fspath(path.readlink())
        tar.addfile(info)
        return
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        info.size, info.mode = state.st_size, _PROGRAM if state.st_mode & 0o100 else _FILE
        tar.addfile(info, file)
