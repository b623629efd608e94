"""Whoever hangs up, or has to wait for the database, loses nothing and keeps nobody waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from servers import TERMS, serving

from arena.client import list_bots
from arena.clock import TimeControl
from arena.competition import Role, State
from arena.v1 import arena_pb2, arena_pb2_grpc

OWNERS = {"ada": Role.CONTESTANT, "olga": Role.ORGANISER}
SUBMISSION, REQUEST = "a" * 32, "b" * 32
SHORT = replace(TERMS, admission=replace(TERMS.admission, time=TimeControl(startup=0.2), private_addresses=True))
RUNNING = arena_pb2.SubmitBotRequest(
    submission=arena_pb2.Submission(id=SUBMISSION, running=arena_pb2.RunningBot(address="127.0.0.1:1", name="afar"))
)


class Held:
    """A function that waits in its first call until it may go on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.begun.set()
        assert self.go_on.wait(30)
        return self._function(*arguments, **named)


async def hang_up(address: str, token: str, held: Held, call: Callable[[Any, Any], Any]) -> None:
    """Make a call, and end it while the function is held; then let that go on."""
    async with grpc.aio.insecure_channel(address) as channel:
        made = call(arena_pb2_grpc.ArenaServiceStub(channel), (("authorization", f"Bearer {token}"),))
        reading = asyncio.ensure_future(made.read())
        await asyncio.to_thread(held.begun.wait, 30)
        made.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    held.go_on.set()


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not done():
            await asyncio.sleep(0.01)


async def test_a_submission_is_admitted_though_its_owner_hung_up_while_it_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, SHORT, owners=OWNERS) as tested:
        submissions = tested.kept.submissions
        monkeypatch.setattr(submissions, "receive", held := Held(submissions.receive))
        await hang_up(
            tested.address.address,
            tested.tokens["ada"],
            held,
            lambda stub, token: stub.SubmitBot(iter([RUNNING]), metadata=token),
        )

        await until(lambda: (found := submissions.find(SUBMISSION)) is not None and found.state is State.REFUSED)


async def test_a_tournament_is_played_though_its_organiser_hung_up_while_it_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, SHORT, owners=OWNERS) as tested:
        runs = tested.kept.runs
        monkeypatch.setattr(runs, "add", held := Held(runs.add))
        await hang_up(
            tested.address.address,
            tested.tokens["olga"],
            held,
            lambda stub, token: stub.RunTournament(arena_pb2.RunTournamentRequest(request_id=REQUEST), metadata=token),
        )

        await until(lambda: (found := runs.find(REQUEST)) is not None and found.over)


@pytest.mark.parametrize(
    "deed", ["claim", *(pytest.param(deed, marks=pytest.mark.slow) for deed in ("begin_again", "add_step", "decide"))]
)
async def test_who_reads_does_not_wait_for_an_admission_that_waits_for_the_database(
    deed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, SHORT, owners=OWNERS) as tested:
        submissions = tested.kept.submissions
        monkeypatch.setattr(submissions, deed, held := Held(getattr(submissions, deed)))
        async with grpc.aio.insecure_channel(tested.address.address) as channel:
            stub: Any = arena_pb2_grpc.ArenaServiceStub(channel)
            token = (("authorization", f"Bearer {tested.tokens['ada']}"),)
            call = stub.SubmitBot(iter([RUNNING]), metadata=token)
            await asyncio.to_thread(held.begun.wait, 30)

            await asyncio.wait_for(list_bots(tested.address), 20)

            held.go_on.set()
            decided = [response async for response in call][-1].event.decided
    assert decided.state == arena_pb2.VERSION_STATE_REFUSED
