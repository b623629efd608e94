"""What the client of a server promises, against servers that refuse, break off and are not who they should be."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from scripted_server import End, scripted

from arena.client import (
    Begun,
    Received,
    ServerAddress,
    calls,
    describe_archive,
    list_bots,
    run_on_server,
    submit,
    watch,
)
from arena.competition import AdmissionStep, State, Version
from arena.errors import ArenaError, BadConfig, BadInput, BadStore, Interrupted, Refused
from arena.events import Notice
from arena.v1 import arena_pb2

BROKEN = End()


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_FIRST_PAUSE", 0.01)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "bot.tar.gz"
    path.write_bytes(bytes(range(256)) * 2500)
    return path


def notice(number: int) -> arena_pb2.TournamentEvent:
    return arena_pb2.TournamentEvent(number=number, tournament="t1", notice=arena_pb2.Notice(text=f"event {number}"))


def watched(*numbers: int) -> list[Any]:
    return [arena_pb2.WatchTournamentResponse(event=notice(number)) for number in numbers]


def told(**what: Any) -> arena_pb2.SubmitBotResponse:
    return arena_pb2.SubmitBotResponse(event=arena_pb2.AdmissionEvent(**what))


ADMITTED = [
    told(received=arena_pb2.SubmissionReceived(ahead=2)),
    told(step_begun=arena_pb2.AdmissionStepBegun(name="unpack")),
    told(step=arena_pb2.AdmissionStep(name="unpack", verdict=arena_pb2.ADMISSION_VERDICT_PASSED, detail="well")),
    told(decided=arena_pb2.Version(submission="5" * 32, bot="mine", number=3, state=arena_pb2.VERSION_STATE_ADMITTED)),
]


async def submitted(address: str, archive: Path, progress: Callable[[int], None] = lambda _sent: None) -> list[Any]:
    return await sent(address, describe_archive(archive, build=False), archive, progress)


async def sent(
    address: str,
    submission: arena_pb2.Submission,
    archive: Path,
    progress: Callable[[int], None] = lambda _sent: None,
) -> list[Any]:
    async with aclosing(submit(ServerAddress(address), submission, archive, progress)) as events:
        return [event async for event in events]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("NAME_TAKEN", Refused),
        ("SOMETHING_NEW", Refused),
        ("BAD_CONFIG", BadConfig),
        ("BAD_STORE", BadStore),
        ("BAD_INPUT", BadInput),
        ("INTERRUPTED", Interrupted),
        ("ARENA_FAULT", ArenaError),
    ],
)
async def test_a_reason_becomes_the_error_it_stands_for(reason: str, kind: type[ArenaError]) -> None:
    async with scripted([End(grpc.StatusCode.INTERNAL, "it can't be", reason)]) as server:
        with pytest.raises(ArenaError, match="it can't be") as raised:
            await list_bots(ServerAddress(server.address))

    assert type(raised.value) is kind
    if isinstance(raised.value, Refused):
        assert raised.value.reason == reason


async def test_what_a_server_says_cannot_steer_the_terminal() -> None:
    evil = End(grpc.StatusCode.NOT_FOUND, "no\x1b[2J such\x07 bot", "NO_SUCH_BOT")
    bot = arena_pb2.Bot(name="a\x1b[31mb", owner="o\nwner", author="\x9bx", games=["\x1b]0;x\x07"])
    async with scripted([evil], [arena_pb2.ListBotsResponse(bots=[bot])]) as server:
        with pytest.raises(Refused) as raised:
            await list_bots(ServerAddress(server.address))
        (listed,) = await list_bots(ServerAddress(server.address))

    shown = f"{raised.value}{listed.name}{listed.owner}{listed.author}{listed.games}"
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)


async def test_all_pages_are_listed() -> None:
    pages = [
        [arena_pb2.ListBotsResponse(bots=[arena_pb2.Bot(name="a")], next_page_token="1")],
        [arena_pb2.ListBotsResponse(bots=[arena_pb2.Bot(name="b", current=2)])],
    ]
    async with scripted(*pages) as server:
        bots = await list_bots(ServerAddress(server.address, token="secret"))

    assert [(bot.name, bot.current) for bot in bots] == [("a", 0), ("b", 2)]
    assert server.asked[1].page_token == "1"
    assert server.tokens == ["Bearer secret"] * 2


@pytest.mark.parametrize("address", ["192.0.2.1:443", "arena.example.org:443"])
async def test_a_token_is_not_sent_where_it_can_be_overheard(address: str) -> None:
    with pytest.raises(BadInput, match="without TLS") as raised:
        await list_bots(ServerAddress(address, token="very-secret", plaintext=True))

    assert "very-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "local"),
    [("127.0.0.1:1", True), ("[::1]:1", True), ("localhost:1", True), ("unix:/x", True), ("10.0.0.1:1", False)],
)
def test_tls_is_spoken_to_other_machines_and_where_it_is_asked_for(address: str, local: bool) -> None:
    assert ServerAddress(address).encrypted is not local
    assert ServerAddress(address, authority=Path("ca.pem")).encrypted
    assert not ServerAddress(address, plaintext=True).encrypted


async def test_watching_goes_on_with_the_event_after_the_last() -> None:
    async with (
        scripted([*watched(4, 5), BROKEN], [BROKEN], watched(6, 7)) as server,
        aclosing(watch(ServerAddress(server.address), "", 4)) as events,
    ):
        seen = [(event.number, event.event) async for event in events]

    assert seen == [(number, Notice(f"event {number}")) for number in (4, 5, 6, 7)]
    assert [request.first_event for request in server.asked] == [4, 6, 6]
    assert [request.tournament for request in server.asked] == ["", "t1", "t1"]


async def test_a_tournament_is_asked_for_once_however_often_the_connection_breaks() -> None:
    def events(*numbers: int) -> list[Any]:
        return [arena_pb2.RunTournamentResponse(event=notice(number)) for number in numbers]

    async with scripted([*events(1, 2), BROKEN], events(1, 2, 3)) as server:
        running = run_on_server(ServerAddress(server.address), "", Path("/bots.yaml"), {}, incremental=True)
        async with aclosing(running) as coming:
            seen = [event async for event in coming]

    assert seen == [Notice(f"event {number}") for number in (1, 2, 3)]
    first, second = server.asked
    assert first == second
    assert len(first.request_id) == 32
    assert first.incremental


async def test_an_archive_is_sent_in_pieces_and_its_admission_followed(archive: Path) -> None:
    sent: list[int] = []
    async with scripted(ADMITTED) as server:
        events = await submitted(server.address, archive, sent.append)

    assert server.archives == [archive.read_bytes()]
    assert server.largest <= 256 << 10
    assert sent == sorted(sent)
    assert sent[-1] == archive.stat().st_size == server.asked[0].archive.size
    assert [type(event) for event in events] == [Received, Begun, AdmissionStep, Version]
    assert (events[-1].number, events[-1].state) == (3, State.ADMITTED)


async def test_a_broken_submission_is_made_again_under_the_same_id_and_tells_nothing_twice(archive: Path) -> None:
    async with scripted([*ADMITTED[:3], BROKEN], [BROKEN], ADMITTED) as server:
        events = await submitted(server.address, archive)

    assert [type(event) for event in events] == [Received, Begun, AdmissionStep, Version]
    assert len({request.id for request in server.asked}) == 1
    assert server.archives == [archive.read_bytes()] * 2


async def test_it_waits_as_long_as_the_server_says(archive: Path) -> None:
    full = End(grpc.StatusCode.RESOURCE_EXHAUSTED, "wait", "QUOTA", retry=0.3)
    async with scripted([full], ADMITTED) as server:
        began = time.monotonic()
        events = await submitted(server.address, archive)

    assert time.monotonic() - began >= 0.3
    assert events[-1].state is State.ADMITTED


async def test_what_will_not_get_better_is_not_tried_again(archive: Path) -> None:
    async with scripted([End(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large", "TOO_LARGE")], ADMITTED) as server:
        with pytest.raises(Refused, match="too large"):
            await submitted(server.address, archive)

    assert len(server.asked) == 1


async def test_words_of_the_server_that_were_lost_are_heard_the_next_time(archive: Path) -> None:
    lost = End(grpc.StatusCode.INTERNAL, "Internal error from Core")
    begun = told(received=arena_pb2.SubmissionReceived())
    async with scripted([begun, lost], [End(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large", "TOO_LARGE")]) as server:
        with pytest.raises(Refused, match="too large"):
            await submitted(server.address, archive)


async def test_a_name_that_is_not_found_is_told_as_that() -> None:
    with pytest.raises(BadInput, match=r"the name in nowhere\.invalid:443 is not found: mend the address"):
        await list_bots(ServerAddress("nowhere.invalid:443"))


async def test_a_file_that_is_no_certificate_is_named(tmp_path: Path, authority: trustme.CA) -> None:
    issued, other = authority.issue_cert("localhost"), authority.issue_cert("localhost")
    (tmp_path / "league.yaml").write_text("game: heartswitch\n")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    other.private_key_pem.write_to_path(str(tmp_path / "key.pem"))

    with pytest.raises(BadInput, match=r"league\.yaml: this is no certificate in PEM form"):
        await list_bots(ServerAddress("127.0.0.1:1", authority=tmp_path / "league.yaml"))
    server = ServerAddress("127.0.0.1:1", "", tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    with pytest.raises(BadInput, match=r"key\.pem is not the key of .*cert\.pem"):
        await list_bots(server)


async def test_an_archive_that_is_gone_is_told_of_and_nothing_is_sent(archive: Path) -> None:
    submission = describe_archive(archive, build=False)
    archive.unlink()
    async with scripted(ADMITTED) as server:
        with pytest.raises(BadInput, match=r"bot\.tar\.gz: this can't be read: No such file"):
            await sent(server.address, submission, archive)

    assert server.asked == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, for a file that opens but can't be read")
async def test_an_archive_that_can_not_be_read_on_the_way_ends_the_call_at_once(archive: Path) -> None:
    submission = describe_archive(archive, build=False)
    short = End(grpc.StatusCode.INVALID_ARGUMENT, "0 bytes came", "BAD_ARCHIVE")
    async with scripted([told(received=arena_pb2.SubmissionReceived()), short]) as server:
        with pytest.raises(BadInput, match="/proc/self/mem: this can't be read: Input/output error"):
            await sent(server.address, submission, Path("/proc/self/mem"))

    assert server.archives == [b""]


async def test_a_server_that_stays_away_is_given_up(archive: Path) -> None:
    stopping = End(grpc.StatusCode.UNAVAILABLE, "stopping", "STOPPING")
    async with scripted(*[[stopping]] * calls.ATTEMPTS, ADMITTED) as server:
        with pytest.raises(Refused, match="stopping"):
            await submitted(server.address, archive)

    assert len(server.asked) == calls.ATTEMPTS


async def test_nobody_is_told_of_at_once(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(calls, "_LONGEST_PAUSE", 3600.0)
    async with scripted() as server:
        address = server.address

    async with asyncio.timeout(60):
        with pytest.raises(BadInput, match=f"no arena answers at {address}"):
            await submitted(address, archive)


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[trustme.CA]:
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    yield made


def credentials(authority: trustme.CA, name: str = "127.0.0.1") -> grpc.ServerCredentials:
    issued = authority.issue_cert(name)
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return grpc.ssl_server_credentials([(issued.private_key_pem.bytes(), chain)])


async def test_a_server_with_a_trusted_certificate_is_spoken_to(authority: trustme.CA, tmp_path: Path) -> None:
    async with scripted([arena_pb2.ListBotsResponse()], credentials=credentials(authority)) as server:
        assert await list_bots(ServerAddress(server.address, "secret", authority=tmp_path / "ca.pem")) == []

    assert server.tokens == ["Bearer secret"]


@pytest.mark.parametrize(
    ("file", "name", "cure"),
    [
        ("other.pem", "127.0.0.1", "--tls-ca"),
        ("ca.pem", "elsewhere.example.org", "another name"),
        ("", "127.0.0.1", "--tls-ca"),
    ],
    ids=["unknown authority", "another name", "plaintext to TLS"],
)
async def test_a_server_that_is_not_who_it_should_be_gets_nothing(
    file: str, name: str, cure: str, authority: trustme.CA, tmp_path: Path
) -> None:
    async with scripted([arena_pb2.ListBotsResponse()], credentials=credentials(authority, name)) as server:
        with pytest.raises(BadInput) as raised:
            await list_bots(ServerAddress(server.address, "secret", authority=tmp_path / file if file else None))

    assert cure in str(raised.value)
    assert server.asked == []


async def test_tls_to_a_server_without_is_told_apart(authority: trustme.CA, tmp_path: Path) -> None:
    async with scripted([arena_pb2.ListBotsResponse()]) as server:
        with pytest.raises(BadInput, match="TLS"):
            await list_bots(ServerAddress(server.address, authority=tmp_path / "ca.pem"))
