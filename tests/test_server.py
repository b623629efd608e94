"""What the arena as a server promises."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from odd_names import ODD_NAMES

from arena.client import ServerAddress, leaderboard_of_server, list_tournaments, run_on_server
from arena.config import parse_config
from arena.errors import (
    ArenaError,
    BadCard,
    BadConfig,
    BadGame,
    BadInput,
    BadStore,
    BotUnusable,
    IllegalChoice,
    Interrupted,
    Malformed,
)
from arena.events import Event, Finished, MatchPlayed, Notice, Started, TablePlayed
from arena.report import document_text
from arena.server import ArenaServer, Terms, status_of
from arena.store import Store
from arena.tournament import Pace, run_tournament
from arena.v1 import arena_pb2, arena_pb2_grpc
from arena.wire import decode_event, encode_event

CONFIG = """
boards: 24
seed: a server
bots:
  - {name: a, python: "in_process:Lowest"}
  - {name: b, python: "in_process:Highest"}
  - {name: c, python: "in_process:Random"}
  - {name: d, python: "in_process:Lowest"}
"""


async def start(store: Path, address: str) -> ArenaServer:
    return await ArenaServer.start(store, address, Terms(Pace(tables=8, grace=1.0)))


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    server = await start(tmp_path / "served.db", "127.0.0.1:0")
    yield f"127.0.0.1:{server.port}"
    await server.close(5.0)


async def events_of(
    address: str, config: str = CONFIG, overrides: Mapping[str, str] | None = None, path: str = "/bots.yaml"
) -> list[Event]:
    return [event async for event in run_on_server(ServerAddress(address), config, Path(path), overrides or {})]


async def test_a_server_plays_what_the_command_line_would(address: str, tmp_path: Path) -> None:
    events = await events_of(address)
    document, _ = await leaderboard_of_server(ServerAddress(address), None, pairs=True)

    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert sum(isinstance(event, MatchPlayed) for event in events) == 6
    with Store.open(tmp_path / "here.db") as store:
        config = parse_config(CONFIG, Path("/bots.yaml"), {})
        async with contextlib.aclosing(run_tournament(store, config.settings, config.entries)) as playing:
            assert Counter([type(event) async for event in playing]) == Counter(type(event) for event in events)
        assert json.loads(document) == json.loads(document_text(store, None)[1])


async def test_tournaments_are_listed_the_latest_first_page_by_page(address: str) -> None:
    for seed in ("one", "two", "three"):
        await events_of(address, overrides={"seed": seed, "boards": "4"})

    tournaments = await list_tournaments(ServerAddress(address))

    assert [(each.game, each.players, each.played, each.finished) for each in tournaments] == [
        ("hearts-classic", 4, each.matches, True) for each in tournaments
    ]
    assert len(tournaments) == 3
    assert [each.created for each in tournaments] == sorted((each.created for each in tournaments), reverse=True)
    assert {each.bots for each in tournaments} == {tuple("abcd")}
    async with grpc.aio.insecure_channel(address) as channel:
        stub = arena_pb2_grpc.ArenaServiceStub(channel)
        first = await stub.ListTournaments(arena_pb2.ListTournamentsRequest(page_size=2))
        request = arena_pb2.ListTournamentsRequest(page_size=2, page_token=first.next_page_token)
        second = await stub.ListTournaments(request)
    ids = [each.id for page in (first, second) for each in page.tournaments]
    assert ids == [each.id for each in tournaments]
    assert not second.next_page_token


async def test_settings_can_be_overridden_from_afar(address: str) -> None:
    await events_of(address, overrides={"option": "moon=26\ntarget=50", "players": "4", "fill": "true"})

    assert json.loads((await leaderboard_of_server(ServerAddress(address), ""))[0])["players"] == 4


@pytest.mark.parametrize(
    ("config", "overrides", "reason"),
    [
        ("bots: 3", {}, r"/bots.yaml:1:7"),
        (CONFIG, {"players": "9"}, "--players"),
        (CONFIG, {"colour": "red"}, "no setting colour"),
        (CONFIG.replace("Lowest", "Broken"), {}, "no licence"),
    ],
    ids=["bad file", "bad override", "unknown override", "broken bot"],
)
async def test_bad_input_comes_back_as_bad_input(
    address: str, config: str, overrides: dict[str, str], reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        await events_of(address, config, overrides)


async def test_an_unknown_tournament_is_bad_input(address: str) -> None:
    await events_of(address)

    with pytest.raises(BadInput, match="no tournament 'zz' here"):
        await leaderboard_of_server(ServerAddress(address), "zz")


async def test_a_store_without_tournaments_has_no_leaderboard(address: str) -> None:
    with pytest.raises(BadInput, match="no tournament was played"):
        await leaderboard_of_server(ServerAddress(address), None)


async def test_nobody_there_is_bad_input_that_says_how_to_start_one() -> None:
    with pytest.raises(BadInput, match=r"arena serve --listen 127\.0\.0\.1:1"):
        await leaderboard_of_server(ServerAddress("127.0.0.1:1"), None)


async def test_watchers_get_all_events_and_from_any_number_on(address: str) -> None:
    played = await events_of(address)

    async with grpc.aio.insecure_channel(address) as channel:
        stub = arena_pb2_grpc.ArenaServiceStub(channel)
        whole = [each.event async for each in stub.WatchTournament(arena_pb2.WatchTournamentRequest())]
        rest = [each.event async for each in stub.WatchTournament(arena_pb2.WatchTournamentRequest(first_event=5))]

    assert [decode_event(event) for event in whole] == played
    assert [event.number for event in whole] == list(range(1, len(played) + 1))
    assert rest == whole[4:]


async def test_a_watcher_follows_while_it_is_played(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = arena_pb2_grpc.ArenaServiceStub(channel)
        running = stub.RunTournament(arena_pb2.RunTournamentRequest(config=CONFIG, config_path="/bots.yaml"))
        first = await anext(aiter(running))
        tournament = first.event.tournament
        watch = stub.WatchTournament(arena_pb2.WatchTournamentRequest(tournament=tournament))
        seen = [decode_event(each.event) async for each in watch]
        running.cancel()

    assert isinstance(seen[-1], Finished)


async def test_ending_the_call_does_not_end_the_tournament(address: str, tmp_path: Path) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = arena_pb2_grpc.ArenaServiceStub(channel)
        running = stub.RunTournament(arena_pb2.RunTournamentRequest(config=CONFIG, config_path="/bots.yaml"))
        await anext(aiter(running))
        running.cancel()
        seen = [each.event async for each in stub.WatchTournament(arena_pb2.WatchTournamentRequest())]
    with Store.open(tmp_path / "served.db") as store:
        async with asyncio.timeout(60):
            while not (deeds := store.audit.last(1)):
                await asyncio.sleep(0.001)

    assert isinstance(decode_event(seen[-1]), Finished)
    assert [(deed.deed, deed.outcome) for deed in deeds] == [("RunTournament", "left")]


async def test_tournaments_are_played_one_after_the_other(address: str) -> None:
    other = CONFIG.replace("a server", "another seed")

    one, two = await asyncio.gather(events_of(address), events_of(address, other))

    assert isinstance(one[-1], Finished)
    assert isinstance(two[-1], Finished)


async def test_health_and_reflection_answer(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        health = await check(health_pb2.HealthCheckRequest(service="arena.v1.ArenaService"))
        reflect = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        answers = reflect(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        services = {service.name async for answer in answers for service in answer.list_services_response.service}

    assert health.status == health_pb2.HealthCheckResponse.SERVING
    assert {"arena.v1.ArenaService", "grpc.health.v1.Health"} <= services


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1:", "127.0.0.1:99999", "50079", ":50079"])
async def test_what_is_no_address_is_refused(listen: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="write host:port"):
        await start(tmp_path / "s.db", listen)


async def test_a_port_in_use_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="in use"):
        await start(tmp_path / "s.db", address)


async def test_a_file_or_a_living_server_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("precious")
    server = await start(tmp_path / "served.db", f"unix:{tmp_path}/arena.sock")

    with pytest.raises(BadInput, match="no socket"):
        await start(tmp_path / "other.db", f"unix:{tmp_path}/precious.txt")
    with pytest.raises(BadInput, match="another server is listening"):
        await start(tmp_path / "other.db", f"unix:{tmp_path}/arena.sock")
    with pytest.raises(BadInput, match="no tournament was played"):  # it answers still
        await leaderboard_of_server(ServerAddress(f"unix:{tmp_path}/arena.sock"), None)
    await server.close(1.0)

    assert (tmp_path / "precious.txt").read_text() == "precious"
    assert not (tmp_path / "arena.sock").exists()


async def test_a_store_has_one_server(tmp_path: Path) -> None:
    server = await start(tmp_path / "served.db", "127.0.0.1:0")

    with pytest.raises(BadStore, match="serves it"):
        await start(tmp_path / "served.db", "127.0.0.1:0")
    await server.close(1.0)

    await (await start(tmp_path / "served.db", "127.0.0.1:0")).close(1.0)


@pytest.mark.parametrize("name", ["arena.sock", *ODD_NAMES])
async def test_it_serves_on_a_unix_socket(tmp_path: Path, name: str) -> None:
    server = await start(tmp_path / "served.db", f"unix:{tmp_path}/{name}")
    served = (tmp_path / name).is_socket()

    tournaments = await list_tournaments(ServerAddress(f"unix:{tmp_path}/{name}"))
    await server.close(1.0)

    assert (served, tournaments, (tmp_path / name).exists()) == (True, [], False)


@pytest.mark.parametrize(
    ("name", "why"), [("x" * 100, "the path has 1.. bytes, and that of a socket"), ("a,b", "comma")]
)
async def test_a_path_that_no_socket_can_have_is_told_at_both_ends(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        await start(tmp_path / "served.db", f"unix:{tmp_path}/{name}")
    with pytest.raises(BadInput, match=why):
        await list_tournaments(ServerAddress(f"unix:{tmp_path}/{name}"))

    assert not (tmp_path / "served.db").exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ArenaError("x"), grpc.StatusCode.INTERNAL),
        (BadInput("x"), grpc.StatusCode.INVALID_ARGUMENT),
        (BadCard("x"), grpc.StatusCode.INVALID_ARGUMENT),
        (BadGame("x"), grpc.StatusCode.INVALID_ARGUMENT),
        (BadConfig(("x",)), grpc.StatusCode.INVALID_ARGUMENT),
        (BotUnusable("x"), grpc.StatusCode.INVALID_ARGUMENT),
        (BadStore("x"), grpc.StatusCode.FAILED_PRECONDITION),
        (Interrupted("x"), grpc.StatusCode.UNAVAILABLE),
        (IllegalChoice("x"), grpc.StatusCode.INTERNAL),
        (Malformed("x"), grpc.StatusCode.INTERNAL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_its_status(error: ArenaError, code: grpc.StatusCode) -> None:
    assert status_of(error) is code


@pytest.mark.parametrize(
    "event",
    [
        Started("id", 30, 2, 120, "c0ffee"),
        TablePlayed(3, 1, 13, 120, 220, ("a: timeout", "b: illegal")),
        MatchPlayed(3, 4, 30, 16, 880),
        Notice("look"),
        Finished("id", "5eed"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_come_back_from_the_wire_as_they_were(event: Event) -> None:
    message = encode_event(1, datetime.now(UTC), "id", event)

    assert decode_event(arena_pb2.TournamentEvent.FromString(message.SerializeToString())) == event
