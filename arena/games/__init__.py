"""The games that can be played, found by name: those of the entry point group `arena.games`.

An entry point names a factory, called with the number of players, whether partners play together, and the options that
were given (values, not text). It returns the `Game` or raises BadGame. Another package can so add games of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from arena.errors import BadGame
from arena.game import Game, OptionValue
from arena.games.options import parse_option

SIDES = ("single", "partners")
"""How seats form sides: each for itself, or two and two opposite."""


def game_names() -> tuple[str, ...]:
    """Return the names of all games, in alphabetical order."""
    return tuple(sorted({point.name for point in entry_points(group="arena.games")}))


def find_game(
    name: str, players: int = 4, sides: str = "single", options: Mapping[str, OptionValue] | None = None
) -> Game:
    """Return a game by its exact name, for so many players, with these options and the defaults of all others.

    A value of an option may be given as text, as on a command line: "26", "true", "none". Raises BadGame for an unknown
    name, and where the game doesn't allow the players, the sides or an option.
    """
    points = entry_points(group="arena.games", name=name)
    if not points:
        raise BadGame(f"no game is called {name!r}: choose one of {', '.join(game_names())}")
    if sides not in SIDES:
        raise BadGame(f"sides cannot be {sides!r}: choose one of {', '.join(SIDES)}")
    values = {
        option: parse_option(value) if isinstance(value, str) else value for option, value in (options or {}).items()
    }
    game = next(iter(points)).load()(players, sides == "partners", values)
    if not isinstance(game, Game):
        raise BadGame(f"what the package of {name!r} offers as a game is none, but {type(game).__name__}")
    return game
