"""`arena fairness`: seats, what duplicate deals were worth, and who does otherwise when certain others sit there."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.chosen_tournament import choose_tournament
from arena.cli.options import json_option, store_option
from arena.cli.output import make_console, print_json
from arena.text import clean_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from leaderboard.estimate import Estimate
    from leaderboard.fairness import Fairness
    from leaderboard.signs import Signs

SHOWN: Final = 8
"""So many contexts and influences are shown; `--json` has them all."""

NAME_WIDTH: Final = 14
DECIMALS: Final = 4


@click.command(
    epilog="""\b
Examples:
  arena fairness
  arena fairness 3f9a --json"""
)
@click.argument("tournament", required=False)
@store_option
@json_option
def command(tournament: str | None, store: str, as_json: bool) -> None:
    """Show how fair a tournament was: TOURNAMENT is an id or its beginning, the latest finished one if left out.

    Points are penalty points a deal against the mean of the table; errors are half the widths of 95 % intervals over boards,
    each by itself. Where nothing is wrong, at most one tournament of twenty has a ! among its seats, one of twenty among its
    leads, and one of twenty among the points with another, however many there are: a hint to look closer, and no proof of
    anything. docs/fairness.md tells how that is found out.
    """
    from arena.store import Store
    from leaderboard.fairness import find_fairness

    with Store.open(store, create=False) as opened:
        found = choose_tournament(opened, tournament, contest=True)
        fairness = find_fairness(opened.results(found.id))
    if as_json:
        print_json({"tournament": found.id, **rounded(asdict(fairness))})
        return
    from rich.text import Text

    from leaderboard.signs import Signs

    console = make_console()
    signs = Signs(console.encoding)
    console.print(Text(signs.plain(f"Tournament {found.id} · {fairness.boards:,} boards"), "bold"))
    if fairness.boards:
        for part in _parts(fairness, signs):
            console.print()
            console.print(part)
    else:
        console.print("No results yet.")


def rounded(value: Any) -> Any:
    """Return JSON values with floats rounded."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return round(value, DECIMALS) + 0.0 if isinstance(value, float) else value


def _parts(fairness: Fairness, signs: Signs) -> Iterator[RenderableType]:
    yield _seats(fairness, signs)
    yield _worth(fairness, signs)
    if not fairness.influences:
        yield "Whether bots do otherwise with certain others can't be told: too few boards, or all sit at every table."
        return
    yield _contexts(fairness, signs)
    yield _influences(fairness, signs)


def _seats(fairness: Fairness, signs: Signs) -> RenderableType:
    surplus = fairness.seat_surplus
    even = (
        "every bot took each equally often"
        if not surplus
        else f"unbalanced: a bot took one {surplus:,} times more often"
    )
    table = table_of("seat", "points", signs.plus_minus, "place", signs.plus_minus, "")
    for seat in fairness.seats:
        table.add_row(str(seat.side), *cells(seat.points, signs), *cells(seat.place, signs), "!" * seat.flagged)
    return titled(f"Seats ({even})", table)


def _worth(fairness: Fairness, signs: Signs) -> str:
    worth = fairness.worth
    if worth is None:
        return "Duplicate deals: too few boards, or one table each, so there is nothing to compare."
    return (
        f"A deal of these, played at {worth.tables:.1f} tables a board, tells as much as {worth.gain.value:.2f} "
        f"{signs.error(worth.gain.error, 2)} independent deals: {worth.effective:,.0f} in all."
    )


def _contexts(fairness: Fairness, signs: Signs) -> RenderableType:
    table = table_of("bot", "against", "with", "boards", "lead", signs.plus_minus, "shift", signs.plus_minus, "")
    for one in fairness.contexts[:SHOWN]:
        names = (shown(name, signs) for name in (one.bot, one.other, one.third))
        table.add_row(*names, f"{one.boards:,}", *cells(one.lead, signs), *cells(one.shift, signs), "!" * one.flagged)
    return titled(f"Lead by who else sits there{_of(fairness.contexts)}", table)


def _influences(fairness: Fairness, signs: Signs) -> RenderableType:
    table = table_of("bot", "with", "boards", "points", signs.plus_minus, "")
    for one in fairness.influences[:SHOWN]:
        names = shown(one.on, signs), shown(one.bot, signs)
        table.add_row(*names, f"{one.boards:,}", *cells(one.points, signs), "!" * one.flagged)
    return titled(
        f"Points with another at the table, strengths allowed for{_of(fairness.influences)}",
        table,
        "Bots of very different strength or style show up here too: a hint, and no proof.",
    )


def _of(found: Sequence[object]) -> str:
    """Say how many of what was found are shown."""
    return f" (the {SHOWN} surest of {len(found):,})" if len(found) > SHOWN else ""


def titled(title: str, table: Table, remark: str = "") -> RenderableType:
    """Put a title above a table, and a remark below it."""
    from rich.console import Group
    from rich.text import Text

    return Group(Text(title, "bold"), table, *([Text(remark, "dim")] if remark else []))


def table_of(*headers: str) -> Table:
    """Return an empty table; columns of words are to the left, figures to the right."""
    from rich.table import Column, Table

    words = {"bot", "against", "with", ""}
    columns = (
        Column(
            header,
            justify="left" if header in words else "right",
            no_wrap=True,
            overflow="ellipsis",
            max_width=NAME_WIDTH,
        )
        for header in headers
    )
    return Table(*columns, box=None, header_style="dim")


def shown(name: str, signs: Signs) -> str:
    """Return a bot's name as a cell."""
    return signs.shorten(clean_line(name), NAME_WIDTH)


def cells(estimate: Estimate, signs: Signs) -> tuple[str, str]:
    """Return an estimate as two cells."""
    return signs.signed(estimate.value), signs.number(estimate.error, 2)
