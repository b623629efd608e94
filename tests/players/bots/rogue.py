"""A bot that plays its lowest cards, and at chosen decisions does what its first argument names.

An optional second argument is the number of the decision, 13 by default, or `all`. Like `misbehaving.py`, from which it has
its server, it speaks the bare protocol.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc
from misbehaving import FOREVER, Bot, serve

from arena.v1 import bot_pb2

WAY = sys.argv[1]
WHEN = sys.argv[2] if len(sys.argv) > 2 else "13"

Spoil = Callable[[bot_pb2.Decision, bot_pb2.Choice], None]


def no_cards(_decision: bot_pb2.Decision, choice: bot_pb2.Choice) -> None:
    """Answer without cards."""
    del choice.cards[:]


def same_card_thrice(decision: bot_pb2.Decision, choice: bot_pb2.Choice) -> None:
    """Answer one card again and again."""
    choice.cards[:] = [decision.hand[0]] * 3


def not_held(decision: bot_pb2.Decision, choice: bot_pb2.Choice) -> None:
    """Answer cards of others."""
    deck = [16 * suit + rank for suit in range(4) for rank in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15)]
    others = [number for number in deck if number not in decision.hand]
    choice.cards[:] = others[: decision.count]  # type: ignore[assignment]


def already_played(decision: bot_pb2.Decision, choice: bot_pb2.Choice) -> None:
    """Answer a card that lies on the table, or was played before."""
    choice.cards[:] = [*decision.trick_cards, *decision.trick][: decision.count]


def unspecified(_decision: bot_pb2.Decision, choice: bot_pb2.Choice) -> None:
    """Answer the card that is none."""
    choice.cards[:] = [0] * len(choice.cards)  # type: ignore[list-item]


def long_note(_decision: bot_pb2.Decision, choice: bot_pb2.Choice) -> None:
    """Remark more than anybody reads, with codes that would clear a terminal."""
    choice.note = "\x1b[2J\x07boo\r\n" + "\u202e" + "x" * 1_000_000


def hang(_decision: bot_pb2.Decision, _choice: bot_pb2.Choice) -> None:
    """Think for ever."""
    time.sleep(FOREVER)


def crash_on_seat_2(decision: bot_pb2.Decision, _choice: bot_pb2.Choice) -> None:
    """Crash, but only in the rotation that seats this bot there."""
    if decision.seat == 2:
        os._exit(9)


def hang_up(_decision: bot_pb2.Decision, _choice: bot_pb2.Choice) -> None:
    """Close all connections, and live on."""
    for path in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(path.name))) as end:
            end.getpeername()
            end.shutdown(socket.SHUT_RDWR)


def drip() -> None:
    """Accept connections, and let one byte after the other fall into them."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.environ["ARENA_BOT_ADDRESS"].removeprefix("unix:"))
        listener.listen()
        while True:
            end, _ = listener.accept()
            threading.Thread(target=_drip_into, args=[end], daemon=True).start()


def _drip_into(end: socket.socket) -> None:
    settings = bytes(3) + b"\x04" + bytes(5)  # an empty SETTINGS frame of HTTP/2, and nothing that follows it
    with contextlib.suppress(OSError):
        for byte in settings * 1000:
            end.sendall(bytes([byte]))
            time.sleep(0.05)


def drain_the_bank(decision: bot_pb2.Decision, _choice: bot_pb2.Choice) -> None:
    """Take a little more than the decision time, as long as the bank pays for it."""
    limit = decision.decision_time.ToTimedelta().total_seconds()
    bank = decision.bank_left.ToTimedelta().total_seconds()
    time.sleep(limit + min(0.1, bank / 2))


SPOILERS: dict[str, Spoil] = {
    "no-cards": no_cards,
    "same-card-thrice": same_card_thrice,
    "not-held": not_held,
    "already-played": already_played,
    "unspecified": unspecified,
    "long-note": long_note,
    "hang": hang,
    "crash-on-seat-2": crash_on_seat_2,
    "hang-up": hang_up,
    "drain-the-bank": drain_the_bank,
}


class Rogue(Bot):
    """Misbehaves in what it answers, not in how."""

    described = 0

    def describe(self, _request: bytes, _context: grpc.ServicerContext) -> bytes:
        """Tell another name each time: long, on several lines, turned around, a script."""
        self.described += 1
        name = f"<script>alert({self.described})</script>\n\x1b[31m\u202e" + "n" * 10_000
        batch = 1 if WAY in ("hang", "drain-the-bank") else 64
        return bot_pb2.DescribeResponse(name=name, version="\r\n9" * 5_000, max_batch=batch).SerializeToString()

    def decide(self, data: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer all decisions, spoil those that are to be spoiled."""
        request = bot_pb2.DecideRequest.FromString(data)
        response = bot_pb2.DecideResponse(request_id=request.request_id)
        for decision in request.decisions:
            choice = response.choices.add(cards=decision.legal[: decision.count])
            if WHEN in ("all", str(decision.number)):
                SPOILERS[WAY](decision, choice)
        if WAY == "too-many-choices" and any(decision.number == 13 for decision in request.decisions):
            response.choices.add(cards=[2])
        return response.SerializeToString()


if __name__ == "__main__":
    if WAY == "drip":
        drip()
    SPOILERS.setdefault(WAY, lambda _decision, _choice: None)
    serve(Rogue(), os.environ["ARENA_BOT_ADDRESS"])
