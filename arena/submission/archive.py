"""Archives of bots, unpacked so that nothing in them can do harm, and made so that the same files give the same bytes.

Nothing that an archive says of itself is believed: what is read is counted as it comes. Every file is written new, by a name
that was looked at part by part, into a folder that holds nothing else, with a mode of our own; links are made last, and only
such as stay inside. Names that differ in case or composition only are refused, since they are one file on some machines.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import file_digest, sha256
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from arena.entries import name_key
from arena.errors import Refused
from arena.text import clean_line

MANIFEST: Final = "bot.yaml"

_CHUNK: Final = 1 << 16
_FREE: Final = 1 << 20  # so much may be unpacked whatever the ratio
_FILE, _PROGRAM, _FOLDER = 0o644, 0o755, 0o755
_BROKEN: Final = (
    *(tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error),
    *(OSError, ValueError, NotImplementedError, RuntimeError, KeyError, IndexError, OverflowError, MemoryError),
)
_OPENERS: Final[Mapping[bytes, Callable[[Path], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""How compressed tars are read, by the bytes with which they begin."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large an archive and what is in it may be."""

    archive_bytes: int = 64 << 20
    unpacked_bytes: int = 256 << 20
    files: int = 10_000
    """Files, folders and links together."""
    ratio: int = 100
    """Unpacked bytes for each byte of the archive."""
    path_bytes: int = 240
    depth: int = 32


@dataclass(frozen=True, slots=True)
class _Member:
    """Something in an archive: a folder where there is neither content nor target."""

    name: str
    content: IO[bytes] | None = None
    program: bool = False
    target: str = ""


def refuse(text: str) -> Refused:
    """Return the refusal of an archive."""
    return Refused("BAD_ARCHIVE", text)


# --- Unpacking ---


def unpack(archive: Path, into: Path, bounds: Bounds | None = None) -> Path:
    """Unpack a tar, tar.gz, tar.xz, tar.bz2 or zip into an empty folder, and return the bot's folder in it.

    That is the folder itself, or the only one in it if that has the manifest. Raises Refused for whatever may do harm, is
    too large, or can't be read; what was unpacked until then may be left in `into`, and nothing is anywhere else.
    """
    bounds = bounds or Bounds()
    size = archive.stat().st_size
    if not 0 < size <= bounds.archive_bytes:
        raise refuse(f"an archive has 1 to {bounds.archive_bytes:,} bytes, not {size:,}: leave out what isn't needed")
    unpacking = _Unpacking(into, bounds, size)
    try:
        with ExitStack() as stack:
            for member in _members(archive, stack, bounds):
                unpacking.add(member)
        unpacking.link()
    except Refused:
        raise
    except _BROKEN as error:
        raise refuse(f"this archive can't be read ({clean_line(str(error), 100)}): pack it again") from error
    return _bot_folder(into)


class _Unpacking:
    """An archive on its way into a folder."""

    def __init__(self, into: Path, bounds: Bounds, size: int) -> None:
        self._into = into
        self._bounds = bounds
        self._most = min(bounds.unpacked_bytes, max(_FREE, size * bounds.ratio))
        self._bytes = 0
        self._members = 0
        self._taken: dict[
            str, tuple[str, bool]
        ] = {}  # name, and whether it is a folder, by what all machines tell apart
        self._links: list[tuple[Path, str, str]] = []

    def add(self, member: _Member) -> None:
        """Write one member."""
        self._members += 1
        if self._members > self._bounds.files:
            raise refuse(f"there are more than {self._bounds.files:,} files: leave out what isn't needed")
        parts = check_name(member.name, self._bounds)
        if not parts:
            return
        folder = member.content is None and not member.target
        for depth in range(1, len(parts)):
            self._take("/".join(parts[:depth]), folder=True)
        self._take("/".join(parts), folder=folder)
        path = self._into.joinpath(*parts)
        path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        if member.target:
            self._links.append((path, member.target, member.name))
        elif member.content is None:
            path.mkdir(mode=_FOLDER, exist_ok=True)
        else:
            self._write(path, member.content, member.program)

    def link(self) -> None:
        """Make the links, now that nothing is written any more; refuse those that lead outside."""
        for path, target, _ in self._links:
            path.symlink_to(target)
        for path, _, name in self._links:
            _check_link(path, self._into, name)

    def _take(self, name: str, *, folder: bool) -> None:
        """Note that a name is taken; only a folder may be named again."""
        key = "/".join(map(name_key, name.split("/")))
        if key not in self._taken:
            self._taken[key] = (name, folder)
            return
        known, was_folder = self._taken[key]
        if known != name:
            raise refuse(f"{_show(name)} and {_show(known)} are one file on some machines: rename one of them")
        if not (folder and was_folder):
            raise refuse(f"{_show(name)} is there twice: pack it once")

    def _write(self, path: Path, content: IO[bytes], program: bool) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            while chunk := content.read(_CHUNK):
                self._bytes += len(chunk)
                if self._bytes > self._most:
                    raise refuse(self._too_much())
                file.write(chunk)
            os.fchmod(file.fileno(), _PROGRAM if program else _FILE)

    def _too_much(self) -> str:
        if self._most == self._bounds.unpacked_bytes:
            return f"more than {self._most:,} bytes come out of it: leave out what isn't needed"
        return f"more than {self._bounds.ratio} times its size comes out of it: that is no usual program"


def check_name(name: str, bounds: Bounds) -> tuple[str, ...]:
    """Return the parts of a member's name; raise Refused for one that leads elsewhere, or that some machines can't have."""
    shown = _show(name)
    if not name.isprintable() or any("\ud800" <= character <= "\udfff" for character in name):
        raise refuse(f"the name {shown} has characters that can't be shown: rename it")
    if "\\" in name or ":" in name:
        raise refuse(f"the name {shown} has a backslash or a colon, which lead elsewhere on some machines: rename it")
    if name.startswith("/"):
        raise refuse(f"the name {shown} is absolute: pack the bot's folder, with names that begin in it")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise refuse(f"the name {shown} leads out of the archive: pack the bot's folder, with names that begin in it")
    if len(name.encode()) > bounds.path_bytes or len(parts) > bounds.depth:
        raise refuse(f"the name {shown} is too long or too deep: shorten it")
    if any(part != part.strip() or part.endswith(".") for part in parts):
        raise refuse(f"the name {shown} begins or ends with a space, or ends with a dot: rename it")
    return parts


def _show(name: str) -> str:
    return repr(clean_line(name, 80))


def _check_link(path: Path, root: Path, name: str) -> None:
    """Refuse a link that leads outside, to nothing, or in a circle."""
    try:
        inside = path.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        inside = False
    if not inside or path.readlink().is_absolute():
        raise refuse(f"the link {_show(name)} leads outside the bot's folder, or nowhere: pack the file itself")


def _bot_folder(into: Path) -> Path:
    """Return the folder that has the manifest."""
    inner = list(into.iterdir())
    if (into / MANIFEST).is_file() and not (into / MANIFEST).is_symlink():
        return into
    if len(inner) == 1 and inner[0].is_dir() and not inner[0].is_symlink():
        found = inner[0] / MANIFEST
        if found.is_file() and not found.is_symlink():
            return inner[0]
    raise refuse(f"there is no {MANIFEST} in it: write one, such as `name: my-bot` and `command: [./bot]` in two lines")


# --- Reading archives ---


def _members(archive: Path, stack: ExitStack, bounds: Bounds) -> Iterator[_Member]:
    with archive.open("rb") as file:
        head = file.read(6)
    if head.startswith(b"PK"):
        return _zip_members(stack.enter_context(zipfile.ZipFile(archive)), bounds)
    opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
    stream = stack.enter_context(opener(archive) if opener else archive.open("rb"))
    most = max(_FREE, archive.stat().st_size * bounds.ratio)
    bounded = _Bounded(stream, min(bounds.unpacked_bytes, most) + bounds.files * 2048 + _FREE)
    return _tar_members(stack.enter_context(tarfile.open(fileobj=bounded, mode="r|", errorlevel=2)))  # type: ignore[call-overload]


class _Bounded:
    """A stream of which no more than so many bytes are read, headers and padding included."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int = -1) -> bytes:
        """Read, and count."""
        data = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise refuse("far more comes out of it than its size lets one expect: that is no usual program")
        return data


def _tar_members(tar: tarfile.TarFile) -> Iterator[_Member]:
    for info in tar:
        if info.isdir():
            yield _Member(info.name)
        elif info.issym():
            yield _Member(info.name, target=info.linkname or ".")
        elif info.isreg() and not info.issparse():
            yield _Member(info.name, tar.extractfile(info), bool(info.mode & 0o100))
        else:
            kinds = {"1": "a hard link", "S": "a sparse file", "2": "a link"}
            kind = kinds.get(info.type.decode("latin-1"), "a device, a pipe, or something else that is no file")
            raise refuse(f"{_show(info.name)} is {kind}: pack files only")


def _zip_members(archive: zipfile.ZipFile, bounds: Bounds) -> Iterator[_Member]:
    infos = archive.infolist()
    if len(infos) > bounds.files:
        raise refuse(f"there are more than {bounds.files:,} files: leave out what isn't needed")
    _refuse_overlaps(infos)
    for info in infos:
        if info.flag_bits & 1:
            raise refuse(f"{_show(info.orig_filename)} is encrypted: pack it without a password")
        if "\0" in info.orig_filename:
            raise refuse(f"the name {_show(info.orig_filename)} has characters that can't be shown: rename it")
        mode = info.external_attr >> 16
        kind = stat.S_IFMT(mode)
        if info.is_dir() and kind in (0, stat.S_IFDIR):
            yield _Member(info.orig_filename)
        elif kind == stat.S_IFLNK:
            with archive.open(info) as content:
                yield _Member(info.orig_filename, target=content.read(4096).decode() or ".")
        elif kind in (0, stat.S_IFREG):
            with archive.open(info) as content:
                yield _Member(info.orig_filename, content, bool(mode & 0o100))
        else:
            raise refuse(f"{_show(info.orig_filename)} is a device, a pipe, or something else that is no file")


def _refuse_overlaps(infos: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive in which several files share the same bytes, by which a small one can hold a world."""
    places = sorted((info.header_offset, info.compress_size) for info in infos)
    for (start, size), (following, _) in pairwise(places):
        if start + size > following:
            raise refuse("several files in it share the same bytes: pack it again with a usual program")


# --- What was unpacked or built ---


def check_tree(folder: Path, bounds: Bounds | None = None) -> int:
    """Return how many bytes the files of a folder have; raise Refused for what an archive must not hold either."""
    bounds = bounds or Bounds()
    total = 0
    for count, (path, state) in enumerate(_walk(folder), 1):
        name = path.relative_to(folder).as_posix()
        check_name(name, bounds)
        if stat.S_ISLNK(state.st_mode):
            _check_link(path, folder, name)
        elif stat.S_ISREG(state.st_mode):
            total += state.st_size
        elif not stat.S_ISDIR(state.st_mode):
            raise refuse(f"{_show(name)} is a device, a pipe, or something else that is no file: leave it out")
        if count > bounds.files:
            raise refuse(f"there are more than {bounds.files:,} files: leave out what isn't needed")
        if total > bounds.unpacked_bytes:
            raise refuse(f"there are more than {bounds.unpacked_bytes:,} bytes: leave out what isn't needed")
    return total


def tree_digest(folder: Path) -> str:
    """Return the SHA-256 of a folder's files, in hexadecimal digits: of their names, contents, and whether they are programs.

    Folders without files, times and owners count for nothing, nor how the files were packed.
    """
    digest = sha256()
    for path, state in sorted(_walk(folder)):
        name = path.relative_to(folder).as_posix()
        if stat.S_ISLNK(state.st_mode):
            what = f"link {path.readlink()}"
        elif stat.S_ISREG(state.st_mode):
            with path.open("rb") as file:
                what = f"{'program' if state.st_mode & 0o100 else 'file'} {file_digest(file, 'sha256').hexdigest()}"
        else:
            continue
        digest.update(f"{name}\0{what}\0".encode())
    return digest.hexdigest()


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield all that is below a folder, without following links."""
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            yield path, path.lstat()


# --- Packing ---


def write_archive(files: Mapping[str, Path], out: Path) -> None:
    """Write files, by their names in the archive, as a tar.gz: the same files give the same bytes."""
    with (
        out.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(files):
            path = files[name]
            info = tarfile.TarInfo(PurePosixPath(name).as_posix())
            if path.is_symlink():
                info.type, info.linkname = tarfile.SYMTYPE, os.fspath(path.readlink())
                tar.addfile(info)
                continue
            with path.open("rb") as file:
                state = os.fstat(file.fileno())
                info.size, info.mode = state.st_size, _PROGRAM if state.st_mode & 0o100 else _FILE
                tar.addfile(info, file)
