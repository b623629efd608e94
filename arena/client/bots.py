"""The bots of a server's competition: listed, and withdrawn."""

from __future__ import annotations

from dataclasses import dataclass

from arena.client.address import ServerAddress
from arena.client.calls import UNARY_LIMIT, call
from arena.competition import AdmissionStep, Version
from arena.text import clean_line
from arena.v1 import arena_pb2
from arena.wire import decode_version


@dataclass(frozen=True, slots=True)
class ListedBot:
    """A bot of a competition, as everybody may see it."""

    name: str
    owner: str
    author: str
    games: tuple[str, ...]
    current: int
    """The number of the version that plays; 0 where none does."""
    versions: int


async def list_bots(server: ServerAddress) -> list[ListedBot]:
    """Return the bots of a server's competition, by name."""
    bots: list[ListedBot] = []
    request = arena_pb2.ListBotsRequest()
    while True:
        response = await call(
            server, lambda stub, metadata: stub.ListBots(request, timeout=UNARY_LIMIT, metadata=metadata)
        )
        bots += map(_listed, response.bots)
        request.page_token = response.next_page_token
        if not request.page_token:
            return bots


async def list_versions(server: ServerAddress, bot: str) -> list[tuple[Version, list[AdmissionStep]]]:
    """Return a bot's versions, oldest first, each with the steps of its admission."""
    versions: list[tuple[Version, list[AdmissionStep]]] = []
    request = arena_pb2.ListVersionsRequest(bot=bot)
    while True:
        response = await call(
            server, lambda stub, metadata: stub.ListVersions(request, timeout=UNARY_LIMIT, metadata=metadata)
        )
        versions += [decode_version(version, "") for version in response.versions]
        request.page_token = response.next_page_token
        if not request.page_token:
            return versions


async def withdraw(server: ServerAddress, bot: str, version: int) -> ListedBot:
    """Withdraw a bot, or let an earlier version of it play; return the bot as it is then."""
    request = arena_pb2.WithdrawBotRequest(bot=bot, version=version)
    response = await call(
        server, lambda stub, metadata: stub.WithdrawBot(request, timeout=UNARY_LIMIT, metadata=metadata)
    )
    return _listed(response.bot)


def _listed(bot: arena_pb2.Bot) -> ListedBot:
    games = tuple(clean_line(game, 64) for game in bot.games)
    return ListedBot(
        clean_line(bot.name), clean_line(bot.owner), clean_line(bot.author), games, bot.current, bot.versions
    )
