"""The contract of every game: `Game` starts a `Deal`, which asks seats for cards until there are scores.

A `Game` is a set of rules with its options, frozen; a `Deal` is the state of one hand and the only thing that changes. All
trick-taking games here share how tricks are played: cards are passed (or not), a first seat leads, the others follow in
turn, somebody takes the trick and leads the next. A game says which cards are legal, who leads first, where cards are
passed and what a pile costs, and inherits the rest. Scores are penalty points, as in every card book: lower is better.

Seats are numbered clockwise from 0, deals from 1. Inside, sets of cards are 64-bit masks (see `arena.cards`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

from arena.cards import LANES, Card, cards_to_set, format_cards, set_to_cards, spread_to_cards
from arena.dealing import Stream
from arena.errors import BadGame, IllegalChoice
from arena.trick import FOLLOWING, suit_of_trick

OptionValue = bool | int | str | None
"""The value of a game's option; None where an option may be unset, as `deals`."""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing about a game's rules that may be chosen before play."""

    name: str
    default: OptionValue
    meaning: str
    choices: tuple[OptionValue, ...] = ()
    """Single values that it may have."""
    numbers: range = range(0)
    """Whole numbers that it may have."""
    only_if: tuple[str, OptionValue] | None = None
    """Another option and the value it must have for this one to mean anything."""

    def allows(self, value: OptionValue) -> bool:
        """Whether it may have this value. True and 1 are different values here."""
        if isinstance(value, int) and not isinstance(value, bool) and value in self.numbers:
            return True
        return any(value == choice and type(value) is type(choice) for choice in self.choices)


NOBODY: Final = -1
"""In place of a seat: nobody's turn to play."""

CAP_BEYOND_TARGET: Final = 50
"""A game ends at the latest so many deals after a total was first at the target (S-09)."""

CAP_OF_DEALS: Final = 1000
"""A game to a target whose totals can fall ends at the latest after so many deals."""


class Phase(IntEnum):
    """The state of a hand."""

    PASSING = 1
    PLAYING = 2
    OVER = 3


class PassDirection(IntEnum):
    """Where passed cards go."""

    LEFT = 1
    RIGHT = 2
    ACROSS = 3
    NONE = 4

    def step(self, players: int) -> int:
        """Return how many seats on, clockwise, passed cards go."""
        return (0, 1, -1, players // 2, 0)[self]

    def receiver(self, seat: int, players: int) -> int:
        """Return the seat that gets what `seat` passes: itself where nothing is passed."""
        return (seat + self.step(players)) % players


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a game is over after a deal, which sides won it, and why it is or isn't over."""

    over: bool
    winners: tuple[int, ...]
    reason: str


@dataclass(slots=True)
class Observation:
    """All that one seat may know of a deal at one moment.

    Never changed once made; not marked frozen because one is made for every decision, and freezing triples that cost.
    """

    game: Game
    number: int
    dealer: int
    seat: int
    phase: Phase
    count: int
    """How many cards this seat owes: the cards to pass, 1 to play, 0 if it owes nothing now."""
    hand: tuple[Card, ...]
    legal: tuple[Card, ...]
    passed: tuple[Card, ...]
    received: tuple[Card, ...]
    direction: PassDirection
    trick_leaders: bytes
    """The seats that led the complete tricks, one byte a trick."""
    trick_cards: tuple[Card, ...]
    """The cards of the complete tricks in the order of play, as many a trick as there are players."""
    trick_leader: int
    trick: tuple[Card, ...]
    hearts_broken: bool
    points: tuple[int, ...]
    """Each seat's penalty points in the tricks it has taken, a moon not considered."""


@dataclass(frozen=True)
class Game(ABC):
    """A set of rules with its options, for a number of players.

    Made by `arena.games.find_game`, which checks players, sides and options.
    """

    name: str
    players: int
    partners: bool
    options: Mapping[str, OptionValue]
    """The value of each known option."""
    known_options: tuple[Option, ...]
    deck: tuple[Card, ...]
    """Every card of the pack, by number."""
    pass_cycle: tuple[PassDirection, ...]
    """The directions of deals 1, 2, ...; the cycle repeats."""
    cards_passed: int
    """How many cards each seat passes in a deal with passing."""
    breaking: int
    """The set of cards that break hearts when played; empty where the game has no such rule."""
    always_legal: int
    """The set of cards that may be played to any trick, whatever is led: the magicians, or none."""
    totals_can_fall: bool
    """Whether a deal may cost a side less than nothing, so that a game to a target has no bound of its own."""

    def __hash__(self) -> int:
        return hash((self.name, self.players, self.partners, tuple(sorted(self.options.items(), key=str))))

    @cached_property
    def _deck_set(self) -> int:
        return cards_to_set(self.deck)

    @cached_property
    def sides(self) -> tuple[tuple[int, ...], ...]:
        """The seats of each side: one, or a partnership's two, who sit opposite (P-02)."""
        count = self.players // 2 if self.partners else self.players
        return tuple(tuple(range(side, self.players, count)) for side in range(count))

    @cached_property
    def side_of(self) -> tuple[int, ...]:
        """The side of each seat, by seat."""
        return tuple(seat % len(self.sides) for seat in range(self.players))

    @cached_property
    def hand_size(self) -> int:
        """The cards each seat is dealt: all of them, equally."""
        return len(self.deck) // self.players

    @property
    @abstractmethod
    def summary(self) -> str:
        """The rules in a few plain sentences, for `arena games NAME`."""

    @abstractmethod
    def first_leader(self, hands: Sequence[int], number: int) -> int:
        """Return the seat that leads the first trick of this deal, given the hands (as sets) after passing."""

    @abstractmethod
    def free_set(self, hand: int, following: bool, first_trick: bool, broken: bool) -> int:
        """Return the set of cards that may be played from a hand with nothing to follow with.

        `following` is whether any card lies in the trick: else the hand leads. Never empty unless the hand is.
        Positional for speed, as all that is asked once a decision.
        """

    @abstractmethod
    def pile_points(self, pile: int) -> int:
        """Return what one seat's pile (a set) costs, a moon not considered."""

    @abstractmethod
    def score_sets(self, piles: Sequence[int]) -> tuple[int, ...]:
        """Return what each seat's pile (a set) costs, a moon considered."""

    def pass_direction(self, number: int) -> PassDirection:
        """Return where cards go in deal `number`."""
        return self.pass_cycle[(number - 1) % len(self.pass_cycle)]

    def dealer(self, number: int) -> int:
        """Return the dealer's seat: seat 0 deals first, then clockwise (W-07)."""
        return (number - 1) % self.players

    def legal_set(self, hand: int, suit: int, following: bool, first_trick: bool, broken: bool) -> int:
        """Return the set of cards that may be played from a hand: never empty unless the hand is.

        The suit that sets the trick must be followed (H-16, W-13); it is NO_SUIT when leading or when only magicians lie
        there.
        """
        own = hand & FOLLOWING[suit]
        return own | hand & self.always_legal if own else self.free_set(hand, following, first_trick, broken)

    def legal(
        self, hand: Sequence[Card], trick: Sequence[Card], first_trick: bool = False, broken: bool = False
    ) -> tuple[Card, ...]:
        """Return the cards of any hand that may be played to a trick so far (empty: to lead), by number."""
        return set_to_cards(self.legal_set(cards_to_set(hand), suit_of_trick(trick), bool(trick), first_trick, broken))

    def score(self, piles: Sequence[Sequence[Card]]) -> tuple[int, ...]:
        """Return what any piles of cards cost, by seat."""
        return self.score_sets([cards_to_set(pile) for pile in piles])

    def side_totals(self, scores: Sequence[int]) -> tuple[int, ...]:
        """Add up the points of each side's seats."""
        return tuple(sum(scores[seat] for seat in seats) for seats in self.sides)

    @property
    def target(self) -> int | None:
        """The total that ends the game; None where it plays a fixed number of deals."""
        return None if self.deals is not None else int(self.options["target"] or 0)

    @property
    def deals(self) -> int | None:
        """The fixed number of deals; None where the game plays to its target."""
        deals = self.options["deals"]
        return None if deals is None else int(deals)

    def finished(
        self, totals: Sequence[int], scores: Sequence[int], number: int, *, reached: int | None = None
    ) -> Outcome:
        """Say whether the game is over after deal `number`, given per side the totals after it and its own points.

        `reached` is the number of the first deal after which a total was at the target, where that is known: it lets
        the cap end a game that goes on 50 deals beyond (S-09).
        """
        if self.deals is not None:
            over, reason = number >= self.deals, "fixed_deals" if number >= self.deals else "deals_left"
        else:
            reason = "target_not_reached" if max(totals) < (self.target or 0) else self.why_not_over(totals, scores)
            over = not reason
            if not over and self._capped(number, reached):
                over, reason = True, "cap"
        lowest = min(totals)
        winners = tuple(side for side, total in enumerate(totals) if total == lowest) if over else ()
        return Outcome(over, winners, reason or "target_reached")

    def why_not_over(self, totals: Sequence[int], scores: Sequence[int]) -> str:
        """Return the reason to play on although a total is at the target; empty if there is none, as in most games."""
        del totals, scores
        return ""

    def _capped(self, number: int, reached: int | None) -> bool:
        beyond = reached is not None and number - reached >= CAP_BEYOND_TARGET
        return beyond or (self.totals_can_fall and number >= CAP_OF_DEALS)

    def start(self, hands: Sequence[Sequence[Card]], number: int = 1) -> Deal:
        """Start a deal with these hands, one a seat; the dealer follows from the number.

        Raises BadGame unless there is one hand a seat, all of the same size, with distinct cards of the deck. Hands may
        be shorter than in the game, to study endings.
        """
        sets = tuple(map(cards_to_set, hands))
        size = len(hands[0]) if hands else 0
        dealt = 0
        for hand in sets:
            dealt |= hand
        if len(sets) != self.players or set(map(len, hands)) != {size}:
            raise BadGame(f"{self.name} for {self.players} needs {self.players} hands of the same size")
        if dealt.bit_count() != size * self.players or dealt & ~self._deck_set:
            raise BadGame(f"the hands must be distinct cards of the {len(self.deck)} of {self.name}")
        if number < 1:
            raise BadGame(f"deals are numbered from 1, not {number}")
        return Deal(self, sets, dealt, number)

    def random_deal(self, seed: int | str | bytes, number: int = 1) -> Deal:
        """Start a deal with random hands: the same seed always gives the same."""
        key = seed if isinstance(seed, bytes) else str(seed).encode()
        return self.start(Stream(key, "random deal", number).deal(self.deck, self.players), number)


class Deal:
    """The state of one hand, from the cards being dealt to the scores.

    Sets of cards are masks here; `observe` gives a seat's view in cards. Everything but two lists is immutable, so that
    a copy is cheap enough for search. What a seat holds is what it held before play and is not played yet: so a play
    changes one set, that of all cards left.
    """

    __slots__ = (
        "_chosen",
        "_dealt",
        "_following",
        "_held",
        "_left",
        "_left_before",
        "_legal",
        "_passed",
        "_received",
        "game",
        "leader",
        "number",
        "phase",
        "piles",
        "plays",
        "trick_leaders",
        "turn",
    )

    def __init__(self, game: Game, hands: tuple[int, ...], dealt: int, number: int) -> None:
        self.game = game
        self.number = number
        self.piles = [0] * game.players
        """The cards that each seat has taken."""
        self.plays: list[Card] = []
        """Every card played, in order."""
        self.trick_leaders = b""
        """The leaders of the complete tricks, one byte each."""
        self.leader = 0
        """The seat that leads the current trick."""
        self.turn = NOBODY
        """The seat to play, NOBODY unless cards are being played."""
        self._held = hands  # what each seat held before play
        self._dealt = dealt
        self._left = dealt  # what is not played yet
        self._left_before = dealt  # what was not played yet when the current trick began
        self._chosen = self._passed = self._received = (0,) * game.players
        self._legal = 0  # what the seat to play may play
        self._following = 0  # the cards that follow suit in the current trick, none while it has no suit
        self.phase = _PASSING
        if game.pass_direction(number) is _NO_PASS or hands[0].bit_count() < game.cards_passed:
            self._begin_play()

    def copy(self) -> Deal:
        """Return a copy that can be played on without changing this one."""
        twin: Deal = _new(Deal)
        twin.game = self.game
        twin.number = self.number
        twin.piles = self.piles[:]
        twin.plays = self.plays[:]
        twin.trick_leaders = self.trick_leaders
        twin.leader = self.leader
        twin.turn = self.turn
        twin.phase = self.phase
        twin._following = self._following
        twin._held = self._held
        twin._dealt = self._dealt
        twin._left = self._left
        twin._left_before = self._left_before
        twin._chosen = self._chosen
        twin._passed = self._passed
        twin._received = self._received
        twin._legal = self._legal
        return twin

    @property
    def hands(self) -> tuple[int, ...]:
        """What each seat holds."""
        return tuple([held & self._left for held in self._held])

    @property
    def hearts_broken(self) -> bool:
        """Whether a card that breaks hearts has been played."""
        return (self._dealt ^ self._left) & self.game.breaking != 0

    @property
    def dealer(self) -> int:
        """The dealer's seat."""
        return self.game.dealer(self.number)

    @property
    def to_act(self) -> tuple[int, ...]:
        """The seats that owe a decision: all that have not chosen yet when passing, one when playing."""
        if self.phase is _PLAYING:
            return _SEATS[self.turn]
        if self.phase is _PASSING:
            return tuple([seat for seat, chosen in enumerate(self._chosen) if not chosen])
        return ()

    @property
    def trick(self) -> tuple[Card, ...]:
        """The cards of the current trick, from its leader on clockwise."""
        return tuple(self.plays[len(self.trick_leaders) * self.game.players :])

    def legal(self, seat: int) -> tuple[Card, ...]:
        """Return the cards that this seat may choose now, by number: none if it owes nothing."""
        if seat == self.turn:
            legal = self._legal
            return _lane_cards(legal) or spread_to_cards(legal)
        return set_to_cards(self._held[seat]) if self._owes_pass(seat) else ()

    def choose(self, seat: int, cards: Sequence[Card]) -> None:
        """Pass these cards, or play this one card, for a seat.

        Raises IllegalChoice, and changes nothing, where the seat owes nothing now, the number of cards is wrong, or a
        card is not among its legal ones.
        """
        if seat != self.turn:
            self._choose_pass(seat, cards)
            return
        try:
            (card,) = cards
        except ValueError:
            raise IllegalChoice(f"one card is to be played, not {len(cards)}") from None
        bit = 1 << card
        if not self._legal & bit:
            raise IllegalChoice(self._why_not(seat, card))
        # The rest is what happens 52 or 60 times a deal, so it is written out here and not called.
        game = self.game
        self.plays.append(card)
        left = self._left = self._left ^ bit
        if not self._following and card & 15 != 1:
            self._following = FOLLOWING[card >> 4]
        seat += 1
        if seat == game.players:
            seat = 0
        following = seat != self.leader
        if not following:
            trick_set = self._left_before ^ left
            if suited := trick_set & self._following:
                place = self.plays.index(suited.bit_length() - 1, -game.players)  # type: ignore[arg-type]
                seat = (seat + place) % game.players
            self.piles[seat] |= trick_set
            self.trick_leaders += _SEAT_BYTES[self.leader]
            self._left_before = left
            self._following = 0
            self.leader = seat
        self.turn = seat
        hand = self._held[seat] & left
        if own := hand & self._following:
            always = game.always_legal
            self._legal = own | hand & always if always else own
        elif hand:
            broken = (self._dealt ^ left) & game.breaking != 0
            self._legal = game.free_set(hand, following, not self.trick_leaders, broken)
        else:
            self.phase, self.turn, self._legal = _OVER, NOBODY, 0

    def observe(self, seat: int) -> Observation:
        """Return all that this seat may know now."""
        game = self.game
        complete = len(self.trick_leaders) * game.players
        legal = self.legal(seat)
        playing = self.phase is not _PASSING
        return Observation(
            game,
            self.number,
            game.dealer(self.number),
            seat,
            self.phase,
            0 if not legal else 1 if playing else game.cards_passed,
            set_to_cards(self._held[seat] & self._left),
            legal,
            set_to_cards(self._passed[seat] if playing else self._chosen[seat]),
            set_to_cards(self._received[seat]),
            game.pass_direction(self.number),
            self.trick_leaders,
            tuple(self.plays[:complete]),
            self.leader,
            tuple(self.plays[complete:]),
            self.hearts_broken,
            tuple([game.pile_points(pile) for pile in self.piles]),
        )

    def passes(self) -> tuple[tuple[Card, ...], ...]:
        """Return the cards that each seat has passed: none where nothing is, or before all have chosen."""
        return tuple(set_to_cards(mask) for mask in self._passed)

    def scores(self) -> tuple[int, ...]:
        """Return each seat's penalty points; raise ValueError while the deal is not over."""
        if self.phase is not Phase.OVER:
            raise ValueError("a deal has scores only once it is over")
        return self.game.score_sets(self.piles)

    def _owes_pass(self, seat: int) -> bool:
        return self.phase is _PASSING and 0 <= seat < self.game.players and not self._chosen[seat]

    def _choose_pass(self, seat: int, cards: Sequence[Card]) -> None:
        if not self._owes_pass(seat):
            raise IllegalChoice(self._why_not_now(seat))
        count = self.game.cards_passed
        chosen = cards_to_set(cards)
        if len(cards) != count or chosen.bit_count() != count:
            raise IllegalChoice(f"{count} different cards are to be passed, not {format_cards(cards) or 'none'}")
        if strange := chosen & ~self._held[seat]:
            raise IllegalChoice(f"seat {seat} does not hold {format_cards(set_to_cards(strange))}")
        self._chosen = (*self._chosen[:seat], chosen, *self._chosen[seat + 1 :])
        if 0 not in self._chosen:
            self._exchange()

    def _why_not_now(self, seat: int) -> str:
        if self.phase is _PASSING:
            return f"seat {seat} owes no decision"
        if self.phase is _PLAYING:
            return f"it is seat {self.turn}'s turn to play, not seat {seat}'s"
        return "the deal is over"

    def _why_not(self, seat: int, card: Card) -> str:
        if not self._held[seat] & self._left & 1 << card:
            return f"seat {seat} does not hold {card}"
        return f"seat {seat} may not play {card} now, but one of {format_cards(self.legal(seat))}"

    def _exchange(self) -> None:
        game, chosen = self.game, self._chosen
        step = game.pass_direction(self.number).step(game.players)
        received = chosen[-step:] + chosen[:-step]
        self._held = tuple([held ^ out | got for held, out, got in zip(self._held, chosen, received, strict=True)])
        self._passed, self._received = chosen, received
        self._begin_play()

    def _begin_play(self) -> None:
        self.phase = _PLAYING
        self.leader = self.turn = seat = self.game.first_leader(self._held, self.number)
        self._legal = self.game.free_set(self._held[seat], False, True, False)


_new = object.__new__
_lane_cards = LANES.get
_PASSING, _PLAYING, _OVER = Phase
_NO_PASS = PassDirection.NONE
_SEATS = tuple((seat,) for seat in range(6))
_SEAT_BYTES = tuple(bytes([seat]) for seat in range(6))
