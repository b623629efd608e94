"""Puts something else where its socket was to be: a link to another socket, a pipe, a file as large as may be, a folder."""

import os
import time
from pathlib import Path

from attacker import ARGUMENTS, LIFETIME, Attacker, run

SOCKET = Path("/run/arena/bot.sock")


class Plant(Attacker):
    at_start = True

    def attack(self) -> str:
        kind = ARGUMENTS[0]
        if kind == "link":
            SOCKET.symlink_to(ARGUMENTS[1])
        elif kind == "pipe":
            os.mkfifo(SOCKET)
        elif kind == "folder":
            SOCKET.mkdir()
        else:
            with SOCKET.open("wb") as file:
                file.truncate(32 << 20)
        time.sleep(LIFETIME)
        return ""


if __name__ == "__main__":
    run(Plant)
