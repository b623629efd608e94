"""The bots of bots.yaml: each a mapping that says its name and how it is reached, read into an `Entry`."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from arena.document import Node, Place, Problems, Wrong
from arena.errors import BadInput
from arena.fields import Fields, describe, one_of, truth, word
from arena.likeness import hidden, name_key, resembled
from arena.settings import Entry
from arena.sockets import check_path, socket_path

INTERPRETERS: Final = ("python", "python3")
"""Programs that stand for the interpreter that runs the arena."""

_SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(INTERPRETERS, (".py",)),
    "node": (".js", ".mjs", ".cjs"),
}
"""Interpreters, with how the names of the files end that they run."""
_PLAIN_OPTIONS: Final = frozenset(("-u", "-B", "-O", "-OO"))
"""Their options after which no value of an option comes."""

MAX_NAME: Final = 64
"""The most characters that a bot's name has."""

KEYS: Final = ("name", "command", "address", "python", "directory", "tcp", "protocol")

_WAYS: Final = ("command", "address", "python")
_LATER: Final = {
    "build": "build the bot before the tournament, and leave the key out",
    "tls": "connections are not encrypted; leave the key out",
    "token_env": "no token is sent; leave the key out",
}
_ADDRESS: Final = re.compile(r"(?:[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+(?:%\w+)?\]):([0-9]{1,5})|unix:/.+")
_CLASS: Final = re.compile(r"(?!\d)\w+(?:\.(?!\d)\w+)*:(?!\d)\w+(?:\.(?!\d)\w+)*")


def read_entries(node: Node, folder: Path, problems: Problems, *, least: int = 2) -> tuple[Entry, ...]:
    """Read the list of at least so many bots; note all that is wrong with any of them. Paths are relative to `folder`."""
    if not isinstance(node.value, list):
        raise Wrong(f"list the bots, each after a dash, not {describe(node)}")
    if len(node.value) < least:
        raise Wrong("a tournament needs at least two bots; add another one")
    taken: dict[str, Place] = {}
    return tuple(_read_entry(bot, folder, problems, taken) for bot in node.value)


def read_name(node: Node) -> str:
    """Read a bot's name, in Unicode's composed form."""
    name = unicodedata.normalize("NFC", word(node, "a name"))
    if len(name) > MAX_NAME:
        raise Wrong(f"a name has at most {MAX_NAME} characters, not {len(name)}; shorten it")
    if name != name.strip():
        raise Wrong("a name neither begins nor ends with a space; take it out")
    if unseen := hidden(name):
        raise Wrong(f"a name has visible characters only; take out U+{ord(unseen):04X}")
    return name


def check_name(text: str) -> str:
    """Return a text as a name; raise Wrong where it can't be one."""
    return read_name(Node(text, Place(), text))


def _read_entry(node: Node, folder: Path, problems: Problems, taken: dict[str, Place]) -> Entry:
    fields = Fields(node, problems, KEYS, _LATER)
    directory = fields.take("directory", lambda value: _read_directory(value, folder), None)
    if isinstance(node.value, dict):
        _check_ways(fields, problems)
    fields.take("protocol", check_protocol, None)
    return Entry(
        name=fields.take("name", lambda value: _read_free_name(value, taken), ""),
        command=fields.take("command", lambda value: _read_command(value, directory or folder), ()),
        address=fields.take("address", _read_address, ""),
        python=fields.take("python", _read_python, ""),
        directory=directory or folder,
        whole_directory=directory is not None,
        tcp=fields.take("tcp", truth, False),
    )


def _check_ways(fields: Fields, problems: Problems) -> None:
    if "name" not in fields:
        problems.add(fields.place("name"), "a bot needs a name; add `name`")
    ways = [way for way in _WAYS if way in fields]
    if not ways:
        problems.add(fields.place("command"), f"a bot needs a way to be reached; add one of {', '.join(_WAYS)}")
    for way in ways[1:]:
        problems.add(fields.place(way), f"a bot is reached in one way; keep `{ways[0]}` or `{way}`")
    for key in ("directory", "tcp", "protocol"):
        if key in fields and ways and "command" not in ways:
            problems.add(fields.place(key), f"`{key}` goes with `command` only; leave it out")


def _read_free_name(node: Node, taken: dict[str, Place]) -> str:
    name = read_name(node)
    other = resembled(name, taken)
    if other is not None and name_key(other) == name_key(name):
        raise Wrong(f"the name {name!r} is taken by the bot in line {taken[other].line}; choose another one")
    if other is not None:
        raise Wrong(f"the name {name!r} looks like {other!r} in line {taken[other].line}; choose another one")
    taken[name] = node.place
    return name


def check_protocol(node: Node) -> None:
    """Refuse protocols that launched bots can't speak."""
    one_of(node, {"grpc": None}, {"stdio": "bots speak gRPC; leave the key out"})


def _read_directory(node: Node, folder: Path) -> Path:
    path = folder / word(node, "a folder")
    if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for names that no file can have
        raise Wrong(f"there is no folder {path}; make it, or correct its name")
    return path.resolve()


def _read_command(node: Node, directory: Path) -> tuple[str, ...]:
    words = read_words(node)
    assert isinstance(node.value, list)
    _check_program(words[0], directory, node.value[0].place)
    index = script_of(words)
    if index is not None and not os.path.exists(directory / words[index]):  # noqa: PTH110 - as above
        raise Wrong(
            f"there is no file {directory / words[index]}; write it or build it first, or correct the path",
            node.value[index].place,
        )
    return words


def script_of(command: Sequence[str]) -> int | None:
    """Return which word of a command names the script that an interpreter is to run; None where that is not sure."""
    index = next((index for index, word in enumerate(command) if index and not word.startswith("-")), 0)
    sure = command[index].endswith(_SCRIPTS.get(command[0], ())) and _PLAIN_OPTIONS.issuperset(command[1:index])
    return index if index and sure else None


def read_words(node: Node) -> tuple[str, ...]:
    """Read a program and its arguments, whether the program is there or not."""
    if not isinstance(node.value, list):
        parts = f"[{', '.join(node.text.split())}]" if node.text.strip() else "[python, bot.py]"
        raise Wrong(f"write the program and its arguments as a list, such as {parts}")
    if not node.value:
        raise Wrong("the list names no program; write one, such as [python, bot.py]")
    return tuple(_read_argument(argument) for argument in node.value)


def _read_argument(node: Node) -> str:
    if isinstance(node.value, dict | list) or node.value is None:
        raise Wrong(f"an argument is one text, not {describe(node)}; put it in quotes", node.place)
    return node.text


def _check_program(program: str, directory: Path, place: Place) -> None:
    if program in INTERPRETERS:
        return
    path = directory / program
    exists = os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for names that no file can have
    if "/" not in program:
        if not program or shutil.which(program) is None:
            hint = f"write ./{program}" if program and exists else "install it, or write the path to it"
            raise Wrong(f"there is no program {program!r} in PATH; {hint}", place)
    elif not exists:
        raise Wrong(f"there is no file {path}; build the bot first, or correct the path", place)
    elif not os.access(path, os.X_OK):
        raise Wrong(f"{path} can't be run; make it executable (chmod +x)", place)


def _read_address(node: Node) -> str:
    address = word(node, "an address")
    match = _ADDRESS.fullmatch(address)
    if match is None or (match[1] and not 1 <= int(match[1]) <= 65535):
        raise Wrong(f"write an address as host:port or unix:/path/of/socket, not {describe(node)}")
    try:
        if path := socket_path(address):
            check_path(path)
    except BadInput as error:
        raise Wrong(str(error)) from error
    return address


def _read_python(node: Node) -> str:
    name = word(node, "a class as module:Class")
    if _CLASS.fullmatch(name) is None:
        raise Wrong(f"write a class as module:Class, not {describe(node)}")
    return name
