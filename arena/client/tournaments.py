"""Tournaments on a server: had played, watched, and their leaderboards."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

import grpc.aio

from arena.client.address import ServerAddress
from arena.client.calls import UNARY_LIMIT, Attempt, broke_off, call, pages, stub_of
from arena.client.errors import error_of
from arena.competition import ListedTournament
from arena.events import Event
from arena.v1 import arena_pb2
from arena.wire import decode_event, decode_tournament


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """An event of a tournament, as it is watched."""

    number: int
    time: datetime
    tournament: str
    event: Event


async def run_on_server(
    server: ServerAddress,
    config: str,
    config_path: Path,
    overrides: Mapping[str, str],
    *,
    incremental: bool = False,
    fresh: bool = False,
) -> AsyncGenerator[Event, None]:
    """Have a server play a tournament of these settings, and yield its events.

    Raises what the server raised, and BadInput where no arena answers.
    """
    request = arena_pb2.RunTournamentRequest(
        config=config,
        config_path=str(config_path),
        overrides=overrides,
        request_id=token_hex(16),
        incremental=incremental,
        fresh=fresh,
    )
    seen = 0
    attempt = Attempt()
    while True:
        async with stub_of(server) as (stub, metadata):
            try:
                async for response in stub.RunTournament(request, metadata=metadata):
                    attempt.begin_again()
                    if response.event.number > seen and (event := decode_event(response.event)) is not None:
                        seen = response.event.number
                        yield event
                return
            except grpc.aio.AioRpcError as error:
                await attempt.failed(error_of(server, error), again=broke_off(error) and bool(seen))


async def watch(server: ServerAddress, tournament: str, first: int) -> AsyncGenerator[NumberedEvent, None]:
    """Yield a tournament's events from number `first` on, of the latest if none is named; go on after the connection breaks."""
    following = max(first, 1)
    attempt = Attempt()
    while True:
        async with stub_of(server) as (stub, metadata):
            request = arena_pb2.WatchTournamentRequest(tournament=tournament, first_event=following)
            try:
                async for response in stub.WatchTournament(request, metadata=metadata):
                    attempt.begin_again()
                    event = decode_event(response.event)
                    tournament, following = response.event.tournament, response.event.number + 1
                    if event is not None:
                        time = response.event.time.ToDatetime(UTC)
                        yield NumberedEvent(response.event.number, time, tournament, event)
                return
            except grpc.aio.AioRpcError as error:
                await attempt.failed(error_of(server, error), again=broke_off(error) and following > max(first, 1))


async def list_tournaments(server: ServerAddress) -> list[ListedTournament]:
    """Return a server's tournaments, the latest first."""
    found = await pages(server, arena_pb2.ListTournamentsRequest(), lambda stub: stub.ListTournaments)
    return [decode_tournament(tournament) for page in found for tournament in page.tournaments]


async def leaderboard_of_server(
    server: ServerAddress, tournament: str | None, *, pairs: bool = False
) -> tuple[str, ListedTournament | None]:
    """Return a server's leaderboard as the JSON document of `arena tournament --json`, the latest if none is named.

    With `pairs` it has what is known of each two bots. With it comes a later tournament that is in play, where there is one.
    """
    request = arena_pb2.GetLeaderboardRequest(tournament=tournament or "", pairs=pairs)
    response = await call(
        server, lambda stub, metadata: stub.GetLeaderboard(request, timeout=UNARY_LIMIT, metadata=metadata)
    )
    return response.document, decode_tournament(response.in_play) if response.HasField("in_play") else None
