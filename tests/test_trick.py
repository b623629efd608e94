"""Tricks, in every game."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.cards import ALL_CARDS, SUIT_SETS, Card, Suit, parse_cards
from arena.trick import FOLLOWING, NO_SUIT, suit_of_trick, winning_place

tricks = st.lists(st.sampled_from(ALL_CARDS), unique=True, max_size=6)


@pytest.mark.parametrize(
    ("trick", "suit"),
    [
        ("", NO_SUIT),
        ("M1", NO_SUIT),
        ("M1 M4", NO_SUIT),
        ("M1 5C", Suit.CLUBS),
        ("QS AH", Suit.SPADES),
        ("WH", Suit.HEARTS),
    ],
)
def test_the_first_card_of_a_suit_sets_the_suit(trick: str, suit: int) -> None:
    assert suit_of_trick(parse_cards(trick)) == suit


@pytest.mark.parametrize(
    ("trick", "place"),
    [
        ("2C AC KC AH", 1),
        ("5S AH AD AC", 0),
        ("TD WD JD 2D", 2),
        ("M1 5C KC AH", 2),
        ("M1 M4 M2", 0),
        ("M3 M1 2H AS", 2),
    ],
)
def test_the_strongest_card_of_that_suit_takes_the_trick(trick: str, place: int) -> None:
    assert winning_place(parse_cards(trick)) == place


def test_nothing_follows_no_suit() -> None:
    assert FOLLOWING[NO_SUIT] == 0
    assert FOLLOWING[:4] == SUIT_SETS


@given(tricks.filter(bool))
def test_the_winner_is_what_a_plain_reading_of_the_rule_says(trick: list[Card]) -> None:
    best = 0
    for place, card in enumerate(trick):
        strongest = trick[best]
        if card.is_magician:
            continue
        if strongest.is_magician or (card.suit is strongest.suit and card.rank > strongest.rank):
            best = place

    assert winning_place(trick) == best


@given(tricks.filter(bool), st.sampled_from(ALL_CARDS))
def test_a_later_card_of_another_suit_changes_nothing(trick: list[Card], card: Card) -> None:
    suit = suit_of_trick(trick)
    if suit != NO_SUIT and card.suit is not Suit(suit) and card not in trick:
        assert winning_place([*trick, card]) == winning_place(trick)
