"""Streams of bytes of which no more is read than is wanted: bounded, and out of what gzip, xz or bzip2 have compressed."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any, Final, Protocol

from arena.errors import Refused
from arena.submission.tree import refuse
from arena.text import clean_line

CHUNK: Final = 1 << 16

PACK_AGAIN: Final = "pack it again, with tar or zip"

_XZ_MEMORY: Final = 128 << 20  # twice what xz -9 needs


class Readable(Protocol):
    """What can be read to its end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most so many; none at the end."""


class Bounded:
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

COMPRESSED: Final = tuple(_DECOMPRESSORS)
"""How compressed tars begin."""


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
                f"what is compressed in it is damaged ({clean_line(str(error), 100)}): {PACK_AGAIN}"
            ) from error
        self._ready += data
        if self._decompressor.eof:
            if self._decompressor.unused_data or self._file.read(1):
                raise refuse(f"something follows the end of what is compressed in it: {PACK_AGAIN}")
        elif wanted and not packed and not data:
            raise cut_short()


def decompressed(file: IO[bytes], head: bytes) -> Readable:
    """Return what comes out of a file, which may be compressed: its first bytes tell."""
    decompressor = next((make() for magic, make in _DECOMPRESSORS.items() if head.startswith(magic)), None)
    return _Decompressed(file, decompressor) if decompressor else file


def exactly(stream: Readable, size: int) -> bytes:
    """Return so many bytes of a stream; raise Refused where it has fewer."""
    data = stream.read(size)
    if len(data) < size:
        raise cut_short()
    return data


def cut_short() -> Refused:
    """Return the refusal of what ends too early."""
    return refuse(f"it is cut short: {PACK_AGAIN}, or send it again")
