"""How commands print a leaderboard's document: as a table, a matrix of pairs, JSON or CSV."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.cli.chosen_tournament import in_play_text
from arena.cli.output import make_console, print_json, print_note
from arena.errors import BadGame

if TYPE_CHECKING:
    from arena.competition import ListedTournament
    from leaderboard.terminal import Leaderboard


@dataclass(frozen=True, slots=True)
class Form:
    """In which form a leaderboard is printed: a table, unless something else is asked for."""

    as_json: bool = False
    as_csv: bool = False
    pairs: bool = False
    """Whether each two bots are told of, instead of each bot; JSON has both."""
    simultaneous: bool = False
    """Whether the ranks of the table hold all at once; JSON and CSV have both."""

    @property
    def needs_pairs(self) -> bool:
        """Whether the document must have pairs."""
        return self.as_json or self.pairs


def print_document(values: Mapping[str, Any], form: Form, later: ListedTournament | None) -> None:
    """Print a leaderboard, and a line on a later tournament that is in play: on stderr where programs read the rest."""
    from leaderboard.document import read_document

    if form.as_json:
        print_json(values)
    elif form.as_csv:
        from leaderboard.csv_lines import pairs_csv, standings_csv

        sys.stdout.write((pairs_csv if form.pairs else standings_csv)(read_document(values)))
    elif form.pairs:
        from leaderboard.matrix import Matrix

        make_console().print(Matrix(read_document(values), _title(values)))
    else:
        told = [in_play_text(later)] if later else []
        noted = {**values, "notes": [*values["notes"], *told]}
        make_console().print(make_leaderboard(noted, simultaneous=form.simultaneous))
        return
    if later:
        print_note(in_play_text(later))


def make_leaderboard(values: Mapping[str, Any], *, simultaneous: bool = False) -> Leaderboard:
    """Return the leaderboard of a document as rich can print it, with ranks that hold one by one or simultaneously."""
    from leaderboard.document import read_document
    from leaderboard.terminal import Leaderboard

    return Leaderboard(read_document(values), _title(values), tuple(values["notes"]), simultaneous=simultaneous)


def _title(values: Mapping[str, Any]) -> str:
    from arena.games.options import format_option

    told = ", ".join(f"{name} {format_option(value)}" for name, value in _unusual(values).items())
    game = f"{values['game']} ({told})" if told else values["game"]
    sides = ", partners" if values["sides"] == "partners" else ""
    games = ", whole games" if values["format"] == "game" else ""
    return f"{game} · {values['players']} players{sides}{games} · tournament {values['tournament']}"


def _unusual(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not the game's defaults; all of them where the game isn't known here."""
    from arena.games import find_game

    try:
        usual = find_game(values["game"], values["players"], values["sides"]).options
    except BadGame:
        usual = {}
    return {name: value for name, value in values["options"].items() if name not in usual or usual[name] != value}
