"""Standings as the JSON document that `arena tournament --json` prints, and back.

`arena/result.schema.json` describes it, and docs/results.md explains every field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from leaderboard.pairs import Pair
from leaderboard.standings import Row, Standings

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

R = TypeVar("R", Row, Pair)

SCHEMA: Final = 1
"""The version of the document: a change that a reader of the one before would not understand makes it the next."""

_ELO: Final = frozenset({"elo", "error", "clean_elo", "clean_error", "difference"})
_ELO_DECIMALS = 2
_DECIMALS = 4


def document(standings: Standings, about: Mapping[str, Json], notes: Sequence[str] = ()) -> dict[str, Json]:
    """Return the standings as plain JSON, floats rounded, so that equal standings give equal bytes.

    What the document says `about` the tournament stands first. Notes are sentences that belong to the result, such as that
    the seed isn't secret.
    """
    return {
        "schema": SCHEMA,
        **about,
        "boards": standings.boards,
        "clean_boards": standings.clean_boards,
        "anchor": standings.anchor,
        "errors": "bootstrap" if standings.bootstrap else "sandwich",
        "groups": [list(group) for group in standings.groups],
        "standings": [_plain(row) for row in standings.rows],
        "disqualified": [_plain(row) for row in standings.disqualified],
        "pairs": None if standings.pairs is None else [_plain(pair) for pair in standings.pairs],
        "notes": list(notes),
    }


def read_document(values: Mapping[str, Any]) -> Standings:
    """Make standings of the document that `document` returned, with its rounded numbers."""
    pairs = values["pairs"]
    return Standings(
        rows=tuple(_read(Row, row) for row in values["standings"]),
        disqualified=tuple(_read(Row, row) for row in values["disqualified"]),
        boards=values["boards"],
        clean_boards=values["clean_boards"],
        groups=tuple(map(tuple, values["groups"])),
        bootstrap=values["errors"] == "bootstrap",
        anchor=values["anchor"],
        pairs=None if pairs is None else tuple(_read(Pair, pair) for pair in pairs),
    )


def _read(kind: type[R], values: Mapping[str, Any]) -> R:
    known: dict[str, Any] = {field.name: values[field.name] for field in fields(kind)}
    tuples = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
    return kind(**(known | tuples))


def _plain(row: Row | Pair) -> dict[str, Json]:
    return {field.name: _rounded(field.name, getattr(row, field.name)) for field in fields(row)}


def _rounded(name: str, value: Json | tuple[int, ...]) -> Json:
    if isinstance(value, float):
        return round(value, _ELO_DECIMALS if name in _ELO else _DECIMALS) + 0.0
    return list(value) if isinstance(value, tuple) else value
