"""Where bots' files are kept: a folder beside the database, in it one folder for each content, named after its digest.

A content gets to its place by one rename, whole and safe on the disk, so that there is never a part of one under its digest.
Several processes may share a shelf: each holds a lock on the folder in which it is making something, and what nobody holds
any more is thrown away.

    <digest>/               the files of a version, as it plays; never replaced
    listings/<digest>       what each of these files is, by which it is known whether one was changed since
    incoming/<submission>   an archive as it was received
    staging/<name>/         something in the making
    staging/<submission>/   empty: held by whoever admits the submission
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, Self

from arena.contents import contents, make_folder
from arena.errors import BadInput, BadStore
from arena.store.lock import is_at
from arena.submission.tree import list_tree
from arena.text import clean_line

SUFFIX: Final = ".bots"

YOUNG: Final = 600.0
"""Seconds for which prune() spares what has come: another process may be about to say that it needs it."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SUBMISSION: Final = re.compile(r"[0-9a-f]{32}")


class Shelf:
    """A shelf, whose folders are made when they are needed."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @classmethod
    def beside(cls, place: str | Path) -> Self:
        """Return the shelf of a SQLite database, by the path of its file.

        Raises BadInput for the URL of a database elsewhere, whose shelf has to be named.
        """
        if "://" in str(place):
            raise BadInput("a database that is no file has no folder for bots' files beside it: name one")
        path = Path(place)
        return cls(path.with_name(path.name + SUFFIX))

    @classmethod
    def at(cls, folder: Path) -> Self:
        """Return the shelf in a folder."""
        return cls(folder)

    def incoming(self, submission: str) -> Path:
        """Return where the archive of a submission is kept, in a folder that is there; raise BadInput for what is no id."""
        return self._folder("incoming") / _checked(submission)

    def remove_incoming(self, submission: str) -> None:
        """Remove the archive of a submission, if it is there."""
        self.incoming(submission).unlink(missing_ok=True)

    def folder(self, digest: str) -> Path:
        """Return where the files of a version are kept; raise BadInput for what is no digest."""
        if not _DIGEST.fullmatch(digest):
            raise BadInput(f"{digest!r} is no digest of a bot's files: that has 64 hexadecimal digits")
        return self.root / digest

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Offer an empty folder to make something in; at the end it is gone."""
        folder, lock = self._stage()
        try:
            yield folder
        finally:
            _throw_away(folder)
            os.close(lock)

    @contextmanager
    def alone(self, submission: str) -> Iterator[bool]:
        """Hold a submission, if nobody does: only one process at a time, and one task in it, is to admit it.

        Yields whether it is held; raises BadInput for what is no id.
        """
        folder = self._folder("staging") / _checked(submission)
        lock = _lock(folder)
        try:
            yield lock is not None
        finally:
            if lock is not None:
                _throw_away(folder)
                os.close(lock)

    def whole(self, digest: str) -> Path:
        """Return where the files of a version are kept; raise BadStore with what is wrong where they are not as they came."""
        if damage := self.damage(digest):
            raise BadStore(f"its files are damaged: {damage}; to mend it, submit the same files again")
        return self.folder(digest)

    def damage(self, digest: str) -> str:
        """Say in which way the files of a version are not as they came; empty where they are."""
        place, listing = self.folder(digest), self._listing(digest)
        try:
            found = _listed(place)
            known = json.loads(listing.read_text(encoding="utf-8")) if listing.is_file() else found
        except OSError as error:
            if not place.is_dir():
                return "they are gone"
            return f"{clean_line(os.path.relpath(error.filename or place, place), 80)} can't be read"
        except ValueError:
            known = None
        if not isinstance(known, dict):
            return "nothing tells how they were"
        changed = (name for name in sorted({*found, *known}, key=os.fsencode) if known.get(name) != found.get(name))
        return next((_change(name, known.get(name), found.get(name)) for name in changed), "")

    def adopt(self, tree: Path, digest: str) -> Path:
        """Give a tree in the staging its place under its digest, and return that; afterwards it is safe on the disk.

        What is there already stays while it is whole: bots may be playing with it.
        """
        place = self.folder(digest)
        listed = _listed(tree)
        listing = self._folder("listings") / digest
        if place.exists() and (self.damage(digest) or not (listing.is_file() or _listed(place) == listed)):
            self.remove(digest)
        if not (place.exists() and listing.is_file()):
            listing.write_text(json.dumps(listed), encoding="utf-8")
        os.sync()
        try:
            tree.rename(place)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        _sync(self.root)
        return place

    def remove(self, digest: str) -> None:
        """Throw the files of a version away, if they are there."""
        place = self.folder(digest)
        with self.staging() as staging, suppress(FileNotFoundError):
            self._listing(digest).unlink(missing_ok=True)
            place.rename(staging / digest)

    def sweep(self) -> None:
        """Throw away what processes that are gone were making."""
        for folder in _entries(self.root / "staging"):
            with suppress(FileNotFoundError, NotADirectoryError):
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _throw_away(folder)
                except BlockingIOError:
                    pass
                finally:
                    os.close(descriptor)

    def prune(self, keep: Collection[str], waiting: Collection[str] | None = None, *, young: float = YOUNG) -> None:
        """Throw away all versions but those with these digests, and what processes that are gone were making.

        Where the ids of the `waiting` submissions are given, so are all other archives. What is younger than `young` seconds
        is spared.
        """
        self.sweep()
        before = time.time() - young
        for place in _entries(self.root):
            if _DIGEST.fullmatch(place.name) and place.name not in keep and _changed(place) <= before:
                self.remove(place.name)
        if waiting is not None:
            for archive in _entries(self.root / "incoming"):
                if archive.name not in waiting and _changed(archive) <= before:
                    archive.unlink(missing_ok=True)

    def _listing(self, digest: str) -> Path:
        return self.root / "listings" / digest

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        try:
            make_folder(self.root, 0o700)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise BadStore(f"the folder {folder} for bots' files can't be made: {error.strerror}") from error
        return folder

    def _stage(self) -> tuple[Path, int]:
        """Make a folder and lock it."""
        while True:
            folder = self._folder("staging") / token_hex(8)
            lock = _lock(folder)
            if lock is not None:
                return folder, lock


def _checked(submission: str) -> str:
    if not _SUBMISSION.fullmatch(submission):
        raise BadInput(f"{submission!r} is no id of a submission: that has 32 hexadecimal digits")
    return submission


def _lock(folder: Path) -> int | None:
    """Make a folder, if it isn't there, and lock it; None where another one holds it.

    Another process may throw it away before it is locked.
    """
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                return None
            if is_at(lock, folder):
                return lock
            os.close(lock)


def _listed(tree: Path) -> dict[str, str]:
    """Return what each file is that belongs to the bot in a folder where it was unpacked."""
    files = contents(tree, pack=("*",)).files
    return {name: what for name, what in list_tree(tree).items() if name in files}


def _change(name: str, before: str | None, now: str | None) -> str:
    shown = clean_line(name, 80)
    if now is None:
        return f"{shown} is gone"
    if before is None:
        return f"{shown} was not there before"
    if before.partition(" ")[2] == now.partition(" ")[2]:
        return f"{shown} is {'a' if now.startswith('program') else 'no'} program now (chmod)"
    return f"{shown} was changed"


def _throw_away(folder: Path) -> None:
    """Remove a folder, however deep it is, and whatever modes a build has given to what is in it."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    for words in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*words, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _entries(folder: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return sorted(folder.iterdir())
    return []


def _changed(path: Path) -> float:
    """Return when a path last got where it is; never, where it is gone."""
    with suppress(FileNotFoundError):
        return path.lstat().st_ctime
    return float("inf")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
