"""A sound player that remembers little: it ducks, drops the queen on others, and gets rid of what will hurt.

All of it is whole numbers, and of cards that seem equally good the one with the lowest number is taken, so that the same bot
in another language plays the same cards. It looks at these fields of a decision only: count, hand, legal, trick_cards,
trick_leader, trick, seat, and the game's players and sides.

- To pass: the cards with the greatest burden.
- To lead (also when only magicians lie there): the card with the least exposure.
- To follow suit: the highest card that does not win, but the queen or a witch that hurts before any other. A trick that costs
  nothing so far is taken with the highest card instead, if it ends here or if it is the first in clubs or diamonds. Who
  can't duck plays a magician if the trick costs something; else the lowest card, hoping that somebody goes over it, or at
  the end of a trick the highest that costs little.
- Who can't follow: the card with the greatest burden.
- While the partner is winning: the card with the fewest points instead, then the highest.
"""

from collections.abc import Sequence

from arena.sdk import Bot, Card, Decision

WITCH_OF_DIAMONDS, WITCH_OF_SPADES, QUEEN_OF_SPADES, WITCH_OF_HEARTS = 27, 43, 45, 59
CLUBS, DIAMONDS, SPADES, HEARTS, MAGICIANS = 0, 1, 2, 3, 4


def suit_of(card: int) -> int:
    """Return a card's suit, or MAGICIANS."""
    return MAGICIANS if card & 15 == 1 else card >> 4


def points(card: int) -> int:
    """Return about what it costs to take this card."""
    if card == QUEEN_OF_SPADES:
        return 13
    if card in (WITCH_OF_SPADES, WITCH_OF_HEARTS):
        return 5
    if card == WITCH_OF_DIAMONDS:
        return -5
    return 1 if suit_of(card) == HEARTS else 0


def burden(card: int, hand: Sequence[int], queen_gone: bool) -> int:
    """Return how much one wants to be rid of a card: the queen, what could catch her, witches; else by rank and length."""
    suit, rank = suit_of(card), card & 15
    if suit == MAGICIANS:
        return -20
    if suit == HEARTS:
        return 2 * rank + (5 if card == WITCH_OF_HEARTS else 0)
    if suit != SPADES:
        return 2 * rank - 2 * sum(suit_of(other) == suit for other in hand)
    if card == QUEEN_OF_SPADES:
        return 100
    if rank > 13 and not queen_gone:
        return 60 + rank
    return 40 if card == WITCH_OF_SPADES else rank


def exposure(card: int, gone: Sequence[int], queen_out: bool, may_take_queen: bool) -> int:
    """Return how risky a card is to lead: high cards, suits of which many cards are gone; low spades hunt the queen."""
    suit, rank = suit_of(card), card & 15
    if suit == MAGICIANS:
        return 12
    risk = 2 * rank + gone[suit]
    if suit == SPADES and queen_out:
        risk += 40 if rank >= 13 else 0 if may_take_queen else -8
    return risk


def lead(view: Decision) -> Card:
    """Choose a card to lead."""
    earlier = view.observation.trick_cards
    gone = [0, 0, 0, 0, 0]
    for card in earlier:
        gone[suit_of(card)] += 1
    queen_out = QUEEN_OF_SPADES not in earlier
    may_take_queen = any(suit_of(card) == SPADES and card >= QUEEN_OF_SPADES for card in view.hand)
    return min(view.legal, key=lambda card: (exposure(card, gone, queen_out, may_take_queen), card))


def follow(view: Decision, cards: Sequence[Card], best: int, partner_wins: bool) -> Card:
    """Choose among the cards of the suit that was led, of which `best` takes the trick as it lies."""
    cost = sum(map(points, view.trick))
    suit = suit_of(best)
    below = [card for card in cards if card < best]
    hurting = [card for card in below if points(card) >= 5]
    if hurting and not partner_wins:
        return hurting[-1]
    fresh = suit < SPADES and all(suit_of(card) != suit for card in view.observation.trick_cards)
    free = [card for card in cards if points(card) <= 0]
    if free and cost <= 0 and (view.last or fresh):
        return free[-1]
    if below:
        return max(below, key=lambda card: (-points(card) if partner_wins else 0, card))
    magicians = [card for card in view.legal if suit_of(card) == MAGICIANS]
    if magicians and cost > 0:
        return magicians[0]
    if view.last:
        return max(cards, key=lambda card: (-(points(card) // 5), card))
    return cards[0]


def discard(view: Decision, partner_wins: bool) -> Card:
    """Choose among all cards, none of which can take the trick."""
    if partner_wins:
        return min(view.legal, key=lambda card: (points(card), -(card & 15), card))
    queen_gone = QUEEN_OF_SPADES in view.observation.trick_cards or QUEEN_OF_SPADES in view.trick
    return min(view.legal, key=lambda card: (-burden(card, view.hand, queen_gone), card))


class Careful(Bot):
    """Plays by the rules of thumb above."""

    name = "careful"
    version = "1"

    def pass_cards(self, view: Decision) -> list[Card]:
        return sorted(view.hand, key=lambda card: (-burden(card, view.hand, False), card))[: view.count]

    def play(self, view: Decision) -> Card:
        if len(view.legal) == 1:
            return view.legal[0]
        if view.led_suit is None or view.winning is None:
            return lead(view)
        winner, best = view.winning
        cards = [card for card in view.legal if suit_of(card) == view.led_suit]
        if cards:
            return follow(view, cards, best, winner == view.partner)
        return discard(view, winner == view.partner)


if __name__ == "__main__":
    Careful().run()
