"""Which bot a command is about: a folder with its manifest, a command, an address, or a name in bots.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from arena.clock import TimeControl
from arena.errors import BadInput
from arena.settings import Entry, Isolation, Limits
from arena.sockets import check_path, socket_path

_ADDRESS: Final = re.compile(r"[^\s/]+:[0-9]{1,5}|unix:/.+")


@dataclass(frozen=True, slots=True)
class ChosenBot:
    """A bot as it was asked for."""

    entry: Entry
    time: TimeControl
    """The limits of its bots.yaml, or else the usual ones."""
    games: tuple[str, ...] = ()
    """The games that its manifest names; empty for all that it says it plays."""
    build: tuple[str, ...] = ()
    """What its manifest says builds it."""
    isolation: Isolation = Isolation.AUTO
    limits: Limits = field(default_factory=Limits)


def choose_bot(words: Sequence[str], bots: Path) -> ChosenBot:
    """Return the bot that the words of a command line mean; raise BadInput where they mean none.

    Several words are a command; one is a folder, an address, a name in the bots.yaml at `bots`, or else a program.
    """
    if len(words) > 1:
        return _command(words)
    (word,) = words
    if Path(word).is_dir():
        return _folder(Path(word))
    if _ADDRESS.fullmatch(word) or socket_path(word):
        return at_address(word)
    if Path(word).is_file() and "/" in word:
        return _command(words)
    return _named(word, bots)


def at_address(address: str) -> ChosenBot:
    """Return a bot that serves at an address; raise BadInput where that is none."""
    path = socket_path(address)
    if path and not path.is_absolute():
        raise BadInput(f"{address!r} is no address: unix: needs an absolute path after it, as in unix:/tmp/bot.sock")
    if not _ADDRESS.fullmatch(address):
        raise BadInput(f"{address!r} is no address: write host:port or unix:/path/of/socket")
    if path:
        check_path(path)
    return ChosenBot(Entry(address, address=address), TimeControl())


def _command(words: Sequence[str]) -> ChosenBot:
    name = next((Path(word).stem for word in reversed(words) if Path(word).is_file()), words[0])
    folder = Path.cwd()
    # Its folder is the bot's own, unless that would be all that a person has.
    whole = not Path.home().is_relative_to(folder)
    return ChosenBot(Entry(name, command=tuple(words), directory=folder, whole_directory=whole), TimeControl())


def _folder(folder: Path) -> ChosenBot:
    """Return the bot of a folder: its manifest's, or else the one of its bots.yaml that is named after the folder."""
    from arena.document import misnamed
    from arena.manifest import FILE, load_manifest

    if (folder / FILE).is_file():
        manifest = load_manifest(folder)
        return ChosenBot(manifest.entry, TimeControl(), manifest.games, manifest.build)
    name, bots = folder.resolve().name, folder / "bots.yaml"
    if bots.is_file():
        return _find(name, bots, f"{folder} has no manifest {FILE}, and {name!r} is")
    raise BadInput(
        f"{folder} has no manifest: write {folder / FILE}, such as `name: my-bot` and `command: [python, bot.py]` in"
        f" two lines; or give the command after --, or a name in the bots.yaml of --bots"
        f"{misnamed(folder / FILE) or misnamed(bots)}"
    )


def _named(name: str, bots: Path) -> ChosenBot:
    from arena.document import misnamed

    if not bots.is_file():
        raise BadInput(
            f"{name!r} is no folder, address or program, and there is no {bots} that could have a bot of that name:"
            f" name the bot's folder, give its command after --, or name the bots.yaml with --bots{misnamed(bots)}"
        )
    return _find(name, bots, f"{name!r} is no folder, address or program, and")


def _find(name: str, bots: Path, otherwise: str) -> ChosenBot:
    """Return a bot of a bots.yaml; raise BadInput, which begins with `otherwise`, where it has none of that name."""
    from arena.config import load_config
    from arena.likeness import name_key

    config = load_config(bots, {})
    for entry in config.entries:
        if name_key(entry.name) == name_key(name):
            settings = config.settings
            return ChosenBot(entry, settings.time, isolation=settings.isolation, limits=settings.limits)
    raise BadInput(f"{otherwise} no bot of {bots}, which has {', '.join(entry.name for entry in config.entries)}")
