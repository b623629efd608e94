"""Tars, read as they come.

They are read here rather than by `tarfile`, which takes a damaged header for the end, keeps extended headers of any size, and
lets anything follow.
"""

from __future__ import annotations

import stat
import tarfile
from collections.abc import Iterator
from typing import Final

from arena.submission.members import MOST_TOLD, Member, no_file
from arena.submission.streams import CHUNK, PACK_AGAIN, Readable, cut_short, exactly
from arena.submission.tree import refuse, show

_BLOCK: Final = 512
_ALL_TOLD: Final = 32 << 20  # bytes of all extended headers, whose records may be tiny
_EXTENDED: Final = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, b"X")

HEADERS: Final = 4 * _BLOCK
"""Bytes that headers and padding of a member may take, on average."""


class _Content:
    """The content of a member, of which the stream has so many bytes."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = -size % _BLOCK

    def read(self, size: int, /) -> bytes:
        data = exactly(self._stream, min(size, self._left))
        self._left -= len(data)
        return data

    def skip(self) -> None:
        """Go to the next header."""
        while self.read(CHUNK):
            pass
        exactly(self._stream, self._padding)


def tar_members(stream: Readable) -> Iterator[Member]:
    """Yield what is in a tar; raise Refused for what can't be read, or is no file, folder or link."""
    told: dict[str, str] = {}
    this_told = all_told = 0
    while (info := _header(stream)) is not None:
        if info.type in _EXTENDED:
            length = _BLOCK + info.size
            this_told, all_told = this_told + length, all_told + length
            if info.size < 0 or this_told > MOST_TOLD or all_told > _ALL_TOLD:
                raise refuse(f"it says more of a file than any name needs: {PACK_AGAIN}")
            told |= _told(info, stream)
            continue
        for attribute, key in (("name", "path"), ("linkname", "linkpath")):
            setattr(info, attribute, told.get(key, getattr(info, attribute)))
        size = told.get("size", str(info.size))
        if not (size.isascii() and size.isdigit() and len(size) < 20):
            raise refuse(f"the size of {show(info.name)} is none: {PACK_AGAIN}")
        content = _Content(stream, int(size) if info.isreg() else 0)
        yield _tar_member(info, content, sparse=any(key.startswith("GNU.sparse.") for key in told))
        content.skip()
        told, this_told = {}, 0
    if told:
        raise cut_short()
    while rest := stream.read(CHUNK):
        if rest.strip(b"\0"):
            raise refuse(f"something follows its end: {PACK_AGAIN}")


def _header(stream: Readable) -> tarfile.TarInfo | None:
    """Return the next header, or None for the block of zeros that ends a tar."""
    block = stream.read(_BLOCK)
    if len(block) < _BLOCK:
        raise refuse(f"this is no tar and no zip, or it is cut short: {PACK_AGAIN}")
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
        return None
    except tarfile.HeaderError as error:
        raise refuse(f"this is no tar and no zip, or it is damaged ({error}): {PACK_AGAIN}") from error


def _told(info: tarfile.TarInfo, stream: Readable) -> dict[str, str]:
    """Return what an extended header says of the next member; nothing of one that is about all of them."""
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
            raise refuse(f"what it says of a file is damaged: {PACK_AGAIN}")
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
        raise no_file(info.name)
    return Member(info.name, content, bool(info.mode & stat.S_IXUSR))
