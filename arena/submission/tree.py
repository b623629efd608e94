"""A bot's files as a tree: which names and links there may be in it, how much of it, and a digest of it all.

Names are looked at part by part, and those that differ in case or composition only are refused, since they are one file on
some machines. A link may stay inside: it is followed step by step, and a way that leaves the tree is refused even where it
would come back, since a tree is moved once it is complete.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final

from arena.errors import Refused
from arena.likeness import name_key
from arena.text import clean_line

_MOST_LINKS: Final = 40  # so many are followed on one way, as the kernel does


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large an archive and what is in it may be, and how long its unpacking may take."""

    archive_bytes: int = 64 << 20
    unpacked_bytes: int = 256 << 20
    files: int = 10_000
    """Files, folders and links together."""
    ratio: int = 100
    """Unpacked bytes for each byte of the archive, where there is more than `FREE_BYTES`."""
    path_bytes: int = 240
    depth: int = 32
    looks: int = 1_000_000
    """At parts of ways, to follow all links: some seconds, where 10,000 usual links take a fraction of one."""
    seconds: float = 300.0

    def most_unpacked(self, packed: int) -> int:
        """Return how many bytes may come out of an archive of so many."""
        return min(self.unpacked_bytes, max(FREE_BYTES, packed * self.ratio))


FREE_BYTES: Final = 1 << 20
"""So much may be unpacked whatever the ratio."""


def refuse(text: str) -> Refused:
    """Return the refusal of an archive or a tree."""
    return Refused("BAD_ARCHIVE", text)


def show(name: str) -> str:
    """Return a name as it may be shown."""
    return repr(clean_line(name, 80))


# --- Names ---


def check_name(name: str, bounds: Bounds) -> None:
    """Raise Refused for a name that can't be shown, is too long or too deep."""
    if not name.isprintable():
        raise refuse(f"the name {show(name)} has characters that can't be shown, or is no UTF-8: rename it")
    if len(name.encode()) > bounds.path_bytes:
        raise refuse(f"the name {show(name)} has more than {bounds.path_bytes} bytes: shorten it")
    if name.strip("/").count("/") >= bounds.depth:
        raise refuse(f"{show(name)} is more than {bounds.depth} folders deep: move it up")


class Names:
    """The names in an archive, each once, and no two of which are one file on some machines."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._taken: dict[str, tuple[str, bool]] = {}

    def take(self, name: str, *, folder: bool = False) -> tuple[str, ...]:
        """Note a name with the folders above it, and return its parts; raise Refused where it can't be.

        Only a folder may be named again; the archive's own folder has no parts.
        """
        parts = _parts(name, self._bounds)
        for depth in range(1, len(parts) + 1):
            self._note("/".join(parts[:depth]), folder=folder or depth < len(parts))
        if parts and name.endswith("/") and not folder:
            raise refuse(f"{show(name)} is a file, and has the name of a folder: rename it")
        return parts

    def _note(self, name: str, *, folder: bool) -> None:
        known, was_folder = self._taken.setdefault(name_key(name), (name, folder))
        if known != name:
            raise refuse(f"{show(name)} and {show(known)} are one file on some machines: rename one of them")
        if folder is not was_folder:
            raise refuse(f"{show(name)} is there as a folder, and as a file or a link: rename one of them")
        if len(self._taken) > self._bounds.files:
            raise too_many(self._bounds)


def too_many(bounds: Bounds) -> Refused:
    """Return the refusal of too many files."""
    return refuse(f"there are more than {bounds.files:,} files and folders: leave out what isn't needed")


def _parts(name: str, bounds: Bounds) -> tuple[str, ...]:
    check_name(name, bounds)
    if "\\" in name or ":" in name:
        raise refuse(
            f"the name {show(name)} has a backslash or a colon, which lead elsewhere on some machines: rename it"
        )
    if name.startswith("/"):
        raise refuse(f"the name {show(name)} is absolute: pack the bot's folder, with names that begin in it")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise refuse(
            f"the name {show(name)} leads out of the archive: pack the bot's folder, with names that begin in it"
        )
    if any(part != part.strip() or part.endswith(".") for part in parts):
        raise refuse(f"the name {show(name)} begins or ends with a space, or ends with a dot: rename it")
    return parts


# --- Links ---


class Links:
    """The links below a folder, which may not lead so long a way round that to follow all of them takes long."""

    def __init__(self, root: Path, bounds: Bounds) -> None:
        self._root = root
        self._looks_left = bounds.looks

    def check(self, name: str) -> str:
        """Return the name of what a link leads to.

        Raises Refused where it leads outside, nowhere, or to a folder that holds it, or all of them too long a way round.
        """
        landed = self._follow(name)
        if landed is None:
            raise refuse(f"the link {show(name)} leads outside the bot's folder, or nowhere: put the file itself there")
        if not landed or f"{name}/".startswith(f"{landed}/"):
            raise refuse(f"the link {show(name)} leads to a folder that holds it: take it out")
        return landed

    def _follow(self, name: str) -> str | None:
        """Return where a link leads; None where that is outside, on the way already, or nowhere."""
        done: list[str] = []
        ahead = [part for part in reversed(name.split("/")) if part]
        links = 0
        while ahead:
            self._looks_left -= len(done) + 1
            if self._looks_left < 0:
                raise refuse(
                    "its links lead a long way round: let each lead straight to its file, or put the file there"
                )
            part = ahead.pop()
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            here = f"{self._root}/{'/'.join([*done, part])}"
            try:
                if not stat.S_ISLNK(os.lstat(here).st_mode):
                    done.append(part)
                    continue
                target = os.fspath(Path(here).readlink())
            except OSError:
                return None
            links += 1
            if links > _MOST_LINKS or target.startswith("/"):
                return None
            ahead.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
        # The kernel has the last word: it knows of a file where a folder would have to be.
        return "/".join(done) if os.path.exists(self._root / name) else None  # noqa: PTH110 - Path.exists may raise


def check_link(name: str, root: Path) -> str:
    """Do what `Links.check` does for a single link."""
    return Links(root, Bounds()).check(name)


# --- Trees ---


def check_tree(folder: Path, bounds: Bounds | None = None) -> int:
    """Return how many bytes the files of a folder have; raise Refused for what an archive must not hold either."""
    bounds = bounds or Bounds()
    total, links = 0, Links(folder, bounds)
    try:
        for count, (name, state) in enumerate(walk(folder), 1):
            if count > bounds.files:
                raise too_many(bounds)
            total += _check_entry(name, state, links, bounds)
            if total > bounds.unpacked_bytes:
                raise refuse(f"there are more than {bounds.unpacked_bytes:,} bytes: leave out what isn't needed")
    except OSError as error:
        where = show(os.path.relpath(error.filename, folder)) if error.filename else "a file"
        raise refuse(f"{where} can't be read ({error.strerror}): give it the usual rights, or leave it out") from error
    return total


def _check_entry(name: str, state: os.stat_result, links: Links, bounds: Bounds) -> int:
    """Return the bytes of a file; raise Refused for what must not be there."""
    check_name(name, bounds)
    if stat.S_ISLNK(state.st_mode):
        links.check(name)
        return 0
    if stat.S_ISDIR(state.st_mode):
        return 0
    if not stat.S_ISREG(state.st_mode):
        raise refuse(f"{show(name)} is a device, a pipe, or something else that is no file: leave it out")
    if state.st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise refuse(f"{show(name)} would run with its owner's or group's rights: chmod u-s,g-s it")
    return state.st_size


def tree_digest(folder: Path, build: Sequence[str] = ()) -> str:
    """Return the SHA-256 of a folder's files, in hexadecimal digits: of their names, contents, and whether they are programs.

    Where more is built of them, the words of `build` count too. Folders without files, times and owners count for nothing,
    nor how the files were packed.
    """
    digest = sha256()
    for name, what in list_tree(folder).items():
        digest.update(os.fsencode(name) + b"\0" + os.fsencode(what) + b"\0")
    if build:
        digest.update(b"\0" + json.dumps(build).encode())
    return digest.hexdigest()


def list_tree(folder: Path) -> dict[str, str]:
    """Return what each file and link of a folder is, sorted by name: its content, and whether it is a program."""
    listed = {}
    for name, state in sorted(walk(folder), key=lambda entry: entry[0]):
        path = folder / name
        if stat.S_ISLNK(state.st_mode):
            listed[name] = f"link {path.readlink()}"
        elif stat.S_ISREG(state.st_mode):
            with path.open("rb") as file:
                kind = "program" if state.st_mode & stat.S_IXUSR else "file"
                listed[name] = f"{kind} {file_digest(file, 'sha256').hexdigest()}"
    return listed


def walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names of all that is below a folder, each folder before what is in it; links are not followed."""
    folders = [""]
    while folders:
        below = folders.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                state = entry.stat(follow_symlinks=False)
                yield f"{below}{entry.name}", state
                if stat.S_ISDIR(state.st_mode):
                    folders.append(f"{below}{entry.name}/")
