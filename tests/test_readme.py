"""The README's two commands are what the gate runs, and after the first one all others work as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from arena.cli import arena

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLAY, TEST = re.search(r"in a clone of this repository:\n\n    (.+)\n    (.+)\n", README).groups()  # type: ignore[union-attr]


@pytest.mark.parametrize("command", [*PLAY.split(" && "), *TEST.split(" && ")])
def test_the_gate_runs_the_commands_of_the_readme(command: str) -> None:
    gate = [
        re.sub(r"^timeout \d+ ", "", line).replace("install -q", "install")
        for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    ]

    assert command in gate


def test_the_first_line_activates_the_environment_for_all_others() -> None:
    assert ". .venv/bin/activate" in PLAY.split(" && ")
    assert ".venv/bin/" not in README.replace(". .venv/bin/activate", "")


@pytest.mark.parametrize("line", sorted(set(re.findall(r"^    arena (.+?)(?:  +#.*)?$", README, re.MULTILINE))))
def test_the_commands_of_the_readme_are_understood(line: str) -> None:
    name, *words = line.split()
    command = arena.get_command(click.Context(arena), name)

    assert command is not None
    command.make_parser(click.Context(command)).parse_args(words)
