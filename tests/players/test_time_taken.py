"""What a bot is charged for, to the millisecond: bots in the test's own process, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from virtual_time import pass_by, run

from arena.clock import TimeControl
from arena.decision import DealResult, Decision
from arena.faults import Failure, FaultKind
from arena.players import instance
from arena.players.base import Setup
from arena.players.channel import Channel
from arena.players.connection import Connection
from arena.players.endpoint import Endpoint, Target
from arena.players.lag import TICK, Lag
from arena.players.telling import FINISH_LIMIT
from arena.v1 import bot_pb2

BAD = 13
FOREVER = 3600.0
SLOW = 0.25
"""Seconds that `bot` takes, as a rule, for decisions number 13; for others it takes none."""

Ask = Callable[..., Decision]
Start = Callable[..., Coroutine[Any, Any, Connection]]


class Here(Endpoint):
    """Where a bot of the test serves; on the arena's processors, as if it were launched."""

    name = "rogue"
    launched = True
    dropping = False

    async def open(self, deadline: float) -> Target:
        return Target("")

    async def explain(self, reason: str) -> str:
        return reason

    async def close(self, *, in_peace: bool) -> None:
        pass


class Bot(Channel):
    """A bot in place of the channel to it."""

    live = True
    takes = SLOW
    learns = 0.0

    def __init__(self, _target: Target) -> None:
        methods: dict[str, Callable[[bytes], Awaitable[bytes]]] = {
            "Describe": self._describe,
            "Decide": self._decide,
            "FinishDeals": self._finish_deals,
        }
        self._methods = methods  # type: ignore[assignment]

    async def close(self) -> None:
        pass

    async def _describe(self, _request: bytes) -> bytes:
        return bot_pb2.DescribeResponse(name="here", max_batch=1024).SerializeToString()

    async def _decide(self, data: bytes) -> bytes:
        request = bot_pb2.DecideRequest.FromString(data)
        response = bot_pb2.DecideResponse(request_id=request.request_id)
        for decision in request.decisions:
            response.choices.add(cards=decision.legal[: decision.count])
        if any(decision.number == BAD for decision in request.decisions):
            await asyncio.sleep(self.takes)
        return response.SerializeToString()

    async def _finish_deals(self, _request: bytes) -> bytes:
        await asyncio.sleep(self.learns)
        return b""


@pytest.fixture
def start(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a bot that takes so long for its bad decisions, and to learn."""

    async def make(takes: float = SLOW, *, learns: float = 0.0, dropping: bool = False) -> Connection:
        monkeypatch.setattr(instance, "Channel", type("Bot", (Bot,), {"takes": takes, "learns": learns}))
        endpoint = Here()
        endpoint.dropping = dropping
        player = Connection(endpoint, setup, Lag())
        await player.start()
        return player

    return make


def approximately(seconds: float, late: float = 1e-6) -> Any:
    return pytest.approx(seconds, abs=late)


def test_tables_share_the_time_of_a_request(start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start()

        answers = await asyncio.gather(*(player.decide(decision(number)) for number in (1, 2, 3, 4, BAD)))

        assert [answer.elapsed for answer in answers] == [approximately(SLOW / 5)] * 5
        await player.close()

    run(main())


def test_an_answer_after_the_limit_is_late_by_so_much(start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start(FOREVER)

        with pytest.raises(Failure) as failure:
            await player.decide(decision(BAD, TimeControl(decision=0.1, bank=0.05)))

        assert failure.value.evidence.kind is FaultKind.TIMEOUT
        assert failure.value.evidence.overrun == approximately(0.0)
        assert failure.value.elapsed == approximately(0.15)
        await player.close()

    run(main())


def test_the_arenas_own_lateness_is_not_the_bots(start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start()

        asked = asyncio.create_task(player.decide(decision(BAD, TimeControl(decision=1.0, bank=0.2))))
        await asyncio.sleep(0.05)
        pass_by(0.9)  # the event loop stands still
        answer = await asked

        assert answer.elapsed == approximately(0.05, late=2 * TICK)
        await player.close()

    run(main())


def test_a_bot_is_asked_again_if_the_arena_stood_still_for_longer_than_is_credited(start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start()

        asked = asyncio.create_task(player.decide(decision(BAD, TimeControl(decision=1.0, bank=0.2))))
        await asyncio.sleep(0.05)
        pass_by(2.5)
        answer = await asked

        assert answer.elapsed == approximately(SLOW, late=TICK)
        await player.close()

    run(main())


@pytest.mark.parametrize(("flooding", "charged"), [(False, 0.0), (True, 0.5)], ids=["honest", "flooding"])
def test_a_bot_that_floods_the_arena_gets_no_credit(
    start: Start, decision: Ask, flooding: bool, charged: float
) -> None:
    async def main() -> None:
        player = await start(0.1, dropping=flooding)

        asked = asyncio.create_task(player.decide(decision(BAD, TimeControl(decision=10, bank=10))))
        await asyncio.sleep(0.05)
        pass_by(0.5)

        assert (await asked).elapsed == approximately(0.05 + charged, late=2 * TICK)
        await player.close()

    run(main())


def test_a_request_that_uses_its_bank_lets_others_begin(setup: Setup, start: Start, decision: Ask) -> None:
    async def main() -> None:
        await setup.parallel.acquire()
        slow, quick = await start(FOREVER), await start()
        thinking = asyncio.create_task(slow.decide(decision(BAD, TimeControl(decision=0.2, bank=1))))
        await asyncio.sleep(0.05)
        began = asyncio.get_running_loop().time()

        await quick.decide(decision(1))

        assert asyncio.get_running_loop().time() - began == approximately(0.15)
        assert not thinking.done()
        thinking.cancel()
        await asyncio.gather(slow.close(), quick.close())

    run(main())


def test_nobody_is_charged_for_waiting_for_a_place(setup: Setup, start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start()
        await setup.parallel.acquire()
        await setup.parallel.acquire()
        asked = asyncio.create_task(player.decide(decision(BAD)))

        await asyncio.sleep(0.8)
        assert not asked.done()
        setup.parallel.release()
        answer = await asked

        assert answer.elapsed == approximately(SLOW)
        await player.close()

    run(main())


def test_closing_a_player_fails_what_it_is_asked_as_the_arenas_own_fault(start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start(FOREVER)
        asked = asyncio.create_task(player.decide(decision(BAD)))
        await asyncio.sleep(0.05)

        await player.close()

        with pytest.raises(Failure) as failure:
            await asked
        assert failure.value.evidence.kind is FaultKind.ARENA

    run(main())


def test_a_cancelled_decision_disturbs_no_other(start: Start, decision: Ask) -> None:
    async def main() -> None:
        player = await start()
        first = asyncio.create_task(player.decide(decision(BAD)))
        await asyncio.sleep(0.02)
        waiting = [asyncio.create_task(player.decide(decision(number))) for number in (1, 2)]
        await asyncio.sleep(0.02)

        first.cancel()
        waiting[0].cancel()

        assert (await waiting[1]).choice.cards == decision(2).legal[:3]
        await player.close()

    run(main())


def test_results_never_hold_anybody_up(start: Start, decision: Ask, notices: list[str]) -> None:
    async def main() -> None:
        player = await start(learns=FOREVER)
        began = asyncio.get_running_loop().time()

        await player.finish_deals([DealResult("t", 1, 0, (0,) * 4, (0,) * 4, b"", (), False)])

        assert asyncio.get_running_loop().time() - began == approximately(FINISH_LIMIT, late=TICK)
        assert (await player.decide(decision(1))).choice.cards
        assert notices == ["rogue: FinishDeals failed: not done within 1 s"]
        await player.close()

    run(main())
