"""`arena check`: whether a bot will survive a competition, step by step, each with its cause and its cure."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.options import bots_option, json_option
from arena.cli.output import VERDICT_STYLES, make_console, print_json
from arena.text import clean_line, clean_lines

if TYPE_CHECKING:
    from rich.console import Console

    from arena.cli.chosen_bot import ChosenBot
    from arena.clock import TimeControl
    from arena.conformance import Finding, Outcome, Step
    from arena.settings import Entry

NOT_READY: Final = 1
"""The exit code where a step failed."""

EXAMPLE = """\b
Examples:
  arena check my-bot/
  arena check -- python mybot.py
  arena check --address 127.0.0.1:50051 --quick
  arena check careful --bots sample_bots/bots.yaml --json > check.json
"""


@click.command(epilog=EXAMPLE)
@click.argument("bot", nargs=-1, metavar="[BOT]")
@click.option("--address", metavar="ADDRESS", help="Check the bot that serves at host:port or unix:/path.")
@bots_option
@click.option("--game", "games", multiple=True, metavar="NAME", help="Check this game only; may be given again.")
@click.option("--quick", is_flag=True, help="Ask a tenth.")
@click.option("--decision-time", metavar="TIME", help="Time for a decision, such as 500ms.")
@click.option("--bank", metavar="TIME", help="Extra time a table, such as 10s.")
@click.option("--startup-time", metavar="TIME", help="Time to start, such as 30s.")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bubblewrap", "none"]),
    help="Whether the bot runs in the sandbox [default: where it works].",
)
@json_option
def command(
    bot: tuple[str, ...],
    address: str | None,
    path: Path,
    games: tuple[str, ...],
    quick: bool,
    isolation: str | None,
    as_json: bool,
    **times: str | None,
) -> int:
    """Check whether a bot will survive a competition.

    BOT is a folder with its manifest bot.yaml (or a bots.yaml that has a bot named after the folder), an address, or a name in
    bots.yaml; or, after --, the command that starts it.
    Each step passes, fails or warns, with the cause and the cure. The exit code is 1 where one fails.
    """
    if (address is None) is not bool(bot):
        raise click.UsageError("Name one bot: a folder, an address, a name in bots.yaml, or a command after --.")
    from arena.cli.chosen_bot import at_address, choose_bot
    from arena.settings import Isolation

    chosen = choose_bot(bot, path) if address is None else at_address(address)
    if isolation is not None:
        chosen = replace(chosen, isolation=Isolation(isolation))
    outcomes = asyncio.run(_check(replace(chosen, time=_time(chosen.time, times)), _known(games), quick=quick))
    if as_json:
        print_json(_as_values(chosen.entry.name, outcomes))
    else:
        _print(make_console(), chosen.entry.name, outcomes)
    return NOT_READY if not _ready(outcomes) else 0


async def _check(chosen: ChosenBot, games: Sequence[str], *, quick: bool) -> list[Outcome]:
    from rich.console import Console

    from arena.conformance import QUICK, Effort, check_bot

    with _progress(Console(stderr=True)) as begin:
        checking = check_bot(
            _launchable(chosen.entry),
            chosen.time,
            games=games or chosen.games,
            build=chosen.build,
            isolation=chosen.isolation,
            limits=chosen.limits,
            effort=QUICK if quick else Effort(),
            begin=begin,
        )
        async with contextlib.aclosing(checking) as outcomes:
            return [outcome async for outcome in outcomes]


@contextlib.contextmanager
def _progress(console: Console) -> Iterator[Callable[[int, Step], None]]:
    """Say on stderr which step is being made: in place on a terminal, in lines elsewhere."""
    from arena.conformance import STEPS

    def line(number: int, step: Step) -> str:
        return f"step {number} of {len(STEPS)}: {step.title}"

    if console.is_terminal:
        with console.status("starting") as status:
            yield lambda number, step: status.update(line(number, step))
    else:
        yield lambda number, step: console.print(line(number, step), markup=False, highlight=False, soft_wrap=True)


def _launchable(entry: Entry) -> Entry:
    """Return an entry that can be reached over gRPC: a class is run as the program that it would be."""
    if not entry.python:
        return entry
    module, _, name = entry.python.partition(":")
    program = f"from {module} import {name}; {name}().run()"
    return replace(entry, python="", command=("python", "-c", program), whole_directory=True)


def _known(games: Sequence[str]) -> Sequence[str]:
    from arena.games import game_names

    for game in games:
        if game not in game_names():
            raise click.UsageError(f"No game is called {game!r}: choose one of {', '.join(game_names())}.")
    return games


def _time(usual: TimeControl, given: dict[str, str | None]) -> TimeControl:
    """Return the limits, with those that were given on the command line."""
    from arena.document import Node, Place, Wrong, read_scalar
    from arena.fields import seconds

    least = {"decision_time": 0.001, "bank": 0.0, "startup_time": 0.001}
    changed = {}
    for name, text in given.items():
        if text is None:
            continue
        try:
            changed[name.removesuffix("_time")] = seconds(Node(read_scalar(text), Place(), text), least[name])
        except Wrong as wrong:
            raise click.UsageError(f"--{name.replace('_', '-')}: {wrong.message}.") from None
    return replace(usual, **changed)


def _ready(outcomes: Sequence[Outcome]) -> bool:
    return all(outcome.finding.verdict != "fail" for outcome in outcomes)


def _print(console: Console, name: str, outcomes: Sequence[Outcome]) -> None:
    summary = _summary(name, outcomes)
    if _hopeless(outcomes):
        outcomes = [outcome for outcome in outcomes if outcome.finding.verdict != "skipped"]
    if console.is_terminal:
        console.print(_table(outcomes))
        for outcome in outcomes:
            if outcome.finding.output:
                console.print(f"before step {outcome.number} failed, it wrote:", style="bold")
                console.print("\n".join(_written(outcome.finding)), style="dim", soft_wrap=True)
    else:
        for outcome in outcomes:
            for line in _lines(outcome):
                console.print(line, soft_wrap=True)
    console.print(summary, soft_wrap=not console.is_terminal)


def _hopeless(outcomes: Sequence[Outcome]) -> bool:
    """Whether the bot doesn't start, so that all other steps say no more than that."""
    return any(outcome.step in ("build", "start") and outcome.finding.verdict == "fail" for outcome in outcomes)


def _lines(outcome: Outcome) -> Iterator[str]:
    finding = outcome.finding
    yield f"{outcome.number:2} {finding.verdict:11} {outcome.title}: {_safe(finding.detail)}"
    if finding.cure:
        yield f"   cure: {_safe(finding.cure)}"
    if finding.output:
        yield "   it wrote:"
        yield from _written(finding)


def _written(finding: Finding) -> Iterator[str]:
    return (f"      {line}" for line in clean_lines(finding.output).splitlines())


def _table(outcomes: Sequence[Outcome]) -> Any:
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(Column("", justify="right"), "step", "", "found", box=None, header_style="bold", padding=(0, 1, 0, 0))
    for outcome in outcomes:
        finding = outcome.finding
        found = Text(_safe(finding.detail), "dim" if finding.verdict == "skipped" else "")
        if finding.cure:
            found.append(f"\ncure: {_safe(finding.cure)}", "italic")
        table.add_row(
            str(outcome.number), Text(outcome.title), Text(finding.verdict, VERDICT_STYLES[finding.verdict]), found
        )
    return table


def _safe(text: str) -> str:
    return clean_line(text, 2000)


def _summary(name: str, outcomes: Sequence[Outcome]) -> str:
    counts = Counter(str(outcome.finding.verdict) for outcome in outcomes)
    if _hopeless(outcomes):
        return (
            f"{_safe(name)} is not ready to compete: it does not start, which the other {len(outcomes) - 1} steps need"
        )
    warnings = f"{counts['warning']} warning{'s' * (counts['warning'] != 1)}"
    verdict = "is ready to compete" if _ready(outcomes) else "is not ready to compete"
    counted = f"{counts['pass']} passed, {counts['fail']} failed, {warnings}, {counts['skipped']} skipped"
    if counts["information"]:
        counted += f", {counts['information']} for information"
    return f"{_safe(name)} {verdict}: {counted}, in {sum(outcome.seconds for outcome in outcomes):.0f} s"


def _as_values(name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "bot": name,
        "ready": _ready(outcomes),
        "steps": [
            {
                "number": outcome.number,
                "step": outcome.step,
                "title": outcome.title,
                "verdict": str(outcome.finding.verdict),
                "detail": outcome.finding.detail,
                "cure": outcome.finding.cure,
                "output": outcome.finding.output,
                "figures": dict(outcome.finding.figures),
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in outcomes
        ],
    }
