"""However many calls a stranger opens, of whichever service, those who show a token come in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from servers import TERMS, Running, serving

from arena.client import list_bots
from arena.competition import Program, Role, State, Version
from arena.errors import Refused
from arena.server import door, gate
from arena.server.limits import Quotas
from arena.v1 import arena_pb2, arena_pb2_grpc

OWNERS = {"ada": Role.CONTESTANT, "carol": Role.ORGANISER}
LIST_BOTS = "/arena.v1.ArenaService/ListBots"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECT = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LISTING = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()


@asynccontextmanager
async def calling(folder: Path, **quotas: int) -> AsyncIterator[tuple[Running, Any]]:
    """Serve with these quotas, and call without a token."""
    terms = replace(TERMS, quotas=Quotas(**quotas))
    async with (
        serving(folder, terms, owners=OWNERS) as tested,
        grpc.aio.insecure_channel(tested.address.address) as channel,
    ):
        yield tested, channel


async def reason(call: Any) -> str:
    """Return the reason for which a call is refused, empty where it isn't."""
    try:
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as error:
        details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
        assert isinstance(details, bytes)
        info = error_details_pb2.ErrorInfo()
        assert any(each.Unpack(info) for each in status_pb2.Status.FromString(details).details)
        return str(info.reason)
    return ""


async def watching(channel: Any, times: int) -> list[Any]:
    """Watch the server's health so many times, and return the calls once all are answered."""
    calls: list[Any] = [channel.unary_stream(WATCH)(b"") for _ in range(times)]
    for call in calls:
        assert health_pb2.HealthCheckResponse.FromString(await call.read()).status == 1
    return calls


async def never() -> AsyncIterator[bytes]:
    """Begin, and say nothing."""
    await asyncio.Event().wait()
    yield b""


async def test_an_address_holds_its_calls_at_once_over_all_services_and_gets_them_back(tmp_path: Path) -> None:
    async with calling(tmp_path, at_once=3) as (tested, channel):
        calls = await watching(channel, 3)
        refused = [await reason(channel.unary_stream(path)(b"")) for path in (WATCH, CHECK, REFLECT, LIST_BOTS)]
        await list_bots(tested.of("ada"))
        for call in calls:
            call.cancel()
        async with asyncio.timeout(60):
            while await reason(channel.unary_stream(LIST_BOTS)(b"")):
                pass

    assert refused == ["TOO_MANY_CALLS"] * 4


async def test_all_strangers_together_leave_room_for_those_with_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "STRANGERS", 2)
    async with calling(tmp_path) as (tested, channel):
        await watching(channel, 2)

        assert await reason(channel.unary_stream(LIST_BOTS)(b"")) == "TOO_MANY_CALLS"
        assert await list_bots(tested.of("carol")) == []


async def test_a_bad_token_is_no_way_around_that(tmp_path: Path) -> None:
    async with calling(tmp_path, at_once=1) as (_, channel):
        calls = channel.unary_stream(WATCH)
        bad = (("authorization", "Bearer x"),)
        first = calls(b"", metadata=bad)
        await first.read()

        assert await reason(calls(b"", metadata=bad)) == "TOO_MANY_CALLS"
        assert await reason(calls(b"")) == "TOO_MANY_CALLS"


@pytest.mark.slow
async def test_calls_whose_message_does_not_come_count_too(tmp_path: Path) -> None:
    async with calling(tmp_path, at_once=1) as (tested, channel):
        silent = channel.stream_stream(LIST_BOTS)(never())
        async with asyncio.timeout(60):
            while await reason(channel.unary_stream(CHECK)(b"")) != "TOO_MANY_CALLS":
                if silent.done():  # it came while the other call had the place
                    silent = channel.stream_stream(LIST_BOTS)(never())
        await list_bots(tested.of("ada"))
        silent.cancel()


async def test_they_are_given_up_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.01)
    async with calling(tmp_path) as (_, channel):
        assert await reason(channel.stream_stream(LIST_BOTS)(never())) == "TOO_SLOW"


@pytest.mark.parametrize("path", [LIST_BOTS, CHECK, REFLECT, "/arena.v1.ArenaService/SubmitBot"])
async def test_what_is_no_message_is_refused_as_that(
    tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with calling(tmp_path) as (tested, channel):
        token = (("authorization", f"Bearer {tested.tokens['ada']}"),)
        refused = await reason(channel.unary_stream(path)(b"\xff\xff\xff", metadata=token))
        none = await reason(channel.stream_stream(LIST_BOTS)(iter(())))

    assert [refused, none] == ["BAD_INPUT"] * 2
    assert "Traceback" not in caplog.text


async def test_health_and_what_reflection_is_asked_count_as_calls(tmp_path: Path) -> None:
    async with calling(tmp_path, calls=3) as (tested, channel):
        asked = await reason(channel.stream_stream(REFLECT)(iter([LISTING] * 4)))
        checked = await reason(channel.unary_stream(CHECK)(b""))
        with pytest.raises(Refused, match="too many calls"):
            await list_bots(tested.address)
        await list_bots(tested.of("ada"))

    assert [asked, checked] == ["RATE_LIMIT"] * 2


@pytest.mark.parametrize("table", ["audit", "submissions", "runs"])
async def test_who_reads_does_not_wait_while_another_process_holds_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    async with calling(tmp_path) as (tested, channel):
        stub: Any = arena_pb2_grpc.ArenaServiceStub(channel)
        token = (("authorization", f"Bearer {tested.tokens['carol']}"),)
        calls = {
            "audit": lambda: stub.ListBots(arena_pb2.ListBotsRequest(), metadata=(("authorization", "Bearer x"),)),
            "submissions": lambda: stub.WithdrawBot(arena_pb2.WithdrawBotRequest(bot="hers"), metadata=token),
            "runs": lambda: stub.RunTournament(arena_pb2.RunTournamentRequest(), metadata=token).read(),
        }
        waiting = Version("b" * 32, "ada", State.WAITING, datetime.now(UTC))
        tested.kept.submissions.receive(waiting)
        tested.kept.submissions.claim(waiting.submission, Program("hers", ("./bot",)), "0" * 64, 10)
        writes = asyncio.Event()
        write, loop = getattr(tested.kept, table), asyncio.get_running_loop()
        name = {"audit": "add", "submissions": "use", "runs": "add"}[table]
        do = getattr(write, name)

        def told(*arguments: Any, **more: Any) -> Any:
            loop.call_soon_threadsafe(writes.set)
            return do(*arguments, **more)

        monkeypatch.setattr(write, name, told)
        with closing(sqlite3.connect(tested.store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writing = asyncio.ensure_future(calls[table]())
            await writes.wait()
            listed = await list_bots(tested.address)
            waited = not writing.done()
            other.execute("ROLLBACK")
        await asyncio.gather(writing, return_exceptions=True)

    assert [bot.name for bot in listed] == ["hers"]
    assert waited
