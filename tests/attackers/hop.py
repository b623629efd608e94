"""Moves into a new process each millisecond, so that whoever looks for it finds it gone: for five seconds."""

import os
import time

from attacker import Attacker, run


class Hop(Attacker):
    def attack(self) -> str:
        end = time.monotonic() + 5
        if os.fork() == 0:
            os.setsid()
            while time.monotonic() < end:
                time.sleep(0.001)
                if os.fork():
                    os._exit(0)
            os._exit(0)
        return "done"


if __name__ == "__main__":
    run(Hop)
