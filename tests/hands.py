"""Deals for tests: hands written as codes, and ways to play them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from arena.cards import Card, parse_cards
from arena.game import Deal, Game, Phase

Play = tuple[int, tuple[Card, ...]]
"""A seat and what it chose."""


def complete_hands(game: Game, *starts: str) -> list[tuple[Card, ...]]:
    """Return full hands that begin with these cards, by seat; the other cards go round by number."""
    hands = [list(parse_cards(start)) for start in starts] + [[] for _ in range(game.players - len(starts))]
    held = {card for hand in hands for card in hand}
    rest = [card for card in game.deck if card not in held]
    for hand in hands:
        missing = game.hand_size - len(hand)
        hand.extend(rest[:missing])
        del rest[:missing]
    return [tuple(sorted(hand)) for hand in hands]


def deal_of(game: Game, *starts: str, number: int = 1) -> Deal:
    """Start a deal with hands that begin with these cards."""
    return game.start(complete_hands(game, *starts), number)


def short_deal(game: Game, *hands: str, number: int = 1) -> Deal:
    """Start a deal with just these cards in the hands."""
    return game.start([parse_cards(hand) for hand in hands], number)


def play(deal: Deal, codes: str) -> Deal:
    """Play these cards, each by the seat whose turn it is."""
    for card in parse_cards(codes):
        deal.choose(deal.turn, (card,))
    return deal


def pass_cards(deal: Deal, *passes: str) -> Deal:
    """Pass these cards, by seat."""
    for seat, codes in enumerate(passes):
        deal.choose(seat, parse_cards(codes))
    return deal


def pass_lowest(deal: Deal) -> Deal:
    """Let every seat pass its first cards by number, if cards are passed."""
    while deal.phase is Phase.PASSING:
        seat = deal.to_act[0]
        deal.choose(seat, deal.legal(seat)[: deal.game.cards_passed])
    return deal


def random_choice(deal: Deal, seat: int, rng: Random) -> tuple[Card, ...]:
    """Return any cards that the seat may choose."""
    legal = deal.legal(seat)
    return tuple(rng.sample(legal, deal.game.cards_passed if deal.phase is Phase.PASSING else 1))


def play_out(deal: Deal, rng: Random, after_each: Callable[[Deal], None] = lambda deal: None) -> list[Play]:
    """Play a deal to its end at random; return what was chosen, in order."""
    chosen: list[Play] = []
    while deal.to_act:
        seat = rng.choice(deal.to_act)
        cards = random_choice(deal, seat, rng)
        deal.choose(seat, cards)
        chosen.append((seat, cards))
        after_each(deal)
    return chosen


def replay(deal: Deal, chosen: Iterable[Play]) -> Deal:
    """Choose the same again."""
    for seat, cards in chosen:
        deal.choose(seat, cards)
    return deal


def snapshot(deal: Deal) -> tuple[object, ...]:
    """Return everything a deal consists of, to see whether anything changed."""
    return tuple(
        tuple(value) if isinstance(value := getattr(deal, name), list) else value for name in sorted(Deal.__slots__)
    )
