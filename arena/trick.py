"""A trick: which suit it is, which cards follow, and whose it is. The same in every game here.

A magician has no suit: the first card of a suit sets the trick's suit, whether it was led or not (W-14). The strongest card
of that suit takes the trick; where only magicians lie there, the first of them does (W-15, W-16).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arena.cards import SUIT_SETS, Card, cards_to_set

NO_SUIT: Final = -1
"""In place of a suit: no card of a suit has been played to the trick."""

FOLLOWING: tuple[int, ...] = (*SUIT_SETS, 0)
"""The set of cards that follow each suit, by suit. The last place, found by NO_SUIT too, is empty: no card follows."""


def suit_of_trick(trick: Sequence[Card]) -> int:
    """Return the suit that sets a trick, NO_SUIT while none does."""
    return next((card >> 4 for card in trick if card & 15 != 1), NO_SUIT)


def winning_place(trick: Sequence[Card]) -> int:
    """Return the place in a trick, 0 for its leader's, of the card that takes it as it lies.

    >>> winning_place((Card("M1"), Card("5C"), Card("KC"), Card("AH")))
    2
    """
    following = cards_to_set(trick) & FOLLOWING[suit_of_trick(trick)]
    return trick.index(Card(following.bit_length() - 1)) if following else 0
