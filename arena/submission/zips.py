"""Zips, of which `zipfile` reads a list of bounded length."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from arena.submission.members import MOST_TOLD, Member, no_file
from arena.submission.streams import PACK_AGAIN
from arena.submission.tree import Bounds, refuse, show, too_many

_LIST_BYTES: Final = 4 << 20  # of a zip's list of files
_ZIP_END: Final = 22  # bytes of the end of a zip, without its comment
_UTF8, _UNIX = 0x800, 3  # in a zip: the flag of names in UTF-8, and the system it was made on


class _Sparing(io.BufferedReader):
    """A file of which nobody reads much at once, such as a list of millions of files."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _LIST_BYTES:
            raise refuse("its list of files is too long: leave out what isn't needed")
        return super().read(size)


def zip_members(path: Path, bounds: Bounds) -> Iterator[Member]:
    """Yield what is in a zip; raise Refused, or what `zipfile` raises, for what can't be read, or is no file, folder or link."""
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
        raise refuse(f"something stands before its first file, or follows its end: {PACK_AGAIN}")


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
        raise no_file(name)
    if kind == stat.S_IFDIR or (kind == 0 and name.endswith("/")):
        yield Member(name)
        return
    with archive.open(info) as content:
        if kind == stat.S_IFLNK:
            yield Member(name, target=content.read(MOST_TOLD).decode("utf-8", "surrogateescape"))
        else:
            yield Member(name, content, bool(mode & stat.S_IXUSR))
