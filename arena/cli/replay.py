"""`arena replay`: asks a bot again what was asked at a recorded table, and lists where its answers differ."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.chosen_tournament import choose_tournament
from arena.cli.numbers import WholeNumber
from arena.cli.options import bots_option, json_option, store_option
from arena.cli.output import make_console, print_json, print_note
from arena.errors import BadInput
from arena.text import clean_line

if TYPE_CHECKING:
    from arena.cli.chosen_bot import ChosenBot
    from arena.clock import TimeControl
    from arena.faults import Evidence
    from arena.players.base import Transport
    from arena.reasking import Comparison, PlayedTable
    from arena.settings import Tournament
    from arena.store import Store

DIFFERENT: Final = 1
"""The exit code where an answer differs from what is recorded."""

EXAMPLE = """\b
Examples:
  arena replay 3/1 --bot careful
  arena replay 3/1 --bot my-bot/ --seat 2 --deal 4
  arena replay 12/0 --bot careful --tournament 5f3c --json
"""


def read_place(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[int, int]:
    """Read the number of a match and that of a table, as in 3/1."""
    match, _, table = text.partition("/")
    if all(part.isascii() and part.isdigit() and len(part) < 10 for part in (match, table)):
        return int(match), int(table)
    raise click.BadParameter(f"{text!r} is no table: write the match's number and the table's, such as 3/1.")


@click.command(epilog=EXAMPLE)
@click.argument("table", callback=read_place, metavar="MATCH/TABLE")
@click.option("--bot", "name", required=True, metavar="BOT", help="A name in bots.yaml, a folder, or an address.")
@bots_option
@click.option("--seat", "seats", type=WholeNumber(0, 5), multiple=True, help="Only what was asked at this seat.")
@click.option("--deal", "deals", type=WholeNumber(1), multiple=True, help="Only what was asked in this deal.")
@click.option(
    "--tournament", "tournament_id", metavar="ID", help="Its id or its beginning [default: the latest finished one]."
)
@store_option
@json_option
def command(
    table: tuple[int, int],
    name: str,
    path: Path,
    seats: tuple[int, ...],
    deals: tuple[int, ...],
    tournament_id: str | None,
    store: str,
    as_json: bool,
) -> int:
    """Ask a bot again what was asked at a table that was played, and list where its answers differ.

    MATCH/TABLE is the match's number and the table's, from 0. Asked are the seats where a bot of that name sat, or all if
    none did. The bot's answers change nothing: every decision is as it was, with its cards, clock and random number. The exit
    code is 1 where an answer differs, or is missing.
    """
    from arena.cli.chosen_bot import choose_bot
    from arena.store import Store

    bot = choose_bot([name], path)
    entry = bot.entry
    with Store.open(store, create=False) as opened:
        tournament = choose_tournament(opened, tournament_id)
        played = _read(opened, tournament, *table)
    chosen = _seats(played, entry.name, seats)
    _refuse_other_deals(played, deals)
    comparisons = asyncio.run(_ask(played, bot, tournament.settings.time, chosen, deals))
    differences = [comparison for comparison in comparisons if not comparison.same]
    if as_json:
        print_json(
            {
                "tournament": tournament.id,
                "match": table[0],
                "table": table[1],
                "bot": entry.name,
                "seats": list(chosen),
                "asked": len(comparisons),
                "differences": [_as_values(difference) for difference in differences],
            }
        )
    else:
        _print(f"match {table[0]}, table {table[1]}", entry.name, len(comparisons), differences)
    return DIFFERENT if differences else 0


def _read(store: Store, tournament: Tournament, match_number: int, number: int) -> PlayedTable:
    from arena.reasking import PlayedTable
    from arena.settings import Format, game_of
    from arena.table import TableRules

    matches = {match.number: match for match in store.matches(tournament.id)}
    if match_number not in matches:
        raise BadInput(f"tournament {tournament.id} has matches 1 to {len(matches)}, not {match_number}")
    played = store.records(tournament.id, match_number)
    if not played:
        raise BadInput(f"match {match_number} of tournament {tournament.id} is not played yet")
    records = tuple(record for table, record in played if table == number)
    if not records:
        raise BadInput(f"match {match_number} has tables 0 to {max(table for table, _ in played)}, not {number}")
    settings = tournament.settings
    origin, there = store.origin(tournament.id, match_number)
    return PlayedTable(
        rules=TableRules(game_of(settings), settings.format is Format.GAME, settings.time, settings.faults),
        key=store.tournament(origin).seed.key,
        match=replace(matches[match_number], number=there),
        attempt=store.attempts(tournament.id).get(match_number, 0),
        number=number,
        independent=settings.independent,
        records=records,
    )


def _seats(played: PlayedTable, name: str, seats: Sequence[int]) -> tuple[int, ...]:
    """Return the seats to be asked: those that were given, else those of the bot's name, else all."""
    from arena.likeness import name_key

    bots = played.records[0].bots
    for seat in seats:
        if seat >= len(bots):
            raise BadInput(f"--seat: this table has seats 0 to {len(bots) - 1}, not {seat}")
    own = tuple(seat for seat, bot in enumerate(bots) if name_key(bot) == name_key(name))
    return tuple(sorted(set(seats))) or own or tuple(range(len(bots)))


def _refuse_other_deals(played: PlayedTable, deals: Sequence[int]) -> None:
    for deal in deals:
        if deal > len(played.records):
            raise BadInput(f"--deal: this table has deals 1 to {len(played.records)}, not {deal}")


async def _ask(
    played: PlayedTable, bot: ChosenBot, time: TimeControl, seats: Sequence[int], deals: Collection[int]
) -> list[Comparison]:
    """Ask seat after seat, each a fresh instance: none knows what another seat knew."""
    from arena.reasking import ask_again

    comparisons: list[Comparison] = []
    async with _transport(bot, time) as transport:
        for seat in seats:
            click.echo(f"asking {clean_line(bot.entry.name)} at seat {seat}", err=True)
            player = transport.player(bot.entry, f"seat {seat}")
            try:
                await player.start()
                comparisons += await ask_again(played, {seat: player}, deals=deals)
            finally:
                await player.close()
    return comparisons


@asynccontextmanager
async def _transport(bot: ChosenBot, time: TimeControl) -> AsyncIterator[Transport]:
    """Offer what makes players of a bot, in the sandbox if it works; at the end nothing of them is left."""
    from arena.players.base import Setup, find_transport
    from arena.players.isolation import enforce
    from arena.sockets import private_folder

    with private_folder() as folder:
        enforcement = await enforce(bot.isolation, bot.limits, folder) if bot.entry.launched else None
        sandbox = enforcement.sandbox if enforcement else None
        transport = find_transport(bot.entry)(Setup(time, folder, asyncio.Semaphore(1), _tell, sandbox))
        try:
            yield transport
        finally:
            await transport.close()


def _tell(text: str) -> None:
    print_note(clean_line(text))


def _print(where: str, name: str, asked: int, differences: Sequence[Comparison]) -> None:
    console = make_console()
    for difference in differences:
        for line in _lines(difference):
            console.print(line, soft_wrap=True)
    same = "all answers are as recorded" if not differences else f"{len(differences)} answers differ"
    if len(differences) == 1:
        same = "1 answer differs"
    console.print(f"{where}: {clean_line(name)} was asked {asked} decisions again; {same}", soft_wrap=True)


def _lines(difference: Comparison) -> Iterator[str]:
    from arena.cards import format_cards
    from arena.cli.deal_view import written_lines

    recorded = difference.recorded
    substitute = f" (substitute after {_told(recorded.fault)})" if recorded.fault else ""
    now = "no answer" if difference.cards is None else format_cards(difference.cards) or "no cards"
    failed = f" ({_told(difference.fault)})" if difference.fault else ""
    yield (
        f"deal {recorded.deal}, decision {difference.decision.number}, seat {difference.seat}:"
        f" recorded {format_cards(recorded.cards)}{substitute}, now {now}{failed}"
    )
    if difference.fault is not None:
        yield from written_lines(difference.fault)


def _told(fault: Evidence) -> str:
    return f"{fault.kind}: {clean_line(fault.detail, 500)}"


def _as_values(difference: Comparison) -> dict[str, Any]:
    recorded = difference.recorded
    return {
        "deal": recorded.deal,
        "decision": difference.decision.number,
        "seat": difference.seat,
        "recorded": [str(card) for card in recorded.cards],
        "recorded_fault": _fault_values(recorded.fault),
        "now": None if difference.cards is None else [str(card) for card in difference.cards],
        "fault": _fault_values(difference.fault),
    }


def _fault_values(fault: Evidence | None) -> dict[str, Any] | None:
    if fault is None:
        return None
    return {
        "kind": str(fault.kind),
        "detail": fault.detail,
        "exit_code": fault.exit_code,
        "signal": fault.signal,
        "stderr": fault.stderr,
    }
