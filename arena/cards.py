"""Cards as small numbers, sets of cards as 64-bit masks, and their text codes.

A card is `16 * suit + rank`, an `int` of its own class that prints as its code: `QS`, `WH`, `M1`. Within a suit the larger
number is the stronger card. The magicians are 1, 17, 33 and 49: they belong to no suit, so `rank` is to be asked
before `suit`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from operator import index
from typing import SupportsIndex

from arena.errors import BadCard


class Suit(IntEnum):
    """The four suits, in the order of card numbers."""

    CLUBS = 0
    DIAMONDS = 1
    SPADES = 2
    HEARTS = 3


class Rank(IntEnum):
    """The ranks, weakest first. The magician's is below all others: it never wins against a card of a suit."""

    MAGICIAN = 1
    TWO = 2
    THREE = 3
    FOUR = 4
    FIVE = 5
    SIX = 6
    SEVEN = 7
    EIGHT = 8
    NINE = 9
    TEN = 10
    WITCH = 11
    JACK = 12
    QUEEN = 13
    KING = 14
    ACE = 15


_SUIT_CODES = "CDSH"
_RANK_CODES = "23456789TWJQKA"


def _code(number: int) -> str:
    suit, rank = divmod(number, 16)
    return f"M{suit + 1}" if rank == Rank.MAGICIAN else _RANK_CODES[rank - 2] + _SUIT_CODES[suit]


_NUMBERS = tuple(16 * suit + rank for suit in Suit for rank in Rank)
_CODES = {number: _code(number) for number in _NUMBERS}


class Card(int):
    """One card, made from its number or its code; the same card is always the same object.

    >>> Card("QS"), int(Card("QS")), str(Card(17))
    (Card('QS'), 45, 'M2')

    Raises BadCard for anything else.
    """

    __slots__ = ()

    def __new__(cls, value: str | SupportsIndex) -> Card:
        card = _BY_CODE.get(value.strip().upper()) if isinstance(value, str) else _BY_NUMBER.get(index(value))
        if card is None:
            raise BadCard(f"{value!r} is not a card: write rank and suit, as in 2C, TD, WH or QS, or M1 to M4")
        return card

    def __repr__(self) -> str:
        return f"Card({_CODES[self]!r})"

    def __str__(self) -> str:
        return _CODES[self]

    @property
    def is_magician(self) -> bool:
        """Whether it is one of the four cards without a suit."""
        return self & 15 == Rank.MAGICIAN

    @property
    def suit(self) -> Suit | None:
        """Its suit; None for a magician."""
        return None if self.is_magician else Suit(self >> 4)

    @property
    def rank(self) -> Rank:
        """Its rank."""
        return Rank(self & 15)


_BY_NUMBER: dict[int, Card] = {number: int.__new__(Card, number) for number in _NUMBERS}
_BY_CODE: dict[str, Card] = {_CODES[number]: card for number, card in _BY_NUMBER.items()}

ALL_CARDS: tuple[Card, ...] = tuple(_BY_NUMBER.values())
"""All 60 cards by number."""

CARD_OF_NUMBER: tuple[Card | None, ...] = tuple(_BY_NUMBER.get(number) for number in range(64))
"""The card of each number below 64, None where there is none."""

MAGICIANS = 0x0002_0002_0002_0002
"""The set of the four magicians."""

WITCHES = 0x0800_0800_0800_0800
"""The set of the four witches."""

SUIT_SETS: tuple[int, ...] = tuple(0xFFFC << 16 * suit for suit in Suit)
"""The set of all cards of each suit, witches included, by suit."""

STANDARD_DECK: tuple[Card, ...] = tuple(card for card in ALL_CARDS if card.rank not in (Rank.MAGICIAN, Rank.WITCH))
"""The 52 cards of the ordinary pack, by number."""


def cards_to_set(cards: Iterable[int]) -> int:
    """Return the mask with the bits of these cards."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask


class _LaneCards(dict[int, tuple[Card, ...]]):
    """The cards of each mask that lies within one suit's sixteen bits, made when first asked for."""

    def __missing__(self, mask: int) -> tuple[Card, ...]:
        lowest = mask & -mask
        cards = self[mask] = (_BY_NUMBER[lowest.bit_length() - 1], *self[mask ^ lowest])
        return cards


LANES = _LaneCards({0: ()})
"""The cards of the sets that lie within one suit's sixteen bits: `LANES.get(mask)` where speed counts."""


def set_to_cards(mask: int) -> tuple[Card, ...]:
    """Return the cards of a set, by number.

    Nearly every set that play asks for lies in one suit or is looked up suit by suit in a table that fills as it is used.
    """
    return LANES.get(mask) or spread_to_cards(mask)


def spread_to_cards(mask: int) -> tuple[Card, ...]:
    """Return the cards of a set suit by suit: what `set_to_cards` does where they are not all of one suit."""
    return (
        LANES[mask & 0xFFFF]
        + LANES[mask & 0xFFFF_0000]
        + LANES[mask & 0xFFFF_0000_0000]
        + LANES[mask & 0xFFFF_0000_0000_0000]
    )


def parse_cards(text: str) -> tuple[Card, ...]:
    """Read cards written as codes with white space between them; raise BadCard at the first that is none.

    >>> parse_cards("2C TD WH QS M1")
    (Card('2C'), Card('TD'), Card('WH'), Card('QS'), Card('M1'))
    """
    return tuple(Card(code) for code in text.split())


def format_cards(cards: Iterable[Card]) -> str:
    """Write cards as their codes, in the order given, with spaces between: the opposite of `parse_cards`."""
    return " ".join(map(str, cards))
