"""Cards, their codes, and sets of them."""

from __future__ import annotations

import pickle
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.cards import (
    ALL_CARDS,
    CARD_OF_NUMBER,
    MAGICIANS,
    STANDARD_DECK,
    SUIT_SETS,
    WITCHES,
    Card,
    Rank,
    Suit,
    cards_to_set,
    format_cards,
    parse_cards,
    set_to_cards,
)
from arena.errors import BadCard

every_card = pytest.mark.parametrize("card", ALL_CARDS, ids=str)
hands = st.lists(st.sampled_from(ALL_CARDS), unique=True)


@every_card
def test_code_and_number_round_trip(card: Card) -> None:
    assert Card(str(card)) is card
    assert Card(int(card)) is card
    assert CARD_OF_NUMBER[card] is card
    assert eval(repr(card)) == card


@every_card
def test_number_is_suit_and_rank(card: Card) -> None:
    assert card == 16 * "CDSH".index(str(card)[1]) + card.rank if card.suit is not None else card & 15 == Rank.MAGICIAN


def test_there_are_sixty_cards_below_64() -> None:
    assert len(set(ALL_CARDS)) == len({str(card) for card in ALL_CARDS}) == 60
    assert list(ALL_CARDS) == sorted(ALL_CARDS)
    assert max(ALL_CARDS) < 64
    assert [CARD_OF_NUMBER[number] for number in (0, 16, 32, 48)] == [None] * 4


@pytest.mark.parametrize(
    ("code", "number"), [("2C", 2), ("TD", 26), ("WS", 43), ("QS", 45), ("AH", 63), ("M1", 1), ("M2", 17), ("M4", 49)]
)
def test_numbers_are_as_on_the_wire(code: str, number: int) -> None:
    assert Card(code) == number


@pytest.mark.parametrize("text", [" qs ", "qS", "QS\n"])
def test_codes_may_be_in_small_letters_and_spaced(text: str) -> None:
    assert Card(text) is Card("QS")


@pytest.mark.parametrize("value", ["", "Q", "SQ", "10H", "M5", "M0", "WM", "♠Q", 0, 16, 64, -1, 10**30])
def test_what_is_no_card_is_refused_with_help(value: str | int) -> None:
    with pytest.raises(BadCard, match="is not a card: write rank and suit"):
        Card(value)


@given(st.text())
def test_any_text_is_a_card_or_refused(text: str) -> None:
    try:
        assert str(Card(text)) == text.strip().upper()
    except BadCard as error:
        assert isinstance(error, ValueError)


@every_card
def test_copies_and_pickles_are_the_same_card(card: Card) -> None:
    assert pickle.loads(pickle.dumps(card)) == card
    assert str(deepcopy(card)) == str(card)
    assert isinstance(pickle.loads(pickle.dumps(card)), Card)


def test_magicians_have_no_suit() -> None:
    magicians = [card for card in ALL_CARDS if card.is_magician]

    assert format_cards(magicians) == "M1 M2 M3 M4"
    assert [card.suit for card in magicians] == [None] * 4
    assert cards_to_set(magicians) == MAGICIANS


def test_suits_are_fourteen_cards_with_the_witch_above_the_ten() -> None:
    for suit in Suit:
        cards = set_to_cards(SUIT_SETS[suit])
        assert [card.suit for card in cards] == [suit] * 14
        assert "".join(str(card)[0] for card in cards) == "23456789TWJQKA"
    assert format_cards(set_to_cards(WITCHES)) == "WC WD WS WH"


def test_the_ordinary_pack_has_neither_witches_nor_magicians() -> None:
    assert len(STANDARD_DECK) == 52
    assert not cards_to_set(STANDARD_DECK) & (WITCHES | MAGICIANS)


@given(hands)
def test_sets_round_trip_in_order(cards: list[Card]) -> None:
    assert set_to_cards(cards_to_set(cards)) == tuple(sorted(cards))


@given(hands)
def test_text_round_trips_in_the_order_given(cards: list[Card]) -> None:
    assert parse_cards(format_cards(cards)) == tuple(cards)


def test_the_first_bad_code_of_several_is_named() -> None:
    with pytest.raises(BadCard, match="'1C' is not a card"):
        parse_cards("2C 1C 0C")
