"""The other side of `ArenaService`: tournaments and leaderboards of a server, for the command line."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import grpc
import grpc.aio

from arena.errors import ArenaError, BadInput, Interrupted
from arena.events import Event
from arena.v1 import arena_pb2, arena_pb2_grpc
from arena.wire import decode_event

_OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.default_authority", "localhost")]

_ERRORS: dict[grpc.StatusCode, type[ArenaError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: BadInput,
    grpc.StatusCode.FAILED_PRECONDITION: BadInput,
    grpc.StatusCode.NOT_FOUND: BadInput,
    grpc.StatusCode.CANCELLED: Interrupted,
}


def _error(address: str, error: grpc.aio.AioRpcError) -> ArenaError:
    """Return the error that the server meant, or that the server is not there."""
    text = error.details() or ""
    if error.code() is grpc.StatusCode.UNAVAILABLE and text.startswith("stopped after"):
        return Interrupted(text)
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return BadInput(f"no arena answers at {address}: start one there with `arena serve --listen {address}`")
    return _ERRORS.get(error.code(), ArenaError)(text or str(error.code()))


async def run_on_server(
    address: str, config: str, config_path: Path, overrides: Mapping[str, str]
) -> AsyncGenerator[Event, None]:
    """Have a server play the tournament of a bots.yaml, given its text and its absolute path, and yield its events.

    Raises what the server raised, and BadInput where no arena answers.
    """
    request = arena_pb2.RunTournamentRequest(config=config, config_path=str(config_path), overrides=overrides)
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        try:
            async for response in arena_pb2_grpc.ArenaServiceStub(channel).RunTournament(request):
                event = decode_event(response.event)
                if event is not None:
                    yield event
        except grpc.aio.AioRpcError as error:
            raise _error(address, error) from error


async def leaderboard_of_server(address: str, tournament: str | None) -> str:
    """Return a server's leaderboard as the JSON document of `arena tournament --json`.

    Raises what the server raised, and BadInput where no arena answers.
    """
    request = arena_pb2.GetLeaderboardRequest(tournament=tournament or "")
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        try:
            response = await arena_pb2_grpc.ArenaServiceStub(channel).GetLeaderboard(request, timeout=60)
        except grpc.aio.AioRpcError as error:
            raise _error(address, error) from error
        return response.document
