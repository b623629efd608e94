"""Foretells who holds the queen of spades, from what should tell nothing: table ids, and when and in which order it is asked."""

import time

from attacker import Attacker, run

from arena.sdk import Choice, Decision


class Foretell(Attacker):
    def __init__(self) -> None:
        super().__init__()
        self.attacked = True  # it attacks in every deal, not once
        self.asked = 0

    def attack(self) -> str:
        """Do nothing: the guesses are made where cards are passed."""
        return ""

    def pass_cards(self, view: Decision) -> Choice:
        self.asked += 1
        signs = (int(view.table_id, 16), self.asked, time.time_ns() // 1_000_000, time.time_ns() // 1_000)
        guesses = ((view.seat + 1 + sign % (view.players - 1)) % view.players for sign in signs)
        return Choice(self.choose(view), " ".join(map(str, guesses)))


if __name__ == "__main__":
    run(Foretell)
