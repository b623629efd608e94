"""What is in an archive, read as it comes: a tar, plain or compressed by gzip, xz or bzip2, or a zip.

Nothing that an archive says of itself is believed. Tars are read here rather than by `tarfile`, which takes a damaged header
for the end, keeps extended headers of any size, and lets anything follow; of a zip, `zipfile` reads a list of bounded length.
"""

from __future__ import annotations

import bz2
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, Protocol

from arena.submission.tree import FREE_BYTES, Bounds, refuse, show, too_many
from arena.text import clean_line

CHUNK: Final = 1 << 16

_BLOCK: Final = 512
_HEADERS: Final = 4 * _BLOCK  # what headers and padding of a member in a tar may take
_MOST_TOLD: Final = 1 << 16  # bytes of an extended header, and of a link's target
_LIST_BYTES: Final = 4 << 20  # of a zip's list of files
_XZ_MEMORY: Final = 128 << 20  # twice what xz -9 needs
_ZIP_END: Final = 22  # bytes of the end of a zip, without its comment
_UTF8, _UNIX = 0x800, 3  # in a zip: the flag of names in UTF-8, and the system it was made on
_PACK_AGAIN: Final = "pack it again, with tar or zip"


class Readable(Protocol):
    """What can be read to its end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most so many; none at the end."""


@dataclass(frozen=True, slots=True)
class Member:
    """Something in an archive: a folder where there is neither content nor target."""

    name: str
    content: Readable | None = None
    """Can be read until the next member is asked for."""
    program: bool = False
    target: str | None = None
    """Where a link leads."""


def read_members(archive: Path, bounds: Bounds) -> Generator[Member, None, None]:
    """Yield what is in an archive; raise Refused for what can't be read, or is no file, folder or link."""
    with archive.open("rb") as file:
        head = file.read(6)
        file.seek(0)
        if head.startswith(b"PK"):
            yield from _zip_members(archive, bounds)
            return
        size = archive.stat().st_size
        most = bounds.most_unpacked(size) + bounds.files * _HEADERS + FREE_BYTES
        decompressor = next((make() for magic, make in _DECOMPRESSORS.items() if head.startswith(magic)), None)
        yield from _tar_members(_Bounded(_Decompressed(file, decompressor) if decompressor else file, most))


# --- Streams ---


class _Bounded:
    """A stream of which no more than so many bytes are read, headers and padding included."""

    def __init__(self, stream: Readable, most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise refuse(
                "far more comes out of it than its size lets one expect, as from no usual program: leave it out"
            )
        return data


class _Gunzip:
    """zlib's decompressor for gzip, with the ways of those for bzip2 and xz."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


_DECOMPRESSORS: Final[Mapping[bytes, Callable[[], Any]]] = {
    b"\x1f\x8b": _Gunzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
}
"""How compressed tars are read, by the bytes with which they begin."""


class _Decompressed:
    """What comes out of one compressed stream, a little at a time; nothing may follow it."""

    def __init__(self, file: IO[bytes], decompressor: Any) -> None:
        self._file = file
        self._decompressor = decompressor
        self._ready = bytearray()

    def read(self, size: int, /) -> bytes:
        while len(self._ready) < size and not self._decompressor.eof:
            self._more()
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _more(self) -> None:
        wanted = self._decompressor.needs_input
        packed = self._file.read(CHUNK) if wanted else b""
        try:
            data = self._decompressor.decompress(packed, CHUNK)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise refuse(
                f"what is compressed in it is damaged ({clean_line(str(error), 100)}): {_PACK_AGAIN}"
            ) from error
        self._ready += data
        if self._decompressor.eof:
            if self._decompressor.unused_data or self._file.read(1):
                raise refuse(f"something follows the end of what is compressed in it: {_PACK_AGAIN}")
        elif wanted and not packed and not data:
            raise _cut_short()


# --- Tar ---


class _Content:
    """The content of a member, of which the stream has so many bytes."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = -size % _BLOCK

    def read(self, size: int, /) -> bytes:
        data = _exactly(self._stream, min(size, self._left))
        self._left -= len(data)
        return data

    def skip(self) -> None:
        """Go to the next header."""
        while self.read(CHUNK):
            pass
        _exactly(self._stream, self._padding)


def _tar_members(stream: Readable) -> Iterator[Member]:
    told: dict[str, str] = {}
    while (info := _header(stream)) is not None:
        if info.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, b"X"):
            told |= _told(info, stream)
            continue
        for attribute, key in (("name", "path"), ("linkname", "linkpath")):
            setattr(info, attribute, told.get(key, getattr(info, attribute)))
        size = told.get("size", str(info.size))
        if not (size.isascii() and size.isdigit() and len(size) < 20):
            raise refuse(f"the size of {show(info.name)} is none: {_PACK_AGAIN}")
        content = _Content(stream, int(size) if info.isreg() else 0)
        yield _tar_member(info, content, sparse=any(key.startswith("GNU.sparse.") for key in told))
        content.skip()
        told = {}
    if told:
        raise _cut_short()
    while rest := stream.read(CHUNK):
        if rest.strip(b"\0"):
            raise refuse(f"something follows its end: {_PACK_AGAIN}")


def _header(stream: Readable) -> tarfile.TarInfo | None:
    """Return the next header, or None for the block of zeros that ends a tar."""
    block = stream.read(_BLOCK)
    if len(block) < _BLOCK:
        raise refuse(f"this is no tar and no zip, or it is cut short: {_PACK_AGAIN}")
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
        return None
    except tarfile.HeaderError as error:
        raise refuse(f"this is no tar and no zip, or it is damaged ({error}): {_PACK_AGAIN}") from error


def _told(info: tarfile.TarInfo, stream: Readable) -> dict[str, str]:
    """Return what an extended header says of the next member; nothing of one that is about all of them."""
    if not 0 <= info.size <= _MOST_TOLD:
        raise refuse(f"it says more of a file than any name needs: {_PACK_AGAIN}")
    content = _Content(stream, info.size)
    data = content.read(info.size)
    content.skip()
    if info.type == tarfile.XGLTYPE:
        return {}
    if info.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
        key = "path" if info.type == tarfile.GNUTYPE_LONGNAME else "linkpath"
        return {key: data.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
    return dict(_pax_records(data))


def _pax_records(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield what is told by records of the form `length key=value`, each with a line end."""
    start = 0
    while start < len(data):
        length, _, _ = data[start : start + 8].partition(b" ")
        end = start + int(length) if length.isdigit() else 0
        record = data[start + len(length) + 1 : end]
        if not record.endswith(b"\n") or end > len(data):
            raise refuse(f"what it says of a file is damaged: {_PACK_AGAIN}")
        key, _, value = record[:-1].decode("utf-8", "surrogateescape").partition("=")
        yield key, value
        start = end


def _tar_member(info: tarfile.TarInfo, content: _Content, *, sparse: bool) -> Member:
    if info.isdir():
        return Member(info.name)
    if info.issym():
        return Member(info.name, target=info.linkname)
    if info.islnk():
        raise refuse(f"{show(info.name)} is a hard link: pack it as a file of its own (tar --hard-dereference)")
    if info.type == tarfile.GNUTYPE_SPARSE or sparse:
        raise refuse(f"{show(info.name)} is a sparse file: pack it without --sparse")
    if not info.isreg():
        raise _no_file(info.name)
    return Member(info.name, content, bool(info.mode & stat.S_IXUSR))


def _exactly(stream: Readable, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise _cut_short()
    return data


def _cut_short() -> Exception:
    return refuse(f"it is cut short: {_PACK_AGAIN}, or send it again")


def _no_file(name: str) -> Exception:
    return refuse(f"{show(name)} is a device, a pipe, or something else that is no file: leave it out")


# --- Zip ---


class _Sparing(io.BufferedReader):
    """A file of which nobody reads much at once, such as a list of millions of files."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _LIST_BYTES:
            raise refuse("its list of files is too long: leave out what isn't needed")
        return super().read(size)


def _zip_members(path: Path, bounds: Bounds) -> Iterator[Member]:
    with _Sparing(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        if len(infos) > bounds.files:
            raise too_many(bounds)
        _check_places(archive, path.stat().st_size, file)
        for info in infos:
            yield from _zip_member(archive, info)


def _check_places(archive: zipfile.ZipFile, size: int, file: _Sparing) -> None:
    """Refuse files that share bytes, by which a small archive can hold a world, and what is before or after them all."""
    places = sorted((info.header_offset, info.header_offset + 30 + info.compress_size) for info in archive.infolist())
    ends = [*places, (archive.start_dir, size)]
    if any(end > following for (_, end), (following, _) in pairwise(ends)):
        raise refuse("several files in it share the same bytes: pack it again with a usual program")
    end = size - _ZIP_END - len(archive.comment)
    file.seek(max(end, 0))
    if ends[0][0] != 0 or file.read(4) != b"PK\5\6":
        raise refuse(f"something stands before its first file, or follows its end: {_PACK_AGAIN}")


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return a file's name: what Unix's zip leaves unmarked is UTF-8 as a rule, and not the old code page that it should be."""
    if info.flag_bits & _UTF8 or info.create_system != _UNIX:
        return info.orig_filename
    return info.orig_filename.encode("cp437").decode("utf-8", "surrogateescape")


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[Member]:
    name, mode = _zip_name(info), info.external_attr >> 16
    if info.flag_bits & 0x41:
        raise refuse(f"{show(name)} is encrypted: pack it without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refuse(f"{show(name)} is compressed in an unusual way: pack it with the usual one, deflate")
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        raise _no_file(name)
    if kind == stat.S_IFDIR or (kind == 0 and name.endswith("/")):
        yield Member(name)
        return
    with archive.open(info) as content:
        if kind == stat.S_IFLNK:
            yield Member(name, target=content.read(_MOST_TOLD).decode("utf-8", "surrogateescape"))
        else:
            yield Member(name, content, bool(mode & stat.S_IXUSR))
