"""Which files make up a bot, as its entry says it: what its version is made of, and what it can read in the sandbox."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from arena.contents import Contents, contents
from arena.settings import Entry


def bot_files(entry: Entry) -> dict[str, Path]:
    """Return the files that make up a bot, by their names within it.

    These are what belongs to the bot in a directory that the entry names; else the files among the command's words, but not the
    interpreter; else the file of a Python module. Raises OSError where the directory cannot be read, and BadInput as
    `arena.contents` does.
    """
    if entry.whole_directory:
        files = folder_contents(entry).files
        return {name: path for name, path in files.items() if path.is_file() or path.is_symlink()}
    if entry.command:
        return _command_files(entry)
    return _module_file(entry) if entry.python else {}


def folder_contents(entry: Entry) -> Contents:
    """Look through the directory of an entry that names it; raises as `bot_files`."""
    return contents(entry.directory, [portable_word(word, entry.directory) for word in entry.command], entry.pack)


def portable_word(word: str, directory: Path) -> str:
    """Return a command's word as it reads on every machine: no place of Python, and no folder of the bot's."""
    if word == sys.executable:
        return "python"
    path = Path(word)
    return path.relative_to(directory).as_posix() if path.is_absolute() and path.is_relative_to(directory) else word


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
