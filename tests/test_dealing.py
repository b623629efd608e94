"""Random numbers and shuffles: pinned for ever, so that a deal of today can be checked in ten years, in any language.

The numbers were also computed with OpenSSL and a program of its own.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.cards import ALL_CARDS, STANDARD_DECK, format_cards
from arena.dealing import Seed, Stream, opaque_id, random_word

ZERO = bytes(32)


def test_a_stream_is_hmac_sha256_by_the_block() -> None:
    stream = Stream(ZERO, "deal", 3, 0, 1)

    words = [stream.next_word() for _ in range(16)]

    assert b"".join(word.to_bytes(4) for word in words).hex() == (
        "6a290a3371ff7f3bdfb4f38b888a12661e590db44c3046014e10b8fb42257a5a"
        "fc251e95aeb52b1055044956f59bc42c0b71b090a4b304ac5f880be15f1fa8ea"
    )


def test_numbers_below_a_bound_are_remainders() -> None:
    stream = Stream(ZERO, "deal", 3, 0, 1)

    assert [stream.below(6) for _ in range(12)] == [1, 5, 5, 4, 0, 3, 1, 0, 3, 0, 2, 4]


def test_numbers_that_would_bias_are_thrown_away() -> None:
    """Of 32 bits, all at or above 3 * 2**30 are out of bounds here: these are the words of the stream below it."""
    words = Stream(ZERO, "deal", 3, 0, 1)
    kept = [word for word in (words.next_word() for _ in range(50)) if word < 3 << 30]

    stream = Stream(ZERO, "deal", 3, 0, 1)

    assert [stream.below(3 << 30) for _ in range(len(kept))] == kept
    assert len(kept) < 50


def test_the_golden_deal_of_the_ordinary_pack() -> None:
    hands = Stream(ZERO, "deal", 1, 0, 1).deal(STANDARD_DECK, 4)

    assert list(map(format_cards, hands)) == [
        "3C 7C KC 2D 8D KD 3S 5S 8S KS 4H QH KH",
        "TC QC 4D 5D TD 4S 6S 9S AS 5H 7H TH AH",
        "6C 9C JC AC 6D JD AD 7S TS 2H 3H 6H JH",
        "2C 4C 5C 8C 3D 7D 9D QD 2S JS QS 8H 9H",
    ]


def test_the_golden_deal_of_sixty_cards() -> None:
    hands = Stream(ZERO, "deal", 1, 0, 1).deal(ALL_CARDS, 6)

    assert list(map(format_cards, hands)) == [
        "7C 4D 7D KD AD 7S 8S 9S WH JH",
        "4C JC 5D 8D TD 3S 4S 6S JS 2H",
        "AC 2D 3D 9D TS QS 3H 5H 8H TH",
        "5C 6C QC M2 WD QD M3 WS 6H QH",
        "2C 3C KC 6D 2S AS M4 4H 7H 9H",
        "M1 8C 9C TC WC JD 5S KS KH AH",
    ]


def test_words_and_ids_are_pinned() -> None:
    assert random_word(ZERO, "random", 1, 2, 3) == 12872282879235469151
    assert opaque_id(ZERO, "table", 1, 0, 2) == "fe8b219494d8d105"
    assert len(opaque_id(ZERO, "table", 5)) == 16


def test_a_seed_is_committed_to_by_its_sha256() -> None:
    assert Seed(ZERO).commitment == "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"


@given(st.binary(min_size=32, max_size=32))
def test_64_digits_are_a_seed_as_they_are(key: bytes) -> None:
    assert Seed.from_text(key.hex()) == Seed(key)
    assert Seed.from_text(key.hex().upper()).secret


@pytest.mark.parametrize("text", ["hello", "", "é", "0" * 63, "g" * 64, "0" * 65])
def test_other_texts_are_stretched_and_not_secret(text: str) -> None:
    seed = Seed.from_text(text)

    assert len(seed.key) == 32
    assert seed.text == text
    assert seed.key != Seed.from_text(text + "!").key
    assert seed.secret is (not text)


def test_drawn_seeds_are_secret_and_differ() -> None:
    seeds = [Seed.draw() for _ in range(5)]

    assert len({seed.key for seed in seeds}) == 5
    assert all(seed.secret for seed in seeds)


@given(st.binary(min_size=1, max_size=40), st.lists(st.integers(0, 2**40), max_size=4))
def test_a_stream_depends_on_key_purpose_and_numbers_alone(key: bytes, numbers: list[int]) -> None:
    first, second = Stream(key, "deal", *numbers), Stream(key, "deal", *numbers)

    assert first.shuffle(range(60)) == second.shuffle(range(60))
    assert Stream(key, "deal", *numbers).next_word() != Stream(key, "schedule", *numbers).next_word()
    assert Stream(key, "deal", *numbers, 1).next_word() != Stream(key, "deal", *numbers, 2).next_word()


@given(st.integers(0, 2**32), st.sampled_from([3, 4, 5, 6]))
def test_a_deal_gives_every_card_once_and_sorted(number: int, players: int) -> None:
    hands = Stream(ZERO, "deal", number).deal(ALL_CARDS, players)

    assert sorted(card for hand in hands for card in hand) == list(ALL_CARDS)
    assert all(hand == sorted(hand) and len(hand) == 60 // players for hand in hands)


def test_a_shuffle_leaves_what_it_was_given() -> None:
    items = list(range(20))

    shuffled = Stream(ZERO, "test").shuffle(items)

    assert items == list(range(20))
    assert sorted(shuffled) == items
    assert shuffled != items


def test_every_card_is_as_likely_in_every_hand() -> None:
    """Chi-squared over 24,000 cards dealt: 156 degrees of freedom, far from 250 unless something is wrong."""
    deals = 2000
    places = Counter(
        (card, seat)
        for number in range(deals)
        for seat, hand in enumerate(Stream(ZERO, "fair", number).deal(STANDARD_DECK, 4))
        for card in hand
    )

    expected = deals / 4
    chi_squared = sum((count - expected) ** 2 / expected for count in places.values())

    assert len(places) == 52 * 4
    assert chi_squared < 250
