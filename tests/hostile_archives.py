"""Archives that a server must refuse, each made here: by its kind, what makes its bytes, and a part of what is to be said.

All of them but the broken ones would unpack to a bot if they were believed, so that nothing else is what they are refused for.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

MANIFEST: Final = b"name: hostile\ncommand: [python, bot.py]\n"
PROGRAM: Final = b"print('hello')\n"
MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Hostile:
    """A kind of archive that is refused."""

    make: Callable[[], bytes]
    complaint: str
    """A part of the refusal's text."""


# --- How they are made ---


def tar_file(name: str, data: bytes = PROGRAM, **said: object) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member of a tar, with attributes that say something else than usual."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for attribute, value in said.items():
        setattr(info, attribute, value)
    return info, data


def tar(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    """Return a tar of a bot and further members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for info, data in (tar_file("bot.yaml", MANIFEST), tar_file("bot.py"), *members):
            archive.addfile(info, io.BytesIO(data) if data else None)
    return packed.getvalue()


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of a bot and further members."""
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in (("bot.yaml", MANIFEST), ("bot.py", PROGRAM), *members):
            archive.writestr(name, data)
    return packed.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    """Return a link as a member of a tar."""
    return tar_file(name, b"", type=kind, linkname=target)


def zip_info(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    """Return what a zip says of a file with a mode of Unix."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def _pax(records: bytes, name: str = "bot2.py") -> bytes:
    header, data = tar_file("pax", records, type=tarfile.XHDTYPE)
    return tar((header, data), tar_file(name))


def _extended(headers: int, members: int, size: int) -> bytes:
    """Return a tar with so many extended headers of so many bytes before each of its further members."""
    header, _ = tar_file("pax", type=tarfile.XHDTYPE)
    header.size = size
    said = header.tobuf() + (b"%d c=" % size).ljust(size - 1, b"x") + b"\n" + bytes(-size % 512)
    rest = b"".join(said * headers + tarfile.TarInfo(f"{number}").tobuf() for number in range(members))
    return tar()[:2048] + rest + bytes(1024)


def _damaged_header() -> bytes:
    whole = bytearray(tar(tar_file("more.py")))
    whole[1024 + 1024 + 3] ^= 0x20  # in the name of the third member
    return bytes(whole)


def _overlapping_zip() -> bytes:
    """Return a zip whose list names one stretch of bytes many times."""
    whole = zipped(("zeros", bytes(MEGABYTE)))
    start = whole.rindex(b"PK\1\2")
    end = whole.rindex(b"PK\5\6")
    entry = whole[start:end]
    entries = b"".join(entry.replace(b"zeros", b"zer%02d" % number) for number in range(64))
    listed = whole[struct.unpack_from("<I", whole, end + 16)[0] : start] + entries
    begin = struct.unpack_from("<I", whole, end + 16)[0]
    closing = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 66, 66, len(listed), begin, 0)
    return whole[:begin] + listed + closing


def _encrypted_zip() -> bytes:
    whole = bytearray(zipped())
    whole[6] |= 1
    whole[whole.index(b"PK\1\2") + 8] |= 1
    return bytes(whole)


def _lying_zip() -> bytes:
    """Return a zip that says of a large file that it is small."""
    whole = bytearray(zipped(("zeros", bytes(8 * MEGABYTE))))
    for place in (whole.rindex(b"PK\3\4") + 22, whole.rindex(b"PK\1\2") + 24):
        struct.pack_into("<I", whole, place, 10)
    return bytes(whole)


def _corrupt_zip() -> bytes:
    whole = bytearray(zipped(("data", PROGRAM * 10), method=zipfile.ZIP_STORED))
    whole[whole.index(PROGRAM * 2)] ^= 1
    return bytes(whole)


def _huge_list_zip() -> bytes:
    """Return a zip whose end says that its list has 5 MiB."""
    filler = bytes(5 * MEGABYTE)
    return b"PK\3\4" + filler + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(filler), 4, 0)


def _corrupt_gzip() -> bytes:
    whole = bytearray(gzip.compress(tar()))
    whole[-5] ^= 1  # of its checksum
    return bytes(whole)


def _many_empty_gzips() -> bytes:
    return gzip.compress(tar()) + gzip.compress(b"") * 1000


def _greedy_xz() -> bytes:
    """Return an xz that asks for 1 GiB of memory."""
    packed = lzma.compress(tar(), lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])
    whole = bytearray(packed)
    whole[16] = 36  # the size of its dictionary in the header of the first block, which has a checksum
    header_size = (whole[12] + 1) * 4
    whole[12 + header_size - 4 : 12 + header_size] = struct.pack("<I", zlib.crc32(whole[12 : 12 + header_size - 4]))
    return bytes(whole)


def _bomb(compress: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    return lambda: compress(tar(tar_file("zeros", bytes(16 * MEGABYTE))))


def _plain(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.GNU_FORMAT) -> Callable[[], bytes]:
    return lambda: tar(*members, form=form)


def _zip(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> Callable[[], bytes]:
    return lambda: zipped(*members, method=method)


def _without_manifest() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tar_file("bot.py")[0], io.BytesIO(PROGRAM))
    return packed.getvalue()


def _manifest_as_link() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(link("bot.yaml", "/etc/hostname")[0])
    return packed.getvalue()


def _manifest_as_folder() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tar_file("bot.yaml", b"", type=tarfile.DIRTYPE)[0])
    return packed.getvalue()


# --- All of them ---

PATHS: Final[Mapping[str, Hostile]] = {
    "tar: parent path": Hostile(_plain(tar_file("../outside.py")), "leads out of the archive"),
    "tar: parent path within": Hostile(_plain(tar_file("a/../../outside.py")), "leads out of the archive"),
    "tar: absolute path": Hostile(_plain(tar_file("/tmp/outside.py")), "is absolute"),
    "tar: absolute folder": Hostile(_plain(tar_file("/tmp/outside", b"", type=tarfile.DIRTYPE)), "is absolute"),
    "tar: parent path by pax": Hostile(lambda: _pax(b"22 path=../outside.py\n"), "leads out of the archive"),
    "tar: backslashes": Hostile(_plain(tar_file("..\\outside.py")), "a backslash or a colon"),
    "tar: drive letter": Hostile(_plain(tar_file("C:outside.py")), "a backslash or a colon"),
    "tar: control characters": Hostile(_plain(tar_file("\x1b[31mred\n.py")), "can't be shown"),
    "tar: name turned around": Hostile(_plain(tar_file("bot\u202eyp.exe")), "can't be shown"),
    "tar: invalid UTF-8": Hostile(_plain(tar_file("bot\udcff.py")), "is no UTF-8"),
    "tar: trailing dot": Hostile(_plain(tar_file("folder./bot.py")), "ends with a dot"),
    "tar: long name": Hostile(_plain(tar_file("x" * 241)), "more than 240 bytes"),
    "tar: too deep": Hostile(_plain(tar_file("a/" * 32 + "b")), "32 folders deep"),
    "tar: duplicate": Hostile(_plain(tar_file("bot.py")), "is there twice"),
    "tar: case collision": Hostile(_plain(tar_file("BOT.py")), "are one file on some machines"),
    "tar: case collision of folders": Hostile(
        _plain(tar_file("src/a.py"), tar_file("Src/b.py")), "are one file on some machines"
    ),
    "tar: composition collision": Hostile(
        _plain(tar_file("\u00e9.py"), tar_file("e\u0301.py")), "are one file on some machines"
    ),
    "tar: file as a folder": Hostile(_plain(tar_file("bot.py/inner.py")), "as a folder, and as a file"),
    "tar: folder as a file": Hostile(_plain(tar_file("a/b"), tar_file("a")), "as a folder, and as a file"),
    "zip: parent path": Hostile(_zip(("../outside.py", PROGRAM)), "leads out of the archive"),
    "zip: absolute path": Hostile(_zip(("/tmp/outside.py", PROGRAM)), "is absolute"),
    "zip: backslashes": Hostile(_zip(("..\\outside.py", PROGRAM)), "a backslash or a colon"),
    "zip: control characters": Hostile(_zip(("\a.py", PROGRAM)), "can't be shown"),
    "zip: duplicate": Hostile(_zip(("bot.py", PROGRAM)), "is there twice"),
    "zip: case collision": Hostile(_zip(("Bot.py", PROGRAM)), "are one file on some machines"),
    "zip: file named as a folder": Hostile(_zip((zip_info("folder/"), PROGRAM)), "has the name of a folder"),
}

KINDS: Final[Mapping[str, Hostile]] = {
    "tar: absolute link": Hostile(_plain(link("key", "/etc/passwd")), "leads outside the bot's folder"),
    "tar: link to the parent": Hostile(_plain(link("up", "..")), "leads outside the bot's folder"),
    "tar: link out and back": Hostile(_plain(link("up", "../unpacked/bot.py")), "leads outside the bot's folder"),
    "tar: links in steps": Hostile(
        _plain(link("a/b/up", "../.."), link("out", "a/b/up/../x")), "leads to a folder that holds it"
    ),
    "tar: dangling link": Hostile(_plain(link("gone", "nothing.py")), "or nowhere"),
    "tar: link without target": Hostile(_plain(link("gone", "")), "leads nowhere"),
    "tar: link to itself": Hostile(_plain(link("me", "me")), "or nowhere"),
    "tar: link in a circle": Hostile(_plain(link("me", ".")), "leads to a folder that holds it"),
    "tar: file through a link": Hostile(
        _plain(link("out", "/tmp"), tar_file("out/outside.py")), "as a folder, and as a file or a link"
    ),
    "tar: file over a link": Hostile(_plain(link("out", "/tmp/outside.py"), tar_file("out")), "is there twice"),
    "tar: link over a file": Hostile(_plain(link("bot.py", "/etc/passwd")), "is there twice"),
    "tar: hard link inside": Hostile(_plain(link("copy.py", "bot.py", tarfile.LNKTYPE)), "is a hard link"),
    "tar: hard link outside": Hostile(_plain(link("copy", "/etc/passwd", tarfile.LNKTYPE)), "is a hard link"),
    "tar: character device": Hostile(
        _plain(tar_file("null", b"", type=tarfile.CHRTYPE, devmajor=1, devminor=3)), "is a device"
    ),
    "tar: block device": Hostile(_plain(tar_file("disk", b"", type=tarfile.BLKTYPE, devmajor=8)), "is a device"),
    "tar: pipe": Hostile(_plain(tar_file("pipe", b"", type=tarfile.FIFOTYPE)), "is a device, a pipe"),
    "tar: sparse file": Hostile(_plain(tar_file("sparse", type=tarfile.GNUTYPE_SPARSE)), "is a sparse file"),
    "tar: sparse file by pax": Hostile(
        lambda: _pax(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"), "is a sparse file"
    ),
    "zip: link outside": Hostile(_zip((zip_info("up", 0o120777), b"../../..")), "leads outside the bot's folder"),
    "zip: device": Hostile(_zip((zip_info("null", 0o020666), b"")), "is a device"),
    "zip: socket": Hostile(_zip((zip_info("socket", 0o140777), b"")), "is a device"),
    "zip: encrypted": Hostile(_encrypted_zip, "is encrypted"),
    "zip: bzip2 inside": Hostile(_zip(method=zipfile.ZIP_BZIP2), "compressed in an unusual way"),
    "zip: lzma inside": Hostile(_zip(method=zipfile.ZIP_LZMA), "compressed in an unusual way"),
    "no manifest": Hostile(_without_manifest, "there is no bot.yaml"),
    "manifest as a link": Hostile(_manifest_as_link, "there is no bot.yaml"),
    "manifest as a folder": Hostile(_manifest_as_folder, "there is no bot.yaml"),
}

SIZES: Final[Mapping[str, Hostile]] = {
    "bomb: gzip": Hostile(_bomb(gzip.compress), "100 times its size"),
    "bomb: bzip2": Hostile(_bomb(bz2.compress), "100 times its size"),
    "bomb: xz": Hostile(_bomb(lzma.compress), "100 times its size"),
    "bomb: zip": Hostile(_zip(("zeros", bytes(16 * MEGABYTE))), "100 times its size"),
    "bomb: many files of a zip": Hostile(
        _zip(*((f"zeros{number}", bytes(MEGABYTE)) for number in range(8))), "100 times its size"
    ),
    "bomb: overlapping zip": Hostile(_overlapping_zip, "share the same bytes"),
    "bomb: zip that says it is small": Hostile(_lying_zip, "can't be read"),
    "bomb: list of a zip": Hostile(_huge_list_zip, "list of files is too long"),
    "bomb: after the end of a tar": Hostile(
        lambda: gzip.compress(tar() + bytes(64 * MEGABYTE)), "far more comes out of it"
    ),
    "bomb: extended header": Hostile(
        lambda: gzip.compress(_pax(b"0" * MEGABYTE)), "says more of a file than any name needs"
    ),
    "bomb: extended headers of a file": Hostile(
        lambda: _extended(headers=5, members=1, size=15_000), "says more of a file than any name needs"
    ),
    "bomb: extended headers of many files": Hostile(
        lambda: _extended(headers=1, members=600, size=60_000),
        "says more of a file than any name needs",
    ),
    "bomb: memory of xz": Hostile(_greedy_xz, "is damaged"),
    "too many files": Hostile(
        lambda: gzip.compress(tar(*(tar_file(f"{number}", b"") for number in range(10_000)))), "more than 10,000 files"
    ),
    "too many folders": Hostile(
        lambda: gzip.compress(tar(*(tar_file(f"{number}/" + "a/" * 20 + "b", b"") for number in range(500)))),
        "more than 10,000 files",
    ),
    "one folder too often": Hostile(
        lambda: gzip.compress(tar(*[tar_file("a", b"", type=tarfile.DIRTYPE)] * 10_000)), "more than 10,000 files"
    ),
    "zip: too many files": Hostile(_zip(*((f"{number}", b"") for number in range(10_000))), "more than 10,000 files"),
}

BROKEN: Final[Mapping[str, Hostile]] = {
    "no bytes": Hostile(lambda: b"", "is empty"),
    "zeros": Hostile(lambda: bytes(10_240), "there is no bot.yaml"),
    "text": Hostile(lambda: b"name: bot\n" * 100, "this is no tar and no zip"),
    "short text": Hostile(lambda: b"hello", "cut short"),
    "zip without files": Hostile(lambda: b"PK\5\6" + bytes(18), "there is no bot.yaml"),
    "truncated tar": Hostile(lambda: tar()[:2000], "cut short"),
    "tar without end": Hostile(lambda: tar()[:2048], "cut short"),
    "truncated gzip": Hostile(lambda: gzip.compress(tar())[:-20], "cut short"),
    "truncated bzip2": Hostile(lambda: bz2.compress(tar())[:-20], "cut short"),
    "truncated xz": Hostile(lambda: lzma.compress(tar())[:-40], "cut short"),
    "truncated zip": Hostile(lambda: zipped()[:-30], "can't be read"),
    "damaged header": Hostile(_damaged_header, "or it is damaged"),
    "damaged gzip": Hostile(_corrupt_gzip, "is damaged"),
    "damaged zip": Hostile(_corrupt_zip, "can't be read"),
    "damaged pax": Hostile(lambda: _pax(b"99999 path=a\n"), "is damaged"),
    "size below zero": Hostile(lambda: _pax(b"11 size=-1\n"), "is none"),
    "size beyond its end": Hostile(lambda: _pax(b"17 size=99999999\n"), "cut short"),
    "two gzips": Hostile(lambda: gzip.compress(tar()) * 2, "something follows"),
    "many empty gzips": Hostile(_many_empty_gzips, "something follows"),
    "garbage after a gzip": Hostile(lambda: gzip.compress(tar()) + b"garbage", "something follows"),
    "garbage after a tar": Hostile(lambda: tar() + b"garbage" * 100, "something follows"),
    "tar after a tar": Hostile(lambda: tar() + tar(tar_file("more.py")), "something follows"),
    "garbage after a zip": Hostile(lambda: zipped() + b"garbage", "follows its end"),
    "program before a zip": Hostile(lambda: b"PK" + bytes(100) + zipped(), "stands before its first file"),
    "gzip in a gzip": Hostile(lambda: gzip.compress(gzip.compress(tar())), "this is no tar and no zip"),
}

HOSTILE: Final[Mapping[str, Hostile]] = {**PATHS, **KINDS, **SIZES, **BROKEN}
"""All kinds by their names."""
