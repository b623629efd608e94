"""Burns all cores for five seconds from its first decision on, with 20 children, whether it is asked or not."""

import os
import time

from attacker import Attacker, run


class Burn(Attacker):
    def attack(self) -> str:
        for _ in range(20):
            if os.fork() == 0:
                end = time.monotonic() + 5
                while time.monotonic() < end:
                    pass
                os._exit(0)
        return "done"


if __name__ == "__main__":
    run(Burn)
