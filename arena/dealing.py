"""Random numbers and shuffles that anyone can repeat from the tournament's seed.

Every random number of a tournament comes from a `Stream`: HMAC-SHA256 with the seed as its key over a text that says what
the numbers are for. Streams for different purposes are independent, so that nothing that happens during play, such as a
fault, changes a later deal. The seed is committed to before play by its SHA-256 and revealed afterwards; docs/fairness.md
has the procedure with test vectors, for checking a deal in any language.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from arena.cards import Card

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seed:
    """The 32 bytes that all random numbers of a tournament come from.

    `text` is what the organiser gave, empty where the bytes were drawn; such a seed can be guessed, so it is not secret.
    """

    key: bytes
    text: str = ""

    @classmethod
    def draw(cls) -> Seed:
        """Draw 32 random bytes from the operating system."""
        return cls(secrets.token_bytes(32))

    @classmethod
    def from_text(cls, text: str) -> Seed:
        """Take 64 hexadecimal digits as they are; stretch anything else by SHA-256."""
        if len(text) == 64 and not text.strip("0123456789abcdefABCDEF"):
            return cls(bytes.fromhex(text))
        return cls(sha256(f"arena seed {text}".encode()).digest(), text)

    @property
    def commitment(self) -> str:
        """SHA-256 of the seed, in hexadecimal digits, to be published before play."""
        return sha256(self.key).hexdigest()

    @property
    def secret(self) -> bool:
        """Whether nobody could guess it."""
        return not self.text


class Stream:
    """Random numbers for one purpose: block k is HMAC-SHA256(key, "purpose/k"), read as eight big-endian 32-bit numbers.

    The purpose is a name and numbers, joined by slashes: `Stream(key, "deal", 3, 0, 1)` reads "deal/3/0/1/0",
    "deal/3/0/1/1" and so on.
    """

    def __init__(self, key: bytes, purpose: str, *numbers: int) -> None:
        self._key = key
        self._purpose = "/".join([purpose, *map(str, numbers)])
        self._blocks = 0
        self._waiting: list[int] = []

    def next_word(self) -> int:
        """Return the next number of 32 bits."""
        if not self._waiting:
            block = hmac.digest(self._key, f"{self._purpose}/{self._blocks}".encode(), "sha256")
            self._blocks += 1
            self._waiting = [int.from_bytes(block[i : i + 4]) for i in range(28, -1, -4)]
        return self._waiting.pop()

    def below(self, bound: int) -> int:
        """Return a number from 0 to bound - 1 (bound at most 2**32), each equally likely.

        Numbers at or above the largest multiple of bound are thrown away, so that the remainder is not biased.
        """
        limit = (1 << 32) - (1 << 32) % bound
        while (word := self.next_word()) >= limit:
            pass
        return word % bound

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order, by Fisher and Yates from the last place down."""
        shuffled = list(items)
        for i in range(len(shuffled) - 1, 0, -1):
            j = self.below(i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return shuffled

    def deal(self, deck: Sequence[Card], players: int) -> list[list[Card]]:
        """Shuffle the deck and give seat 0 the first cards, seat 1 the next, and so on; each hand is by number."""
        cards = self.shuffle(deck)
        size = len(cards) // players
        return [sorted(cards[seat * size : (seat + 1) * size]) for seat in range(players)]


def random_word(key: bytes, purpose: str, *numbers: int) -> int:
    """Return one number of 64 bits: the first eight bytes of HMAC-SHA256(key, "purpose/numbers")."""
    text = "/".join([purpose, *map(str, numbers)])
    return int.from_bytes(hmac.digest(key, text.encode(), "sha256")[:8])


def opaque_id(key: bytes, purpose: str, *numbers: int) -> str:
    """Return an id of 16 hexadecimal digits that tells nothing about what it names."""
    return f"{random_word(key, purpose, *numbers):016x}"
