"""`arena games`: which games there are, and the rules and options of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from arena.cli.output import make_console, print_json
from arena.errors import BadGame
from arena.game import Game, Option
from arena.games import find_game, game_names
from arena.games.options import format_option

if TYPE_CHECKING:
    from rich.table import Table

SEATS = range(2, 7)
"""The numbers of players that are tried."""


@click.command(
    epilog="""\b
Examples:
  arena games
  arena games heartswitch --players 6
  arena games --json"""
)
@click.argument("name", required=False)
@click.option("--players", type=click.IntRange(SEATS[0], SEATS[-1]), help="Tell the rules for so many players.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")
def command(name: str | None, players: int | None, as_json: bool) -> None:
    """List the games, or show the rules and the options of the game NAME."""
    if name is None and players is not None:
        raise click.UsageError("--players goes with the NAME of a game.")
    if name is None:
        games = [_usual_game(known, None) for known in game_names()]
        if as_json:
            print_json([_as_values(game) for game in games])
        else:
            _print_list(games)
        return
    game = _usual_game(name, players)
    if as_json:
        print_json(_as_values(game) | {"rules": game.summary})
    else:
        _print_rules(game)


def _usual_game(name: str, players: int | None) -> Game:
    """Return a game for so many players; without a number for four, or else for as few as it allows."""
    if players is not None or name not in game_names():
        return find_game(name, players or 4)
    counts = _player_counts(name, "single")
    return find_game(name, 4 if 4 in counts or not counts else counts[0])


def _player_counts(name: str, sides: str) -> list[int]:
    counts = []
    for players in SEATS:
        try:
            find_game(name, players, sides)
        except BadGame:
            continue
        counts.append(players)
    return counts


def _as_values(game: Game) -> dict[str, Any]:
    return {
        "name": game.name,
        "players": _player_counts(game.name, "single"),
        "players_with_partners": _player_counts(game.name, "partners"),
        "options": [
            {
                "name": option.name,
                "default": option.default,
                "choices": list(option.choices),
                "range": [option.numbers[0], option.numbers[-1]] if option.numbers else None,
                "meaning": option.meaning,
            }
            for option in game.known_options
        ],
    }


def _print_list(games: list[Game]) -> None:
    """Say of each game who plays it, and how it differs from the first of its kind; of each kind once what its options are."""
    console = make_console()
    kinds: dict[tuple[str, ...], list[Game]] = {}
    for game in games:
        kinds.setdefault(tuple(option.name for option in game.known_options), []).append(game)
    table = _plain_table("game", "players", "with partners", "rules")
    for first, *others in kinds.values():
        for game in (first, *others):
            counts = (_player_counts(game.name, sides) for sides in ("single", "partners"))
            players, partners = (", ".join(map(str, numbers)) or "-" for numbers in counts)
            table.add_row(game.name, players, partners, _difference(game, first))
    console.print(table)
    console.print()
    for options, (first, *others) in kinds.items():
        names = ", ".join(game.name for game in (first, *others))
        console.print(f"Options of {names}: {', '.join(options)}.")
    console.print("`arena games NAME` has the rules of a game, and what its options mean.")


def _difference(game: Game, first: Game) -> str:
    if game is first:
        return f"as `arena games {game.name}` tells"
    known = _sentences(first)
    return " ".join([f"as {first.name}, but:", *(sentence for sentence in _sentences(game) if sentence not in known)])


def _sentences(game: Game) -> list[str]:
    return re.split(r"(?<=\.) ", game.summary)


def _print_rules(game: Game) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = make_console()
    console.print(Text(f"{game.name} for {game.players} players", "bold"))
    console.print()
    console.print(Padding(Text(game.summary), (0, 0, 0, 2)), width=min(console.width, 100))
    console.print()
    table = _plain_table("option", "default", "values", "meaning")
    for option in game.known_options:
        table.add_row(option.name, format_option(option.default), _values(option), option.meaning)
    console.print(table)


def _values(option: Option) -> str:
    values = [format_option(choice) for choice in option.choices]
    if option.numbers:
        first, last = option.numbers[0], option.numbers[-1]
        values.append(f"{first} or more" if last >= 2**31 else f"{first} to {last}")
    return ", ".join(values)


def _plain_table(*columns: str) -> Table:
    from rich.table import Table

    return Table(*columns, box=None, header_style="bold")
