"""Which files make up a bot: what its version is made of, and what it can read in the sandbox."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from arena.settings import Entry

ARENA_FILES: Final = ("arena.db", "bots.yaml")
"""How the names of Arena's own files in a bot's directory begin, with what SQLite and the lock put beside."""

_SKIPPED_FOLDERS: Final = frozenset({".git", "__pycache__", "node_modules"})


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


def portable_word(word: str, directory: Path) -> str:
    """Return a command's word as it reads on every machine: no place of Python, and no folder of the bot's."""
    if word == sys.executable:
        return "python"
    path = Path(word)
    return path.relative_to(directory).as_posix() if path.is_absolute() and path.is_relative_to(directory) else word


def _all_files(directory: Path) -> Iterator[Path]:
    """Yield all files below a directory, and the links that lead to no file; no sockets, pipes or devices."""
    for folder, folders, names in os.walk(directory, onerror=_refuse):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS and name not in links]
        for path in (Path(folder, name) for name in [*names, *links]):
            if (path.is_file() or path.is_symlink()) and not path.name.startswith(ARENA_FILES):
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
            files[portable_word(name, entry.directory)] = path
    path = entry.directory / program
    own = not files or path.resolve().is_relative_to(entry.directory.resolve())
    if own and "/" in program and program != sys.executable and path.is_file():
        files[portable_word(program, entry.directory)] = path
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
