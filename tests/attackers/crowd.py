"""Opens 10,000 connections to itself, and holds them."""

import socket

from attacker import Attacker, run


class Crowd(Attacker):
    def attack(self) -> str:
        self.held: list[socket.socket] = []
        try:
            for _ in range(10_000):
                client = socket.socket(socket.AF_UNIX)
                self.held.append(client)
                client.setblocking(False)
                client.connect("/run/arena/bot.sock")
        except OSError:
            pass
        count = len(self.held)
        self.held = self.held[:100]
        return f"{count}"


if __name__ == "__main__":
    run(Crowd)
