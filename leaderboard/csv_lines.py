"""Standings as comma-separated values: a line a bot, or a line for each two; a cell is empty where the results don't say it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import astuple, fields

from leaderboard.pairs import Pair
from leaderboard.standings import Row, Standings


def standings_csv(standings: Standings) -> str:
    """Return a header line and a line a bot, those that are disqualified last. An interval of ranks has two columns."""
    lines = [*_lines(standings.rows, disqualified=False), *_lines(standings.disqualified, disqualified=True)]
    return _text([*(name for field in fields(Row) for name in _columns(field.name)), "disqualified"], lines)


def pairs_csv(standings: Standings) -> str:
    """Return a header line and a line for each two bots."""
    return _text([field.name for field in fields(Pair)], map(astuple, standings.pairs or ()))


def _columns(name: str) -> list[str]:
    ranks = name.removesuffix("_interval")
    return [name] if ranks == name else [f"{ranks}_best", f"{ranks}_worst"]


def _lines(rows: Iterable[Row], *, disqualified: bool) -> Iterator[list[object]]:
    for row in rows:
        line: list[object] = []
        for field in fields(Row):
            value = getattr(row, field.name)
            line += [value] if len(_columns(field.name)) == 1 else value or (None, None)
        yield [*line, str(disqualified).lower()]


def _text(header: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in line] for line in lines)
    return text.getvalue()


def _cell(value: object) -> object:
    return " ".join(str(part) for part in value) if isinstance(value, tuple) else "" if value is None else value
