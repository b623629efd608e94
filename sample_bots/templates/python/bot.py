"""A bot for the Arena. It ducks: it plays its highest card that doesn't take the trick, and leads low.

`view` is one decision, and all that the seat may know: view.hand, view.legal, view.trick, view.winning, view.voids,
view.outstanding and so on; see `arena.decision.Decision`. It is complete in itself, so a bot needs no memory. For a random
choice draw from view.rng, and a tournament can be repeated exactly.
"""

from arena.sdk import Bot, Card, Decision


def height(card: Card) -> tuple[bool, int, int]:
    """Sort cards by rank, then suit, with magicians after all others."""
    return card.is_magician, card.rank, card


class NewBot(Bot):
    """Ducks."""

    name = "new-bot"
    version = "1"

    def pass_cards(self, view: Decision) -> list[Card]:
        """Return the view.count cards to pass: the highest."""
        return sorted(view.hand, key=height)[-view.count :]

    def play(self, view: Decision) -> Card:
        """Return the card to play, one of view.legal."""
        if view.winning is None or view.led_suit is None:  # leading, or only magicians lie there
            return min(view.legal, key=height)
        _seat, best = view.winning
        ducking = [card for card in view.legal if card.suit != best.suit or card < best]
        return max(ducking, key=height) if ducking else min(view.legal, key=height)


if __name__ == "__main__":
    NewBot().run()
