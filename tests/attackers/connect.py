"""Connects to whatever the test listens at: TCP ports of the loopback interface, unix sockets by path and by name."""

import socket

from attacker import ARGUMENTS, Attacker, run

VSOCK_HOST = 2


class Connect(Attacker):
    def attack(self) -> str:
        reached = []
        for place in ARGUMENTS:
            kind, _, address = place.partition(":")
            try:
                if kind == "tcp":
                    socket.create_connection(("127.0.0.1", int(address)), timeout=0.3).close()
                else:
                    with socket.socket(socket.AF_UNIX) as client:
                        client.settimeout(0.3)
                        client.connect(f"\0{address}" if kind == "name" else address)
                reached.append(kind)
            except OSError:
                pass
        for family in (getattr(socket, "AF_VSOCK", 40), 38, 17):  # a virtual machine's host, ciphers, raw packets
            try:
                socket.socket(family, socket.SOCK_STREAM).close()
                reached.append(f"family {family}")
            except OSError:
                pass
        interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
        return " ".join(reached + interfaces) or "nothing"


if __name__ == "__main__":
    run(Connect)
