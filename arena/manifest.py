"""A bot's manifest, the file `bot.yaml` in its folder: its name, how it is built and run, what it plays, who wrote it.

    name: my-bot
    command: [./bot]
    build: [go, build, -o, bot, .]
    pack: [bot]
    games: [hearts-classic, heartswitch]
    author: Somebody

Name and command are needed. What a key means is as in bots.yaml; paths are relative to the folder. `pack` has patterns as in a
.gitignore of what belongs to the bot although a .gitignore leaves it out, as what was built usually is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arena.competition import Program
from arena.contents import MANIFEST
from arena.document import Node, Place, Problems, Wrong, read_document, read_file
from arena.entries import check_protocol, read_name, read_words
from arena.errors import BadConfig
from arena.fields import Fields, describe, suggest, truth, word
from arena.games import game_names
from arena.settings import Entry
from arena.text import clean_line

FILE: Final = MANIFEST
MAX_AUTHOR: Final = 64
"""The most characters that are kept of who wrote a bot."""
KEYS: Final = ("name", "command", "build", "pack", "tcp", "protocol", "games", "author")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bot's folder says of it."""

    entry: Entry
    build: tuple[str, ...] = ()
    """The program and its arguments that build the bot in its folder; empty where nothing is to be built."""
    games: tuple[str, ...] = ()
    """The games that it is to play; empty for all that it says it plays."""
    author: str = ""
    command_places: tuple[Place, ...] = ()
    """Where the words of `command` stand in the file."""
    pack_places: tuple[Place, ...] = ()
    """Where the patterns of `pack` of its entry do."""

    @property
    def program(self) -> Program:
        """What a version made of this folder is."""
        return Program(
            self.entry.name,
            command=self.entry.command,
            tcp=self.entry.tcp,
            build=self.build,
            games=self.games,
            author=self.author,
        )


def load_manifest(folder: Path) -> Manifest:
    """Read the manifest in a bot's folder; raise BadConfig with all that is wrong with it."""
    path = folder / FILE
    if path.exists() and not path.is_file():
        raise BadConfig((f"{path}: this is no file; write the manifest there",))
    problems = Problems()
    root = read_document(read_file(path), problems)
    if root is None and not problems:
        raise BadConfig((f"{path}: nothing is in here; say at least `name` and `command`",))
    manifest = _read(root, folder, problems) if root is not None else None
    if problems or manifest is None:
        raise BadConfig(problems.lines(str(path)))
    return manifest


def _read(root: Node, folder: Path, problems: Problems) -> Manifest:
    fields = Fields(root, problems, KEYS)
    for key in ("name", "command"):
        if isinstance(root.value, dict) and key not in fields:
            problems.add(root.place, f"`{key}` is missing; add it")
    fields.take("protocol", check_protocol, None)
    entry = Entry(
        name=fields.take("name", read_name, ""),
        command=fields.take("command", read_words, ()),
        directory=folder.resolve(),
        whole_directory=True,
        pack=fields.take("pack", _read_patterns, ()),
        tcp=fields.take("tcp", truth, False),
    )
    return Manifest(
        entry,
        build=fields.take("build", read_words, ()),
        games=fields.take("games", _read_games, ()),
        author=fields.take("author", _read_author, ""),
        command_places=fields.take("command", _places, ()),
        pack_places=fields.take("pack", _places, ()),
    )


def _places(node: Node) -> tuple[Place, ...]:
    return tuple(item.place for item in node.value) if isinstance(node.value, list) else ()


def _read_author(node: Node) -> str:
    return clean_line(word(node, "who wrote it"), MAX_AUTHOR)


def _read_patterns(node: Node) -> tuple[str, ...]:
    if not isinstance(node.value, list):
        raise Wrong(f"list patterns of files, such as [dist/, node_modules/], not {describe(node)}")
    return tuple(map(_read_pattern, node.value))


def _read_pattern(node: Node) -> str:
    try:
        return word(node, "a pattern of files")
    except Wrong as wrong:
        raise Wrong(wrong.message, node.place) from None


def _read_games(node: Node) -> tuple[str, ...]:
    if not isinstance(node.value, list):
        raise Wrong(f"list the names of games, such as [hearts-classic], not {describe(node)}")
    for game in node.value:
        if game.text not in game_names():
            raise Wrong(f"no game is called {describe(game)}; {suggest(game.text, game_names())}", game.place)
    return tuple(game.text for game in node.value)
