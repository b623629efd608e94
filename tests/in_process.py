"""Bots that play in the process of a test, named in entries as `in_process:Lowest` and so on."""

from __future__ import annotations

from collections.abc import Sequence

from arena.faults import substitute
from arena.sdk import Bot, Card, Choice, Decision


class Lowest(Bot):
    """Plays what the arena would substitute."""

    def play(self, view: Decision) -> Card:
        """Play the lowest legal card."""
        return substitute(view.legal, 1)[0]

    def pass_cards(self, view: Decision) -> Sequence[Card]:
        """Pass the lowest cards."""
        return substitute(view.legal, view.count)


class Highest(Bot):
    """Plays the card with the highest number."""

    def play(self, view: Decision) -> Card:
        """Play the highest legal card."""
        return view.legal[-1]

    def pass_cards(self, view: Decision) -> Sequence[Card]:
        """Pass the highest cards."""
        return view.hand[-view.count :]


class Random(Bot):
    """Plays at random."""

    def play(self, view: Decision) -> Card:
        """Play any legal card."""
        return view.rng.choice(view.legal)

    def pass_cards(self, view: Decision) -> Sequence[Card]:
        """Pass any cards."""
        return view.rng.sample(view.hand, view.count)


class Cheat(Bot):
    """Plays cards that it does not hold."""

    def play(self, view: Decision) -> Choice:
        """Play somebody else's card."""
        others = [card for card in view.game.deck if card not in view.hand]
        return Choice((others[0],))


class Broken(Bot):
    """Cannot even be made."""

    def __init__(self) -> None:
        raise RuntimeError("no licence")

    def play(self, view: Decision) -> Card:
        """Play nothing, ever."""
        raise NotImplementedError


class First(Bot):
    """Plays the card with the lowest number."""

    def play(self, view: Decision) -> Card:
        """Play the first legal card."""
        return view.legal[0]

    def pass_cards(self, view: Decision) -> Sequence[Card]:
        """Pass the first cards."""
        return view.hand[: view.count]


class FirstSubstitutesAt13(First):
    """The same, but at decision 13 what the arena would substitute."""

    def play(self, view: Decision) -> Card:
        """Play the first legal card, or the substitute."""
        return substitute(view.legal, 1)[0] if view.number == 13 else super().play(view)

    def pass_cards(self, view: Decision) -> Sequence[Card]:
        """Pass the first cards, or the substitutes."""
        return substitute(view.legal, view.count) if view.number == 13 else super().pass_cards(view)
