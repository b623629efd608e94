"""`arena help`: the help of a command, as `arena COMMAND --help` shows it."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  arena help tournament
  arena help token create"""
)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
def command(words: tuple[str, ...]) -> None:
    """Show how COMMAND is used, or which commands there are."""
    context = click.get_current_context().find_root()
    for word in words:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{context.command_path} has no commands of its own: leave {word!r} out.")
        name, found, _ = group.resolve_command(context, [word])
        assert found is not None  # or else the group would have raised
        context = click.Context(found, info_name=name, parent=context)
    click.echo(context.get_help())
