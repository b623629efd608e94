"""What belongs to a bot in a folder is one thing, whoever asks: what is submitted, fingerprinted and shown in the sandbox."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.cli.admission import Telling
from arena.cli.output import make_console
from arena.competition import AdmissionStep
from arena.config import load_config
from arena.contents import Contents, LeftOut, contents, cure_of_missing, make_folder
from arena.errors import BadInput
from arena.files import bot_files
from arena.finding import Verdict
from arena.identity import bot_version
from arena.manifest import load_manifest
from arena.settings import Entry
from arena.store import Store
from arena.submission.archive import unpack
from arena.submission.package import pack


def write(folder: Path, *names: str, **texts: str) -> Path:
    """Write files of these names, and dotted ones with these texts; return the folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    for name, text in texts.items():
        (folder / f".{name}").write_text(text)
    return folder


def rules(found: Contents) -> dict[str, str]:
    return {one.name: one.rule for one in found.left_out}


def test_what_is_submitted_is_what_is_fingerprinted_and_seen(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "bot",
        *("bot.py", "weights.bin", "other.bin", "lib/a.py", "lib/cache/x", "node_modules/a/a.js", ".git/HEAD"),
        *("__pycache__/bot.pyc", "lib/__pycache__/a.pyc", "arena.db", "arena.db.bots/x/bot.py"),
        gitignore="*.bin\ncache/\nnode_modules/\n",
    )
    (folder / "bot.yaml").write_text("name: a\ncommand: [python, bot.py]\npack: [weights.bin]\n")
    (folder / "bots.yaml").write_text("bots: [{name: a, directory: ., command: [python, bot.py]}]")
    entry = load_config(folder / "bots.yaml", {}, bots_needed=False).entries[0]
    manifest = load_manifest(folder)

    package = pack(folder, manifest, tmp_path / "packed")
    (into := tmp_path / "unpacked").mkdir()
    tree = unpack(package.archive, into)

    submitted = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    assert submitted == {".gitignore", "bot.py", "bot.yaml", "lib/a.py", "weights.bin"}
    assert set(bot_files(entry)) == set(bot_files(manifest.entry)) == submitted
    shelved = manifest.program.entry(tree)
    assert bot_version(entry) == bot_version(manifest.entry) == bot_version(shelved)
    shown = contents(folder, entry.command, entry.pack).shown()
    assert {path.relative_to(folder).as_posix() for path in shown} == submitted


def test_where_files_were_unpacked_no_gitignore_leaves_any_out(tmp_path: Path) -> None:
    folder = write(tmp_path, "bot.yaml", "bot.py", "model.bin", "sub/model.bin", gitignore="*.bin\nsub/\n")
    (folder / "bot.yaml").write_text("name: a\ncommand: [python, bot.py]\n")

    entry = load_manifest(folder).program.entry(folder)

    assert set(bot_files(entry)) == {".gitignore", "bot.yaml", "bot.py", "model.bin", "sub/model.bin"}
    assert contents(folder, entry.command, entry.pack).shown() == [folder]


def test_each_left_out_file_is_named_with_its_rule_and_whole_folders_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        *("bot.py", "weights.bin", "venv/a/b.py", "venv/c.py", "bots.yaml", ".git/HEAD", "data/a.tmp", "data/keep.tmp"),
        *("made/x", "made/y"),
        gitignore="# what is made\n\n*.bin\nvenv/\n",
    )
    (tmp_path / "data" / ".gitignore").write_text("*.tmp\n!keep.tmp\n")
    (tmp_path / "made" / ".gitignore").write_text("*\n")

    for packed in ((), ("nothing",)):
        found = contents(tmp_path, (), packed)

        assert set(found.files) == {".gitignore", "bot.py", "data/.gitignore", "data/keep.tmp"}
        assert rules(found) == {
            ".git/": "never packed",
            "bots.yaml": "Arena's own",
            "data/a.tmp": "*.tmp in data/.gitignore",
            "made/": "* in made/.gitignore",
            "venv/": "venv/ in .gitignore",
            "weights.bin": "*.bin in .gitignore",
        }


def test_a_database_of_any_name_is_the_arenas_with_what_lies_beside_it(tmp_path: Path) -> None:
    Store.open(tmp_path / "league").close()
    write(tmp_path, "bot.py", "league.lock", "league.bots/x", "league.py", "book.db")

    assert set(contents(tmp_path).files) == {"bot.py", "book.db", "league.py"}


def test_what_this_process_writes_is_not_the_bots(tmp_path: Path) -> None:
    write(tmp_path, "bot.py")
    script = f"from arena.contents import contents; from pathlib import Path; print(*contents(Path({str(tmp_path)!r})).files)"
    with (tmp_path / "result.json").open("w") as output:
        subprocess.run([sys.executable, "-c", script], stdout=output, check=True)

    assert (tmp_path / "result.json").read_text() == "bot.py\n"


def test_a_folder_that_the_arena_makes_is_nobodys(tmp_path: Path) -> None:
    write(tmp_path, "bot.py")
    make_folder(tmp_path / "logs" / "today")
    write(tmp_path / "logs" / "today", "a.log")

    found = contents(tmp_path)

    assert set(found.files) == {"bot.py"}
    assert found.left_out == (LeftOut("logs/", "* in logs/today/.gitignore"),)


def test_a_folder_with_much_left_out_everywhere_is_shown_whole(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}.py" for number in range(501)), "a.bin", gitignore="*.bin")

    assert contents(tmp_path).shown() == [tmp_path]
    (tmp_path / "0.py").unlink()
    (tmp_path / "1.py").unlink()
    assert tmp_path not in contents(tmp_path).shown()


def test_folders_too_deep_in_one_another_are_told(tmp_path: Path) -> None:
    (tmp_path / ("d/" * 33)).mkdir(parents=True)

    with pytest.raises(BadInput, match=r"more than 32 folders deep: move it up; or leave it out by a \.gitignore"):
        contents(tmp_path)


def test_the_patterns_of_an_entry_count_for_nothing_but_the_files_that_they_add(tmp_path: Path) -> None:
    write(tmp_path, "bot.py", "a.bin", gitignore="*.bin")
    entry = Entry("a", command=("python", "bot.py"), directory=tmp_path, whole_directory=True)

    assert bot_version(replace(entry, pack=("a.bin",))) != bot_version(entry)
    assert Entry.from_json(replace(entry, pack=("a.bin",)).to_json()).pack == ("a.bin",)
    old = {name: value for name, value in entry.to_json().items() if name != "pack"}
    assert Entry.from_json(old) == entry


LEFT = (
    LeftOut("data/weights.bin", "*.bin in .gitignore"),
    LeftOut("cache/", "cache/ in .gitignore"),
    LeftOut("bots.yaml", "Arena's own"),
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("No such file or directory: 'data/weights.bin'", "data/weights.bin is left out, by *.bin in .gitignore"),
        ("cannot open /srv/x/weights.bin", "data/weights.bin is left out"),
        ("open cache/tables: no such file", "cache/ is left out, by cache/ in .gitignore"),
        ("no such file: my-weights.bin", ""),
        ("weights.bin.old", ""),
        ("bots.yaml", ""),
    ],
)
def test_a_failure_that_names_a_left_out_file_has_its_cure(text: str, named: str) -> None:
    cure = cure_of_missing(LEFT, text)

    assert cure.startswith(named)
    assert bool(cure) is bool(named)
    assert not cure or "list it under `pack` in bot.yaml" in cure


async def test_a_refusal_for_want_of_a_left_out_file_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    async def events() -> AsyncGenerator[AdmissionStep, None]:
        yield AdmissionStep("check", Verdict.FAIL, "exited", "run the command by hand", "No such file: 'weights.bin'")

    await Telling(make_console(), LEFT, as_json=False).follow(events())

    shown = capsys.readouterr().out
    assert "cure: data/weights.bin is left out, by *.bin in .gitignore: list it under `pack` in bot.yaml" in shown
    assert "by hand" not in shown


def test_a_mark_of_the_byte_order_is_no_part_of_a_pattern(tmp_path: Path) -> None:
    write(tmp_path, "bot.yaml", "bot.py", "weights.bin", gitignore="\ufeff*.bin\n")

    assert [left.rule for left in contents(tmp_path).left_out] == ["*.bin in .gitignore"]


def test_an_empty_folder_that_the_arena_writes_to_is_none_of_the_bots(tmp_path: Path) -> None:
    write(tmp_path, "bot.yaml", "bot.py")
    (tmp_path / "logs").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "book.txt").touch()

    for name in ("logs", "own"):
        make_folder(tmp_path / name)
        (tmp_path / name / "a-0.log").touch()

    assert set(contents(tmp_path).files) == {"bot.yaml", "bot.py", "own/book.txt", "own/a-0.log"}
