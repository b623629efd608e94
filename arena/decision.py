"""What the arena and a player say to each other: decisions and choices, results, and a bot's description of itself.

A `Decision` is one question to one player, with everything an author wants at hand to answer it. It is the `view` that bots
get, in the arena's process and in their own alike: the observation, what the table adds to it (totals, time, a random
number), and conclusions that can be drawn from both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random

from arena.cards import SUIT_SETS, Card, Suit, cards_to_set, set_to_cards
from arena.game import Game, Observation, PassDirection, Phase
from arena.trick import NO_SUIT, suit_of_trick, winning_place

_SUITS = tuple(frozenset(suit for suit in Suit if mask >> suit & 1) for mask in range(16))
"""The suits of each set of suits."""


@dataclass
class Decision:
    """One question to one player. Never changed once made; what takes work to conclude is concluded once, when asked for."""

    observation: Observation
    table_id: str
    number: int
    """Counts this player's decisions at this table, from 0."""
    placed_by_game: bool
    """Whether the game as a whole is placed; otherwise each deal is, and totals are always 0."""
    deals_left: int
    """Deals still to come after this one; 0 also where a target ends the game."""
    totals: tuple[int, ...]
    """Each side's penalty points in the deals before this one."""
    decision_time: float
    """Seconds before the bank is used."""
    bank_left: float
    """Seconds of extra time left at this table."""
    last_answer: float | None
    """Seconds that this player's last answer at this table took."""
    random: int
    """64 random bits from the arena's own stream."""

    # --- What the seat may know of the deal: see `Observation` ---

    @property
    def game(self) -> Game:
        """The game with its options."""
        return self.observation.game

    @property
    def players(self) -> int:
        """How many seats there are."""
        return self.observation.game.players

    @property
    def seat(self) -> int:
        """This player's seat; seats are numbered clockwise from 0."""
        return self.observation.seat

    @property
    def deal_number(self) -> int:
        """The deal's number at this table, from 1."""
        return self.observation.number

    @property
    def dealer(self) -> int:
        """The dealer's seat."""
        return self.observation.dealer

    @property
    def phase(self) -> Phase:
        """Whether cards are to be passed or a card is to be played."""
        return self.observation.phase

    @property
    def count(self) -> int:
        """How many cards to choose."""
        return self.observation.count

    @property
    def hand(self) -> tuple[Card, ...]:
        """The player's hand, by number."""
        return self.observation.hand

    @property
    def legal(self) -> tuple[Card, ...]:
        """The cards that may be chosen, by number."""
        return self.observation.legal

    @property
    def direction(self) -> PassDirection:
        """Where passed cards go in this deal."""
        return self.observation.direction

    @property
    def receiver(self) -> int:
        """The seat that gets the cards that this player passes: itself where nothing is passed."""
        return self.direction.receiver(self.seat, self.players)

    @property
    def passed(self) -> tuple[Card, ...]:
        """The cards that this player has passed in this deal, by number."""
        return self.observation.passed

    @property
    def received(self) -> tuple[Card, ...]:
        """The cards that this player has received in this deal, by number."""
        return self.observation.received

    @property
    def hearts_broken(self) -> bool:
        """Whether a heart has been played in this deal, in games that have the rule."""
        return self.observation.hearts_broken

    @property
    def points(self) -> tuple[int, ...]:
        """Each seat's penalty points in the tricks taken so far, a moon not considered."""
        return self.observation.points

    # --- The current trick ---

    @property
    def trick(self) -> tuple[Card, ...]:
        """The cards of the current trick, from the leader on."""
        return self.observation.trick

    @property
    def leading(self) -> bool:
        """Whether this player leads a trick."""
        return self.phase is Phase.PLAYING and not self.trick

    @property
    def last(self) -> bool:
        """Whether this player plays the last card of a trick."""
        return len(self.trick) == self.players - 1

    @property
    def followers(self) -> tuple[int, ...]:
        """The seats that play to the current trick after this one, in order."""
        if self.phase is not Phase.PLAYING:
            return ()
        return tuple((self.seat + i) % self.players for i in range(1, self.players - len(self.trick)))

    @cached_property
    def led_suit(self) -> Suit | None:
        """The suit that sets the current trick; None when leading or while only magicians lie there."""
        suit = suit_of_trick(self.trick)
        return None if suit == NO_SUIT else Suit(suit)

    @cached_property
    def winning(self) -> tuple[int, Card] | None:
        """The seat and the card that take the current trick as it lies; None when leading."""
        if not self.trick:
            return None
        place = winning_place(self.trick)
        return (self.observation.trick_leader + place) % self.players, self.trick[place]

    @cached_property
    def trick_points(self) -> int:
        """What the cards of the current trick would cost as a pile of their own."""
        return self.game.pile_points(cards_to_set(self.trick))

    # --- Conclusions ---

    @property
    def partner(self) -> int | None:
        """The seat of this player's partner; None without partnerships."""
        seats = self.game.sides[self.game.side_of[self.seat]]
        return next((seat for seat in seats if seat != self.seat), None)

    @cached_property
    def tricks(self) -> tuple[tuple[int, tuple[Card, ...]], ...]:
        """The complete tricks of this deal: who led, and the cards from the leader on."""
        seen, players = self.observation, self.players
        return tuple(
            (leader, seen.trick_cards[i * players : (i + 1) * players]) for i, leader in enumerate(seen.trick_leaders)
        )

    @cached_property
    def piles(self) -> tuple[tuple[Card, ...], ...]:
        """The cards that each seat has taken, in the order of play, by seat."""
        piles: list[tuple[Card, ...]] = [()] * self.players
        winners = (
            *self.observation.trick_leaders[1:],
            self.observation.trick_leader,
        )  # who takes a trick leads the next
        for (_leader, cards), winner in zip(self.tricks, winners, strict=False):
            piles[winner] += cards
        return tuple(piles)

    @cached_property
    def plays(self) -> tuple[tuple[int, Card], ...]:
        """Every card played in this deal, the current trick included, with the seat that played it, in order."""
        players = self.players
        tricks = (*self.tricks, (self.observation.trick_leader, self.trick))
        return tuple(((leader + i) % players, card) for leader, cards in tricks for i, card in enumerate(cards))

    @cached_property
    def outstanding(self) -> tuple[Card, ...]:
        """The cards that other players hold: neither in this hand nor played yet, by number."""
        seen = cards_to_set(self.hand) | cards_to_set(self.observation.trick_cards) | cards_to_set(self.trick)
        return set_to_cards(cards_to_set(self.game.deck) & ~seen)

    @cached_property
    def voids(self) -> tuple[frozenset[Suit], ...]:
        """The suits that each seat is known to be void in, because it did not follow: by seat.

        A magician says nothing of its player's suits.
        """
        voids = [0] * self.players
        for leader, cards in (*self.tricks, (self.observation.trick_leader, self.trick)):
            led: int | None = None
            for i, card in enumerate(cards):
                suit = card >> 4
                if card & 15 == 1:
                    continue
                if led is None:
                    led = suit
                elif suit != led:
                    voids[(leader + i) % self.players] |= 1 << led
        return tuple([_SUITS[mask] for mask in voids])

    @cached_property
    def rng(self) -> Random:
        """A random number generator seeded with the arena's number: draw from it, and the choice can be repeated."""
        return Random(self.random)  # noqa: S311 - not for secrets

    def cards_of(self, suit: Suit) -> tuple[Card, ...]:
        """Return the cards of this hand in a suit, weakest first."""
        return tuple(card for card in self.hand if SUIT_SETS[suit] >> card & 1)


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer to a decision: the cards to pass or to play, and a remark for replays."""

    cards: tuple[Card, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class DealResult:
    """How a deal ended, as its players are told."""

    table_id: str
    number: int
    seat: int
    scores: tuple[int, ...]
    totals: tuple[int, ...]
    trick_leaders: bytes
    trick_cards: tuple[Card, ...]
    table_over: bool


@dataclass(frozen=True, slots=True)
class Description:
    """What a bot says of itself. Its name is shown only; its identity is its entry's name."""

    name: str = ""
    version: str = ""
    author: str = ""
    games: tuple[str, ...] = ()
    """The games it plays; empty for all."""
    max_batch: int = 1
    """How many decisions it takes at once."""
