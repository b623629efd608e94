"""A bot's folder as a package: which of its files belong to the bot, written as one archive.

Everything does that no .gitignore leaves out, and besides what the manifest's command names, and what its `pack` lists: what
was built is usually ignored by git, and is what plays. Arena's own files, its databases and bots.yaml, never do.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from arena.errors import BadInput
from arena.files import ARENA_FILES
from arena.manifest import FILE, Manifest
from arena.submission.archive import Bounds, write_archive
from arena.submission.tree import check_name

_NEVER = frozenset({".git", ".hg", ".svn", "__pycache__"})
_LARGEST = 3  # so many are named where there is too much


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


def pack(folder: Path, manifest: Manifest, out: Path, *, source: bool = False, bounds: Bounds | None = None) -> Package:
    """Write a bot's folder as an archive to `out`; with `source`, only what is needed to build it elsewhere.

    Raises BadInput where the program that is to be run is not there, a link leads outside, or there is too much.
    """
    bounds = bounds or Bounds()
    build = source and bool(manifest.build)
    files = dict(_chosen(folder, manifest, source=source))
    if not build:
        _check_program(folder, manifest, files)
    for name, path in files.items():
        _check_file(folder, name, path, bounds)
    _check_bounds(files, bounds)
    write_archive(files, out)
    size = out.stat().st_size
    if size > bounds.archive_bytes:
        raise BadInput(
            f"{folder}: packed it has {_megabytes(size)}, and {_megabytes(bounds.archive_bytes)} are the most"
        )
    with out.open("rb") as file:
        return Package(out, size, file_digest(file, "sha256").digest(), len(files), build)


def _chosen(folder: Path, manifest: Manifest, *, source: bool) -> Iterator[tuple[str, Path]]:
    """Yield the files that belong to the bot, by their names in it."""
    wanted = GitIgnoreSpec.from_lines([] if source and manifest.build else manifest.pack)
    named = set() if source and manifest.build else set(_named(folder, manifest))
    for name, path, ignored in _walk(folder, (), wanted):
        if name in named or wanted.match_file(name) or not ignored:
            yield name, path


def _named(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield the names of the files among the command's words."""
    words = manifest.entry.command
    for word in [*words, *(word.partition("=")[2] for word in words if "=" in word)]:
        name = PurePosixPath(word)
        if word and not name.is_absolute() and ".." not in name.parts and (folder / word).is_file():
            yield name.as_posix()


def _walk(
    folder: Path, rules: tuple[tuple[str, GitIgnoreSpec], ...], wanted: GitIgnoreSpec, below: str = ""
) -> Iterator[tuple[str, Path, bool]]:
    """Yield all files and links below a folder, and whether a .gitignore leaves them out."""
    if (folder / ".gitignore").is_file():
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
        rules = (*rules, (below, GitIgnoreSpec.from_lines(lines)))
    for path in sorted(folder.iterdir()):
        name = f"{below}{path.name}"
        if path.name in _NEVER or (not below and path.name.startswith(ARENA_FILES)):
            continue
        if path.is_dir() and not path.is_symlink():
            left_out = _ignored(f"{name}/", rules)
            for inner, found, ignored in _walk(path, rules, wanted, f"{name}/"):
                yield inner, found, ignored or left_out
        else:
            yield name, path, _ignored(name, rules)


def _ignored(name: str, rules: tuple[tuple[str, GitIgnoreSpec], ...]) -> bool:
    """Return whether the .gitignore files leave a file out: the deepest one that says anything decides."""
    for below, spec in reversed(rules):
        verdict = spec.check_file(name.removeprefix(below)).include
        if verdict is not None:
            return verdict
    return False


def _check_program(folder: Path, manifest: Manifest, files: dict[str, Path]) -> None:
    program = manifest.entry.command[0]
    if "/" not in program:
        return
    if PurePosixPath(program).as_posix() not in files:
        cure = (
            "build it first (`build` in bot.yaml says how)" if not (folder / program).exists() else "add it to `pack`"
        )
        raise BadInput(f"{folder / FILE}: the program {program} of `command` is not among the bot's files; {cure}")
    if not os.access(folder / program, os.X_OK):
        raise BadInput(f"{folder / program} can't be run; make it executable (chmod +x)")


def _check_file(folder: Path, name: str, path: Path, bounds: Bounds) -> None:
    check_name(name, bounds)
    if path.is_symlink():
        try:
            inside = path.resolve(strict=True).is_relative_to(folder.resolve())
        except (OSError, RuntimeError):
            inside = False
        if not inside or path.readlink().is_absolute():
            raise BadInput(
                f"{path} is a link that leads outside the folder, or nowhere; copy the file itself, or ignore it"
            )
    elif not path.is_file():
        raise BadInput(f"{path} is no file; take it out of the folder, or add it to .gitignore")


def _check_bounds(files: dict[str, Path], bounds: Bounds) -> None:
    """Raise BadInput where there is too much, with the folders that have most."""
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for name, path in files.items():
        top = name.partition("/")[0] + ("/" if "/" in name else "")
        sizes[top] += path.lstat().st_size
        counts[top] += 1
    if sum(sizes.values()) > bounds.unpacked_bytes:
        most = ", ".join(f"{name} {_megabytes(size)}" for name, size in sizes.most_common(_LARGEST))
        raise BadInput(
            f"the bot has {_megabytes(sum(sizes.values()))} of files, and {_megabytes(bounds.unpacked_bytes)} are the most:"
            f" leave out what isn't needed, by a .gitignore ({most})"
        )
    if len(files) > bounds.files:
        most = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(_LARGEST))
        raise BadInput(
            f"the bot has {len(files):,} files, and {bounds.files:,} are the most: leave out what isn't needed, by a"
            f" .gitignore ({most})"
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
