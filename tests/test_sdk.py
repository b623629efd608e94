"""What the Python SDK promises to authors of bots and to the arena."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest

from arena import wire
from arena.cards import Card
from arena.decision import Choice, DealResult, Decision
from arena.errors import BadCard, BotUnusable
from arena.game import Phase
from arena.games import find_game
from arena.sdk import Bot, choose, create_server
from arena.v1 import bot_pb2, bot_pb2_grpc

LOWEST = """
from arena.sdk import Bot

class Lowest(Bot):
    def play(self, view):
        return view.legal[0]

if __name__ == "__main__":
    Lowest().run()
"""


class Lowest(Bot):
    """The smallest bot there can be."""

    def play(self, view: Decision) -> Card:
        return view.legal[0]


class Patient(Bot):
    """Waits before it answers."""

    async def play(self, view: Decision) -> str:
        await asyncio.sleep(0)
        return str(view.legal[-1])

    async def pass_cards(self, view: Decision) -> list[str]:
        await asyncio.sleep(0)
        return [str(card) for card in view.hand[: view.count]]


class Talkative(Bot):
    """Explains itself."""

    name = "chatter"
    version = "2.1"
    author = "Ann"
    games = ("heartswitch",)
    max_batch = 7

    def play(self, view: Decision) -> Choice:
        return Choice((view.legal[0],), "the lowest")


class Broken(Bot):
    """Fails at every turn."""

    def play(self, view: Decision) -> Card:
        raise LookupError("no idea\nat all")


class Listening(Lowest):
    """Remembers how deals ended."""

    def __init__(self) -> None:
        self.results: list[DealResult] = []

    def deal_finished(self, result: DealResult) -> None:
        self.results.append(result)


class Deaf(Lowest):
    """Fails when it is told how a deal ended."""

    async def deal_finished(self, result: DealResult) -> None:
        raise RuntimeError("not listening")


def decision(*, passing: bool = False, seed: int = 1) -> Decision:
    """Return the first decision of a deal with passing, or of one without."""
    deal = find_game("hearts-classic").random_deal(seed, 1 if passing else 4)
    assert deal.phase is (Phase.PASSING if passing else Phase.PLAYING)
    return Decision(deal.observe(deal.to_act[0]), "t", 0, False, 0, (0, 0, 0, 0), 1.0, 10.0, None, 7)


def request(*decisions: Decision, request_id: int = 5) -> bot_pb2.DecideRequest:
    return bot_pb2.DecideRequest.FromString(wire.encode_request(request_id, 1.0, decisions))


@asynccontextmanager
async def served(bot: Bot) -> AsyncIterator[bot_pb2_grpc.BotServiceAsyncStub]:
    server, port = await create_server(bot, "127.0.0.1:0")
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", [("grpc.enable_http_proxy", 0)]) as channel:
        yield bot_pb2_grpc.BotServiceStub(channel)
    await server.stop(grace=0)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "bot.py"
    path.write_text(LOWEST)
    return path


@contextmanager
def launched(script: Path, address: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "ARENA_BOT_ADDRESS": address},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def describe(address: str) -> bot_pb2.DescribeResponse:
    with grpc.insecure_channel(address, [("grpc.default_authority", "localhost")]) as channel:
        stub = bot_pb2_grpc.BotServiceStub(channel)
        return stub.Describe(bot_pb2.DescribeRequest(), wait_for_ready=True, timeout=30)


# --- Answers ---


@pytest.mark.parametrize(
    ("bot", "cards"),
    [(Lowest(), ["2C"]), (Patient(), ["2C"]), (Talkative(), ["2C"])],
    ids=["card", "async code", "choice"],
)
async def test_a_card_may_be_given_as_card_code_or_choice_plain_or_async(bot: Bot, cards: Sequence[str]) -> None:
    choice = await choose(bot, decision())

    assert list(map(str, choice.cards)) == cards


async def test_cards_to_pass_may_be_codes_from_an_async_method() -> None:
    asked = decision(passing=True)

    assert (await choose(Patient(), asked)).cards == asked.hand[:3]


async def test_the_pass_by_default_is_legal_and_gets_rid_of_high_spades() -> None:
    asked = next(d for seed in range(1000) if Card("QS") in (d := decision(passing=True, seed=seed)).hand)

    choice = await choose(Lowest(), asked)

    assert Card("QS") in choice.cards
    assert len(set(choice.cards)) == 3
    assert set(choice.cards) <= set(asked.hand)


async def test_an_answer_that_is_no_card_raises_what_is_wrong() -> None:
    class Wild(Bot):
        def play(self, view: Decision) -> str:
            return "the joker"

    with pytest.raises(BadCard, match="joker"):
        await choose(Wild(), decision())


# --- Over a channel ---


async def test_a_bot_describes_itself() -> None:
    async with served(Talkative()) as stub:
        answer = await stub.Describe(bot_pb2.DescribeRequest())

    assert answer == bot_pb2.DescribeResponse(
        name="chatter", version="2.1", author="Ann", games=["heartswitch"], max_batch=7
    )


@pytest.mark.parametrize(("bot", "batch"), [(Lowest(), 128), (Patient(), 1)], ids=["plain", "async"])
async def test_plain_bots_take_batches_unless_they_say_otherwise(bot: Bot, batch: int) -> None:
    async with served(bot) as stub:
        answer = await stub.Describe(bot_pb2.DescribeRequest())

    assert (answer.name, answer.max_batch) == (type(bot).__name__, batch)


@pytest.mark.parametrize("bot", [Lowest(), Patient()], ids=["plain", "async"])
async def test_a_batch_is_answered_in_its_order(bot: Bot) -> None:
    asked = [decision(seed=seed, passing=seed % 3 == 0) for seed in range(50)]

    async with served(bot) as stub:
        answer = await stub.Decide(request(*asked, request_id=2**63))

    assert answer.request_id == 2**63
    assert [list(map(int, each.cards)) for each in answer.choices] == [
        list(map(int, (await choose(bot, each)).cards)) for each in asked
    ]


async def test_a_note_travels_with_the_choice() -> None:
    async with served(Talkative()) as stub:
        answer = await stub.Decide(request(decision()))

    assert [each.note for each in answer.choices] == ["the lowest"]


async def test_an_exception_fails_the_call_in_one_line_and_leaves_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with served(Broken()) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await stub.Decide(request(decision()))
        described = await stub.Describe(bot_pb2.DescribeRequest())

    assert failure.value.code() is grpc.StatusCode.INTERNAL
    assert failure.value.details() == "LookupError: no idea at all"
    assert "in play" in capsys.readouterr().err
    assert described.name == "Broken"


async def test_a_request_that_cannot_be_read_is_an_invalid_argument() -> None:
    unreadable = request(decision())
    unreadable.decisions[0].game.name = "bridge"

    async with served(Lowest()) as stub:
        with pytest.raises(grpc.aio.AioRpcError, match="bridge") as failure:
            await stub.Decide(unreadable)

    assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT


RESULT = bot_pb2.DealResult(table_id="t", deal_number=3, seat=2, scores=[0, 13, 0, 13], totals=[0] * 4, table_over=True)


async def test_a_bot_that_cares_is_told_how_deals_ended() -> None:
    bot = Listening()

    async with served(bot) as stub:
        await stub.FinishDeals(bot_pb2.FinishDealsRequest(results=[RESULT, RESULT]))

    assert [(each.number, each.seat, each.scores, each.table_over) for each in bot.results] == [
        (3, 2, (0, 13, 0, 13), True)
    ] * 2


async def test_finished_deals_are_unimplemented_unless_the_bot_cares() -> None:
    async with served(Lowest()) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await stub.FinishDeals(bot_pb2.FinishDealsRequest(results=[RESULT]))

    assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_an_exception_over_a_finished_deal_fails_that_call_only() -> None:
    async with served(Deaf()) as stub:
        with pytest.raises(grpc.aio.AioRpcError, match="not listening"):
            await stub.FinishDeals(bot_pb2.FinishDealsRequest(results=[RESULT]))
        answer = await stub.Decide(request(decision()))

    assert len(answer.choices) == 1


# --- Addresses ---


async def test_a_port_in_use_is_refused() -> None:
    server, port = await create_server(Lowest(), "127.0.0.1:0")

    with pytest.raises(BotUnusable, match=f"127.0.0.1:{port}"):
        await create_server(Lowest(), f"127.0.0.1:{port}")
    await server.stop(grace=0)


async def test_a_socket_in_use_is_refused_and_left_alone(tmp_path: Path) -> None:
    server, _port = await create_server(Lowest(), f"unix:{tmp_path}/b.sock")

    with pytest.raises(BotUnusable, match="another server"):
        await create_server(Lowest(), f"unix:{tmp_path}/b.sock")
    assert (tmp_path / "b.sock").is_socket()
    await server.stop(grace=0)


async def test_a_file_that_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary")

    with pytest.raises(BotUnusable, match="no socket"):
        await create_server(Lowest(), f"unix:{tmp_path}/notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "dear diary"


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(tmp_path / "b.sock"))

    server, _port = await create_server(Lowest(), f"unix:{tmp_path}/b.sock")

    assert (tmp_path / "b.sock").is_socket()
    await server.stop(grace=0)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing/b.sock", "cannot serve at unix:.*: the folder .*/missing is not there; make it"),
        ("file/b.sock", "cannot serve at unix:.*: .*/file is no folder"),
        ("x" * 100, "unix:.*: the path has 1.. bytes, and that of a socket can have 10[37] at most"),
        ("a,b", "gRPC reaches no socket with a comma in its path"),
    ],
    ids=["no folder", "in a file", "too long", "comma"],
)
async def test_an_impossible_socket_is_refused(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BotUnusable, match=why):
        await create_server(Lowest(), f"unix:{tmp_path}/{path}")


async def test_an_address_without_a_path_is_refused_as_that() -> None:
    with pytest.raises(BotUnusable, match="unix: no path of a socket is named"):
        await create_server(Lowest(), "unix:")


# --- As a program ---


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_ends_a_bot_cleanly(script: Path, tmp_path: Path, number: signal.Signals) -> None:
    with launched(script, f"unix:{tmp_path}/b.sock") as process:
        assert describe(f"unix:{tmp_path}/b.sock").name == "Lowest"
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)

    assert (process.returncode, output, errors) == (0, "", "")
    assert not (tmp_path / "b.sock").exists()


@pytest.mark.slow
def test_a_bot_serves_on_tcp_too(script: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"

    with launched(script, address):
        assert describe(address).max_batch == 128


def test_without_an_address_a_bot_says_how_to_run_it(script: Path) -> None:
    result = subprocess.run(
        [sys.executable, script],
        env={name: value for name, value in os.environ.items() if name != "ARENA_BOT_ADDRESS"},
        capture_output=True,
        text=True,
    )

    assert result.returncode == 2
    assert "ARENA_BOT_ADDRESS=127.0.0.1:50051 python bot.py" in result.stderr
    assert "Traceback" not in result.stderr


async def test_a_bot_whose_address_is_taken_says_so_and_ends(script: Path, tmp_path: Path) -> None:
    server, _port = await create_server(Lowest(), f"unix:{tmp_path}/b.sock")

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        script,
        env={**os.environ, "ARENA_BOT_ADDRESS": f"unix:{tmp_path}/b.sock"},
        stderr=asyncio.subprocess.PIPE,
    )
    _output, errors = await process.communicate()

    assert process.returncode == 2
    assert (
        errors.decode()
        == f"cannot serve at unix:{tmp_path}/b.sock: another server is listening there; choose another path\n"
    )
    await server.stop(grace=0)


def test_starting_a_bot_loads_nothing_heavy() -> None:
    heavy = {"sqlalchemy", "click", "rich", "numpy", "pydantic", "alembic", "ruamel"}

    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, arena.sdk; print(*sys.modules)"], capture_output=True, text=True, check=True
    )

    assert not heavy & set(loaded.stdout.split())
