"""`arena compare`: is one bot stronger than another, played on as few boards as it takes to be sure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli import UNDECIDED
from arena.cli.numbers import WholeNumber
from arena.cli.options import (
    PACE,
    bots_option,
    fresh_option,
    game_options,
    json_option,
    overrides_of,
    pace_options,
    play_options,
    store_option,
)
from arena.cli.output import make_console, print_json
from arena.cli.playing import pace_of, play_and_show
from arena.errors import BadInput
from arena.text import clean_line

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Sequence

    from rich.text import Text

    from arena.config import Config
    from arena.events import Event
    from arena.settings import Entry, Settings, Tournament
    from arena.store import Store
    from arena.verdict import Answer
    from leaderboard.signs import Signs

SCHEMA: Final = 1
"""The version of the JSON document, which `arena/comparison.schema.json` describes."""

EXIT_CODES: Final = {True: 0, False: 1, None: UNDECIDED}
"""The exit code by whether the bot is stronger."""

EXAMPLE = """\b
Examples:
  arena compare new old
  arena compare new old --elo1 10 --budget 50000
  arena compare new old --game heartswitch --players 3 --json

Exit codes: 0 BOT is stronger, 1 it is not, 4 undecided when the budget is spent (a larger one goes on).
"""


@click.command(epilog=EXAMPLE)
@click.argument("bot")
@click.argument("other")
@bots_option
@game_options
@click.option("--elo0", type=float, default=0.0, show_default=True, help="A lead of no more than this is none.")
@click.option("--elo1", type=float, default=20.0, show_default=True, help="A lead of this is not to be missed.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Chance to call a bot stronger that isn't.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="Chance to miss one that is.")
@click.option("--budget", type=WholeNumber(1), help="Boards at most [default: 10000].")
@play_options
@pace_options
@store_option
@fresh_option
@json_option
def command(bot: str, other: str, path: Path, store: str, as_json: bool, **given: Any) -> int:
    """Find out whether BOT is stronger than OTHER, both of the bots.yaml.

    Every deal is played twice, the bots exchanging their seats. A sequential test looks at the boards as they come in and
    ends as soon as the answer is sure: a bot with a lead of --elo0 or less is called stronger with a chance of --alpha at
    most, and one with a lead of --elo1 or more is called not stronger with a chance of --beta at most. The same command goes
    on after an interruption.
    """
    how = {name: given.pop(name) for name in (*PACE, "fresh", "budget")}
    test = {name: given.pop(name) for name in ("elo0", "elo1", "alpha", "beta")}
    from arena.config import load_config

    config = load_config(path, overrides_of(given))
    entries = tuple(_entry(config, name, path) for name in (bot, other))
    if entries[0] is entries[1]:
        raise BadInput(f"{entries[0].name} can't be compared with itself: name two bots of {path}")
    settings = _settings(config, entries[0].name, test)
    from arena.store import Store
    from arena.verdict import comparison_answer

    with Store.open(store) as opened:
        played = opened.tournament(_play(opened, settings, entries, how))
        answer = comparison_answer(opened, played)
        if as_json:
            print_json(_document(opened, played, answer))
        else:
            _print(opened, played, answer)
    return EXIT_CODES[answer.stronger]


def _entry(config: Config, name: str, path: Path) -> Entry:
    from arena.fields import suggest

    for entry in config.entries:
        if entry.name == name:
            return entry
    raise BadInput(f"{path} has no bot {name}; {suggest(name, [entry.name for entry in config.entries])}")


def _settings(config: Config, bot: str, test: dict[str, float]) -> Settings:
    """Return the settings of the comparison: those of the file, except for who meets whom and for how long."""
    from arena.settings import Comparison
    from leaderboard.sequential import SequentialTest

    try:
        SequentialTest(**test)
    except ValueError as error:
        raise BadInput(f"{error}: correct --elo0, --elo1, --alpha or --beta") from error
    return replace(config.settings, schedule=None, boards=None, fill=False, comparison=Comparison(bot, **test))


def _play(store: Store, settings: Settings, entries: Sequence[Entry], how: dict[str, Any]) -> str:
    from functools import partial

    from arena.compare import BUDGET
    from arena.tournament import run_tournament
    from arena.verdict import comparison_answer, look_text, plan_of

    def play(stop: asyncio.Event) -> AsyncGenerator[Event, None]:
        return run_tournament(
            store,
            settings,
            entries,
            plan_of=partial(plan_of, budget=how["budget"] or BUDGET),
            pace=pace_of(how),
            fresh=how["fresh"],
            stop=stop,
        )

    def state(tournament: str) -> Text:
        from rich.text import Text

        answer = comparison_answer(store, store.tournament(tournament))
        return Text(look_text(answer.bot, answer.other, answer.look))

    return play_and_show(play, state, grows=True)


def _print(store: Store, tournament: Tournament, answer: Answer) -> None:
    from rich.text import Text

    from arena.report import result_notes
    from leaderboard.signs import Signs

    console = make_console()
    console.print(
        Text(
            verdict_text(answer, Signs(console.encoding)),
            "bold",
        )
    )
    notes = result_notes(store, tournament) if answer.stronger is not None else ()
    for note in notes:
        console.print(Text(clean_line(note)))


def verdict_text(answer: Answer, signs: Signs) -> str:
    """Say in a line what a comparison has found."""
    look, bot, other = answer.look, clean_line(answer.bot), clean_line(answer.other)
    figures = f"{round(look.elo):+d} {signs.error(look.error, 0)} Elo after {look.boards:,} boards"
    if answer.disqualified:
        return f"{' and '.join(map(clean_line, answer.disqualified))}: disqualified, retired from too many tables ({figures})"
    if answer.stronger is None:
        return f"Undecided whether {bot} is stronger than {other}: {figures}; about {look.needed:,} more (--budget)"
    return f"{bot} is {'' if answer.stronger else 'not '}stronger than {other}: {figures}"


def _document(store: Store, tournament: Tournament, answer: Answer) -> dict[str, Any]:
    from arena.report import full_options, result_notes

    settings, look = tournament.settings, answer.look
    test = settings.comparison
    assert test is not None
    faults = [fault.bot for fault in store.faults(tournament.id)]
    return {
        "schema": SCHEMA,
        "tournament": tournament.id,
        "game": settings.game,
        "players": settings.players,
        "sides": "partners" if settings.partners else "single",
        "options": full_options(settings),
        "format": settings.format.value,
        "seed_commitment": tournament.seed.commitment,
        "seed": tournament.seed.key.hex() if tournament.finished else None,
        "bot": answer.bot,
        "other": answer.other,
        "stronger": answer.stronger,
        "elo0": test.elo0,
        "elo1": test.elo1,
        "alpha": test.alpha,
        "beta": test.beta,
        "boards": look.boards,
        "score": round(look.score, 4),
        "elo": round(look.elo, 2),
        "error": round(look.error, 2),
        "ratio": round(look.ratio, 4),
        "bounds": [round(look.lower, 4), round(look.upper, 4)],
        "boards_needed": look.needed,
        "disqualified": list(answer.disqualified),
        "faults": {bot: faults.count(bot) for bot in (answer.bot, answer.other)},
        "notes": list(result_notes(store, tournament)),
    }
