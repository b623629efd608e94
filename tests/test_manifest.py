"""What a bot's manifest promises: all of it is read, and all that is wrong is told with its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.competition import Program
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
    assert manifest.entry.pack == ()


def test_what_is_packed_is_read_as_it_is_written(tmp_path: Path) -> None:
    text = "name: a\ncommand: [./a]\npack: [dist/, '!dist/*.map', node_modules/]\n"

    assert load_manifest(write(tmp_path, text)).entry.pack == ("dist/", "!dist/*.map", "node_modules/")


def test_a_version_is_what_the_manifest_says(tmp_path: Path) -> None:
    text = "name: a\ncommand: [./a]\nbuild: [make]\ntcp: true\ngames: [heartswitch]\nauthor: Somebody\npack: [a]\n"

    assert load_manifest(write(tmp_path, text)).program == Program(
        "a", command=("./a",), tcp=True, build=("make",), games=("heartswitch",), author="Somebody"
    )


def test_an_authors_name_is_safe_to_show(tmp_path: Path) -> None:
    text = 'name: a\ncommand: [b]\nauthor: "a\\e[31m\\nb' + "x" * 100 + '"\n'

    author = load_manifest(write(tmp_path, text)).author

    assert author.startswith("a b")
    assert author.isprintable()
    assert len(author) == 64


def test_a_huge_manifest_is_refused(tmp_path: Path) -> None:
    with (tmp_path / FILE).open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(BadConfig, match=r"larger|at most"):
        load_manifest(tmp_path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.mkdir(),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.name),
        lambda path: path.write_bytes(b"name: \xff"),
    ],
    ids=["folder", "pipe", "device", "circle", "no UTF-8"],
)
@pytest.mark.timeout(10)
def test_what_is_no_file_of_text_is_refused(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    spoil(tmp_path / FILE)

    with pytest.raises(BadConfig) as problem:
        load_manifest(tmp_path)

    assert str(problem.value).startswith(f"{tmp_path / FILE}: ")


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
        ("name: a\ncommand: [b]\npack: dist/", ["3:7: list patterns of files, such as [dist/, node_modules/]"]),
        ("name: a\ncommand: [b]\npack:\n  - [c]", ["4:5: write a pattern of files"]),
        ("name: a\ncommand: [b]\nbuild: make", ["3:8: write the program and its arguments as a list"]),
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
        "pack-a-text",
        "pattern-a-list",
        "build-a-text",
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
