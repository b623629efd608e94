"""Takes memory without end, up to 2 GB: by itself, or spread over 50 children where its argument says so."""

import os

from attacker import ARGUMENTS, Attacker, rest, run

MEGABYTE = 1 << 20


class Hoard(Attacker):
    def attack(self) -> str:
        if ARGUMENTS == ["children"]:
            for _ in range(50):
                if os.fork() == 0:
                    held = os.urandom(MEGABYTE) * 40
                    assert held
                    rest()
            return "shared"
        held_here: list[bytearray] = []
        try:
            while len(held_here) < 200:
                held_here.append(bytearray(b"x" * (10 * MEGABYTE)))
        except MemoryError:
            taken = len(held_here)
            held_here.clear()
            return f"{10 * taken}"
        return "unhindered"


if __name__ == "__main__":
    run(Hoard)
