"""A bot that is unsound in the way that its first argument names: sound enough to play, until one thing is asked of it.

Plays its lowest cards. For the steps of a check that no bot of `misbehaving.py` or `rogue.py` fails.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import grpc
from misbehaving import Bot, serve

from arena.v1 import bot_pb2

WAY = sys.argv[1]
KNOWN_DIRECTIONS = {1, 2, 3, 4}


class Unsound(Bot):
    """Describes itself as it should."""

    max_batch = 64
    games: tuple[str, ...] = ()

    def describe(self, _request: bytes, _context: grpc.ServicerContext) -> bytes:
        """Say a name, and the same whenever asked."""
        description = bot_pb2.DescribeResponse(name=WAY, version="1", games=self.games, max_batch=self.max_batch)
        return description.SerializeToString()

    def decide(self, data: bytes, context: grpc.ServicerContext) -> bytes:
        """Choose the lowest cards, after `look` has had its way."""
        request = bot_pb2.DecideRequest.FromString(data)
        response = bot_pb2.DecideResponse(request_id=request.request_id)
        for decision in request.decisions:
            self.look(decision)
            response.choices.add(cards=decision.legal[: decision.count])
        self.look_at_all(request, response, context)
        return response.SerializeToString()

    def look(self, decision: bot_pb2.Decision) -> None:
        """Object to a decision."""

    def look_at_all(
        self, request: bot_pb2.DecideRequest, response: bot_pb2.DecideResponse, context: grpc.ServicerContext
    ) -> None:
        """Object to a request, or spoil its response."""


class OtherGame(Unsound):
    games = ("hearts-clasic",)


class OneGame(Unsound):
    """Plays Hearts only, but doesn't say so."""

    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.game.name == "heartswitch":
            raise ValueError("what is a witch?")


class FourOnly(Unsound):
    games = ("heartswitch",)

    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.game.players != 4:
            raise ValueError(f"{decision.game.players} is a crowd")


class Eight(Unsound):
    """Answers at most eight decisions of a request."""

    def look_at_all(
        self, request: bot_pb2.DecideRequest, response: bot_pb2.DecideResponse, context: grpc.ServicerContext
    ) -> None:
        del response.choices[8:]


class OneByOne(Unsound):
    max_batch = 0


class Sluggish(Unsound):
    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.number > 1:
            time.sleep(0.06)


class Strict(Unsound):
    """Insists on knowing every direction."""

    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.pass_direction not in KNOWN_DIRECTIONS:
            raise ValueError(f"no such direction: {decision.pass_direction}")


class Orderly(Unsound):
    """Knows two phases only."""

    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.phase not in (bot_pb2.PHASE_PASSING, bot_pb2.PHASE_PLAYING):
            raise ValueError("what am I to do?")


class OneTable(Unsound):
    """Believes that a second deal is always at the table of the last first deal."""

    table = ""

    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.deal_number == 1:
            self.table = decision.table_id
        elif self.table != decision.table_id:
            raise KeyError("whose deal is this?")


class Impatient(Unsound):
    """Does not answer what it was asked before."""

    before: tuple[str, int] | None = None

    def look(self, decision: bot_pb2.Decision) -> None:
        now = (decision.table_id, decision.number)
        if now == self.before:
            raise RuntimeError("I said so already")
        self.before = now


class Offended(Unsound):
    """Takes a cancelled question badly."""

    offended = False

    def look_at_all(
        self, request: bot_pb2.DecideRequest, response: bot_pb2.DecideResponse, context: grpc.ServicerContext
    ) -> None:
        if len(request.decisions) == self.max_batch:
            time.sleep(0.05)
        if self.offended:
            raise RuntimeError("let me finish first")
        self.offended = not context.is_active()


class Fickle(Unsound):
    def decide(self, data: bytes, _context: grpc.ServicerContext) -> bytes:
        request = bot_pb2.DecideRequest.FromString(data)
        response = bot_pb2.DecideResponse(request_id=request.request_id)
        for decision in request.decisions:
            response.choices.add(cards=secrets.SystemRandom().sample(list(decision.legal), decision.count))
        return response.SerializeToString()


class Hoarder(Unsound):
    """Never forgets: 256 KB a decision."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def look(self, decision: bot_pb2.Decision) -> None:
        self.kept.append(b"x" * (1 << 18))


class Glutton(Unsound):
    """Has others hold memory, 150 MB each."""

    def look(self, decision: bot_pb2.Decision) -> None:
        if decision.number == 13:
            program = "import time; kept = b'x' * 150_000_000; time.sleep(3600)"
            for _ in range(3):
                subprocess.Popen([sys.executable, "-I", "-S", "-c", program])
            time.sleep(3600)


def call_home() -> None:
    """Ask somebody outside whether to play."""
    with socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5):
        pass


BOTS: dict[str, type[Unsound]] = {
    "other-game": OtherGame,
    "one-game": OneGame,
    "four-only": FourOnly,
    "eight": Eight,
    "one-by-one": OneByOne,
    "sluggish": Sluggish,
    "strict": Strict,
    "orderly": Orderly,
    "one-table": OneTable,
    "impatient": Impatient,
    "offended": Offended,
    "fickle": Fickle,
    "hoarder": Hoarder,
    "glutton": Glutton,
}
PRELUDES: dict[str, Callable[[], None]] = {"call-home": call_home}

if __name__ == "__main__":
    PRELUDES.get(WAY, lambda: None)()
    serve(BOTS.get(WAY, Unsound)(), os.environ["ARENA_BOT_ADDRESS"])
