"""The command line: `arena COMMAND`, one module a command, imported only when its command is called.

The exit code says how it went: 0 done, 1 the answer is no, 2 bad input or usage, 3 interrupted but resumable, 4 undecided, and
70 a fault of Arena itself. `main` is the only place where errors become messages and codes.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Final, NoReturn

import click
from click.shell_completion import CompletionItem

from arena import __version__
from arena.cli.completion import VARIABLE, complete
from arena.cli.output import lost_output, prepare_streams
from arena.errors import ArenaError, BadConfig, Interrupted

INTERRUPTED: Final = 3
BAD_INPUT: Final = 2
UNDECIDED: Final = 4
ARENA_FAULT: Final = 70

COMMANDS: Final[Mapping[str, str]] = {
    "tournament": "Play a tournament and show its leaderboard.",
    "compare": "Find out whether one bot is stronger than another.",
    "leaderboard": "Show the leaderboard of a tournament.",
    "fairness": "Show how fair a tournament was: seats, deals, and who sat with whom.",
    "substitute": "Play a tournament's deals again with a stand-in for one bot.",
    "games": "List the games, or the rules and options of one.",
    "show": "Show a match that was played, or one of its deals trick by trick.",
    "verify": "Deal, play and score a stored tournament again, and find the first difference.",
    "replay": "Ask a bot again what was asked at a table that was played.",
    "check": "Check whether a bot will survive a competition.",
    "submit": "Submit a bot for a competition, here or to a server.",
    "bots": "List the bots of a competition, and what their admission came to.",
    "withdraw": "Withdraw a bot, or go back to an earlier version of it.",
    "serve": "Serve a competition: take bots in, play tournaments, show leaderboards.",
    "token": "Make, list and revoke the tokens of a server; show its audit log.",
    "watch": "Watch a tournament of a server as it is played.",
    "new-bot": "Make the project of a new bot, in Python, Go or TypeScript.",
    "proto": "Write the protocol's files, for bots in other languages.",
    "completion": "Let the Tab key complete commands, in bash, zsh or fish.",
    "help": "Show how a command is used.",
}
"""Each command with what it does. `new-bot` lives in `arena/cli/new_bot.py`, as the click command named `command`."""


EXAMPLE: Final = """\b
Examples:
  arena new-bot python my-bot              make a first bot
  arena check my-bot                       tell whether it is sound
  arena submit my-bot && arena tournament  let it play

`arena help COMMAND` has an example of each. Exit codes: 0 done, 1 the answer is no, 2 bad input or usage, 3 interrupted but
resumable, 4 undecided.
"""


GRPC_ENVIRONMENT: Final[Mapping[str, str]] = {"GRPC_ENABLE_FORK_SUPPORT": "0", "GRPC_VERBOSITY": "NONE"}
"""What gRPC is told before it is imported: bots are not forked, and its own log is not for the terminal."""


class CommandTable(click.Group):
    """A group that knows its commands by name, and imports one only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, as the help lists them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"arena.cli.{cmd_name.replace('-', '_')}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"the module of {cmd_name} has no command, but {command!r}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing any, or else an option."""
        names = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; of an unknown one say which was probably meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, COMMANDS, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command {name!r}; {meant}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLE,
)
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.version_option(__version__, "-V", "--version", prog_name="arena")
def arena(debug: bool) -> None:
    """Let bots compete at trick-taking card games."""
    del debug  # read by `run`, which also tells of errors in reading the rest


def main() -> NoReturn:
    """Run the command that the command line asks for, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; whatever goes wrong is told on stderr.

    Who reads the output is not waited for: if nobody does, the work goes on, and the exit code is its own.
    """
    prepare_streams()
    code = _run(arguments)
    if lost := lost_output():
        click.echo(f"arena: the output can't be written: {lost}", err=True)
        return code or BAD_INPUT
    return code


def _run(arguments: Sequence[str]) -> int:
    for name, value in GRPC_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    debug = "--debug" in arguments[:1]
    try:
        if instruction := os.environ.get(VARIABLE):
            return complete(arena, instruction)
        with arena.make_context("arena", list(arguments) or ["--help"]) as context:
            code = arena.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("arena: interrupted", err=True)
        return INTERRUPTED
    except Exception as error:
        return _tell(error, debug=debug)


def _tell(error: Exception, *, debug: bool) -> int:
    """Tell what went wrong, and return the exit code for it."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, ArenaError):
        click.echo(error if isinstance(error, BadConfig) else f"arena: {error}", err=True)
        return INTERRUPTED if isinstance(error, Interrupted) else BAD_INPUT
    where = "the lines above" if debug else _write_log(error)
    summary = f"{type(error).__name__}: {error}"
    click.echo(f"arena: sorry, this is a fault of Arena itself ({summary}). Please report it with {where}.", err=True)
    return ARENA_FAULT


def _write_log(error: Exception) -> str:
    """Keep where an unexpected error comes from in a file, and return its path."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="arena-", suffix=".log", delete=False, encoding="utf-8", errors="replace"
    ) as log:
        log.write(f"arena {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
        log.writelines(traceback.format_exception(error))
    return log.name
