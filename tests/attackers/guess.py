"""Guesses the seed from the ids of tables, which follow from it: a thousand seeds that people choose."""

from attacker import Attacker, run

from arena.cards import Card
from arena.dealing import Seed, opaque_id
from arena.sdk import Decision

SEEDS = [*map(str, range(1000)), "seed", "test", "arena", "secret"]


class Guess(Attacker):
    table_id = ""

    def choose(self, view: Decision) -> tuple[Card, ...]:
        self.table_id = view.table_id
        return super().choose(view)

    def attack(self) -> str:
        for text in SEEDS:
            key = Seed.from_text(text).key
            ids = (opaque_id(key, "table", match, 0, table) for match in range(2) for table in range(4))
            if self.table_id in ids:
                return text
        return "nothing"


if __name__ == "__main__":
    run(Guess)
