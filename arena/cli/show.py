"""`arena show`: what was played, from the store: a match in lines, or deals trick by trick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from arena.cards import Card
from arena.cli.chosen_tournament import choose_tournament
from arena.cli.numbers import WholeNumber
from arena.cli.options import store_option
from arena.cli.output import make_console, print_json
from arena.errors import BadInput
from arena.record import DealRecord
from arena.text import clean_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arena.settings import Tournament

Played = list[tuple[int, DealRecord]]
"""Records of a match, each with its table."""


@click.command(
    epilog="""\b
Examples:
  arena show 12
  arena show 12 --table 0 --deal 3
  arena show 12 --tournament 5f3c --json"""
)
@click.argument("match", type=WholeNumber(1))
@click.option(
    "--tournament", "tournament_id", metavar="ID", help="Its id or its beginning [default: the latest finished one]."
)
@click.option("--table", type=WholeNumber(0), help="Show the deals of this table trick by trick, numbered from 0.")
@click.option("--deal", type=WholeNumber(1), help="Show this deal trick by trick, numbered from 1.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")
def command(
    match: int, tournament_id: str | None, table: int | None, deal: int | None, store: str, as_json: bool
) -> None:
    """Show MATCH, by its number: the scores of its deals, or with --table or --deal every trick."""
    tournament, played = _read(store, tournament_id, match)
    chosen = [
        (seated, record) for seated, record in played if table in (None, seated) and deal in (None, record.number)
    ]
    if not chosen:
        tables = len({seated for seated, _ in played})
        deals = max(record.number for _, record in played)
        raise BadInput(
            f"match {match} has tables 0 to {tables - 1} with deals 1 to {deals} at most: choose --table and --deal among them"
        )
    if as_json:
        print_json({"tournament": tournament.id, "match": match, "deals": [_as_values(*each) for each in chosen]})
    elif table is None and deal is None:
        _print_match(tournament, match, chosen)
    else:
        _print_deals(match, chosen)


def _read(where: str, tournament_id: str | None, match: int) -> tuple[Tournament, Played]:
    from arena.store import Store

    with Store.open(where, create=False) as store:
        tournament = choose_tournament(store, tournament_id)
        played = store.records(tournament.id, match)
        if played:
            return tournament, played
        numbers = [scheduled.number for scheduled in store.matches(tournament.id)]
        if match in numbers:
            raise BadInput(f"match {match} of tournament {tournament.id} is not played yet")
        raise BadInput(f"tournament {tournament.id} has matches 1 to {len(numbers)}, not {match}")


def _print_match(tournament: Tournament, match: int, played: Played) -> None:
    from rich.text import Text

    console = make_console()
    game = played[0][1].game
    console.print(Text(f"Tournament {tournament.id}, match {match}: {game.name} for {game.players} players", "bold"))
    console.print()
    console.print(_scores(played, console))
    for line in _fault_lines(played):
        console.print(Text(f" {line}", "red"))
    console.print()
    table, record = played[0]
    console.print(f"With --table {table} --deal {record.number} this command shows that deal trick by trick.")


def _scores(played: Played, console: Console) -> Table:
    from rich.table import Column, Table
    from rich.text import Text

    from leaderboard.signs import Signs

    signs = Signs(console.encoding)
    players = played[0][1].game.players
    width = min(16, (console.width - 30) // players - 1)
    seats = (Column(f"seat {seat}", max_width=width, no_wrap=True, overflow="ellipsis") for seat in range(players))
    narrow = Column("table", no_wrap=True, min_width=5), Column("deal", no_wrap=True, min_width=4)
    faults = Column("faults", no_wrap=True, min_width=6)
    table = Table(*narrow, *seats, faults, box=None, header_style="bold")
    seated = -1
    for number, record in played:
        if number != seated:
            table.add_row(
                str(number), "", *(Text(signs.shorten(clean_line(bot), width), "bold") for bot in record.bots)
            )
        seated = number
        table.add_row("", str(record.number), *map(str, record.scores), str(len(record.faults) or ""))
    return table


def _fault_lines(played: Played) -> Iterator[str]:
    """Say which faults there were, equal ones together."""
    for table, record in played:
        counts = Counter((fault.seat, fault.evidence.kind) for fault in record.faults)
        for (seat, kind), count in counts.items():
            times = f" x{count}" if count > 1 else ""
            yield f"table {table}, deal {record.number}, seat {seat} ({clean_line(record.bots[seat])}): {kind}{times}"


def _print_deals(match: int, played: Played) -> None:
    from arena.cli.deal_view import DealView

    console = make_console()
    view = DealView(console)
    for i, (table, record) in enumerate(played):
        if i:
            console.print()
        players = f"{record.game.players} players"
        heading = f"Match {match}, table {table}, deal {record.number}: {record.game.name} for {players}"
        console.print(view.draw(record, heading), crop=console.is_terminal)


def _as_values(table: int, record: DealRecord) -> dict[str, Any]:
    def codes(cards: Iterable[Card]) -> list[str]:
        return [str(card) for card in cards]

    return {
        "table": table,
        "deal": record.number,
        "game": record.game.name,
        "players": record.game.players,
        "options": dict(record.game.options),
        "bots": list(record.bots),
        "hands": [codes(hand) for hand in record.hands],
        "passes": [codes(cards) for cards in record.passes],
        "plays": codes(record.plays),
        "scores": list(record.scores),
        "totals": list(record.totals),
        "faults": [
            {
                "seat": fault.seat,
                "decision": fault.decision,
                "kind": str(fault.evidence.kind),
                "detail": fault.evidence.detail,
                "retired": fault.retired,
            }
            for fault in record.faults
        ],
        "notes": [{"seat": note.seat, "decision": note.decision, "text": note.text} for note in record.notes],
    }
