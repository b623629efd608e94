"""Every way in which a bot may fail a request, and what becomes of it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import grpc
import grpc.aio
import pytest
from odd_names import ODD_NAMES
from player_fixtures import TIME

from arena.clock import TimeControl
from arena.decision import DealResult, Decision
from arena.errors import BotUnusable
from arena.faults import Failure, FaultKind
from arena.players import instance
from arena.players.base import Answer, Player, Setup
from arena.players.channel import STATUS_FAULTS
from arena.players.connection import Connection, Dialler
from arena.players.family import descendants
from arena.sdk import Bot, create_server
from arena.settings import Entry

BAD = 13
FOREVER = 3600
PATIENT = TimeControl(decision=10, bank=10)

Launch = Callable[..., Player]
Ask = Callable[..., Decision]


async def started(launch: Launch, *arguments: str) -> Player:
    """Return a bot that has answered once, so that its next requests may hold many decisions."""
    player = launch(*arguments)
    await player.start()
    return player


async def failure_of(player: Player, decision: Decision) -> Failure:
    """Ask for one decision that must fail, and return how."""
    with pytest.raises(Failure) as failure:
        await player.decide(decision)
    return failure.value


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("way", "kind", "detail"),
    [
        (["short"], FaultKind.MALFORMED, "1 choices were asked for, 0 came"),
        (["wrong-id"], FaultKind.MALFORMED, "the answer is to request 0, not to 1"),
        (["unknown-card"], FaultKind.MALFORMED, "an unknown card among [16, "),
        (["too-many-cards"], FaultKind.MALFORMED, "3 cards were asked for, 4 came"),
        (["huge"], FaultKind.MALFORMED, "RESOURCE_EXHAUSTED"),
        (["bomb"], FaultKind.MALFORMED, "RESOURCE_EXHAUSTED"),
        (["hang"], FaultKind.TIMEOUT, "no answer within 0.6 s"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
async def test_a_bad_answer_is_exactly_its_fault_and_the_next_one_counts(
    launch: Launch, decision: Ask, way: list[str], kind: FaultKind, detail: str
) -> None:
    player = await started(launch, *way)

    failure = await failure_of(player, decision(BAD, TIME if way == ["hang"] else PATIENT))
    answer = await player.decide(decision(1))

    assert failure.evidence.kind is kind
    assert detail in failure.evidence.detail
    assert answer.choice.cards == decision(1).legal[:3]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(code.name, marks=() if code.name in ("UNAVAILABLE", "INTERNAL") else pytest.mark.slow)
        for code in grpc.StatusCode
        if code is not grpc.StatusCode.OK
    ],
)
async def test_every_status_is_a_fault(launch: Launch, decision: Ask, name: str) -> None:
    player = await started(launch, "status", name)

    failure = await failure_of(player, decision(BAD))

    assert failure.evidence.kind is STATUS_FAULTS[grpc.StatusCode[name]]
    assert f"{name}: no thanks" in failure.evidence.detail or failure.evidence.kind is FaultKind.TIMEOUT


def test_every_status_is_mapped() -> None:
    assert set(STATUS_FAULTS) == set(grpc.StatusCode) - {grpc.StatusCode.OK}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("how", "exit_code", "number"),
    [("7", 7, None), ("0", 0, None), ("SIGSEGV", None, 11), ("SIGABRT", None, 6), ("SIGKILL", None, 9)],
)
async def test_a_crash_ends_the_wait_at_once_and_is_explained(
    launch: Launch, decision: Ask, how: str, exit_code: int | None, number: int | None
) -> None:
    player = await started(launch, "crash", how)

    failure = await failure_of(player, decision(BAD, TimeControl(decision=FOREVER, bank=FOREVER)))

    assert failure.evidence.kind is FaultKind.DISCONNECTED
    assert (failure.evidence.exit_code, failure.evidence.signal) == (exit_code, number)
    assert failure.evidence.stderr == "table flipped"
    assert await player.decide(decision(1))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "way",
    [
        *(["short"], ["wrong-id"], ["huge"], ["crash", "1"], ["status", "INTERNAL"]),
        pytest.param(["hang"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
async def test_only_the_decision_that_fails_alone_is_at_fault(launch: Launch, decision: Ask, way: list[str]) -> None:
    player = await started(launch, *way)
    decisions = [decision(number) for number in range(BAD - 4, BAD + 4)]

    answers = await asyncio.gather(*map(player.decide, decisions), return_exceptions=True)

    assert [isinstance(answer, Answer) for answer in answers] == [each.number != BAD for each in decisions]


async def test_a_bad_choice_in_a_good_response_spoils_no_other(launch: Launch, decision: Ask) -> None:
    player = await started(launch, "unknown-card")

    good, bad = await asyncio.gather(player.decide(decision(1)), player.decide(decision(BAD)), return_exceptions=True)

    assert isinstance(good, Answer)
    assert isinstance(bad, Failure)
    assert bad.elapsed == good.elapsed


@pytest.mark.slow
async def test_a_bot_that_does_not_come_back_fails_startup_and_is_given_up(
    launch: Launch, decision: Ask, tmp_path: Path
) -> None:
    player = await started(launch, "start-once", str(tmp_path / "marker"))
    await failure_of(player, decision(BAD))

    failures = [await failure_of(player, decision(1)) for _ in range(5)]

    kinds = [failure.evidence.kind for failure in failures]
    assert kinds == [FaultKind.STARTUP] * 3 + [FaultKind.DISCONNECTED] * 2
    assert failures[0].evidence.stderr == "    no model file"
    assert "given up after 3 failed starts in a row: " in failures[-1].evidence.detail
    assert "exited with code 3 before it answered Describe" in failures[-1].evidence.detail
    assert "no model file" in failures[-1].evidence.stderr


async def test_an_instance_is_started_again_so_often_and_no_more(
    launch: Launch, decision: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "MAX_RESTARTS", 2)
    player = await started(launch, "crash", "1")

    details = [(await failure_of(player, decision(BAD))).evidence.detail for _ in range(4)]

    assert details[:3] == ["the process exited with code 1 while it was being asked"] * 3
    assert "given up after 2 restarts: exited with code 1 while it was being asked" in details[3]


@pytest.mark.few(3)
@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize(
    "way",
    [["lost-helper", "error"], ["lost-helper", "garbage"], ["lost-cards", "unknown"], ["lost-cards", "illegal"]],
    ids=" ".join,
)
async def test_an_instance_that_only_fails_is_started_afresh_after_three_errors_in_a_row(
    launch: Launch, decision: Ask, notices: list[str], way: list[str], at_once: int
) -> None:
    player = await started(launch, *way)

    asked = [decision(number, PATIENT) for number in (BAD, *range(20, 35))]
    answers: list[Answer | BaseException] = []
    for first in range(0, len(asked), at_once):
        batch = map(player.decide, asked[first : first + at_once])
        answers += await asyncio.gather(*batch, return_exceptions=True)

    later = zip(asked, answers, strict=True)
    sound = [isinstance(each, Answer) and each.choice.cards == of.legal[:3] for of, each in later]
    assert not sound[0]
    assert sound[max(3, at_once) :] == [True] * (16 - max(3, at_once)), answers
    assert re.search("errors in a row .*; it is started afresh", "".join(notices))


async def test_errors_that_are_not_in_a_row_start_nothing_afresh(launch: Launch, decision: Ask) -> None:
    player = await started(launch, "status", "INTERNAL")
    bots = [pid for pid in descendants(os.getpid()) if b"misbehaving" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    for number in (BAD, BAD, 1, BAD, BAD, 2):
        await asyncio.gather(player.decide(decision(number)), return_exceptions=True)

    left = [pid for pid in descendants(os.getpid()) if b"misbehaving" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert left == bots


async def test_a_bot_that_errs_for_ever_is_asked_on_once_its_restarts_are_used_up(
    launch: Launch, decision: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "MAX_RESTARTS", 1)
    player = await started(launch, "status", "INTERNAL")

    failures = [await failure_of(player, decision(BAD)) for _ in range(8)]

    assert {failure.evidence.kind for failure in failures} == {FaultKind.MALFORMED}
    assert (await player.decide(decision(1))).choice.cards


async def test_a_bot_that_fails_batches_is_asked_one_at_a_time(
    launch: Launch, decision: Ask, notices: list[str]
) -> None:
    player = await started(launch, "status", "INTERNAL")

    for _ in range(4):
        await asyncio.gather(*(player.decide(decision(n)) for n in (1, 2, BAD)), return_exceptions=True)

    assert len(notices) == 1
    assert "it is asked one decision at a time from now on" in notices[0]


async def test_a_bot_that_dies_while_idle_is_started_again_without_fault(launch: Launch, decision: Ask) -> None:
    player = await started(launch, "honest")
    await player.decide(decision(1))
    (bot,) = [pid for pid in descendants(os.getpid()) if b"misbehaving" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(bot, signal.SIGKILL)
    assert isinstance(player, Connection)
    while player._instance.alive:  # until the supervisor's report is read
        await asyncio.sleep(0.01)

    assert await player.decide(decision(2))


# --- Results ---


def results(*numbers: int) -> list[DealResult]:
    return [DealResult("t", number, 0, (0,) * 4, (0,) * 4, b"", (), False) for number in numbers]


async def test_results_are_told(launch: Launch, tmp_path: Path) -> None:
    player = await started(launch, "learning", str(tmp_path / "told"))

    await player.finish_deals(results(1, 2))

    assert (tmp_path / "told").read_text() == "1 2"


# --- Bots at an address ---


class Lowest(Bot):
    """Plays its lowest card, and does not care for results."""

    def play(self, view: Decision) -> str:
        return str(view.legal[0])


async def test_a_dialled_bot_plays(setup: Setup, decision: Ask, notices: list[str]) -> None:
    server, port = await create_server(Lowest(), "127.0.0.1:0")
    player = Dialler(setup).player(Entry("afar", address=f"127.0.0.1:{port}"), "0")

    description = await player.start()
    answer = await player.decide(decision(1))
    await player.finish_deals(results(1))
    await player.close()
    await server.stop(None)

    assert description.name == "Lowest"
    assert len(answer.choice.cards) == 3
    assert notices == []


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_socket_is_reached_whatever_a_uri_would_make_of_its_name(
    setup: Setup, decision: Ask, name: str
) -> None:
    address = f"unix:{setup.folder}/{name}"
    server, _ = await create_server(Lowest(), address)
    player = Dialler(setup).player(Entry("afar", address=address), "0")

    await player.start()
    answer = await player.decide(decision(1))
    await player.close()

    assert [path.name for path in setup.folder.iterdir()] == [name]
    assert answer.choice.cards
    await server.stop(None)


async def test_an_address_where_nobody_serves_is_named_with_the_cure(setup: Setup, tmp_path: Path) -> None:
    setup = replace(setup, time=TimeControl(startup=0.3))
    player = Dialler(setup).player(Entry("afar", address=f"unix:{tmp_path}/no.sock"), "0")

    with pytest.raises(
        BotUnusable,
        match=r"bot afar: unix:.*/no.sock did not answer Describe within 0.3 s \(nobody serves there\); start",
    ):
        await player.start()


async def test_a_dialled_bot_that_comes_back_plays_on(setup: Setup, decision: Ask) -> None:
    address = f"unix:{setup.folder}/afar.sock"
    server, _ = await create_server(Lowest(), address)
    player = Dialler(setup).player(Entry("afar", address=address), "0")
    await player.start()
    await player.decide(decision(1))
    await server.stop(None)
    server, _ = await create_server(Lowest(), address)

    answer = await player.decide(decision(2))
    await player.close()
    await server.stop(None)

    assert answer.choice.cards


async def test_a_proxy_in_the_environment_is_ignored(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server, port = await create_server(Lowest(), "127.0.0.1:0")
    player = Dialler(setup).player(Entry("afar", address=f"127.0.0.1:{port}"), "0")

    assert await player.start()

    await player.close()
    await server.stop(None)


@pytest.mark.slow
async def test_a_reply_of_any_size_leaves_the_arenas_memory_bounded(launch: Launch, decision: Ask) -> None:
    for way in ("huge", "bomb"):
        player = await started(launch, way)
        before = _peak_memory()
        await failure_of(player, decision(BAD, TimeControl(decision=10)))
        assert _peak_memory() - before < 32 << 20


def _peak_memory() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
