"""Ignores every signal that it may ignore."""

import signal

from attacker import Attacker, run


class Stay(Attacker):
    def attack(self) -> str:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
            signal.signal(number, signal.SIG_IGN)
        return "done"


if __name__ == "__main__":
    run(Stay)
