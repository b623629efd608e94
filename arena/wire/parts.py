"""What several messages have in common: how one is read, durations, cards, games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message

from arena.cards import CARD_OF_NUMBER, Card
from arena.errors import BadInput, Malformed
from arena.game import Game
from arena.games import find_game
from arena.games.options import format_option
from arena.text import clean_line
from arena.v1 import bot_pb2, card_pb2

M = TypeVar("M", bound=Message)
V = TypeVar("V")


def read_message(message: type[M], data: bytes, convert: Callable[[M], V]) -> V:
    """Parse and convert; raise Malformed where either is impossible."""
    try:
        return convert(message.FromString(data))
    except (DecodeError, ValueError, IndexError, OverflowError, BadInput) as error:
        raise Malformed(f"not a {message.DESCRIPTOR.name}: {clean_line(str(error))}") from error


@lru_cache(maxsize=65536)
def duration_bytes(milliseconds: int) -> bytes:
    """Return a Duration message of so many milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    return Duration(seconds=seconds, nanos=rest * 1_000_000).SerializeToString()


def duration_message(seconds: float) -> Duration:
    """Return a Duration of so many seconds, to the microsecond."""
    microseconds = round(seconds * 1e6)
    return Duration(seconds=microseconds // 1_000_000, nanos=microseconds % 1_000_000 * 1000)


def seconds_of(duration: Duration) -> float:
    """Return how many seconds a Duration is."""
    return float(duration.seconds) + duration.nanos / 1e9


def cards_of(numbers: Iterable[int]) -> tuple[Card, ...]:
    """Return the cards of these numbers, leaving out what is no card (a later version's, perhaps)."""
    return tuple([card for number in numbers if 0 < number < 64 and (card := CARD_OF_NUMBER[number]) is not None])


def card_enums(cards: Iterable[Card]) -> Iterable[card_pb2.Card.ValueType]:
    """Return cards as the generated types want them: they are the enum's numbers already."""
    return cast("Iterable[card_pb2.Card.ValueType]", cards)


def game_message(game: Game, placed_by_game: bool) -> bot_pb2.Game:
    """Return a Game message."""
    return bot_pb2.Game(
        name=game.name,
        players=game.players,
        sides=game.side_of,
        options={name: format_option(value) for name, value in game.options.items()},
        placed=bot_pb2.PLACED_GAME if placed_by_game else bot_pb2.PLACED_DEAL,
        target=(game.target or 0) if placed_by_game else 0,
    )


@lru_cache(maxsize=256)
def game_bytes(game: Game, placed_by_game: bool) -> bytes:
    """Return a Game message, the same bytes for the same game."""
    return game_message(game, placed_by_game).SerializeToString(deterministic=True)


@lru_cache(maxsize=256)
def game_of_bytes(data: bytes) -> tuple[Game, bool]:
    """Return the game of a Game message, and whether it is placed as a whole."""
    message = bot_pb2.Game.FromString(data)
    sides = "partners" if len(set(message.sides)) < message.players else "single"
    game = find_game(message.name, players=message.players, sides=sides, options=dict(message.options))
    return game, message.placed == bot_pb2.PLACED_GAME
