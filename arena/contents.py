"""What of a folder belongs to the bot in it: what is submitted, what its version is made of, what it finds in the sandbox.

Everything does that no .gitignore leaves out, and besides what the bot's command names, and what `pack` in its manifest lists:
what was built is usually ignored by git, and is what plays. Never do folders of git and Python's caches, and what is the
arena's own: bots.yaml, its databases with what lies beside them, and what this process is just writing, such as its output.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec

from arena.errors import BadInput
from arena.text import clean_line

MANIFEST: Final = "bot.yaml"

DEPTH: Final = 32
"""So many folders may lie in one another."""

DATABASE_MARK: Final = 0x4172656E
"""The application id that an SQLite file of Arena's has in its header."""

_NEVER: Final = frozenset({".git", ".hg", ".svn", "__pycache__"})
_ARENAS: Final = ("arena.db", "bots.yaml")
"""How the names of the arena's own files begin, in the folder itself."""
_BESIDE: Final = ("-wal", "-shm", "-journal", ".lock", ".server.lock", ".bots")
"""How the names of what lies beside a database end."""
_HEADER: Final = 100
_MOST_SHOWN: Final = 500

Rules = tuple[tuple[str, GitIgnoreSpec], ...]
"""The .gitignore files that are about a folder, each with the folder that it is in, outermost first."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that does not belong to the bot, or a folder of which nothing does."""

    name: str
    """That of a folder ends with a slash."""
    rule: str
    """What leaves it out, such as `*.bin in .gitignore`."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a bot's folder."""

    folder: Path
    files: dict[str, Path]
    """What belongs to the bot, by its name in the folder: files, links, and what should be neither."""
    left_out: tuple[LeftOut, ...]

    def shown(self) -> list[Path]:
        """Return the files and whole folders that show what belongs to the bot, and nothing besides.

        The folder itself is shown where nothing in it is left out, or too much in too many places.
        """
        mixed = {above for one in self.left_out for above in PurePosixPath(one.name).parents}
        if not mixed:
            return [self.folder]
        tops: dict[Path, None] = {}
        for name in self.files:
            whole = (above for above in reversed(PurePosixPath(name).parents) if above not in mixed)
            tops[self.folder / next(whole, PurePosixPath(name))] = None
        return list(tops) if len(tops) <= _MOST_SHOWN else [self.folder]


def contents(folder: Path, command: Iterable[str] = (), pack: Iterable[str] = ()) -> Contents:
    """Look through a bot's folder; `command` are the words that start it, `pack` its manifest's patterns.

    Raises BadInput for a pattern that is none and for folders too deep in one another, OSError where something can't be read.
    """
    patterns = patterns_of(pack, f"{folder / MANIFEST}: `pack`")
    members = _Look(folder, frozenset((MANIFEST, *_named(folder, command))), patterns, _being_written()).members()
    files: dict[str, Path] = {}
    left_out = []
    for name, rule in members:
        if rule:
            left_out.append(LeftOut(name, rule))
        else:
            files[name] = folder / name
    return Contents(folder, files, tuple(left_out))


def cure_of_missing(left_out: Iterable[LeftOut], text: str) -> str:
    """Return what is to be done where a failure's text names a file that a .gitignore leaves out; empty where it names none."""
    for one in left_out:
        whole = one.name.endswith("/")
        shown = re.escape(one.name if whole else PurePosixPath(one.name).name) + ("" if whole else r"(?![\w-]|\.\w)")
        if one.rule.endswith(".gitignore") and re.search(rf"(?<![\w.-]){shown}", text):
            place = f"list it under `pack` in {MANIFEST}, as in pack: [{one.name}]"
            return f"{one.name} is left out, by {one.rule}: {place}"
    return ""


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder of the arena's own, or take an empty one: git leaves it out wherever it lies, and so does every bot."""
    if not folder.is_dir() or not any(folder.iterdir()):
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="ascii")


def patterns_of(lines: Iterable[str], where: str) -> GitIgnoreSpec:
    """Return patterns of files as a .gitignore has them; raise BadInput for one that is none."""
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise BadInput(f"{where} has a pattern that is none ({error}); write it as git has it") from None


@dataclass(frozen=True, slots=True)
class _Look:
    """A look through a folder."""

    folder: Path
    named: frozenset[str]
    patterns: GitIgnoreSpec
    being_written: frozenset[tuple[int, int]]

    def members(self, below: str = "", rules: Rules = (), ignored: str = "") -> Iterator[tuple[str, str]]:
        """Yield names with what leaves them out; `ignored` is the rule that leaves out all that is in the folder `below`."""
        if below.count("/") > DEPTH:
            shown = repr(clean_line(below, 80))
            raise BadInput(
                f"{self.folder}: {shown} is more than {DEPTH} folders deep: move it up; or leave it out by a .gitignore"
            )
        here = self.folder / below
        if not ignored and (here / ".gitignore").is_file():
            lines = (here / ".gitignore").read_text(encoding="utf-8-sig", errors="replace").splitlines()
            rules = (*rules, (below, patterns_of(lines, str(here / ".gitignore"))))
        paths = sorted(here.iterdir())
        databases = {path.name for path in paths if self._is_database(path)}
        own = {f"{name}{end}" for name in databases for end in ("", *_BESIDE)}
        for path in paths:
            name = f"{below}{path.name}"
            if path.name in _NEVER:
                rule = "never packed"
            elif path.name in own or (not below and path.name.startswith(_ARENAS)) or self._is_being_written(path):
                rule = "Arena's own"
            elif path.is_dir() and not path.is_symlink():
                yield from self._of_folder(name, rules, ignored or _ignoring(rules, f"{name}/"))
                continue
            else:
                rule = "" if self._wants(name) else ignored or _ignoring(rules, name)
            yield f"{name}/" if rule and path.is_dir() and not path.is_symlink() else name, rule

    def _of_folder(self, folder: str, rules: Rules, ignored: str) -> Iterator[tuple[str, str]]:
        """Yield the members of a folder; the folder alone, where one rule leaves out all of them."""
        if ignored and not self._may_want_from(folder):
            yield f"{folder}/", ignored
            return
        members = list(self.members(f"{folder}/", rules, ignored))
        found = {rule for _, rule in members}
        if len(found) == 1 and "" not in found:
            yield f"{folder}/", found.pop()
        else:
            yield from members

    def _wants(self, name: str) -> bool:
        """Return whether a file belongs to the bot even if it is ignored."""
        above = (parent.as_posix() for parent in PurePosixPath(name).parents)
        return self.patterns.match_file(name) or name in self.named or not self.named.isdisjoint(above)

    def _may_want_from(self, folder: str) -> bool:
        """Return whether anything in an ignored folder may belong to the bot."""
        return bool(self.patterns) or self._wants(folder) or any(name.startswith(f"{folder}/") for name in self.named)

    def _is_being_written(self, path: Path) -> bool:
        state = path.lstat()
        return (state.st_dev, state.st_ino) in self.being_written

    @staticmethod
    def _is_database(path: Path) -> bool:
        """Return whether a file is a database of Arena's, whatever its name."""
        size = path.lstat().st_size
        if size < 512 or size % 512 or not stat.S_ISREG(path.lstat().st_mode):
            return False
        with suppress(OSError), path.open("rb") as file:
            header = file.read(_HEADER)
            return header.startswith(b"SQLite format 3\0") and header[68:72] == DATABASE_MARK.to_bytes(4, "big")
        return False


def _ignoring(rules: Rules, name: str) -> str:
    """Return the rule by which the .gitignore files leave a file out: the innermost one that says anything decides."""
    for below, spec in reversed(rules):
        found = spec.check_file(name.removeprefix(below))
        if found.include is not None:
            assert found.index is not None
            return f"{spec.patterns[found.index].pattern!s} in {below}.gitignore" if found.include else ""
    return ""


def _named(folder: Path, command: Iterable[str]) -> Iterator[str]:
    """Yield the names of the files and folders among a command's words."""
    words = tuple(command)
    for word in [*words, *(word.partition("=")[2] for word in words if "=" in word)]:
        name = PurePosixPath(word)
        if name.parts and not name.is_absolute() and ".." not in name.parts and os.path.exists(folder / name):  # noqa: PTH110
            yield name.as_posix()


def _being_written() -> frozenset[tuple[int, int]]:
    """Return the files, by device and number, that this process has open to write: its output, the database, its lock."""
    found = set()
    for name in os.listdir("/dev/fd"):  # noqa: PTH208
        with suppress(OSError):
            state = os.fstat(int(name))
            if stat.S_ISREG(state.st_mode) and fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                found.add((state.st_dev, state.st_ino))
    return frozenset(found)
