"""Bots that run already, at an address."""

from __future__ import annotations

from collections.abc import Iterable

from arena.competition import Program
from arena.document import Wrong
from arena.entries import check_name
from arena.errors import Refused
from arena.games import game_names
from arena.manifest import MAX_AUTHOR
from arena.players.addresses import check_address
from arena.text import clean_line


async def running_program(address: str, name: str, games: Iterable[str], author: str, *, private: bool) -> Program:
    """Return what a version of a bot that runs already is; raise Refused for an address, a name or a game that is none."""
    await check_address(address, private=private)
    try:
        named = check_name(name)
    except Wrong as wrong:
        raise Refused("BAD_NAME", f"{clean_line(name)!r} can't be a bot's name: {wrong.message}") from None
    played = tuple(games)
    for game in played:
        if game not in game_names():
            raise Refused(
                "BAD_INPUT", f"no game is called {clean_line(game, 64)!r}: there are {', '.join(game_names())}"
            )
    return Program(named, address=address, games=played, author=clean_line(author, MAX_AUTHOR))
