"""Bots in the arena's own process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arena.clock import TimeControl
from arena.decision import DealResult, Decision
from arena.errors import BotUnusable
from arena.faults import Failure, FaultKind
from arena.players.base import Player, Setup
from arena.players.local import Local
from arena.settings import Entry

Ask = Callable[..., Decision]

BRIEF = TimeControl(decision=0.05, bank=0.05)


@pytest.fixture
def local(setup: Setup) -> Callable[[str], Player]:
    """Return a player of a class in local_bots."""

    def make(name: str) -> Player:
        entry = Entry("mine", python=f"local_bots:{name}", directory=Path(__file__).parent / "bots")
        return Local(setup).player(entry, "0")

    return make


@pytest.mark.parametrize("name", ["Lowest", "Thoughtful"], ids=["plain", "async"])
async def test_a_local_bot_describes_itself_and_decides(
    local: Callable[[str], Player], decision: Ask, name: str
) -> None:
    player = local(name)

    description = await player.start()
    answer = await player.decide(decision(1))
    await player.close()

    assert description.name == name
    assert len(answer.choice.cards) == 3
    assert answer.elapsed > 0


@pytest.mark.parametrize(
    ("name", "kind", "detail"),
    [
        ("Raising", FaultKind.MALFORMED, "RuntimeError: lost count"),
        ("Quitting", FaultKind.MALFORMED, "SystemExit: 1"),
        ("OneCard", FaultKind.MALFORMED, "3 cards were asked for, 1 came"),
        ("Sleeping", FaultKind.TIMEOUT, "no answer within 0.1 s"),
        ("Blocking", FaultKind.TIMEOUT, "no answer within 0.1 s"),
    ],
)
async def test_what_a_local_bot_does_wrong_is_its_fault(
    local: Callable[[str], Player], decision: Ask, name: str, kind: FaultKind, detail: str
) -> None:
    player = local(name)
    await player.start()

    with pytest.raises(Failure) as failure:
        await player.decide(decision(1, BRIEF))

    assert (failure.value.evidence.kind, failure.value.evidence.detail) == (kind, detail)
    assert "\x1b" not in failure.value.evidence.stderr


async def test_a_local_bot_that_fails_to_learn_is_reported_once(
    local: Callable[[str], Player], notices: list[str]
) -> None:
    player = local("Raising")
    await player.start()

    for _ in range(2):
        await player.finish_deals([DealResult("t", 1, 0, (), (), b"", (), False)])

    assert notices == ["bot mine: deal_finished failed: RuntimeError: not interested"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Nobody", r"'local_bots:Nobody' cannot be imported .*; write it as module:Class"),
        ("NoBot", r"local_bots:NoBot is no subclass of arena\.sdk\.Bot"),
        ("Unready", r"local_bots:Unready cannot start: OSError: no model file"),
    ],
)
async def test_a_class_that_is_no_bot_is_refused(local: Callable[[str], Player], name: str, complaint: str) -> None:
    with pytest.raises(BotUnusable, match=f"bot mine: {complaint}"):
        await local(name).start()


async def test_a_bot_that_was_not_started_fails_startup(local: Callable[[str], Player], decision: Ask) -> None:
    with pytest.raises(Failure, match="startup"):
        await local("Lowest").decide(decision(1))
