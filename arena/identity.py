"""What makes two tournaments the same: a fingerprint of their settings, their entries and the bots' files.

The same things give the same fingerprint on every machine and in every folder: how a bot's command reads counts, and what is
in its files, but not where they lie. A comment in bots.yaml, the order of the bots and the pace of play count for nothing.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Final

from arena.errors import BadInput
from arena.settings import Entry, Settings

_SKIPPED_FOLDERS: Final = frozenset({".git", "__pycache__", "node_modules"})
_SKIPPED_FILES: Final = ("arena.db", "bots.yaml")  # Arena's own, with what SQLite and the lock put beside


@dataclass(frozen=True, slots=True)
class Identity:
    """What a tournament is made of, as hashes."""

    fingerprint: str
    """SHA-256 in hexadecimal digits."""
    versions: Mapping[str, str | None]
    """By bot: the first 12 digits of the hash of its files, None where the arena has none, as at an address."""


def fingerprint(settings: Settings, entries: Sequence[Entry]) -> Identity:
    """Return the identity of a tournament; raise BadInput where a bot's file cannot be read."""
    hashes = {entry.name: _files_hash(entry) for entry in entries}
    bots = [[_portable(entry), hashes[entry.name]] for entry in sorted(entries, key=lambda entry: entry.name)]
    return Identity(
        sha256(_canonical({"settings": settings.to_json(), "bots": bots})).hexdigest(),
        {name: digest and digest[:12] for name, digest in hashes.items()},
    )


def bot_version(entry: Entry) -> str | None:
    """Return a bot's version: a hash of its files in 12 hexadecimal digits, None where the arena has none."""
    digest = _files_hash(entry)
    return digest and digest[:12]


def bot_files(entry: Entry) -> dict[str, Path]:
    """Return the files that make up a bot, by their names within it.

    These are all files of a directory that the entry names; else the files among the command's words, but not the
    interpreter; else the file of a Python module. Raises OSError where the directory cannot be read.
    """
    if entry.whole_directory:
        return {path.relative_to(entry.directory).as_posix(): path for path in _all_files(entry.directory)}
    if entry.command:
        return _command_files(entry)
    return _module_file(entry) if entry.python else {}


def _files_hash(entry: Entry) -> str | None:
    try:
        contents = {name: _content_hash(path) for name, path in bot_files(entry).items()}
    except OSError as error:
        raise BadInput(f"bot {entry.name}: {error.filename} cannot be read: {error.strerror}") from error
    return sha256(_canonical(contents)).hexdigest() if contents else None


def _content_hash(path: Path) -> str:
    if path.is_file():
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    return f"link to {path.readlink()}"


def _all_files(directory: Path) -> Iterator[Path]:
    """Yield all files below a directory, and the links that lead to no file; no sockets, pipes or devices."""
    for folder, folders, names in os.walk(directory, onerror=_refuse):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS and name not in links]
        for path in (Path(folder, name) for name in [*names, *links]):
            if (path.is_file() or path.is_symlink()) and not path.name.startswith(_SKIPPED_FILES):
                yield path


def _refuse(error: OSError) -> None:
    raise error


def _command_files(entry: Entry) -> dict[str, Path]:
    """Return the files among a command's words: `bot.awk`, `--model=weights.bin`; the program itself where it is the bot's.

    A program found on the PATH, or outside the bot's directory while other words are files, is an interpreter.
    """
    program, *words = entry.command
    files = {}
    for name in words + [word.partition("=")[2] for word in words if "=" in word]:
        if name and (path := entry.directory / name).is_file():
            files[_portable_word(name, entry.directory)] = path
    path = entry.directory / program
    own = not files or path.resolve().is_relative_to(entry.directory.resolve())
    if own and "/" in program and program != sys.executable and path.is_file():
        files[_portable_word(program, entry.directory)] = path
    return files


def _module_file(entry: Entry) -> dict[str, Path]:
    """Return the file of a `module:Class`; nothing where there is no such module, which its start will tell."""
    module = entry.python.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return {}
    if found is None or found.origin is None or not found.has_location:
        return {}
    return {module: Path(found.origin)}


def _portable(entry: Entry) -> dict[str, Any]:
    """Return an entry without what differs from machine to machine: its directory, and where Python lies."""
    values = entry.to_json()
    del values["directory"]
    values["command"] = [_portable_word(word, entry.directory) for word in entry.command]
    return values


def _portable_word(word: str, directory: Path) -> str:
    if word == sys.executable:
        return "python"
    path = Path(word)
    return path.relative_to(directory).as_posix() if path.is_absolute() and path.is_relative_to(directory) else word


def _canonical(value: object) -> bytes:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
