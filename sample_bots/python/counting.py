"""A player that counts: it knows which cards are out, who is void, and what its choice is likely to cost.

For each legal card it adds up, in thousandths of a penalty point,

- what the trick would cost if this card took it, times the chance that it does: the chance follows from the stronger and
  weaker cards of the suit that are out and the hands they may lie in, the cost from the pile's value by the game's own
  rules (so witches count for what they are worth to this player now) and from what players who may be void would drop;
- less the relief of being rid of the card: how much less likely the rest of the hand is to take tricks later;

and plays the card with the smallest sum, of equal ones that with the lowest number. When one opponent has taken all
the hearts so far, and many, a trick with a heart is worth taking: it stops a moon.

All of it is whole numbers. The weights were found by letting it play against the other samples.
"""

from collections.abc import Sequence

from arena.cards import SUIT_SETS, cards_to_set
from arena.sdk import Bot, Card, Decision

WITCH_OF_CLUBS, WITCH_OF_DIAMONDS, WITCH_OF_SPADES, QUEEN_OF_SPADES, WITCH_OF_HEARTS = 11, 27, 43, 45, 59
SPADES, HEARTS = 2, 3

ONE = 1024
"""The chance of what is certain."""

LEAD_COST = 420
"""What it costs to have to lead to the next trick."""

DROPPED = 1600
"""What a void opponent drops on average, the queen apart."""

MOON_HEARTS = 8
"""From how many hearts on, all with one opponent, a moon is feared."""

MOON_STOPPED = 5000
"""What it is worth to take a heart then."""


def is_magician(card: int) -> bool:
    """Say whether a card has no suit and never wins."""
    return card & 15 == 1


def weight(card: int) -> int:
    """Return about what it costs in points to take this card."""
    if card == QUEEN_OF_SPADES:
        return 13
    if card in (WITCH_OF_SPADES, WITCH_OF_HEARTS):
        return 5
    if card == WITCH_OF_DIAMONDS:
        return -5
    return 1 if card >> 4 == HEARTS and not is_magician(card) else 0


class Count:
    """What has been counted at one decision. Sets of cards are masks, as in `arena.cards`."""

    def __init__(self, view: Decision) -> None:
        self.view = view
        self.hand = cards_to_set(view.hand)
        self.trick = cards_to_set(view.trick)
        self.out = cards_to_set(view.outstanding)
        self.pile = cards_to_set(view.piles[view.seat])
        self.queen_out = bool(self.out >> QUEEN_OF_SPADES & 1)
        self.partner_wins = view.winning is not None and view.winning[0] == view.partner
        self.dangers: dict[int, int] = {}  # of the hand's suits, once asked for
        # the cards that each other player holds; those who follow have not played to this trick yet
        followers = view.followers
        self.sizes = [len(view.hand) - (seat not in followers) for seat in range(view.players)]
        self.sizes[view.seat] = 0
        self.holders = [
            sum(size for seat, size in enumerate(self.sizes) if suit not in view.voids[seat]) for suit in range(4)
        ]
        self.per_trick = self._points_left() * 1000 // len(view.hand)
        self.moon_feared = self._fears_moon()

    def _points_left(self) -> int:
        left = self.hand | self.trick | self.out
        hearts = (left & SUIT_SETS[HEARTS]).bit_count()
        return hearts + 13 * (left >> QUEEN_OF_SPADES & 1) + 5 * (left >> WITCH_OF_SPADES & 1)

    def _fears_moon(self) -> bool:
        hearts = [sum(card >> 4 == HEARTS and not is_magician(card) for card in pile) for pile in self.view.piles]
        shooter = hearts.index(max(hearts))
        return MOON_HEARTS <= hearts[shooter] == sum(hearts) and shooter not in (self.view.seat, self.view.partner)

    def ranks(self, card: int) -> tuple[int, int]:
        """Return how many cards of this card's suit are out that are weaker, and that are stronger."""
        out = self.out & SUIT_SETS[card >> 4]
        weaker = (out & ((1 << card) - 1)).bit_count()
        return weaker, out.bit_count() - weaker

    def lacks(self, seat: int, suit: int, count: int) -> int:
        """Return the chance that a player holds none of so many cards of a suit that are out."""
        if not count or suit in self.view.voids[seat]:
            return ONE
        elsewhere = ONE - self.sizes[seat] * ONE // max(1, self.holders[suit])
        chance = ONE
        for _ in range(count):
            chance = chance * elsewhere // ONE
        return chance

    def has_queen(self, seat: int) -> int:
        """Return the chance that a player holds the queen of spades, which is out."""
        if QUEEN_OF_SPADES in self.view.passed:
            return ONE if seat == self.view.receiver else 0
        return ONE - self.lacks(seat, SPADES, 1)

    def wins(self, card: int) -> int:
        """Return the chance that nobody goes over a card of the led suit: most players do only if they must."""
        suit = card >> 4
        weaker, stronger = self.ranks(card)
        chance = ONE
        for seat in self.view.followers:
            over = ONE - self.lacks(seat, suit, stronger)
            forced = self.lacks(seat, suit, weaker)
            chance = chance * (ONE - over * (128 + 896 * forced // ONE) // ONE) // ONE
        return chance

    def trick_cost(self, card: int) -> int:
        """Return what the trick would cost if this card of the led suit took it."""
        view, suit = self.view, card >> 4
        before = view.game.pile_points(self.pile)
        cost = 1000 * (view.game.pile_points(self.pile | self.trick | 1 << card) - before)
        count = sum(self.ranks(card))
        hearts_out = bool(self.out & SUIT_SETS[HEARTS])
        queen_free = self.queen_out and bool(view.tricks or not view.game.breaking)
        for seat in view.followers:
            if seat == view.partner:
                continue
            void = self.lacks(seat, suit, count)
            if suit == HEARTS:
                cost += ONE - void
            elif hearts_out and HEARTS not in view.voids[seat]:
                cost += void * DROPPED // ONE
            if queen_free and suit != SPADES:
                cost += void * self.has_queen(seat) // ONE * 13000 // ONE
            elif queen_free and card > QUEEN_OF_SPADES:
                cost += self.has_queen(seat) * 13000 // ONE
        return cost

    def danger(self, suit: int, mine: int) -> int:
        """Return what it costs to hold these cards of a suit to the end: strong cards, the more the fewer weak ones guard them.

        A suit that others still hold and this player doesn't is worth something: whatever hurts can be dropped there.
        """
        out = self.out & SUIT_SETS[suit]
        total = out.bit_count()
        lasting = 0  # does not fade as points are taken
        danger = -500 if total and not mine else 0
        for guards, card in enumerate(card for card in self.view.hand if mine >> card & 1):
            weaker = (out & ((1 << card) - 1)).bit_count()
            danger += 2000 * weaker // (total + 1 + 4 * guards)
            if suit == HEARTS:
                danger += 170 + 500 * weaker // (total + 1)
            elif card == QUEEN_OF_SPADES:
                lasting += 600 + 4000 // (1 + guards)
            elif card == WITCH_OF_SPADES:
                lasting += 600
            elif suit == SPADES and card > QUEEN_OF_SPADES and self.queen_out:
                danger += 2600 // (1 + guards)
            elif card == WITCH_OF_CLUBS:
                danger -= 900
        return danger * self.per_trick // 2000 + lasting

    def relief(self, card: int) -> int:
        """Return how much less dangerous the hand is without a card: less than nothing for one that will be of use."""
        if is_magician(card):
            return -60 * self.per_trick // 2000
        suit = card >> 4
        mine = self.hand & SUIT_SETS[suit]
        if suit not in self.dangers:
            self.dangers[suit] = self.danger(suit, mine)
        return self.dangers[suit] - self.danger(suit, mine ^ 1 << card)

    def cost(self, card: int) -> int:
        """Return what playing a card is expected to cost, in thousandths of a point."""
        view, winning = self.view, self.view.winning
        relief = self.relief(card)
        led = view.led_suit
        loses = is_magician(card) or (
            led is not None and (card >> 4 != led or (winning is not None and card < winning[1]))
        )
        if loses:
            return (1000 * weight(card) if self.partner_wins else 0) - relief
        cost = LEAD_COST + self.trick_cost(card)
        if self.moon_feared and (self.trick | 1 << card) & SUIT_SETS[HEARTS]:
            cost -= MOON_STOPPED
        return self.wins(card) * cost // ONE - relief


def burden(card: int, hand: Sequence[int]) -> int:
    """Return how much one wants to pass a card."""
    if is_magician(card):
        return -20
    suit, rank = card >> 4, card & 15
    length = sum(other >> 4 == suit and not is_magician(other) for other in hand)
    guards = sum(other >> 4 == suit and not is_magician(other) and other < card for other in hand)
    if suit == HEARTS:
        return 2 * rank - 2 * guards + 5 * (card == WITCH_OF_HEARTS)
    if suit != SPADES:
        return 2 * rank - 2 * length - guards
    if card == QUEEN_OF_SPADES:
        return 100 - 15 * guards
    if card == WITCH_OF_SPADES:
        return 40 - 5 * guards
    return 70 + rank - 12 * guards if rank > 13 else -10


class Counting(Bot):
    """Plays the card that it expects to cost least."""

    name = "counting"
    version = "1"

    def pass_cards(self, view: Decision) -> list[Card]:
        return sorted(view.hand, key=lambda card: (-burden(card, view.hand), card))[: view.count]

    def play(self, view: Decision) -> Card:
        if len(view.legal) == 1:
            return view.legal[0]
        count = Count(view)
        return min(view.legal, key=lambda card: (count.cost(card), card))


if __name__ == "__main__":
    Counting().run()
