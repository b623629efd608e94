"""The bots of a server's competition: listed, and withdrawn."""

from __future__ import annotations

from arena.client.address import ServerAddress
from arena.client.calls import UNARY_LIMIT, call
from arena.competition import AdmissionStep, ListedBot, Version
from arena.v1 import arena_pb2
from arena.wire import decode_bot, decode_version


async def list_bots(server: ServerAddress) -> list[ListedBot]:
    """Return the bots of a server's competition, by name."""
    bots: list[ListedBot] = []
    request = arena_pb2.ListBotsRequest()
    while True:
        response = await call(
            server, lambda stub, metadata: stub.ListBots(request, timeout=UNARY_LIMIT, metadata=metadata)
        )
        bots += map(decode_bot, response.bots)
        request.page_token = response.next_page_token
        if not request.page_token:
            return bots


async def list_versions(server: ServerAddress, bot: str) -> tuple[ListedBot, list[tuple[Version, list[AdmissionStep]]]]:
    """Return a bot, and its versions, oldest first, each with the steps of its admission."""
    versions: list[tuple[Version, list[AdmissionStep]]] = []
    request = arena_pb2.ListVersionsRequest(bot=bot)
    while True:
        response = await call(
            server, lambda stub, metadata: stub.ListVersions(request, timeout=UNARY_LIMIT, metadata=metadata)
        )
        versions += [decode_version(version, "") for version in response.versions]
        request.page_token = response.next_page_token
        if not request.page_token:
            return decode_bot(response.bot), versions


async def withdraw(server: ServerAddress, bot: str, version: int) -> ListedBot:
    """Withdraw a bot, or let an earlier version of it play; return the bot as it is then."""
    request = arena_pb2.WithdrawBotRequest(bot=bot, version=version)
    response = await call(
        server, lambda stub, metadata: stub.WithdrawBot(request, timeout=UNARY_LIMIT, metadata=metadata)
    )
    return decode_bot(response.bot)
