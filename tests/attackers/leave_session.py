"""Forks twice and leaves its session, as daemons do, so that nobody would look for it: five times."""

import os

from attacker import Attacker, rest, run


class LeaveSession(Attacker):
    def attack(self) -> str:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os.setsid()
                if os.fork() == 0:
                    rest()
                os._exit(0)
            os.waitpid(child, 0)
        return "done"


if __name__ == "__main__":
    run(LeaveSession)
