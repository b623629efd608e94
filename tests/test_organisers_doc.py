"""The page for organisers: each of its commands is one that Arena has, with options that it takes, and all reasons are told."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from arena.cli import arena
from arena.config import load_config
from arena.server.status import CODES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "organisers.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split(" #")[0].split(" > ")[0].strip() for line in re.findall(r"^ {4,}(arena .*)$", PAGE, re.MULTILINE)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_is_understood(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("fullchain.pem", "privkey.pem", "league.yaml", "final.json"):
        (tmp_path / name).touch()
    (tmp_path / "my-bot").mkdir()
    found: click.Command = arena
    rest = shlex.split(command)[1:]
    context: click.Context | None = None
    while isinstance(found, click.Group):
        context = click.Context(found, parent=context)
        name, *rest = rest
        below = found.get_command(context, name)
        assert below is not None, f"there is no command {name}"
        found = below

    with found.make_context(found.name, rest, parent=context) as made:
        assert made.params


def test_what_is_said_of_the_database_names_it() -> None:
    inline = re.findall(r"`(arena (?:token revoke|leaderboard|show) [^`]+)`", PAGE)
    local = [command for command in (*COMMANDS, *inline) if "--server" not in command]
    reading = [
        command for command in local if command.split()[1] in ("token", "leaderboard", "fairness", "show", "verify")
    ]

    assert len(reading) > 9
    assert [command for command in reading if "--store league.db" not in command] == []


def test_what_the_server_is_asked_to_play_has_the_settings_of_the_league() -> None:
    tournaments = [command for command in COMMANDS if command.startswith("arena tournament")]

    assert len(tournaments) == 2
    assert all("--bots league.yaml" in command for command in tournaments)


def test_prizes_are_given_for_the_final_and_not_for_the_latest() -> None:
    section = PAGE.partition("## Prize-giving")[2].partition("\n## ")[0]
    commands = re.findall(r"^ {4}(arena .*)$", section, re.MULTILINE)

    assert len(commands) == 6
    assert all(" ID " in command for command in commands)


def test_the_settings_of_the_page_are_read(tmp_path: Path) -> None:
    (settings,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "league.yaml").write_text(settings)

    assert load_config(tmp_path / "league.yaml", {}, bots_needed=False).settings.game == "hearts-classic"


def test_the_protocol_tells_every_reason_with_its_status() -> None:
    rows = re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", (DOCS / "protocol.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = {reason: status for status, reasons in rows for reason in re.findall(r"`([A-Z_]+)`", reasons)}

    assert told == {reason: code.name for reason, code in CODES.items()}
