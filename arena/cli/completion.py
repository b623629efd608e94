"""`arena completion`: what lets the Tab key complete commands, options and files."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class, shell_complete

VARIABLE: Final = "_ARENA_COMPLETE"
"""The variable by which a shell asks for completions, as click's scripts set it."""


@click.command(
    epilog="""\b
Examples:
  arena completion bash >> ~/.bashrc
  arena completion zsh >> ~/.zshrc
  arena completion fish > ~/.config/fish/completions/arena.fish"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that lets SHELL complete `arena` with the Tab key.

    It works from the next start of the shell on, where `arena` is found.
    """
    root = click.get_current_context().find_root().command
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(root, {}, "arena", VARIABLE).source())


def complete(root: click.Command, instruction: str) -> int:
    """Answer a shell that asks for completions, and return the exit code."""
    return shell_complete(root, {}, "arena", VARIABLE, instruction)
