"""Other deals that look the same to one seat: what the leak tests compare an observation with.

`exchanged` takes a deal that began with some hands and went on with some choices, and returns it with cards exchanged
between the other seats, such that one seat cannot have noticed: all cards that it saw are played by the same seats in the
same order, but what the others hold, and what they passed among themselves, differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hands import Play

from arena.cards import Card
from arena.errors import IllegalChoice
from arena.game import Deal, Game

Hands = Sequence[tuple[Card, ...]]


def play_again(game: Game, number: int, hands: Hands, chosen: Sequence[Play]) -> Deal:
    """Play a deal again; raise IllegalChoice where a choice isn't legal."""
    deal = game.start(hands, number)
    for seat, cards in chosen:
        deal.choose(seat, cards)
    return deal


def exchanged(
    game: Game, number: int, hands: Hands, chosen: Sequence[Play], seat: int, rng: Random, swaps: int = 30
) -> Deal | None:
    """Return another deal that looks the same to `seat` as this one after these choices; None if none was found.

    Pairs of cards that `seat` has not seen change places, in hands and in passes, as long as all choices stay legal and the turn
    is the same seat's.
    """
    original = play_again(game, number, hands, chosen)
    unseen = _unseen(original, hands, seat)
    mapping: dict[Card, Card] = {}
    for _ in range(swaps if len(unseen) > 1 else 0):
        one, other = rng.sample(unseen, 2)
        trial = {**mapping, one: mapping.get(other, other), other: mapping.get(one, one)}
        if _looks_the_same(original, hands, chosen, trial):
            mapping = trial
    moved = _apply(hands, mapping)
    if all(set(new) == set(old) for new, old in zip(moved, hands, strict=True)):
        return None
    return play_again(game, number, moved, _mapped(chosen, mapping))


def _unseen(deal: Deal, hands: Hands, seat: int) -> list[Card]:
    """Return the cards that `seat` has neither held, nor received, nor seen played."""
    view = deal.observe(seat)
    seen = {*hands[seat], *view.received, *view.hand, *deal.plays}
    return [card for card in deal.game.deck if card not in seen]


def _apply(hands: Hands, mapping: dict[Card, Card]) -> list[tuple[Card, ...]]:
    return [tuple(mapping.get(card, card) for card in hand) for hand in hands]


def _mapped(chosen: Sequence[Play], mapping: dict[Card, Card]) -> list[Play]:
    return [(who, tuple(mapping.get(card, card) for card in cards)) for who, cards in chosen]


def _looks_the_same(original: Deal, hands: Hands, chosen: Sequence[Play], mapping: dict[Card, Card]) -> bool:
    """Whether all choices stay legal, and the same seat is to play: that everybody sees."""
    try:
        other = play_again(original.game, original.number, _apply(hands, mapping), _mapped(chosen, mapping))
    except IllegalChoice:
        return False
    return other.turn == original.turn
