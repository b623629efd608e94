"""For authors of bots in Python: subclass `Bot`, say what to play, run.

    from arena.sdk import Bot

    class Lowest(Bot):
        def play(self, view):
            return view.legal[0]

    if __name__ == "__main__":
        Lowest().run()

`view` is an `arena.decision.Decision`: all that the seat may know, and what follows from it. Every decision is complete in
itself, so a bot needs no memory. The arena never asks a process two things at once, so a bot needs no locks; a plain `play`
runs in the event loop itself, because nothing else is waiting for it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from inspect import iscoroutinefunction
from pathlib import Path

import grpc
import grpc.aio

from arena import wire
from arena.cards import Card, Rank, Suit
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import BadInput, BotUnusable, Malformed
from arena.game import PassDirection, Phase
from arena.sockets import free_socket, grpc_target, owned_socket, socket_path

__all__ = [
    "Bot",
    "Card",
    "Choice",
    "DealResult",
    "Decision",
    "PassDirection",
    "Phase",
    "Rank",
    "Suit",
    "choose",
    "create_server",
    "tell",
]

ADDRESS_VARIABLE = "ARENA_BOT_ADDRESS"

CardLike = Card | str
"""A card, or its code: `Card("QS")` or "QS"."""


class Bot(ABC):
    """A contestant: subclass it and define `play`, plain or async."""

    name: str = ""
    """Shown beside results; the class's name unless set."""
    version: str = ""
    author: str = ""
    games: tuple[str, ...] = ()
    """The games it plays; empty for all."""
    max_batch: int = 0
    """How many decisions it takes in one call, at most 1024; 0 means 128 if its methods are plain, 1 if any is async."""

    @abstractmethod
    def play(self, view: Decision) -> CardLike | Choice | Awaitable[CardLike | Choice]:
        """Return the card to play, one of `view.legal`; a `Choice` to add a note for replays."""

    def pass_cards(self, view: Decision) -> Iterable[CardLike] | Choice | Awaitable[Iterable[CardLike] | Choice]:
        """Return the `view.count` cards to pass: by default the high spades, then the highest cards."""
        return sorted(view.hand, key=_burden, reverse=True)[: view.count]

    def deal_finished(self, result: DealResult) -> Awaitable[None] | None:  # noqa: B027 - nothing to do by default
        """Take note of how a deal ended, if that is of use. It has a second, for all deals that are told at once."""

    def describe(self) -> Description:
        """Return what the arena shows of this bot."""
        plain = not any(map(iscoroutinefunction, (self.play, self.pass_cards)))
        return Description(
            name=self.name or type(self).__name__,
            version=self.version,
            author=self.author,
            games=tuple(self.games),
            max_batch=self.max_batch or (128 if plain else 1),
        )

    def run(self) -> None:
        """Serve at the address that ARENA_BOT_ADDRESS names until SIGTERM or SIGINT; exit with code 2 if that can't be."""
        address = os.environ.get(ADDRESS_VARIABLE, "")
        if not address:
            program = Path(sys.argv[0]).name or "bot.py"
            _refuse(
                f"{ADDRESS_VARIABLE} is not set. The arena sets it when it starts a bot; to run one by hand, say where"
                f" it is to serve:\n\n    {ADDRESS_VARIABLE}=127.0.0.1:50051 python {program}\n"
            )
        try:
            asyncio.run(_serve(self, address))
        except BotUnusable as problem:
            _refuse(str(problem))


async def choose(bot: Bot, decision: Decision) -> Choice:
    """Ask a bot for one choice. Raises what the bot raises, and BadCard or TypeError where its answer is no cards.

    Whether the choice is legal is for the table to say.
    """
    if decision.phase is Phase.PASSING:
        cards = bot.pass_cards(decision)
        if isinstance(cards, Awaitable):
            cards = await cards
        return cards if isinstance(cards, Choice) else Choice(tuple(map(Card, cards)))
    card = bot.play(decision)
    if isinstance(card, Card):
        return Choice((card,))
    if isinstance(card, Awaitable):
        card = await card
    return card if isinstance(card, Choice) else Choice((Card(card),))


async def tell(bot: Bot, result: DealResult) -> None:
    """Tell a bot how a deal ended. Raises what the bot raises."""
    done = bot.deal_finished(result)
    if done is not None:
        await done


async def create_server(bot: Bot, address: str) -> tuple[grpc.aio.Server, int]:
    """Start serving a bot at `unix:/path` or `host:port`, and return the server and its port (port 0: a free one).

    Raises BotUnusable if the address can't be had. A socket file that nobody serves any more is removed.
    """
    try:
        if path := socket_path(address):
            free_socket(path)
    except BadInput as error:
        raise BotUnusable(str(error)) from error
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((_Servicer(bot).handlers(),))
    try:
        port = server.add_insecure_port(grpc_target(address))
    except RuntimeError as error:
        await server.stop(None)
        raise BotUnusable(f"cannot serve at {address}: it is in use, or no address of this machine") from error
    await server.start()
    return server, port


class _Servicer:
    """Serves `arena.v1.BotService` for one bot. Messages come and go as bytes: `arena.wire` reads and writes them."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service; without FinishDeals, if the bot doesn't care how deals end."""
        methods = {"Describe": self._describe, "Decide": self._decide}
        if type(self._bot).deal_finished is not Bot.deal_finished:
            methods["FinishDeals"] = self._finish_deals
        return grpc.method_handlers_generic_handler(
            "arena.v1.BotService",
            {name: grpc.unary_unary_rpc_method_handler(method) for name, method in methods.items()},
        )

    async def _describe(self, _request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        return wire.encode_description(self._bot.describe())

    async def _decide(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        try:
            request_id, _time_limit, decisions = wire.decode_request(request)
            return wire.encode_response(request_id, [await choose(self._bot, decision) for decision in decisions])
        except Exception as error:
            return await _fail(error, context)

    async def _finish_deals(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        try:
            for result in wire.decode_results(request):
                await tell(self._bot, result)
        except Exception as error:
            return await _fail(error, context)
        return b""


async def _fail(error: Exception, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """End a call: with INVALID_ARGUMENT if the request can't be read, else with INTERNAL and the bot's traceback to stderr."""
    if isinstance(error, Malformed):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    traceback.print_exception(error)
    await context.abort(grpc.StatusCode.INTERNAL, " ".join(f"{type(error).__name__}: {error}".split())[:200])
    return b""


async def _serve(bot: Bot, address: str) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server, _port = await create_server(bot, address)
    with owned_socket(address):
        await stopped.wait()
        await server.stop(grace=0)


def _burden(card: Card) -> tuple[bool, int, int]:
    """Sort cards by how much one wants to be rid of them: queen, king and ace of spades, then by rank."""
    high_spade = card.suit is Suit.SPADES and card.rank >= Rank.QUEEN
    return high_spade, card.rank, card


def _refuse(reason: str) -> None:
    sys.stderr.write(f"{reason}\n")
    sys.exit(2)
