"""Standings for people: a table for terminals.

The table fits the width it is given: columns that matter less give way first, then long names lose their middles. Where the
output's encoding lacks a character, plain ASCII stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from leaderboard.signs import UNKNOWN, Signs
from leaderboard.standings import Row, Standings

_ROWS = "\n    " * 5 + "\n"
_LINE = Box("    \n    \n ── " + _ROWS)
_ASCII_LINE = Box("    \n    \n -- " + _ROWS, ascii=True)
_GAP = 2
_SHORTEST_NAME = 16
_MOST_LANES = 6


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Standings as something that rich can print."""

    standings: Standings
    title: str
    """Such as the tournament and the game; the number of boards is added."""
    notes: tuple[str, ...] = ()
    """Sentences that belong to the result, such as that the seed isn't secret."""
    simultaneous: bool = field(default=False, kw_only=True)
    """Whether the ranks shown are those that hold all at once."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = Signs(options.encoding)
        yield Text(signs.plain(f"{self.title} · {_count(self.standings.boards, 'board')}"), style="bold")
        yield Text()
        if self.standings.boards:
            columns = _choose(self, signs, options.max_width)
            yield _table(self.standings.rows, columns, signs)
            yield Text()
            for line in _legend(self.standings.rows, columns, options.max_width):
                yield Text(line, style="dim")
        else:
            bots = ", ".join(signs.plain(row.bot) for row in self.standings.rows)
            yield Text(f"No results yet of {bots}." if bots else "No results yet.", style="dim")
        for line in (*_warnings(self.standings), *self.notes):
            yield Text(signs.plain(line))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(40, options.max_width), options.max_width)


@dataclass(frozen=True, slots=True)
class _Column:
    header: str
    cells: tuple[str, ...]
    importance: int
    """Columns of low importance give way first."""
    legend: str = ""
    style: Callable[[Row], str] = lambda _: "dim"
    left: bool = False

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.header, *self.cells))


def _table(rows: Sequence[Row], columns: Sequence[_Column], signs: Signs) -> Table:
    line = _ASCII_LINE if signs.ascii_only else _LINE
    table = Table(box=line, safe_box=False, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for column in columns:
        table.add_column(column.header, justify="left" if column.left else "right", no_wrap=True, overflow="crop")
    for index, row in enumerate(rows):
        table.add_row(*(Text(column.cells[index], style=column.style(row)) for column in columns))
    return table


def _choose(board: Leaderboard, signs: Signs, width: int) -> list[_Column]:
    """Return the columns that fit into the width, names shortened to what the others leave."""
    names = tuple(signs.plain(row.bot) for row in board.standings.rows)
    longest = max(cell_len(name) for name in ("Bot", *names))
    rank, *others = _columns(board, signs)
    while others and _width([rank, *others]) > width - min(longest, _SHORTEST_NAME):
        others.remove(min(others, key=lambda column: column.importance))
    room = max(width - _width([rank, *others]), 1)
    shortened = tuple(signs.shorten(name, room) for name in names)
    return [rank, _Column("Bot", shortened, 10, style=lambda row: "bold" if row.rank == 1 else "", left=True), *others]


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width + _GAP for column in columns)


def _columns(board: Leaderboard, signs: Signs) -> list[_Column]:
    """Return all columns but the names, the rank first."""
    standings, rows = board.standings, board.standings.rows
    return [
        _Column("#", tuple(UNKNOWN if row.rank is None else str(row.rank) for row in rows), 10),
        *_rating_columns(standings, signs, simultaneous=board.simultaneous),
        *_points_columns(rows, signs),
        _Column("Boards", tuple(str(row.boards) for row in rows), 4),
        _Column(
            "Faults", tuple(str(row.faults) for row in rows), 7, style=lambda row: "bold red" if row.faults else "dim"
        ),
        *_clean_columns(standings, signs),
    ]


def _rating_columns(standings: Standings, signs: Signs, *, simultaneous: bool) -> list[_Column]:
    rows, sign = standings.rows, signs.plus_minus
    error = f"{sign}95%: error against {_yardstick(standings, signs)}, by boards"
    elo = tuple(signs.number(row.elo, 0) for row in rows)
    ranked = sum(row.rank is not None for row in rows)
    next_row = tuple(signs.percent(row.superiority) if number < ranked else "" for number, row in enumerate(rows, 1))
    columns = [
        _Column("Elo", elo, 10, style=lambda row: "dim" if row.elo is None else "bold"),
        _Column(
            f"{sign}95%",
            tuple(signs.error(row.error, 0) for row in rows),
            9,
            legend=f"{error} (bootstrap)." if standings.bootstrap else f"{error}.",
        ),
        _unseparated_column(rows, signs),
        _Column(
            "Ranks",
            tuple(signs.interval(row.joint_rank_interval if simultaneous else row.rank_interval) for row in rows),
            8,
            legend=f"Ranks: with 95 % {'all at once' if simultaneous else 'each'}.",
            style=lambda _: "",
        ),
        _Column("> next", next_row, 5, legend="> next: chance to be the stronger.", style=lambda _: ""),
    ]
    return [column for column in columns if any(column.cells)]


def _yardstick(standings: Standings, signs: Signs) -> str:
    """Say what ratings are relative to; who is disqualified doesn't count."""
    if standings.anchor is not None:
        return signs.shorten(signs.plain(standings.anchor), _SHORTEST_NAME)
    return "the mean of those that met" if len(standings.groups) > 1 else "the mean of those ranked"


def _points_columns(rows: Sequence[Row], signs: Signs) -> list[_Column]:
    return [
        _Column(
            "Points",
            tuple(signs.signed(row.relative_points) for row in rows),
            6,
            legend="Points: against the mean; fewer are better.",
            style=lambda _: "",
        ),
        _Column(f"{signs.plus_minus}95%", tuple(signs.error(row.relative_points_error, 2) for row in rows), 2),
        _Column("Per deal", tuple(signs.number(row.points_per_deal, 2) for row in rows), 3),
    ]


def _clean_columns(standings: Standings, signs: Signs) -> list[_Column]:
    if standings.clean_boards == standings.boards:
        return []
    clean = tuple(signs.number(row.clean_elo, 0) for row in standings.rows)
    return [_Column("Clean", clean, 1, legend="Clean: boards without a fault.")]


def _unseparated_column(rows: Sequence[Row], signs: Signs) -> _Column:
    """Show which rows can't be told apart: as brackets side by side, or as ranks where these would be too many."""
    lanes = _lanes(rows, signs)
    if len(lanes) <= _MOST_LANES:
        cells = tuple("".join(lane[index] for lane in lanes).rstrip() for index in range(len(rows)))
        return _Column("", cells, 11, legend="Bracket: not to be told apart.", style=lambda _: "magenta", left=True)
    return _Column(
        signs.like,
        tuple(signs.interval(reach) if (reach := _reach(rows, row)) else "" for row in rows),
        11,
        legend=f"{signs.like}: not to be told from rows of these ranks.",
        style=lambda _: "magenta",
    )


def _lanes(rows: Sequence[Row], signs: Signs) -> list[list[str]]:
    """Draw each group of rows that can't be told apart as a bracket, to the left if there is room."""
    top, middle, foot = signs.bracket
    lanes: list[list[str]] = []
    for number in sorted({number for row in rows for number in row.unseparated}):
        members = [index for index, row in enumerate(rows) if number in row.unseparated]
        lane = next((lane for lane in lanes if lane[members[0]] == " "), None)
        if lane is None:
            lanes.append(lane := [" "] * len(rows))
        lane[members[0] : members[-1] + 1] = [top, *[middle] * (len(members) - 2), foot]
    return lanes


def _reach(rows: Sequence[Row], row: Row) -> tuple[int, int] | None:
    """Return the first and the last rank in the groups that a row is in: it can't be told from any row between."""
    ranks = [one.rank for one in rows if one.rank is not None and not set(one.unseparated).isdisjoint(row.unseparated)]
    return (ranks[0], ranks[-1]) if ranks else None


def _legend(rows: Sequence[Row], columns: Sequence[_Column], width: int) -> list[str]:
    """Explain the columns that are shown, as many sentences to a line as fit."""
    sentences = [column.legend for column in columns if column.legend]
    if any(row.elo is None or row.error is None for row in rows):
        sentences.append(f"{UNKNOWN}: too few boards, or wins or losses alone.")
    lines = [""]
    for sentence in sentences:
        longer = f"{lines[-1]} {sentence}".lstrip()
        lines[-1:] = [longer] if cell_len(longer) <= width else [lines[-1], sentence]
    return lines


def _warnings(standings: Standings) -> list[str]:
    lines = []
    if len(standings.groups) > 1:
        groups = "; ".join(", ".join(group) for group in standings.groups)
        lines.append(f"Ratings of different groups can't be compared, since these never met: {groups}.")
    if standings.disqualified:
        bots = ", ".join(f"{row.bot} ({_count(row.faults, 'fault')})" for row in standings.disqualified)
        lines.append(f"Disqualified: {bots}.")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
