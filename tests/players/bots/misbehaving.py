"""A bot that answers with its lowest card, and misbehaves in the way its first argument names.

Ways that concern a decision take effect only for decisions number 13, so that the others of a request can be told apart.
Written against the bare protocol, so that nothing of the arena's own code keeps it from misbehaving.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from arena.v1 import bot_pb2

BAD = 13
FOREVER = 3600

Context = grpc.ServicerContext


class Bot:
    """An honest bot."""

    service = "arena.v1.BotService"

    def describe(self, _request: bytes, _context: Context) -> bytes:
        return bot_pb2.DescribeResponse(name="\x1b[31mRed\nbot", version="1", max_batch=100_000).SerializeToString()

    def decide(self, data: bytes, context: Context) -> bytes:
        request = bot_pb2.DecideRequest.FromString(data)
        response = bot_pb2.DecideResponse(request_id=request.request_id)
        for decision in request.decisions:
            response.choices.add(cards=decision.legal[: decision.count])
        for decision, choice in zip(request.decisions, list(response.choices), strict=True):
            if decision.number == BAD:
                self.misbehave(response, choice, context)
        return response.SerializeToString()

    def finish_deals(self, _request: bytes, _context: Context) -> bytes:
        return b""

    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        pass


class Mute(Bot):
    def describe(self, _request: bytes, _context: Context) -> bytes:
        time.sleep(FOREVER)
        return b""


class Garbled(Bot):
    def describe(self, _request: bytes, _context: Context) -> bytes:
        return b"\xff\xff\xff"


class Stranger(Bot):
    service = "somebody.else.v1.Service"


class Late(Bot):
    """Describes itself only after a while."""

    began = time.monotonic()

    def describe(self, request: bytes, context: Context) -> bytes:
        if time.monotonic() - self.began < 0.3:
            context.abort(grpc.StatusCode.INTERNAL, "the model is still loading")
        return super().describe(request, context)


class Hang(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        time.sleep(FOREVER)


class Slow(Bot):
    """Answers, but only after 0.25 s."""

    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        time.sleep(0.25)


class Crash(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        sys.stderr.write("\x1b[1mtable flipped\x1b[0m\n")
        sys.stderr.flush()
        if sys.argv[2].isdigit():
            os._exit(int(sys.argv[2]))
        os.kill(os.getpid(), signal.Signals[sys.argv[2]])
        time.sleep(FOREVER)


class Short(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        del response.choices[-1]


class WrongId(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        response.request_id -= 1


class UnknownCard(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        choice.cards[0] = 16  # type: ignore[call-overload]


class TooManyCards(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        choice.cards.append(choice.cards[0])


class Huge(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        choice.note = "x" * (64 << 20)


class Bomb(Bot):
    """A reply that is small on the wire, and unfolds to 64 MB."""

    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        context.set_compression(grpc.Compression.Gzip)
        choice.note = "x" * (64 << 20)


class Status(Bot):
    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        context.abort(grpc.StatusCode[sys.argv[2]], "no \x1b[31mthanks")


class Greedy(Bot):
    """Takes more memory than it may: as an error or, where its second argument says so, as its end."""

    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        try:
            bytearray(8 << 30)
        except MemoryError as error:
            if sys.argv[2] == "error":
                context.abort(grpc.StatusCode.INTERNAL, type(error).__name__)
            sys.stderr.write("MemoryError\n")
            sys.stderr.flush()
            os._exit(1)


class LostHelper(Bot):
    """Can do nothing any more once it was asked decision 13, as its helper died: it fails in the way of the second argument."""

    lost = False

    def decide(self, data: bytes, context: Context) -> bytes:
        LostHelper.lost |= any(each.number == BAD for each in bot_pb2.DecideRequest.FromString(data).decisions)
        if self.lost and sys.argv[2] == "error":
            context.abort(grpc.StatusCode.INTERNAL, "MemoryError")
        if self.lost and sys.argv[2] == "garbage":
            return b"\xff\xff\xff"
        return super().decide(data, context)

    def misbehave(self, response: bot_pb2.DecideResponse, choice: bot_pb2.Choice, context: Context) -> None:
        pass


class LostCards(LostHelper):
    """The same with choices that are no cards, or not legal."""

    def decide(self, data: bytes, context: Context) -> bytes:
        response = bot_pb2.DecideResponse.FromString(super().decide(data, context))
        for choice in response.choices if self.lost else ():
            del choice.cards[:]
            choice.cards.extend([16] if sys.argv[2] == "unknown" else [17, 17, 17])  # type: ignore[list-item]
        return response.SerializeToString()


class SlowToLearn(Bot):
    def finish_deals(self, _request: bytes, _context: Context) -> bytes:
        time.sleep(FOREVER)
        return b""


class Learning(Bot):
    """Writes down what it is told."""

    def finish_deals(self, request: bytes, _context: Context) -> bytes:
        told = bot_pb2.FinishDealsRequest.FromString(request)
        Path(sys.argv[2]).write_text(" ".join(str(result.deal_number) for result in told.results))
        return b""


def flood() -> None:
    """Write without end and without a newline to both outputs."""
    for output in (1, 2):
        threading.Thread(target=_write_forever, args=[output], daemon=True).start()


def _write_forever(output: int) -> None:
    data = b"\x1b[5mx" * 20_000
    while True:
        os.write(output, data)


def fork() -> None:
    """Start a grandchild that leaves the session, and tell its process id in a file."""
    script = "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0);"
    script += "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(3600)"
    subprocess.Popen([sys.executable, "-I", "-S", "-c", script, sys.argv[2]])


def hush() -> None:
    """Close both outputs."""
    os.close(1)
    os.close(2)


def ignore_signals() -> None:
    """Don't react to being asked to end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def die() -> None:
    """Give up at once."""
    sys.stderr.write("no model file\n")
    sys.exit(3)


def sleep() -> None:
    """Never serve."""
    sys.stderr.write("waiting for Godot\n")
    sys.stderr.flush()
    time.sleep(FOREVER)


def fail_once_told() -> None:
    """Give up at once, unless this is the first time."""
    marker = Path(sys.argv[2])
    if marker.exists():
        die()
    marker.touch()


PRELUDES: dict[str, Callable[[], None]] = {
    "flood": flood,
    "fork": fork,
    "hush": hush,
    "ignore-signals": ignore_signals,
    "exit": die,
    "sleep": sleep,
    "start-once": fail_once_told,
}

BOTS: dict[str, type[Bot]] = {
    "mute": Mute,
    "garbled": Garbled,
    "stranger": Stranger,
    "late": Late,
    "hang": Hang,
    "slow": Slow,
    "crash": Crash,
    "short": Short,
    "wrong-id": WrongId,
    "unknown-card": UnknownCard,
    "too-many-cards": TooManyCards,
    "huge": Huge,
    "bomb": Bomb,
    "status": Status,
    "greedy": Greedy,
    "lost-helper": LostHelper,
    "lost-cards": LostCards,
    "slow-to-learn": SlowToLearn,
    "learning": Learning,
    "start-once": Hang,
}


def serve(bot: Bot, address: str) -> None:
    """Serve for ever."""
    server = grpc.server(
        ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)]
    )
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "Describe": grpc.unary_unary_rpc_method_handler(bot.describe),
        "Decide": grpc.unary_unary_rpc_method_handler(bot.decide),
        "FinishDeals": grpc.unary_unary_rpc_method_handler(bot.finish_deals),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(bot.service, handlers),))
    server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    WAY = sys.argv[1]
    PRELUDES.get(WAY, lambda: None)()
    serve(BOTS.get(WAY, Bot)(), os.environ["ARENA_BOT_ADDRESS"])
