"""The other side of `ArenaService`: what the command line asks of a server.

A token is only sent where nobody can overhear it: over TLS, to this machine, or through a unix socket. A call that breaks off is
made again, with the same id, so that nothing is done twice; watching goes on with the event after the last one seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from secrets import token_hex
from typing import Final, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from arena.competition import AdmissionStep, Version
from arena.errors import ArenaError, BadConfig, BadInput, BadStore, Interrupted, Refused
from arena.events import Event
from arena.sockets import is_local
from arena.text import clean_line, clean_lines
from arena.v1 import arena_pb2, arena_pb2_grpc
from arena.wire import decode_event, decode_step, decode_version

R = TypeVar("R")

PIECE: Final = 256 << 10
ATTEMPTS: Final = 8
"""How often a call that breaks off is made again before it is given up; the pauses between grow to 10 s."""

_UNARY_LIMIT: Final = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
_DETAILS: Final = "grpc-status-details-bin"
_OPTIONS: Final = (("grpc.enable_http_proxy", 0), ("grpc.initial_reconnect_backoff_ms", 200))
_LOCAL_OPTIONS: Final = (*_OPTIONS, ("grpc.default_authority", "localhost"))

_KINDS: Final[Mapping[str, type[ArenaError]]] = {
    "BAD_STORE": BadStore,
    "BAD_INPUT": BadInput,
    "INTERRUPTED": Interrupted,
    "ARENA_FAULT": ArenaError,
}
"""The errors that reasons stand for; any other reason is a Refused."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is, and how it is spoken to."""

    address: str
    """host:port or unix:/path."""
    token: str = ""
    authority: Path | None = None
    """The certificate of who vouches for the server (PEM); None for those whom this machine trusts."""
    certificate: Path | None = None
    """The caller's own certificate, where the server wants one."""
    key: Path | None = None
    plaintext: bool = False
    """Whether to speak without TLS to another machine."""

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return is_local(self.address)

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken: to other machines, and wherever it is asked for."""
        return self.authority is not None or not (self.local or self.plaintext)


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """An event of a tournament, as it is watched."""

    number: int
    time: datetime
    tournament: str
    event: Event


@dataclass(frozen=True, slots=True)
class Received:
    """All of a submission is received, and kept."""

    ahead: int
    """How many submissions are to be admitted before it."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A step of an admission begins."""

    name: str
    detail: str


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


AdmissionEvent = Received | Begun | AdmissionStep | Version
SubmitCall: TypeAlias = "grpc.aio.StreamStreamCall[arena_pb2.SubmitBotRequest, arena_pb2.SubmitBotResponse]"
Stub: TypeAlias = "arena_pb2_grpc.ArenaServiceAsyncStub"  # of the stubs for type checkers only


# --- Tournaments ---


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
    async for attempt in _attempts():
        async with _stub(server) as (stub, metadata):
            try:
                async for response in stub.RunTournament(request, metadata=metadata):
                    attempt.begin_again()
                    if response.event.number > seen and (event := decode_event(response.event)) is not None:
                        seen = response.event.number
                        yield event
                return
            except grpc.aio.AioRpcError as error:
                await attempt.failed(_error(server, error), again=_broke_off(error) and bool(seen))


async def watch(server: ServerAddress, tournament: str, first: int) -> AsyncGenerator[NumberedEvent, None]:
    """Yield a tournament's events from number `first` on, of the latest if none is named; go on after the connection breaks."""
    following = max(first, 1)
    async for attempt in _attempts():
        async with _stub(server) as (stub, metadata):
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
                await attempt.failed(_error(server, error), again=_broke_off(error) and following > max(first, 1))


async def leaderboard_of_server(server: ServerAddress, tournament: str | None) -> str:
    """Return a server's leaderboard as the JSON document of `arena tournament --json`."""
    request = arena_pb2.GetLeaderboardRequest(tournament=tournament or "")
    response = await _call(
        server, lambda stub, metadata: stub.GetLeaderboard(request, timeout=_UNARY_LIMIT, metadata=metadata)
    )
    return response.document


# --- Bots ---


async def submit(
    server: ServerAddress,
    submission: arena_pb2.Submission,
    archive: Path | None,
    progress: Callable[[int], None] = lambda _sent: None,
) -> AsyncGenerator[AdmissionEvent, None]:
    """Submit a bot, and yield what its admission comes to; `progress` is told how many bytes are sent.

    Where the connection breaks off, it is submitted again under the same id, which the server takes in once.
    """
    seen: set[str] = set()
    reached = False
    sending: asyncio.Task[None]

    def sent_so_far(sent: int) -> None:
        nonlocal reached
        reached = True
        progress(sent)

    async for attempt in _attempts():
        async with _stub(server) as (stub, metadata):
            try:
                call = stub.SubmitBot(metadata=metadata)
                sending = asyncio.create_task(_send(call, submission, archive, sent_so_far))
                async for response in call:
                    event = _admission_event(response.event)
                    if event is not None and (key := _key_of(event)) not in seen:
                        seen.add(key)
                        yield event
                return
            except grpc.aio.AioRpcError as error:
                reached = reached or bool(seen) or _status(error) is not None
                await attempt.failed(_error(server, error), again=_broke_off(error) and reached, retry=_retry(error))
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)


def describe_archive(archive: Path, *, build: bool) -> arena_pb2.Submission:
    """Return what is said of an archive that is submitted, with a new id."""
    with archive.open("rb") as file:
        digest = file_digest(file, "sha256").digest()
    described = arena_pb2.Archive(size=archive.stat().st_size, sha256=digest, build=build)
    return arena_pb2.Submission(id=token_hex(16), archive=described)


async def list_bots(server: ServerAddress) -> list[ListedBot]:
    """Return the bots of a server's competition, by name."""
    bots: list[ListedBot] = []
    request = arena_pb2.ListBotsRequest()
    while True:
        response = await _call(
            server, lambda stub, metadata: stub.ListBots(request, timeout=_UNARY_LIMIT, metadata=metadata)
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
        response = await _call(
            server, lambda stub, metadata: stub.ListVersions(request, timeout=_UNARY_LIMIT, metadata=metadata)
        )
        versions += [decode_version(version, "") for version in response.versions]
        request.page_token = response.next_page_token
        if not request.page_token:
            return versions


async def withdraw(server: ServerAddress, bot: str, version: int) -> ListedBot:
    """Withdraw a bot, or let an earlier version of it play; return the bot as it is then."""
    request = arena_pb2.WithdrawBotRequest(bot=bot, version=version)
    response = await _call(
        server, lambda stub, metadata: stub.WithdrawBot(request, timeout=_UNARY_LIMIT, metadata=metadata)
    )
    return _listed(response.bot)


def _listed(bot: arena_pb2.Bot) -> ListedBot:
    games = tuple(clean_line(game, 64) for game in bot.games)
    return ListedBot(
        clean_line(bot.name), clean_line(bot.owner), clean_line(bot.author), games, bot.current, bot.versions
    )


def _admission_event(event: arena_pb2.AdmissionEvent) -> AdmissionEvent | None:
    match event.WhichOneof("what"):
        case "received":
            return Received(event.received.ahead)
        case "step_begun":
            return Begun(clean_line(event.step_begun.name), clean_line(event.step_begun.detail))
        case "step":
            return decode_step(event.step)
        case "decided":
            return decode_version(event.decided, "")[0]
        case _:
            return None


def _key_of(event: AdmissionEvent) -> str:
    """Return what makes an event the same when it is told again."""
    name = getattr(event, "name", "")
    return f"{type(event).__name__} {name}"


async def _send(
    call: SubmitCall, submission: arena_pb2.Submission, archive: Path | None, progress: Callable[[int], None]
) -> None:
    """Send a submission: what it is, and once the server wants them, the pieces of its archive."""
    await call.write(arena_pb2.SubmitBotRequest(submission=submission))
    await call.initial_metadata()
    sent = 0
    if archive is not None and not call.done():
        with archive.open("rb") as file:
            while piece := file.read(PIECE):
                await call.write(arena_pb2.SubmitBotRequest(piece=piece))
                sent += len(piece)
                progress(sent)
    await call.done_writing()


# --- Calls ---

Metadata = tuple[tuple[str, str], ...]


async def _call(server: ServerAddress, make: Callable[[Stub, Metadata], Awaitable[R]]) -> R:
    """Make a call that answers once; raise what the server raised."""
    async with _stub(server) as (stub, metadata):
        try:
            return await make(stub, metadata)
        except grpc.aio.AioRpcError as error:
            raise _error(server, error) from error


@asynccontextmanager
async def _stub(server: ServerAddress) -> AsyncIterator[tuple[Stub, Metadata]]:
    """Offer the service of a server, and what shows it who calls; raise BadInput where a token could be overheard."""
    if server.token and not (server.local or server.encrypted):
        raise BadInput(
            f"the token is not sent to {server.address} without TLS, where it could be overheard: leave --plaintext out"
        )
    metadata: Metadata = (("authorization", f"Bearer {server.token}"),) if server.token else ()
    if server.encrypted:
        channel = grpc.aio.secure_channel(server.address, _credentials(server), options=_OPTIONS)
    else:
        channel = grpc.aio.insecure_channel(server.address, options=_LOCAL_OPTIONS if server.local else _OPTIONS)
    async with channel:
        yield arena_pb2_grpc.ArenaServiceStub(channel), metadata


def _credentials(server: ServerAddress) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(*map(_content, (server.authority, server.key, server.certificate)))


def _content(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: this can't be read: {error.strerror}") from None


class _Attempt:
    """Calls that may break off, counted."""

    def __init__(self) -> None:
        self._failures = 0

    def begin_again(self) -> None:
        """Forget earlier failures: there was progress."""
        self._failures = 0

    async def failed(self, error: ArenaError, *, again: bool, retry: float | None = None) -> None:
        """Wait before the next attempt; raise the error where there is no hope."""
        self._failures += 1
        if self._failures >= ATTEMPTS or not (again or retry):
            raise error
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self._failures - 1))
        await asyncio.sleep(max(pause, min(retry or 0.0, 60.0)))


async def _attempts() -> AsyncIterator[_Attempt]:
    attempt = _Attempt()
    while True:
        yield attempt


def _broke_off(error: grpc.aio.AioRpcError) -> bool:
    """Return whether a call ended because the server went away, or is about to."""
    return error.code() is grpc.StatusCode.UNAVAILABLE


def _status(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            with suppress(DecodeError):
                return status_pb2.Status.FromString(value)
    return None


def _retry(error: grpc.aio.AioRpcError) -> float | None:
    """Return after how many seconds the server says that one may try again."""
    status = _status(error)
    delay = error_details_pb2.RetryInfo()
    for detail in status.details if status else ():
        if detail.Unpack(delay):
            return float(delay.retry_delay.ToMilliseconds()) / 1000
    return None


def _error(server: ServerAddress, error: grpc.aio.AioRpcError) -> ArenaError:
    """Return the error that the server meant, or that there is none."""
    text = clean_lines(error.details() or "", lines=200)
    status = _status(error)
    told = error_details_pb2.ErrorInfo()
    for detail in status.details if status else ():
        if detail.Unpack(told):
            return _told(told.reason, text)
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return BadInput(_nobody(server, text))
    if error.code() is grpc.StatusCode.CANCELLED:
        return Interrupted(text or "the call was cancelled")
    return ArenaError(f"{server.address} answers {error.code().name}: {text}")


def _told(reason: str, text: str) -> ArenaError:
    if reason == "BAD_CONFIG":
        return BadConfig(tuple(text.splitlines()))
    kind = _KINDS.get(reason)
    return Refused(clean_line(reason, 64), text) if kind is None else kind(text)


def _nobody(server: ServerAddress, text: str) -> str:
    """Say why there is no connection, and what mends it."""
    low = text.lower()
    said = clean_line(text.rpartition("last error: ")[2], 250)
    if "hostname" in low:
        return f"{server.address} has a certificate for another name: call it by the name that its certificate is for ({said})"
    if "certificate" in low and "verify" in low:
        cure = (
            "trust whoever vouches for it with --tls-ca"
            if server.authority is None
            else "--tls-ca names another authority"
        )
        return f"{server.address} has a certificate that is not trusted: {cure} ({said})"
    if "ssl" in low or "handshake" in low or "tsi" in low:
        return (
            f"{server.address} and this command do not agree on TLS: it is spoken to other machines and with --tls-ca, and not"
            f" with --plaintext ({said})"
        )
    if server.encrypted:
        return f"no arena answers at {server.address} with TLS: correct the address, or ask its organiser"
    return (
        f"no arena answers at {server.address} without TLS: start one there with `arena serve --listen {server.address}`, or"
        " name the certificate of one that speaks TLS with --tls-ca"
    )
