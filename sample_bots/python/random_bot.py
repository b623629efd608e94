"""Plays any legal card: the bot that everyone must beat."""

from arena.sdk import Bot, Card, Decision


class RandomBot(Bot):
    """Draws its cards with the arena's random number, so that its choices can be repeated."""

    name = "random"
    version = "1"

    def play(self, view: Decision) -> Card:
        return view.legal[view.random % len(view.legal)]

    def pass_cards(self, view: Decision) -> list[Card]:
        return view.rng.sample(view.hand, view.count)


if __name__ == "__main__":
    RandomBot().run()
