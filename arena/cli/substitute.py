"""`arena substitute`: a tournament's deals once more, with a stand-in for one bot, and what that changes for the others."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.chosen_tournament import choose_tournament
from arena.cli.options import PACE, bots_option, json_option, pace_options, store_option
from arena.cli.output import make_console, print_json
from arena.errors import BadInput
from arena.text import clean_line

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Sequence

    from rich.table import Table

    from arena.config import Config
    from arena.events import Event
    from arena.match import Match
    from arena.settings import Entry, Settings, Substitution, Tournament
    from arena.store import Store
    from leaderboard.changes import Change


@click.command(
    epilog="""\b
Examples:
  arena substitute suspect careful
  arena substitute suspect careful --tournament 3f9a --json"""
)
@click.argument("bot")
@click.argument("stand_in", metavar="STAND-IN")
@click.option(
    "--tournament", "tournament_id", metavar="ID", help="Its id or its beginning [default: the latest finished one]."
)
@bots_option
@pace_options
@store_option
@json_option
def command(
    bot: str, stand_in: str, tournament_id: str | None, path: Path, store: str, as_json: bool, **how: Any
) -> None:
    """Play a tournament's deals again with STAND-IN, of the bots.yaml, in the place of BOT.

    The tournament must be finished. Only the matches that BOT played are played again, with the same deals and seats, as a
    tournament of its own; then the others' points are compared. Who does worse without BOT than the others do may have been
    helped by it. Where STAND-IN plays as BOT does, at most one replay of twenty has a ! at any bot: a hint to look closer,
    and no proof of anything.
    """
    from arena.config import load_config
    from arena.settings import Substitution
    from arena.store import Store
    from arena.verdict import replayed_matches
    from leaderboard.changes import find_changes

    config = load_config(path, {})
    with Store.open(store) as opened:
        source = choose_tournament(opened, tournament_id, contest=True)
        substitution = Substitution(source.id, bot, stand_in)
        matches = replayed_matches(opened, source, substitution)
        entries = _entries(source, config, path, matches, substitution)
        played = _play(opened, _settings(source, substitution), entries, matches, how)
        names = [entry.name for entry in source.entries]
        changes = find_changes(opened.results(source.id), opened.results(played), bot, stand_in, names)
    if as_json:
        from arena.cli.fairness import rounded

        rows = [asdict(change) for change in changes]
        print_json(rounded({"tournament": played, "of": source.id, "bot": bot, "stand_in": stand_in, "changes": rows}))
    else:
        _print(changes, source, played, bot, stand_in)


def _entries(
    source: Tournament, config: Config, path: Path, matches: Sequence[Match], substitution: Substitution
) -> tuple[Entry, ...]:
    """Return who plays: those at the bot's tables as they were entered, and the stand-in of the bots.yaml."""
    bot, stand_in = substitution.bot, substitution.stand_in
    found = [entry for entry in config.entries if entry.name == stand_in]
    if not found:
        known = ", ".join(entry.name for entry in config.entries)
        raise BadInput(f"{path} has no bot {stand_in}; it has {known}")
    if stand_in == bot:
        raise BadInput(f"{bot} can't stand in for itself: name another bot of {path}")
    present = {name for match in matches for name in match.line_up} - {stand_in}
    return (*(entry for entry in source.entries if entry.name in present), *found)


def _settings(source: Tournament, substitution: Substitution) -> Settings:
    """Return the settings of the replay: those of the other tournament, with its seed."""
    seed = source.seed.key.hex()
    return replace(source.settings, seed=seed, comparison=None, settling=None, substitution=substitution)


def _play(
    store: Store, settings: Settings, entries: Sequence[Entry], matches: Sequence[Match], how: dict[str, Any]
) -> str:
    from arena.cli.playing import pace_of, play_and_show
    from arena.plan import FixedPlan
    from arena.tournament import run_tournament

    def play(stop: asyncio.Event) -> AsyncGenerator[Event, None]:
        return run_tournament(
            store,
            settings,
            entries,
            plan_of=lambda _tournament: FixedPlan(matches),
            pace=pace_of({name: how[name] for name in PACE}),
            stop=stop,
        )

    return play_and_show(play, lambda _tournament: None)


def _print(changes: Sequence[Change], source: Tournament, played: str, bot: str, stand_in: str) -> None:
    from arena.cli.fairness import titled

    console = make_console()
    title = f"{clean_line(stand_in)} for {clean_line(bot)} in tournament {source.id} (played as {played})"
    remark = "Points a deal, fewer are better. Change: what it costs a bot that the stand-in plays."
    console.print(titled(title, _table(changes, console.encoding), remark))


def _table(changes: Sequence[Change], encoding: str) -> Table:
    from arena.cli.fairness import cells, shown, table_of
    from leaderboard.signs import UNKNOWN, Signs

    signs = Signs(encoding)
    error = signs.plus_minus
    table = table_of("bot", "boards", "before", "after", "change", error, "beyond others", error, "")
    for one in changes:
        beyond = (UNKNOWN, "") if one.beyond_others is None else cells(one.beyond_others, signs)
        means = (signs.number(value, 2) for value in (one.before, one.after))
        flag = "!" * one.flagged
        table.add_row(shown(one.bot, signs), f"{one.boards:,}", *means, *cells(one.change, signs), *beyond, flag)
    return table
