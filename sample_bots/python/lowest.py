"""Plays the lowest legal card: by rank, then suit; magicians last. Passing it leaves to the SDK, which passes high cards."""

from arena.sdk import Bot, Card, Decision


def height(card: Card) -> tuple[bool, int, int]:
    """Sort cards by rank, then suit, with magicians after all others."""
    return card.is_magician, card.rank, card


class Lowest(Bot):
    """Has one idea, and no other."""

    name = "lowest"
    version = "1"

    def play(self, view: Decision) -> Card:
        return min(view.legal, key=height)


if __name__ == "__main__":
    Lowest().run()
