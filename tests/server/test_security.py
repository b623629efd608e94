"""Whatever comes from outside is refused with the right status and reason, changes nothing, and learns nothing private."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_reflection.v1alpha import reflection_pb2
from servers import TERMS, Running, add_token, described, python_bot, serving

from arena.client import ServerAddress, leaderboard_of_server, list_bots, list_versions, watch
from arena.competition import STEPS, AdmissionStep, Program, Role, State, Version
from arena.errors import BadInput, BadStore, Refused
from arena.finding import Verdict
from arena.server.limits import Quotas
from arena.server.uploads import Patience
from arena.store import Store
from arena.submission.concealment import LOG_BYTES
from arena.tokens import revoke, token_id
from arena.v1 import arena_pb2, arena_pb2_grpc

OWNERS = {"ada": Role.CONTESTANT, "bob": Role.CONTESTANT, "carol": Role.ORGANISER}
IMPATIENT = replace(TERMS, patience=Patience(piece=0.3, whole=1.0))
Call = Callable[[Any, Any], Any]


@pytest.fixture
async def tested(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(tmp_path, IMPATIENT, owners=OWNERS) as server:
        yield server


def metadata(token: str | None) -> tuple[tuple[str, str], ...] | None:
    return None if token is None else (("authorization", f"Bearer {token}"),)


async def refusal(server: ServerAddress, make: Call, token: str | None) -> tuple[grpc.StatusCode, str, str]:
    """Make a call and return the status with which it is refused, the reason, and the text."""
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = arena_pb2_grpc.ArenaServiceStub(channel)
        try:
            made = make(stub, metadata(token))
            if hasattr(made, "__aiter__"):
                async for _ in made:
                    pass
            else:
                await made
        except grpc.aio.AioRpcError as error:
            if (error.details() or "").startswith("Internal error from Core") and not error.trailing_metadata():
                return await refusal(server, make, token)  # it was just sending: the server's words are lost
            details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            assert isinstance(details, bytes)
            info = error_details_pb2.ErrorInfo()
            assert any(each.Unpack(info) for each in status_pb2.Status.FromString(details).details)
            assert info.domain == "arena"
            return error.code(), info.reason, error.details() or ""
    raise AssertionError("it was not refused")


def submit_parts(*parts: arena_pb2.SubmitBotRequest) -> Call:
    return lambda stub, metadata: stub.SubmitBot(iter(parts), metadata=metadata)


def submission_of(archive: bytes, **changed: Any) -> arena_pb2.SubmitBotRequest:
    return arena_pb2.SubmitBotRequest(submission=described(archive, **changed))


def running(address: str, name: str = "afar", **more: Any) -> Call:
    bot = arena_pb2.RunningBot(address=address, name=name, **more)
    return submit_parts(arena_pb2.SubmitBotRequest(submission=arena_pb2.Submission(id="a" * 32, running=bot)))


OWN_CALLS: dict[str, Call] = {
    "SubmitBot": submit_parts(submission_of(b"x")),
    "WatchSubmission": lambda stub, m: stub.WatchSubmission(
        arena_pb2.WatchSubmissionRequest(submission="a" * 32), metadata=m
    ),
    "ListVersions": lambda stub, m: stub.ListVersions(arena_pb2.ListVersionsRequest(bot="hers"), metadata=m),
    "WithdrawBot": lambda stub, m: stub.WithdrawBot(arena_pb2.WithdrawBotRequest(bot="hers"), metadata=m),
    "RunTournament": lambda stub, m: stub.RunTournament(arena_pb2.RunTournamentRequest(), metadata=m),
}
READING: dict[str, Call] = {
    "ListBots": lambda stub, m: stub.ListBots(arena_pb2.ListBotsRequest(), metadata=m),
    "ListTournaments": lambda stub, m: stub.ListTournaments(arena_pb2.ListTournamentsRequest(), metadata=m),
    "GetLeaderboard": lambda stub, m: stub.GetLeaderboard(arena_pb2.GetLeaderboardRequest(), metadata=m),
    "WatchTournament": lambda stub, m: stub.WatchTournament(arena_pb2.WatchTournamentRequest(), metadata=m),
}


def admit(store: Store, name: str, owner: str, submission: str) -> None:
    """Have a bot admitted, without its files."""
    store.submissions.receive(Version(submission, owner, State.WAITING, datetime.now(UTC)))
    store.submissions.claim(submission, Program(name, ("./bot",)), submission * 2, 10)
    store.submissions.decide(submission, State.ADMITTED)


def contents(store: Store) -> Any:
    """Return all that a refused call could have changed."""
    bots = store.submissions.bots()
    return (
        bots,
        [store.submissions.versions(bot.name) for bot in bots],
        store.submissions.waiting(),
        store.tournaments(),
    )


# --- Tokens ---


@pytest.mark.parametrize("name", OWN_CALLS)
async def test_without_a_token_nothing_can_be_done(tested: Running, name: str) -> None:
    before = contents(tested.kept)

    code, reason, _ = await refusal(tested.address, OWN_CALLS[name], None)

    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN")
    assert contents(tested.kept) == before


@pytest.mark.parametrize("kind", ["wrong", "nonsense", "empty", "expired", "revoked", "two"])
async def test_a_bad_token_lets_nobody_in(tested: Running, kind: str) -> None:
    good = tested.tokens["ada"]
    tokens = {
        "wrong": good[:-4] + ("abcd" if not good.endswith("abcd") else "dcba"),
        "nonsense": "../../etc/passwd",
        "empty": "",
        "expired": add_token(tested.store, "old", Role.ORGANISER, timedelta(seconds=-1)),
        "revoked": add_token(tested.store, "gone", Role.ORGANISER),
        "two": good,
    }
    kept = tested.kept.tokens.find(token_id(tokens["revoked"]))
    assert kept is not None
    tested.kept.tokens.change(revoke(kept, datetime.now(UTC)))
    expected = {"expired": "EXPIRED_TOKEN", "revoked": "REVOKED_TOKEN"}.get(kind, "BAD_TOKEN")
    for call in (OWN_CALLS | READING).values():
        twice = lambda stub, m, once=call: once(stub, (*m, *m))  # noqa: E731
        code, reason, text = await refusal(tested.address, twice if kind == "two" else call, tokens[kind])

        assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, expected)
        assert all(part not in text for part in (good, tokens["revoked"], "/"))
        assert tested.kept.audit.last(1)[0].outcome == reason


async def test_many_bad_tokens_are_not_written_down_any_more_and_shut_nobody_out(tmp_path: Path) -> None:
    terms = replace(TERMS, quotas=Quotas(refusals=3))
    async with serving(tmp_path, terms, owners=OWNERS) as tested:
        reasons = [(await refusal(tested.address, READING["ListBots"], "x"))[1] for _ in range(5)]
        await list_bots(tested.address)
        await list_bots(tested.of("ada"))
        deeds = tested.kept.audit.last(100)

    assert reasons == ["BAD_TOKEN"] * 3 + ["RATE_LIMIT"] * 2
    assert len(deeds) == 3


async def test_contestants_do_not_run_tournaments(tested: Running) -> None:
    code, reason, _ = await refusal(tested.address, OWN_CALLS["RunTournament"], tested.tokens["ada"])

    assert (code, reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_ORGANISER")
    assert tested.kept.audit.last(1)[0].outcome == "NOT_ORGANISER"


async def test_organisers_bring_no_commands_along(tested: Running) -> None:
    config = "bots:\n  - {name: a, command: [sh]}\n  - {name: b, command: [sh]}\n"
    request = arena_pb2.RunTournamentRequest(config=config, config_path="/bots.yaml")

    code, reason, _ = await refusal(
        tested.address, lambda stub, m: stub.RunTournament(request, metadata=m), tested.tokens["carol"]
    )

    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BOTS_IN_CONFIG")


# --- Other owners' ---


async def test_however_long_the_logs_are_their_owner_reads_them_also_of_a_bot_that_was_only_refused(
    tested: Running,
) -> None:
    log = "é" * (LOG_BYTES // 2)
    submissions = tested.kept.submissions
    for number in range(25):
        submission = f"{number:032x}"
        submissions.receive(Version(submission, "ada", State.WAITING, datetime.now(UTC)))
        submissions.claim(submission, Program("hers", ("./bot",)), f"{number:064x}", 10)
        for step in STEPS:
            submissions.add_step(submission, AdmissionStep(step, Verdict.FAIL, "no", "", log, 0.1))
        submissions.decide(submission, State.REFUSED)

    bot, versions = await list_versions(tested.of("ada"), "hers")

    assert (bot.current, bot.versions) == (0, 0)
    assert [version.number for version, _ in versions] == [0] * 25
    assert {step.log for _, steps in versions for step in steps} == {log}
    code, reason, _ = await refusal(tested.address, OWN_CALLS["ListVersions"], tested.tokens["bob"])
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "NO_SUCH_BOT")


@pytest.mark.parametrize("name", ["ListVersions", "WithdrawBot"])
async def test_another_owners_bot_is_left_alone(tested: Running, name: str) -> None:
    admit(tested.kept, "hers", "ada", "b" * 32)
    before = contents(tested.kept)

    code, reason, _ = await refusal(tested.address, OWN_CALLS[name], tested.tokens["bob"])

    assert (code, reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER")
    assert contents(tested.kept) == before


@pytest.mark.parametrize("owner", ["bob", "carol"])
async def test_another_owners_submission_is_as_if_it_were_not_there(tested: Running, owner: str) -> None:
    admit(tested.kept, "hers", "ada", "b" * 32)
    before = contents(tested.kept)
    request = arena_pb2.WatchSubmissionRequest(submission="b" * 32)
    calls = [
        lambda stub, m: stub.WatchSubmission(request, metadata=m),
        submit_parts(submission_of(b"x", submission="b" * 32), arena_pb2.SubmitBotRequest(piece=b"x")),
    ]

    for call in calls:
        code, reason, _ = await refusal(tested.address, call, tested.tokens[owner])
        assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "NO_SUCH_SUBMISSION")
    assert contents(tested.kept) == before


async def test_logs_are_for_the_owner_alone(tested: Running) -> None:
    from arena.competition import AdmissionStep
    from arena.finding import Verdict

    admit(tested.kept, "hers", "ada", "b" * 32)
    tested.kept.submissions.add_step("b" * 32, AdmissionStep("build", Verdict.PASS, "well", "", "a secret log"))

    logs = {}
    for owner in ("ada", "carol"):
        async with grpc.aio.insecure_channel(tested.address.address) as channel:
            stub = arena_pb2_grpc.ArenaServiceStub(channel)
            request = arena_pb2.ListVersionsRequest(bot="hers")
            response = await stub.ListVersions(request, metadata=metadata(tested.tokens[owner]))
            logs[owner] = [step.log for step in response.versions[0].steps]

    assert logs == {"ada": ["a secret log"], "carol": [""]}


# --- Reading ---


@pytest.mark.parametrize("name", READING)
async def test_a_private_server_lets_nobody_read_without_a_token(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, owners=OWNERS, private=True) as tested:
        code, reason, _ = await refusal(tested.address, READING[name], None)
        assert await list_bots(tested.of("ada")) == []

    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN")


@pytest.mark.parametrize("text", ["x" * 60_000, "\0", "%_" * 100, "\u202e"], ids=["long", "NUL", "pattern", "turned"])
async def test_an_id_or_a_name_that_nothing_has_is_not_found(tested: Running, text: str) -> None:
    calls = [
        lambda stub, m: stub.GetLeaderboard(arena_pb2.GetLeaderboardRequest(tournament=text), metadata=m),
        lambda stub, m: stub.WatchTournament(arena_pb2.WatchTournamentRequest(tournament=text), metadata=m),
        lambda stub, m: stub.WatchSubmission(arena_pb2.WatchSubmissionRequest(submission=text), metadata=m),
        lambda stub, m: stub.ListVersions(arena_pb2.ListVersionsRequest(bot=text), metadata=m),
        lambda stub, m: stub.WithdrawBot(arena_pb2.WithdrawBotRequest(bot=text), metadata=m),
        lambda stub, m: stub.ListBots(arena_pb2.ListBotsRequest(page_token=text), metadata=m),
        lambda stub, m: stub.RunTournament(arena_pb2.RunTournamentRequest(request_id=text), metadata=m),
        lambda stub, m: stub.RunTournament(arena_pb2.RunTournamentRequest(overrides={text: text}), metadata=m),
        submit_parts(submission_of(b"x", submission=text)),
        running(text),
        running("8.8.8.8:80", name=text),
        running("8.8.8.8:80", games=[text]),
    ]

    refused = [await refusal(tested.address, call, tested.tokens["carol"]) for call in calls]

    assert [reason for _, reason, _ in refused] == [
        *("NO_SUCH_TOURNAMENT", "NO_SUCH_TOURNAMENT", "BAD_INPUT", "NO_SUCH_BOT", "NO_SUCH_BOT", "BAD_INPUT"),
        *("BAD_INPUT", "BAD_INPUT", "BAD_INPUT", "BAD_ADDRESS", "BAD_NAME", "BAD_INPUT"),
    ]
    assert all(len(shown) < 500 and "\0" not in shown and "\u202e" not in shown for _, _, shown in refused)


@pytest.mark.parametrize("number", [1 << 31, (1 << 32) - 1])
async def test_a_number_beyond_all_is_refused_or_bounded(tested: Running, number: int) -> None:
    admit(tested.kept, "hers", "ada", "b" * 32)
    first = arena_pb2.WatchTournamentRequest(first_event=number << 32)
    version = arena_pb2.WithdrawBotRequest(bot="hers", version=number)
    calls: list[Call] = [
        lambda stub, m: stub.WatchTournament(first, metadata=m),
        lambda stub, m: stub.WithdrawBot(version, metadata=m),
        submit_parts(submission_of(b"x", size=number << 32)),
    ]
    page = arena_pb2.ListBotsRequest(page_size=number, page_token="999999999")

    refused = [await refusal(tested.address, call, tested.tokens["ada"]) for call in calls]
    async with grpc.aio.insecure_channel(tested.address.address) as channel:
        listed = await arena_pb2_grpc.ArenaServiceStub(channel).ListBots(page)

    assert [reason for _, reason, _ in refused] == ["BAD_INPUT", "NO_SUCH_VERSION", "TOO_LARGE"]
    assert not listed.bots


async def test_what_is_not_there_is_said_without_a_word_on_the_machine(tested: Running) -> None:
    request = arena_pb2.GetLeaderboardRequest(tournament="../../etc/passwd\x1b[31m")

    code, reason, text = await refusal(tested.address, lambda stub, m: stub.GetLeaderboard(request, metadata=m), None)

    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "NO_SUCH_TOURNAMENT")
    assert "\x1b" not in text
    assert str(tested.store.parent) not in text


@pytest.mark.parametrize("name", OWN_CALLS)
async def test_without_tls_a_server_that_others_reach_takes_no_tokens(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, owners=OWNERS, listen="0.0.0.0:0") as tested:
        with_token = await refusal(tested.address, OWN_CALLS[name], tested.tokens["carol"])
        without = await refusal(tested.address, OWN_CALLS[name], None)
        assert await list_bots(tested.address) == []

    assert with_token[:2] == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_OVER_PLAINTEXT")
    assert without[:2] == (grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN")


async def test_a_server_that_others_reach_is_never_open(tmp_path: Path) -> None:
    async with serving(tmp_path, listen="0.0.0.0:0") as tested:
        code, reason, _ = await refusal(tested.address, OWN_CALLS["RunTournament"], None)

    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN")


async def test_the_first_token_closes_an_open_server_and_revoking_it_does_not_open_it(tmp_path: Path) -> None:
    withdraw = OWN_CALLS["WithdrawBot"]
    async with serving(tmp_path) as tested:
        first = await refusal(tested.address, withdraw, None)
        text = add_token(tested.store, "ada", Role.CONTESTANT)
        second = await refusal(tested.address, withdraw, None)
        token = tested.kept.tokens.find(token_id(text))
        assert token is not None
        tested.kept.tokens.change(revoke(token, datetime.now(UTC)))
        third = await refusal(tested.address, withdraw, None)

    assert [each[1] for each in (first, second, third)] == ["NO_SUCH_BOT", "NO_TOKEN", "NO_TOKEN"]


async def test_a_token_is_not_sent_where_it_could_be_overheard() -> None:
    server = ServerAddress("192.0.2.1:50050", token="secret", plaintext=True)

    with pytest.raises(BadInput, match="without TLS"):
        await list_bots(server)


async def test_over_tls_all_is_the_same_and_a_stranger_is_not_believed(tmp_path: Path) -> None:
    async with serving(tmp_path, owners=OWNERS, tls=True) as tested:
        assert await list_bots(tested.of("ada")) == []
        (tmp_path / "other").mkdir()
        from servers import make_certificates

        make_certificates(tmp_path / "other")
        with pytest.raises(BadInput, match="not trusted"):
            await list_bots(replace(tested.of("ada"), authority=tmp_path / "other" / "authority.pem"))
        with pytest.raises(BadInput, match="--tls-ca"):
            await list_bots(replace(tested.of("ada"), authority=None))


async def test_where_the_server_wants_certificates_callers_need_one(tmp_path: Path) -> None:
    import trustme
    from servers import make_certificates

    from arena.server import ArenaServer

    tls = make_certificates(tmp_path)
    clients = trustme.CA()
    own = clients.issue_cert("ada@example.org")
    clients.cert_pem.write_to_path(str(tmp_path / "clients.pem"))
    own.private_key_pem.write_to_path(str(tmp_path / "own-key.pem"))
    own.cert_chain_pems[0].write_to_path(str(tmp_path / "own.pem"))
    server = await ArenaServer.start(
        tmp_path / "served.db", "127.0.0.1:0", TERMS, tls=replace(tls, clients=tmp_path / "clients.pem")
    )
    address = ServerAddress(f"127.0.0.1:{server.port}", authority=tmp_path / "authority.pem")
    try:
        with pytest.raises(BadInput):
            await list_bots(address)
        assert await list_bots(replace(address, certificate=tmp_path / "own.pem", key=tmp_path / "own-key.pem")) == []
    finally:
        await server.close(1.0)


# --- Submissions ---

ARCHIVE = python_bot("mine")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "code", "reason"),
    [
        (submit_parts(), grpc.StatusCode.INVALID_ARGUMENT, "BAD_INPUT"),
        (submit_parts(arena_pb2.SubmitBotRequest(piece=b"x")), grpc.StatusCode.INVALID_ARGUMENT, "BAD_INPUT"),
        (submit_parts(arena_pb2.SubmitBotRequest()), grpc.StatusCode.INVALID_ARGUMENT, "BAD_INPUT"),
        (
            submit_parts(arena_pb2.SubmitBotRequest(submission=arena_pb2.Submission(id="a" * 32))),
            grpc.StatusCode.INVALID_ARGUMENT,
            "BAD_INPUT",
        ),
        (submit_parts(submission_of(b"x", submission="../../x")), grpc.StatusCode.INVALID_ARGUMENT, "BAD_INPUT"),
        (submit_parts(submission_of(b"x", submission="A" * 32)), grpc.StatusCode.INVALID_ARGUMENT, "BAD_INPUT"),
        (submit_parts(submission_of(b"x", size=1 << 40)), grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE"),
        (submit_parts(submission_of(b"")), grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE"),
        (
            submit_parts(submission_of(b"xy"), arena_pb2.SubmitBotRequest(piece=b"xyz")),
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "TOO_LARGE",
        ),
        (
            submit_parts(submission_of(b"xy"), arena_pb2.SubmitBotRequest(piece=b"x")),
            grpc.StatusCode.INVALID_ARGUMENT,
            "BAD_ARCHIVE",
        ),
        (
            submit_parts(submission_of(b"xy"), arena_pb2.SubmitBotRequest(piece=b"xz")),
            grpc.StatusCode.INVALID_ARGUMENT,
            "BAD_ARCHIVE",
        ),
        (running("127.0.0.1:22"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("[::1]:22"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("169.254.169.254:80"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("10.0.0.1:80"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("[::ffff:127.0.0.1]:80"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("unix:/run/arena.sock"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("dns:///x:1"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_ADDRESS"),
        (running("8.8.8.8:80", name="a\x1b[31mb"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_NAME"),
        (running("8.8.8.8:80", name="a\nb"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_NAME"),
        (running("8.8.8.8:80", name="\u202eevil"), grpc.StatusCode.INVALID_ARGUMENT, "BAD_NAME"),
        (running("8.8.8.8:80", name="x" * 65), grpc.StatusCode.INVALID_ARGUMENT, "BAD_NAME"),
        (running("8.8.8.8:80", name=""), grpc.StatusCode.INVALID_ARGUMENT, "BAD_NAME"),
        (running("8.8.8.8:80", games=["chess"]), grpc.StatusCode.INVALID_ARGUMENT, "BAD_INPUT"),
    ],
    ids=[
        "nothing",
        "a piece first",
        "an empty message",
        "no source",
        "a path for an id",
        "no hexadecimal id",
        "a huge one",
        "an empty one",
        "more than announced",
        "less than announced",
        "other bytes",
        "loopback",
        "loopback, newer",
        "metadata",
        "private",
        "loopback, wrapped",
        "unix",
        "resolver",
        "escape codes",
        "line feed",
        "turned around",
        "long name",
        "no name",
        "no game",
    ],
)
async def test_what_is_no_submission_is_refused_and_changes_nothing(
    tested: Running, call: Call, code: grpc.StatusCode, reason: str
) -> None:
    before = contents(tested.kept)

    refused = await refusal(tested.address, call, tested.tokens["ada"])

    assert refused[:2] == (code, reason)
    assert str(tested.store.parent) not in refused[2]
    assert contents(tested.kept) == before
    assert not list((tested.store.parent / "served.db.bots").glob("incoming/*"))


@pytest.fixture
async def taking(tested: Running) -> Running:
    """A server that takes archives, also where there is no sandbox to admit them in."""
    tested.server.competition.obstacle = ""
    return tested


async def test_an_upload_that_comes_to_a_halt_is_given_up(taking: Running) -> None:
    async def parts() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield submission_of(ARCHIVE)
        yield arena_pb2.SubmitBotRequest(piece=ARCHIVE[:10])
        await asyncio.sleep(30)

    code, reason, _ = await refusal(
        taking.address, lambda stub, m: stub.SubmitBot(parts(), metadata=m), taking.tokens["ada"]
    )

    assert (code, reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "TOO_SLOW")
    assert not list((taking.store.parent / "served.db.bots").glob("incoming/*"))


async def test_a_trickle_is_given_up_too(taking: Running) -> None:
    async def parts() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield submission_of(ARCHIVE)
        for byte in ARCHIVE:
            yield arena_pb2.SubmitBotRequest(piece=bytes([byte]))
            await asyncio.sleep(0.1)

    code, reason, _ = await refusal(
        taking.address, lambda stub, m: stub.SubmitBot(parts(), metadata=m), taking.tokens["ada"]
    )

    assert (code, reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "TOO_SLOW")


async def test_more_uploads_at_once_than_allowed_are_refused_and_others_are_not_held_up(tmp_path: Path) -> None:
    terms = replace(TERMS, quotas=Quotas(uploads=2))
    never = asyncio.Event()

    async def half() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield submission_of(ARCHIVE)
        yield arena_pb2.SubmitBotRequest(piece=ARCHIVE[:10])
        await never.wait()

    async with (
        serving(tmp_path, terms, owners=OWNERS) as tested,
        grpc.aio.insecure_channel(tested.address.address) as channel,
    ):
        tested.server.competition.obstacle = ""
        stub: Any = arena_pb2_grpc.ArenaServiceStub(channel)
        open_calls = [stub.SubmitBot(half(), metadata=metadata(tested.tokens["ada"])) for _ in range(2)]
        for call in open_calls:
            await call.initial_metadata()
        code, reason, _ = await refusal(tested.address, submit_parts(submission_of(ARCHIVE)), tested.tokens["ada"])
        other = await refusal(tested.address, submit_parts(submission_of(b"")), tested.tokens["bob"])
        for call in open_calls:
            call.cancel()

    assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CALLS")
    assert other[1] == "TOO_LARGE"


@asynccontextmanager
async def uploading(
    tested: Running, owners: Sequence[str], **same: str
) -> AsyncIterator[tuple[list[Any], asyncio.Event]]:
    """Submit an archive of each owner, and yield the calls once each lacks only its last piece, with what lets that come."""
    rest = asyncio.Event()

    async def parts() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield submission_of(ARCHIVE, **same)
        yield arena_pb2.SubmitBotRequest(piece=ARCHIVE[:10])
        await rest.wait()
        yield arena_pb2.SubmitBotRequest(piece=ARCHIVE[10:])

    async with grpc.aio.insecure_channel(tested.address.address) as channel:
        stub: Any = arena_pb2_grpc.ArenaServiceStub(channel)
        calls = [stub.SubmitBot(parts(), metadata=metadata(tested.tokens[owner])) for owner in owners]
        for call in calls:
            await call.initial_metadata()
        yield calls, rest


async def first_answer(call: Any) -> str:
    """Return how the first event of a call is called, or with which status it ended without one."""
    try:
        return str((await call.read()).event.WhichOneof("what"))
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)


@pytest.fixture
async def unadmitting(tmp_path: Path) -> AsyncIterator[Running]:
    """A server that takes bots and decides on none."""
    terms = replace(TERMS, admissions=0, quotas=Quotas(waiting=1))
    async with serving(tmp_path, terms, owners=OWNERS) as server:
        server.server.competition.obstacle = ""
        yield server


async def test_whoever_knows_an_id_does_not_change_what_is_submitted_by_it(unadmitting: Running) -> None:
    known = "d" * 32
    incoming = unadmitting.server.competition.shelf.incoming(known)
    async with uploading(unadmitting, ["bob"], submission=known) as ((theft,), rest):
        hers = python_bot("hers")
        async with grpc.aio.insecure_channel(unadmitting.address.address) as channel:
            stub: Any = arena_pb2_grpc.ArenaServiceStub(channel)
            whole = iter([submission_of(hers, submission=known), arena_pb2.SubmitBotRequest(piece=hers)])
            assert await first_answer(stub.SubmitBot(whole, metadata=metadata(unadmitting.tokens["ada"]))) == "received"
        rest.set()
        answer = await first_answer(theft)

    assert answer == "NOT_FOUND"
    assert incoming.read_bytes() == hers
    assert [path.name for path in incoming.parent.iterdir()] == [known]


async def test_what_is_submitted_twice_at_once_by_the_same_owner_is_one_submission(unadmitting: Running) -> None:
    async with uploading(unadmitting, ["ada", "ada"], submission="d" * 32) as (calls, rest):
        rest.set()
        answers = [await first_answer(call) for call in calls]

    assert answers == ["received"] * 2
    assert [version.submission for version in unadmitting.kept.submissions.waiting()] == ["d" * 32]


async def test_uploads_side_by_side_do_not_get_past_a_quota(unadmitting: Running) -> None:
    async with uploading(unadmitting, ["ada"] * 4) as (calls, rest):
        rest.set()
        answers = [await first_answer(call) for call in calls]

    assert sorted(answers) == ["RESOURCE_EXHAUSTED"] * 3 + ["received"]
    (kept,) = unadmitting.kept.submissions.waiting()
    incoming = unadmitting.server.competition.shelf.incoming(kept.submission)
    assert [path.name for path in incoming.parent.iterdir()] == [kept.submission]


async def test_an_archive_whose_submission_can_not_be_kept_is_gone_again(
    unadmitting: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_version: Version) -> Version:
        raise BadStore("the disk is full")

    monkeypatch.setattr(unadmitting.kept.submissions, "receive", refuse)
    async with uploading(unadmitting, ["ada"]) as ((call,), rest):
        rest.set()
        answer = await first_answer(call)

    assert answer == "FAILED_PRECONDITION"
    assert not list((unadmitting.store.parent / "served.db.bots").glob("incoming/*"))


async def test_a_server_whose_database_is_gone_says_so_to_everybody(tested: Running) -> None:
    tested.store.rename(tested.store.with_name("elsewhere.db"))

    reasons = [
        (await refusal(tested.address, call, tested.tokens["carol"]))[1] for call in (OWN_CALLS | READING).values()
    ]

    assert set(reasons) == {"BAD_STORE"}
    tested.store.with_name("elsewhere.db").rename(tested.store)
    assert await list_bots(tested.address) == []


@pytest.mark.parametrize(
    ("quotas", "reason"),
    [(Quotas(waiting=1), "QUOTA"), (Quotas(megabytes=1), "QUOTA"), (Quotas(submissions=1), "RATE_LIMIT")],
    ids=["waiting", "bytes", "submissions"],
)
async def test_an_owner_has_quotas(tmp_path: Path, quotas: Quotas, reason: str) -> None:
    async with serving(tmp_path, replace(TERMS, quotas=quotas, admissions=1), owners=OWNERS) as tested:
        tested.kept.submissions.receive(Version("c" * 32, "ada", State.WAITING, datetime.now(UTC), size=999_999))
        code, found, _ = await refusal(tested.address, submit_parts(submission_of(ARCHIVE)), tested.tokens["ada"])
        other = await refusal(tested.address, submit_parts(submission_of(b"")), tested.tokens["bob"])

    assert (code, found) == (grpc.StatusCode.RESOURCE_EXHAUSTED, reason)
    assert other[1] == "TOO_LARGE"


async def test_calls_are_counted_by_owner(tmp_path: Path) -> None:
    async with serving(tmp_path, replace(TERMS, quotas=Quotas(calls=3)), owners=OWNERS) as tested:
        for _ in range(3):
            await list_bots(tested.of("ada"))
        code, reason, _ = await refusal(tested.address, READING["ListBots"], tested.tokens["ada"])
        await list_bots(tested.of("bob"))

    assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMIT")


async def test_a_message_that_is_too_large_is_refused_before_it_is_looked_at(tested: Running) -> None:
    async with grpc.aio.insecure_channel(tested.address.address) as channel:
        stub = arena_pb2_grpc.ArenaServiceStub(channel)
        request = arena_pb2.RunTournamentRequest(config="x" * (2 << 20))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            async for _ in stub.RunTournament(request, metadata=metadata(tested.tokens["carol"])):
                pass

    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_two_hundred_idle_connections_hold_nobody_up(tested: Running) -> None:
    host, _, port = tested.address.address.rpartition(":")
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection((host, int(port))))

        assert await asyncio.wait_for(list_bots(tested.of("ada")), 60.0) == []


async def test_reflection_shows_the_protocol_and_nothing_else(tested: Running) -> None:
    async with grpc.aio.insecure_channel(tested.address.address) as channel:
        reflect = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        wanted = reflection_pb2.ServerReflectionRequest(file_containing_symbol="arena.v1.ArenaService")
        answers = [answer.SerializeToString() async for answer in reflect(iter([wanted]))]
        listed = [
            service.name
            async for answer in reflect(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
            for service in answer.list_services_response.service
        ]

    assert sorted(listed) == [
        "arena.v1.ArenaService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    ]
    assert all(str(tested.store.parent).encode() not in answer and b"ada" not in answer for answer in answers)


async def test_whatever_goes_wrong_inside_is_not_told_outside(tested: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[Any]:
        raise RuntimeError(f"something in {tested.store}")

    monkeypatch.setattr(tested.kept.submissions, "bots", fail)

    code, reason, text = await refusal(tested.address, READING["ListBots"], None)

    assert (code, reason) == (grpc.StatusCode.INTERNAL, "ARENA_FAULT")
    assert "served.db" not in text


async def test_tokens_are_in_no_log_and_no_message(
    tested: Running, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for token in (*tested.tokens.values(), "arena_00000000_" + "x" * 43):
        for call in (OWN_CALLS | READING).values():
            _, _, text = (
                await refusal(tested.address, call, token)
                if call not in (READING["ListBots"], READING["ListTournaments"])
                else (0, 0, "")
            )
            assert token not in text

    written = (
        caplog.text + "".join(capfd.readouterr()) + repr(tested.kept.audit.last(1000)) + repr(tested.kept.tokens.all())
    )
    assert all(token not in written for token in tested.tokens.values())


async def test_a_watcher_without_a_tournament_is_told_so(tested: Running) -> None:
    with pytest.raises(Refused, match="no tournament"):
        async for _ in watch(tested.address, "", 1):
            pass
    with pytest.raises(Refused, match="no tournament"):
        await leaderboard_of_server(tested.address, "zz")


@pytest.mark.parametrize("path", ["/arena.v1.ArenaService/Nothing", "/../../etc/passwd", "/arena.v1.ArenaService/"])
async def test_methods_that_are_not_there_are_unimplemented(tested: Running, path: str) -> None:
    async with grpc.aio.insecure_channel(tested.address.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await channel.unary_unary(path, bytes, bytes)(b"")

    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
