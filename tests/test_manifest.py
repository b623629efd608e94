"""What a bot's manifest promises: all of it is read, and all that is wrong is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.errors import BadConfig
from arena.manifest import FILE, load_manifest
from arena.settings import Entry


def write(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text, encoding="utf-8")
    return folder


def test_a_whole_manifest_is_read(tmp_path: Path) -> None:
    text = "name: Ünï\ncommand: [./bot, --fast]\nbuild: [go, build, -o, bot, .]\ntcp: true\nauthor: Somebody\n"

    manifest = load_manifest(write(tmp_path, text + "protocol: grpc\ngames: [heartswitch, hearts-classic]\n"))

    assert manifest.entry == Entry(
        "Ünï", command=("./bot", "--fast"), directory=tmp_path.resolve(), whole_directory=True, tcp=True
    )
    assert manifest.build == ("go", "build", "-o", "bot", ".")
    assert manifest.games == ("heartswitch", "hearts-classic")
    assert manifest.author == "Somebody"


def test_a_program_need_not_be_built_yet(tmp_path: Path) -> None:
    assert load_manifest(write(tmp_path, "name: a\ncommand: [./nothing]")).entry.command == ("./nothing",)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["nothing is in here; say at least `name` and `command`"]),
        ("name: a\ncommand: ./bot", ["2:10: write the program and its arguments as a list, such as [./bot]"]),
        ("{}", ["1:1: `name` is missing; add it", "1:1: `command` is missing; add it"]),
        ("name: a\ncommand: [b]\ngame: x", ["3:1: `game` is no known key; did you mean `games`?"]),
        ("name: a\ncommand: [b]\ngames: [harts]", ["3:9: no game is called 'harts'"]),
        ("name: a\ncommand: [b]\ngames: hearts-classic", ["3:8: list the names of games"]),
        ("name: a\ncommand: [b]\nprotocol: stdio", ["3:11: 'stdio' is not supported yet"]),
        ("- a", ["1:1: here keys with values are expected (name, command"]),
        ("name: [", ["this is not YAML"]),
    ],
    ids=[
        "empty",
        "command-a-text",
        "nothing-said",
        "unknown-key",
        "unknown-game",
        "game-a-text",
        "stdio",
        "list",
        "broken",
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, problems: list[str]) -> None:
    with pytest.raises(BadConfig) as bad:
        load_manifest(write(tmp_path, text))

    for problem in problems:
        assert any(f"{tmp_path / FILE}" in line and problem in line for line in bad.value.problems)


def test_a_manifest_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="there is no such file"):
        load_manifest(tmp_path)
