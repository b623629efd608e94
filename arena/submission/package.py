"""A bot's folder as a package: what of it belongs to the bot, checked as it will be where it is unpacked, and written as one
archive."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec

from arena.contents import LeftOut, contents
from arena.document import Problems
from arena.entries import script_of
from arena.errors import BadConfig, BadInput, Refused
from arena.manifest import FILE, Manifest
from arena.submission.archive import Bounds, write_archive
from arena.submission.tree import Names, check_link, refuse, show

_LARGEST: Final = 3  # so many are named where there is too much


@dataclass(frozen=True, slots=True)
class Package:
    """A bot's files as one archive."""

    archive: Path
    size: int
    """Bytes of the archive."""
    sha256: bytes
    files: int
    build: bool
    """Whether whoever takes it is to build it."""
    left_out: tuple[LeftOut, ...] = ()


def pack(folder: Path, manifest: Manifest, out: Path, *, source: bool = False, bounds: Bounds | None = None) -> Package:
    """Write a bot's folder as an archive to `out`; with `source`, only what is needed to build it elsewhere.

    Raises BadInput where the program that is to be run is not there, a pattern matches nothing, a link leads outside, or
    there is too much.
    """
    bounds = bounds or Bounds()
    build = source and bool(manifest.build)
    try:
        _check_places(folder, manifest)
        found = contents(folder) if build else contents(folder, manifest.entry.command, manifest.entry.pack)
        files = found.files
        if not build:
            _check_command(folder, manifest, files)
            _check_pack(folder, manifest, files)
        _check_bounds(folder, files, bounds)
        _check_files(folder, files, bounds)
    except Refused as refusal:
        raise BadInput(f"{folder}: {refusal}; or leave it out by a .gitignore") from None
    except OSError as error:
        raise BadInput(
            f"{error.filename or folder} can't be read: {error.strerror}; mend that, or move it away"
        ) from None
    write_archive(files, out)
    size = out.stat().st_size
    _check_packed(folder, files, size, bounds)
    with out.open("rb") as file:
        return Package(out, size, file_digest(file, "sha256").digest(), len(files), build, found.left_out)


# --- What is checked ---


def _check_places(folder: Path, manifest: Manifest) -> None:
    """Raise BadInput where the command names something in the folder by its place on this machine."""
    root = folder.resolve()
    for index, (word, place) in enumerate(zip(manifest.entry.command, manifest.command_places, strict=True)):
        path = Path(word)
        if path.is_absolute() and path.resolve().is_relative_to(root):
            inside = path.resolve().relative_to(root).as_posix()
            raise BadInput(
                f"{place.within(str(folder / FILE))}: {word} is on this machine only; write it as it lies in the folder of"
                f" {FILE}: {'' if index else './'}{inside}"
            )


def _check_command(folder: Path, manifest: Manifest, files: dict[str, Path]) -> None:
    """Raise BadInput where what is to be run is not packed: the program, or what an interpreter is given first."""
    command = manifest.entry.command
    program = command[0]
    if "/" in program:
        if not PurePosixPath(program).is_absolute():
            _check_there(folder, manifest, 0, files)
            if not os.access(folder / program, os.X_OK):
                raise BadInput(f"{folder / program} can't be run; make it executable (chmod +x)")
        return
    index = next((index for index, word in enumerate(command) if index and not word.startswith("-")), 0)
    script = command[index]
    if (
        (script_of(command) is not None or "/" in script)
        and ":" not in script
        and not PurePosixPath(script).is_absolute()
    ):
        _check_there(folder, manifest, index, files)


def _check_there(folder: Path, manifest: Manifest, index: int, files: dict[str, Path]) -> None:
    """Raise BadInput where a word of the command is no name of a file or folder that is packed."""
    word = manifest.entry.command[index]
    name = PurePosixPath(word).as_posix()
    if name in files or any(other.startswith(f"{name}/") for other in files):
        return
    cure = "correct the command, or put it there"
    if ".." in PurePosixPath(word).parts:
        cure = "move it into the folder"
    elif manifest.build:
        cure = f"build the bot first: {shlex.join(manifest.build)}"
    where = manifest.command_places[index].within(str(folder / FILE))
    raise BadInput(f"{where}: {word} of `command` is not among the bot's files; {cure}")


def _check_pack(folder: Path, manifest: Manifest, files: dict[str, Path]) -> None:
    """Raise BadConfig where patterns of `pack` match nothing."""
    problems = Problems()
    for pattern, place in zip(manifest.entry.pack, manifest.pack_places, strict=True):
        if not pattern.startswith("!") and not any(GitIgnoreSpec.from_lines([pattern]).match_files(files)):
            problems.add(place, f"no file of the bot matches {pattern}; correct the pattern, or leave it out")
    if problems:
        raise BadConfig(problems.lines(str(folder / FILE)))


def _check_files(folder: Path, files: dict[str, Path], bounds: Bounds) -> None:
    """Raise Refused for what would be refused where it is unpacked."""
    names = Names(bounds)
    for name, path in files.items():
        names.take(name)
        if path.is_symlink():
            landed = check_link(name, folder)
            if landed not in files and not any(other.startswith(f"{landed}/") for other in files):
                raise refuse(f"the link {show(name)} leads to {show(landed)}, which is left out: add that to `pack`")
        elif not path.is_file():
            raise refuse(f"{show(name)} is a device, a pipe, or something else that is no file: take it away")


def _check_bounds(folder: Path, files: dict[str, Path], bounds: Bounds) -> None:
    """Raise BadInput where there is too much, with the folders that have most."""
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for name, path in files.items():
        top = name.partition("/")[0] + ("/" if "/" in name else "")
        sizes[top] += path.lstat().st_size
        counts[top] += 1
    if sizes.total() > bounds.unpacked_bytes:
        most = ", ".join(f"{name} has {_megabytes(size)}" for name, size in sizes.most_common(_LARGEST))
        raise BadInput(
            f"{folder}: the bot has {_megabytes(sizes.total())} of files, and {_megabytes(bounds.unpacked_bytes)} are the"
            f" most; leave out what isn't needed, by a .gitignore ({most})"
        )
    if counts.total() > bounds.files:
        most = ", ".join(f"{name} has {count:,}" for name, count in counts.most_common(_LARGEST))
        raise BadInput(
            f"{folder}: the bot has {counts.total():,} files, and {bounds.files:,} are the most; leave out what isn't needed,"
            f" by a .gitignore ({most})"
        )


def _check_packed(folder: Path, files: dict[str, Path], size: int, bounds: Bounds) -> None:
    """Raise BadInput where the archive is too large, or so small that it would be taken for a bomb."""
    if size > bounds.archive_bytes:
        raise BadInput(
            f"{folder}: packed, the bot has {_megabytes(size)}, and {_megabytes(bounds.archive_bytes)} are the most; leave"
            " out what isn't needed, by a .gitignore"
        )
    unpacked = sum(path.stat().st_size for path in files.values() if not path.is_symlink())
    if unpacked > bounds.most_unpacked(size):
        large = max(files, key=lambda name: files[name].lstat().st_size)
        raise BadInput(
            f"{folder}: the bot's files have more than {bounds.ratio} times the size of their archive, and would be taken"
            f" for a bomb; leave out what is one thing repeated ({large} is the largest), or let the bot make it when it starts"
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
