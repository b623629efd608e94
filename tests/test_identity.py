"""A tournament's fingerprint changes with what is played, and with nothing else."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arena.clock import TimeControl
from arena.errors import BadInput
from arena.files import bot_files
from arena.identity import bot_version, fingerprint
from arena.settings import Entry, Settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "bots"
    (made / "lib" / "deep").mkdir(parents=True)
    for name in ("bot.awk", "weights.bin", "lib/rules.awk", "lib/deep/table.csv", "unused.txt"):
        (made / name).write_text(name)
    return made


def scripted(folder: Path) -> Entry:
    return Entry("scripted", command=("awk", "-f", "bot.awk", "--model=weights.bin"), directory=folder)


def whole(folder: Path) -> Entry:
    return Entry("whole", command=("./bot",), directory=folder, whole_directory=True)


def test_same_things_have_the_same_fingerprint_in_any_folder_and_order(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    shutil.copytree(folder, other)

    here = fingerprint(Settings(), [scripted(folder), whole(folder)])

    assert fingerprint(Settings(), [whole(other), scripted(other)]) == here
    assert len(here.fingerprint) == 64
    assert here.versions == {"scripted": bot_version(scripted(folder)), "whole": bot_version(whole(folder))}


@pytest.mark.parametrize(
    "settings",
    [
        Settings(game="heartswitch"),
        Settings(options={"moon": 26}),
        Settings(boards=240),
        Settings(seed="open"),
        Settings(time=TimeControl(decision=0.5)),
    ],
    ids=["game", "options", "boards", "seed", "time"],
)
def test_every_setting_counts(folder: Path, settings: Settings) -> None:
    entries = [scripted(folder)]

    assert fingerprint(settings, entries).fingerprint != fingerprint(Settings(), entries).fingerprint


def test_order_of_options_does_not_count(folder: Path) -> None:
    one = Settings(options={"moon": 26, "target": 50})
    other = Settings(options={"target": 50, "moon": 26})

    assert fingerprint(one, [scripted(folder)]) == fingerprint(other, [scripted(folder)])


@pytest.mark.parametrize("name", ["bot.awk", "weights.bin"])
def test_files_among_the_words_of_a_command_count(folder: Path, name: str) -> None:
    before = fingerprint(Settings(), [scripted(folder)])

    (folder / name).write_text("changed")

    after = fingerprint(Settings(), [scripted(folder)])
    assert after.fingerprint != before.fingerprint
    assert after.versions != before.versions


@pytest.mark.parametrize("name", ["unused.txt", "lib/rules.awk", "new"])
def test_other_files_count_only_where_the_whole_directory_does(folder: Path, name: str) -> None:
    before = bot_version(scripted(folder)), bot_version(whole(folder))

    (folder / name).write_text("changed")

    assert bot_version(scripted(folder)) == before[0]
    assert bot_version(whole(folder)) != before[1]


def _rename(folder: Path) -> None:
    (folder / "lib/rules.awk").rename(folder / "lib/rule.awk")


def _exchange(folder: Path) -> None:
    (folder / "bot.awk").write_text("weights.bin")
    (folder / "weights.bin").write_text("bot.awk")


@pytest.mark.parametrize("change", [_rename, _exchange])
def test_names_of_files_count(folder: Path, change: Callable[[Path], None]) -> None:
    before = bot_version(whole(folder))

    change(folder)

    assert bot_version(whole(folder)) != before


def test_what_is_not_the_bots_is_skipped(folder: Path) -> None:
    before = bot_files(whole(folder))

    for skipped in (
        ".git/HEAD",
        "lib/__pycache__/rules.pyc",
        "__pycache__/rules.pyc",
        "arena.db",
        "arena.db-wal",
        "bots.yaml",
    ):
        (folder / skipped).parent.mkdir(parents=True, exist_ok=True)
        (folder / skipped).write_text("not the bot's")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        after = bot_files(whole(folder))

    assert after == before
    assert sorted(before) == ["bot.awk", "lib/deep/table.csv", "lib/rules.awk", "unused.txt", "weights.bin"]


def test_links_count_and_are_not_followed_in_circles(folder: Path) -> None:
    (folder / "lib" / "up").symlink_to("..")
    (folder / "gone").symlink_to("nowhere")
    (folder / "same").symlink_to("bot.awk")
    before = bot_version(whole(folder))

    (folder / "bot.awk").write_text("changed")
    linked = bot_version(whole(folder))
    (folder / "gone").unlink()
    (folder / "gone").symlink_to("elsewhere")

    assert len({before, linked, bot_version(whole(folder))}) == 3
    assert {"lib/up", "gone", "same"} <= bot_files(whole(folder)).keys()


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (("python", "bot.awk"), ["bot.awk"]),
        ((sys.executable, "bot.awk"), ["bot.awk"]),
        (("/usr/bin/env", "awk", "-f", "bot.awk"), ["bot.awk"]),
        (("/bin/sh",), ["/bin/sh"]),
        (("./bot.awk", "unused.txt"), ["./bot.awk", "unused.txt"]),
        (("awk", "-f", "lib/../bot.awk"), ["lib/../bot.awk"]),
        (("awk", "BEGIN { print }"), []),
        (("lib", "lib"), []),
    ],
    ids=" ".join,
)
def test_the_interpreter_is_not_a_file_of_the_bot(folder: Path, command: tuple[str, ...], files: list[str]) -> None:
    assert bot_files(Entry("bot", command=command, directory=folder)).keys() == set(files)


def test_where_python_lies_does_not_count(folder: Path) -> None:
    named = Entry("bot", command=("python", "bot.awk"), directory=folder)
    found = replace(named, command=(sys.executable, str(folder / "bot.awk")))

    assert fingerprint(Settings(), [named]) == fingerprint(Settings(), [found])


def test_a_python_bot_is_its_module() -> None:
    entry = Entry("mine", python="arena.sdk:Bot")

    assert [path.name for path in bot_files(entry).values()] == ["sdk.py"]
    assert len(bot_version(entry) or "") == 12


@pytest.mark.parametrize("python", ["no_such_module:Bot", "arena.no_such:Bot", "sys:Bot", ":Bot"])
def test_a_module_without_a_file_has_no_version(python: str) -> None:
    assert bot_version(Entry("mine", python=python)) is None


def test_a_bot_at_an_address_has_no_version() -> None:
    entry = Entry("afar", address="bots.example.org:443")

    assert bot_version(entry) is None
    assert fingerprint(Settings(), [entry]).versions == {"afar": None}


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"bot whole: .*missing cannot be read: No such file or directory"):
        fingerprint(Settings(), [whole(tmp_path / "missing")])


def test_settings_and_entries_come_back_from_json(folder: Path) -> None:
    settings = Settings(options={"moon": "off", "deals": None}, seed="open", time=TimeControl(0.5, 2, 9))

    assert Settings.from_json(settings.to_json()) == settings
    assert Entry.from_json(scripted(folder).to_json()) == scripted(folder)
