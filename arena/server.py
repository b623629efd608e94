"""The arena as a gRPC server: `ArenaService`, with health and reflection. The only place where errors become status codes.

A tournament runs in the server, not in the call that asked for it: ending the call ends nothing, and others can watch. There are
no tokens yet, so the server only listens where nobody but this machine's users can reach it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health
from grpc_reflection.v1alpha import reflection

from arena.config import OVERRIDES, parse_config
from arena.errors import ArenaError, BadInput, BadStore, Interrupted
from arena.events import Event
from arena.report import document_text
from arena.sockets import free_socket
from arena.store import Store
from arena.tournament import Pace, run_tournament
from arena.v1 import arena_pb2, arena_pb2_grpc
from arena.verdict import plan_of
from arena.wire import encode_event

log = logging.getLogger(__name__)

SERVICE = arena_pb2.DESCRIPTOR.services_by_name["ArenaService"].full_name
HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name

_STATUS: dict[type[ArenaError], grpc.StatusCode] = {
    BadStore: grpc.StatusCode.FAILED_PRECONDITION,
    BadInput: grpc.StatusCode.INVALID_ARGUMENT,
    Interrupted: grpc.StatusCode.UNAVAILABLE,
    ArenaError: grpc.StatusCode.INTERNAL,
}


def status_of(error: ArenaError) -> grpc.StatusCode:
    """Return the status code that tells of an error: that of the nearest class which has one."""
    return next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)


@dataclass(slots=True)
class _Run:
    """A tournament that the server plays or has played: its events so far, and who waits for more."""

    tournament: str = ""
    events: list[arena_pb2.TournamentEvent] = field(default_factory=list)
    error: ArenaError | None = None
    over: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def add(self, event: Event | None, *, error: ArenaError | None = None) -> None:
        """Add an event, or end the run where there is none."""
        async with self.changed:
            if event is None:
                self.over, self.error = True, error
            else:
                self.tournament = getattr(event, "tournament", self.tournament)
                self.events.append(encode_event(len(self.events) + 1, datetime.now(UTC), self.tournament, event))
            self.changed.notify_all()

    async def follow(self, first: int) -> AsyncGenerator[arena_pb2.TournamentEvent, None]:
        """Yield the events from number `first` on until the run is over; raise the error that ended it, if one did."""
        position = max(first, 1) - 1
        while not self.over or position < len(self.events):
            for event in self.events[position:]:
                position += 1
                yield event
            await self._wait(position)
        if self.error is not None:
            raise self.error

    async def _wait(self, position: int) -> None:
        """Wait until there are more events than `position`, or the run is over."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.over or position < len(self.events))


class ArenaServicer(arena_pb2_grpc.ArenaServiceServicer):
    """Serves `arena.v1.ArenaService` from one store."""

    def __init__(self, store_url: str, pace: Pace) -> None:
        self._store_url = store_url
        self._pace = pace
        self._runs: list[_Run] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._stop = asyncio.Event()

    async def RunTournament(  # noqa: N802 - the service's name for it
        self,
        request: arena_pb2.RunTournamentRequest,
        context: grpc.aio.ServicerContext[arena_pb2.RunTournamentRequest, arena_pb2.RunTournamentResponse],
    ) -> AsyncIterator[arena_pb2.RunTournamentResponse]:
        """Play a tournament after those that were asked for before, and stream its events."""
        run = _Run()
        self._start(self._run(run, request))
        self._runs.append(run)
        async with _told(context):
            async for event in run.follow(1):
                yield arena_pb2.RunTournamentResponse(event=event)

    async def WatchTournament(  # noqa: N802
        self,
        request: arena_pb2.WatchTournamentRequest,
        context: grpc.aio.ServicerContext[arena_pb2.WatchTournamentRequest, arena_pb2.WatchTournamentResponse],
    ) -> AsyncIterator[arena_pb2.WatchTournamentResponse]:
        """Stream the events of a tournament that this server plays or has played."""
        async with _told(context):
            async for event in self._find(request.tournament).follow(request.first_event):
                yield arena_pb2.WatchTournamentResponse(event=event)

    async def GetLeaderboard(  # noqa: N802
        self,
        request: arena_pb2.GetLeaderboardRequest,
        context: grpc.aio.ServicerContext[arena_pb2.GetLeaderboardRequest, arena_pb2.GetLeaderboardResponse],
    ) -> arena_pb2.GetLeaderboardResponse:
        """Compute the leaderboard from the store."""
        async with _told(context):
            tournament, document = await asyncio.to_thread(self._leaderboard, request.tournament or None)
            return arena_pb2.GetLeaderboardResponse(tournament=tournament, document=document)
        raise AssertionError("unreachable: a refused call is aborted")

    async def close(self, grace: float) -> None:
        """Stop the tournaments that are played; each keeps the matches that end within its own grace."""
        self._stop.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, run: _Run, request: arena_pb2.RunTournamentRequest) -> None:
        error: ArenaError | None = None
        try:
            config = parse_config(request.config, Path(request.config_path), _overrides(request))
            async with self._turn:
                with Store.open(self._store_url) as store:
                    playing = run_tournament(
                        store, config.settings, config.entries, plan_of=plan_of, pace=self._pace, stop=self._stop
                    )
                    async with contextlib.aclosing(playing) as events:
                        async for event in events:
                            await run.add(event)
        except ArenaError as refused:
            error = refused
        except Exception:
            log.exception("a tournament ended in an error of the arena")
            error = ArenaError("an error of the arena itself; the server's log has the details")
        finally:
            await run.add(None, error=error)

    def _find(self, tournament: str) -> _Run:
        for run in reversed(self._runs):
            if run.tournament.startswith(tournament):
                return run
        raise BadInput(f"this server plays no tournament {tournament}".rstrip())

    def _leaderboard(self, tournament: str | None) -> tuple[str, str]:
        with Store.open(self._store_url, create=False) as store:
            return document_text(store, tournament)


def _overrides(request: arena_pb2.RunTournamentRequest) -> dict[str, str | list[str]]:
    """Return the settings that override the file's; options of the game come as one text, a line each."""
    overrides: dict[str, str | list[str]] = dict(request.overrides)
    if "option" in request.overrides:
        overrides["option"] = request.overrides["option"].splitlines()
    if unknown := overrides.keys() - OVERRIDES.keys():
        raise BadInput(f"there is no setting {min(unknown)}: the settings are {', '.join(OVERRIDES)}")
    return overrides


@contextlib.asynccontextmanager
async def _told(context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[None]:
    """Turn errors into status codes with their text."""
    try:
        yield
    except ArenaError as error:
        await context.abort(status_of(error), str(error))


async def create_server(servicer: ArenaServicer, address: str) -> tuple[grpc.aio.Server, int]:
    """Start serving at `host:port` or `unix:/path`; return the server and its port (port 0: a free one).

    Raises BadInput for an address that others than this machine's users can reach, or that cannot be had.
    """
    _check_local(address)
    if address.startswith("unix:"):
        free_socket(Path(address.removeprefix("unix:")))
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    arena_pb2_grpc.add_ArenaServiceServicer_to_server(servicer, server)
    health_servicer = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    for name in ("", SERVICE):
        await health_servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection((SERVICE, HEALTH, reflection.SERVICE_NAME), server)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        await server.stop(None)
        raise BadInput(
            f"cannot serve at {address}: it is in use, or no address of this machine; choose another with --listen"
        ) from error
    await server.start()
    return server, port


def _check_local(address: str) -> None:
    if address.startswith("unix:"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise BadInput(f"{address} is no address: write host:port, as in 127.0.0.1:50050, or unix:/path")
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host.strip("[]")).is_loopback:
            return
    if host != "localhost":
        raise BadInput(
            f"{address} can be reached from elsewhere: without tokens only 127.0.0.1 or unix:/path are served"
        )
