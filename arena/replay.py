"""From a record back to the deal: step by step, and whether the record agrees with the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arena.cards import Card
from arena.errors import ArenaError, BadGame, IllegalChoice
from arena.game import Deal, Phase
from arena.record import DealRecord


class Difference(ArenaError):
    """A record that does not agree with the rules or with the seed: where first, and how."""


@dataclass(frozen=True, slots=True)
class Step:
    """One choice of a deal: who chose which cards, and the deal right after it. The deal goes on changing."""

    deal: Deal
    seat: int
    cards: tuple[Card, ...]


def replay(record: DealRecord) -> Iterator[Step]:
    """Play a recorded deal again, choice by choice; raise Difference at the first one that the rules refuse."""
    try:
        deal = record.game.start(record.hands, record.number)
        for seat, cards in enumerate(record.passes):
            if cards:
                deal.choose(seat, cards)
                yield Step(deal, seat, cards)
        for card in record.plays:
            if deal.phase is not Phase.PLAYING:
                raise Difference(f"{card} is played where no card is owed")
            seat = deal.turn
            deal.choose(seat, (card,))
            yield Step(deal, seat, (card,))
    except (BadGame, IllegalChoice) as error:
        raise Difference(str(error)) from error
    if deal.phase is not Phase.OVER:
        raise Difference(f"the record ends after {len(record.plays)} cards, before the deal does")
    if deal.scores() != record.scores:
        raise Difference(f"the scores are {list(deal.scores())} by the rules, {list(record.scores)} in the record")
