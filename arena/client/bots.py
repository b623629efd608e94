"""The bots of a server's competition: listed, and withdrawn."""

from __future__ import annotations

from arena.client.address import ServerAddress
from arena.client.calls import UNARY_LIMIT, call, pages
from arena.competition import AdmissionStep, ListedBot, Version
from arena.v1 import arena_pb2
from arena.wire import decode_bot, decode_version


async def list_bots(server: ServerAddress) -> list[ListedBot]:
    """Return the bots of a server's competition, by name."""
    found = await pages(server, arena_pb2.ListBotsRequest(), lambda stub: stub.ListBots)
    return [decode_bot(bot) for page in found for bot in page.bots]


async def list_versions(server: ServerAddress, bot: str) -> tuple[ListedBot, list[tuple[Version, list[AdmissionStep]]]]:
    """Return a bot, and its versions, oldest first, each with the steps of its admission."""
    found = await pages(server, arena_pb2.ListVersionsRequest(bot=bot), lambda stub: stub.ListVersions)
    return decode_bot(found[-1].bot), [decode_version(version, "") for page in found for version in page.versions]


async def withdraw(server: ServerAddress, bot: str, version: int) -> ListedBot:
    """Withdraw a bot, or let an earlier version of it play; return the bot as it is then."""
    request = arena_pb2.WithdrawBotRequest(bot=bot, version=version)
    response = await call(
        server, lambda stub, metadata: stub.WithdrawBot(request, timeout=UNARY_LIMIT, metadata=metadata)
    )
    return decode_bot(response.bot)
