"""For each two bots the chance that one is the stronger: a matrix for terminals, cut into blocks that fit the width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from leaderboard.signs import Signs
from leaderboard.standings import Standings

_LONGEST_NAME = 16
_GAP = 2


@dataclass(frozen=True, slots=True)
class Matrix:
    """The pairs of standings as something that rich can print."""

    standings: Standings
    title: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = Signs(options.encoding)
        yield Text(signs.plain(self.title), style="bold")
        bots = [row.bot for row in self.standings.rows if row.rank is not None]
        names = [signs.shorten(signs.plain(bot), _LONGEST_NAME) for bot in bots]
        cells = _cells(bots, _chances(self.standings), signs)
        wide = max((cell_len(cell) for row in cells for cell in row), default=0)
        wide = max(wide, len(str(len(bots)))) + _GAP
        left = len(str(len(bots))) + max(map(cell_len, (*names, "Bot")), default=0) + 2 * _GAP
        for start in range(0, len(bots), many := max((options.max_width - left) // wide, 1)):
            yield Text()
            yield _block(names, cells, range(start, min(start + many, len(bots))), wide - _GAP)
        yield Text()
        yield Text("Chance in % that the bot of the row is stronger than that of the column.", style="dim")


def _chances(standings: Standings) -> dict[tuple[str, str], float | None]:
    chances: dict[tuple[str, str], float | None] = {}
    for pair in standings.pairs or ():
        chances[pair.bot, pair.other] = pair.superiority
        chances[pair.other, pair.bot] = None if pair.superiority is None else 1 - pair.superiority
    return chances


def _cells(bots: Sequence[str], chances: Mapping[tuple[str, str], float | None], signs: Signs) -> list[list[str]]:
    return [["" if bot == other else signs.chance(chances.get((bot, other))) for other in bots] for bot in bots]


def _block(names: Sequence[str], cells: Sequence[Sequence[str]], columns: range, width: int) -> Table:
    """Return the columns of some bots, by their numbers, for the rows of all."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("Bot", no_wrap=True)
    for column in columns:
        table.add_column(str(column + 1), justify="right", no_wrap=True, min_width=width)
    for number, (name, row) in enumerate(zip(names, cells, strict=True), 1):
        table.add_row(str(number), Text(name), *(Text(row[column], _style(row[column])) for column in columns))
    return table


def _style(cell: str) -> str:
    return "bold" if cell.startswith(">") else "dim" if cell.startswith(("<", "?")) else ""
