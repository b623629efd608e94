"""Forks without end: 300 times, or until it is prevented."""

import os

from attacker import Attacker, rest, run


class Fork(Attacker):
    def attack(self) -> str:
        for count in range(300):
            try:
                if os.fork() == 0:
                    rest()
            except OSError as error:
                return f"{count} {error.strerror}"
        return "300 unhindered"


if __name__ == "__main__":
    run(Fork)
