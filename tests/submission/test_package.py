"""A package has what belongs to the bot: what git would keep, what its command names, what its manifest packs; and no more."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.errors import BadConfig, BadInput
from arena.manifest import load_manifest
from arena.submission.archive import Bounds, tree_digest, unpack
from arena.submission.package import Package, pack

PYTHON = "name: mine\ncommand: [python, bot.py]\n"
GO = "name: mine\ncommand: [./bot]\nbuild: [go, build, -o, bot, .]\n"
NODE = "name: mine\ncommand: [node, dist/bot.js]\nbuild: [npm, run, build]\npack: [dist/, node_modules/, '!node_modules/tsc/']\n"


def make(folder: Path, manifest: str, *names: str, **texts: str) -> Path:
    """Make a bot's folder with files of these names, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bot.yaml").write_text(manifest)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    for name, text in texts.items():
        (folder / f".{name}").write_text(text)
    return folder


def packed(folder: Path, *, source: bool = False, bounds: Bounds | None = None) -> Package:
    return pack(folder, load_manifest(folder), folder.parent / "packed", source=source, bounds=bounds)


def names_in(package: Package) -> set[str]:
    """Return the names of the files and links in a package, which is unpacked as a server would."""
    into = package.archive.parent / "unpacked"
    into.mkdir()
    tree = unpack(package.archive, into)
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_symlink() or path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mine"


# --- What is in it ---


def test_what_git_leaves_out_is_left_out(folder: Path) -> None:
    make(
        folder,
        PYTHON,
        "bot.py",
        "notes.tmp",
        "venv/lib.py",
        "data/keep.tmp",
        "data/drop.bin",
        gitignore="*.tmp\nvenv/\n",
    )
    (folder / "data" / ".gitignore").write_text("!keep.tmp\n*.bin\n")

    assert names_in(packed(folder)) == {"bot.yaml", "bot.py", ".gitignore", "data/.gitignore", "data/keep.tmp"}


def test_git_agrees_with_what_is_left_out(folder: Path, tmp_path: Path) -> None:
    names = [
        f"{below}{name}"
        for below in ("", "a/", "a/b/", "out/", "a/out/")
        for name in ("x.o", "y.c", "keep.o", "#z", "s p")
    ]
    make(folder, PYTHON, "bot.py", *names, gitignore="*.o\n!keep.o\n/out/\na/**/y.c\n\\#z\ns\\ p\n")
    (folder / "a" / ".gitignore").write_text("!x.o\nout/*\n!out/keep.o\n/b/keep.o\n")
    (folder / "out" / ".gitignore").write_text("!*\n")
    git = ["git", "-c", "core.excludesFile=/dev/null"]
    if subprocess.run([*git, "init", "-q"], cwd=folder, capture_output=True).returncode != 0:
        pytest.skip("needs git")
    listed = subprocess.run(
        [*git, "ls-files", "-coz", "--exclude-standard"], cwd=folder, capture_output=True, text=True
    )

    assert names_in(packed(folder)) == set(listed.stdout.strip("\0").split("\0"))


def test_what_is_arenas_or_gits_is_left_out(folder: Path) -> None:
    make(
        folder,
        PYTHON,
        "bot.py",
        "bots.yaml",
        "arena.db",
        "arena.db-wal",
        "arena.db.bots/x",
        ".git/config",
        "__pycache__/a.pyc",
    )

    assert names_in(packed(folder)) == {"bot.yaml", "bot.py"}


def test_what_the_command_names_is_in_it_though_git_ignores_it(folder: Path) -> None:
    manifest = "name: mine\ncommand: [./out/bot, --model=models/large.bin, tables]\n"
    make(
        folder,
        manifest,
        "out/bot",
        "out/log",
        "models/large.bin",
        "models/small.bin",
        "tables/1",
        gitignore="*\n!.gitignore\n",
    )
    (folder / "out" / "bot").chmod(0o755)

    assert names_in(packed(folder)) == {".gitignore", "out/bot", "models/large.bin", "tables/1", "bot.yaml"}


def test_what_the_manifest_packs_is_in_it_though_git_ignores_it(folder: Path) -> None:
    make(
        folder,
        NODE,
        "dist/bot.js",
        "node_modules/a/a.js",
        "node_modules/tsc/t.js",
        "log",
        gitignore="node_modules/\ndist/\nlog\n",
    )

    assert names_in(packed(folder)) == {"bot.yaml", ".gitignore", "dist/bot.js", "node_modules/a/a.js"}


def test_sources_are_without_what_was_built_and_are_to_be_built(folder: Path) -> None:
    make(folder, NODE, "src/bot.ts", "dist/bot.js", "node_modules/a/a.js", gitignore="node_modules/\ndist/\n")

    package = packed(folder, source=True)

    assert package.build
    assert names_in(package) == {"bot.yaml", ".gitignore", "src/bot.ts"}


def test_where_nothing_is_to_be_built_the_sources_are_the_bot(folder: Path) -> None:
    package = packed(make(folder, PYTHON, "bot.py"), source=True)

    assert not package.build
    assert names_in(package) == {"bot.yaml", "bot.py"}


def test_links_that_stay_inside_are_kept(folder: Path) -> None:
    make(folder, PYTHON, "bot.py", "lib/a.py")
    (folder / "b.py").symlink_to("lib/a.py")
    (folder / "library").symlink_to("lib")

    package = packed(folder)

    assert names_in(package) == {"bot.yaml", "bot.py", "lib/a.py", "b.py", "library"}
    assert tree_digest(package.archive.parent / "unpacked") == tree_digest(folder)


def test_a_package_says_what_it_is(folder: Path) -> None:
    package = packed(make(folder, PYTHON, "bot.py"))

    data = package.archive.read_bytes()
    assert (package.size, package.sha256, package.files) == (len(data), hashlib.sha256(data).digest(), 2)


def test_the_same_folder_is_the_same_package(folder: Path) -> None:
    first = packed(make(folder, PYTHON, "bot.py")).sha256
    os.utime(folder / "bot.py", (1, 1))

    assert packed(folder).sha256 == first


def test_what_is_ignored_and_not_wanted_may_be_as_it_likes(folder: Path) -> None:
    make(folder, PYTHON, "bot.py", gitignore="junk/\n")
    (folder / "junk" / ("d/" * 50)).mkdir(parents=True)
    (folder / "junk" / "link").symlink_to("/etc/passwd")
    os.mkfifo(folder / "junk" / "pipe")

    assert names_in(packed(folder)) == {"bot.yaml", "bot.py", ".gitignore"}


# --- What is refused ---


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        (GO, "2:11: ./bot of `command` is not among the bot's files; build the bot first: go build -o bot ."),
        (NODE, "2:17: dist/bot.js of `command` is not among the bot's files; build the bot first: npm run build"),
        ("name: a\ncommand: [./bot]", "2:11: ./bot of `command` is not among the bot's files; correct the command"),
        ("name: a\ncommand: [../bot]", "2:11: ../bot of `command` is not among the bot's files; move it"),
        ("name: a\ncommand: [python, bott.py]", "2:19: bott.py of `command` is not among the bot's files; correct"),
        ("name: a\ncommand:\n- python3\n- -u\n- bott.py", "5:3: bott.py of `command` is not among"),
        ("name: a\ncommand: [node, bot.mjs, x]\nbuild: [make]", "2:17: bot.mjs of `command` is not among"),
    ],
    ids=["go", "node", "nothing to build", "outside", "python", "python with an option", "node module"],
)
def test_a_program_that_is_not_there_is_told_with_its_place_and_build(
    manifest: str, complaint: str, folder: Path
) -> None:
    (folder.parent / "bot").touch()

    with pytest.raises(BadInput) as problem:
        packed(make(folder, manifest, "main.go"))

    assert str(problem.value).startswith(f"{folder / 'bot.yaml'}:{complaint}")
    assert not (folder.parent / "packed").exists()


@pytest.mark.parametrize(
    "command",
    [
        "python, -m, http.py",
        "python, -c, 'import bot # bot.py'",
        "node, -r, hook.js, bot",
        "python, words.txt",
        "perl, bot.py",
    ],
)
def test_a_word_that_may_mean_no_file_need_not_be_one(command: str, folder: Path) -> None:
    assert packed(make(folder, f"name: a\ncommand: [{command}]\n")).files == 1


def test_a_program_of_the_machine_need_not_be_in_it(folder: Path) -> None:
    assert packed(make(folder, "name: a\ncommand: [/usr/bin/env, python, bot.py]", "bot.py")).files == 2


@pytest.mark.parametrize(
    ("command", "written"),
    [("{folder}/src/bot", r":2:11: .*: \./src/bot"), ("python, {folder}/src/bot", ":2:19: .*: src/bot")],
    ids=["program", "script"],
)
@pytest.mark.parametrize("source", [False, True], ids=["built", "source"])
def test_what_is_named_by_its_place_on_this_machine_is_refused(
    command: str, written: str, source: bool, folder: Path
) -> None:
    make(folder, f"name: a\ncommand: [{command.format(folder=folder)}]\nbuild: [make]\n", "src/bot")

    with pytest.raises(BadInput, match=rf"bot\.yaml{written}$"):
        packed(folder, source=source)


def test_a_program_that_cannot_be_executed_is_told(folder: Path) -> None:
    with pytest.raises(BadInput, match="make it executable"):
        packed(make(folder, GO, "bot"))


def _link(target: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "link").symlink_to(target)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_link("/etc/passwd"), "the link 'link' leads outside"),
        (_link("../packed"), "the link 'link' leads outside"),
        (_link("../mine/bot.py"), "the link 'link' leads outside"),
        (_link("nothing"), "or nowhere"),
        (_link("left_out.tmp"), "'left_out.tmp', which is left out: add that to `pack`"),
        (lambda folder: os.mkfifo(folder / "pipe"), "'pipe' is a device, a pipe"),
        (lambda folder: (folder / "BOT.py").touch(), "are one file on some machines"),
        (lambda folder: (folder / "a\nb").touch(), "can't be shown"),
        (lambda folder: (folder / "a:b").touch(), "a backslash or a colon"),
        (lambda folder: (folder / ("d/" * 40)).mkdir(parents=True), "32 folders deep"),
        (lambda folder: (folder / ".gitignore").write_text("!\n"), "has a pattern that is none"),
    ],
    ids=[
        *("absolute link", "link outside", "link out and back", "dangling link", "link to what is left out"),
        *("pipe", "case", "line end", "colon", "deep", "pattern"),
    ],
)
def test_what_would_be_refused_is_refused_before_it_is_sent(
    spoil: Callable[[Path], object], complaint: str, folder: Path
) -> None:
    make(folder, PYTHON, "bot.py", "left_out.tmp", gitignore="*.tmp\n")
    spoil(folder)

    with pytest.raises(BadInput) as problem:
        packed(folder)

    assert complaint in str(problem.value)
    assert str(folder) in str(problem.value)


@pytest.mark.parametrize(
    ("bounds", "complaint"),
    [
        (Bounds(unpacked_bytes=300_000), r"\(data/ has 0\.4 MB, bot\.yaml has"),
        (Bounds(files=4), "data/ has 4, "),
        (Bounds(archive_bytes=100_000), r"packed, the bot has 0\.4 MB"),
    ],
    ids=["bytes", "files", "archive"],
)
def test_of_what_is_too_much_the_largest_is_named(bounds: Bounds, complaint: str, folder: Path) -> None:
    make(folder, PYTHON, "bot.py", *(f"data/{number}" for number in range(4)))
    for number in range(4):
        (folder / "data" / f"{number}").write_bytes(os.urandom(100_000))

    with pytest.raises(BadInput, match=complaint):
        packed(folder, bounds=bounds)


def test_what_would_be_taken_for_a_bomb_is_told(folder: Path) -> None:
    make(folder, PYTHON, "bot.py")
    (folder / "zeros").write_bytes(bytes(8 << 20))

    with pytest.raises(BadInput, match="zeros is the largest"):
        packed(folder)


def test_a_pattern_of_the_manifest_that_is_none_is_told(folder: Path) -> None:
    with pytest.raises(BadInput, match="`pack` has a pattern that is none"):
        packed(make(folder, PYTHON + "pack: ['!']\n", "bot.py"))


def test_a_pattern_of_the_manifest_that_matches_nothing_is_told_with_its_place(folder: Path) -> None:
    (folder / "empty").mkdir(parents=True)
    make(folder, PYTHON + "pack: [tables/, '*.py', '!none/', empty/]\n", "bot.py")

    with pytest.raises(BadConfig) as problem:
        packed(folder)

    assert problem.value.problems == (
        f"{folder / 'bot.yaml'}:3:8: no file of the bot matches tables/; correct the pattern, or leave it out",
        f"{folder / 'bot.yaml'}:3:35: no file of the bot matches empty/; correct the pattern, or leave it out",
    )


def test_what_is_packed_need_not_be_there_where_it_is_still_to_be_built(folder: Path) -> None:
    assert packed(make(folder, NODE, "src/bot.ts"), source=True).build
