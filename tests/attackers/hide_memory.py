"""Takes memory that belongs to no process, and so is easily not counted: a file in memory, and shared memory of old."""

import ctypes
import os

from attacker import Attacker, run


class HideMemory(Attacker):
    def attack(self) -> str:
        had = []
        try:
            os.close(os.memfd_create("hidden"))
            had.append("memfd")
        except OSError:
            pass
        if ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600) >= 0:
            had.append("shm")
        if ctypes.CDLL(None).msgget(0, 0o1600) >= 0:
            had.append("msg")
        return " ".join(had) or "nothing"


if __name__ == "__main__":
    run(HideMemory)
