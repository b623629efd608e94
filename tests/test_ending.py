"""How `arena check` judges a bot's end: by what the bot waits for, not by what the machine makes it wait for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from arena.clock import TimeControl
from arena.conformance.check import Check
from arena.conformance.running import end_on_request
from arena.conformance.subject import open_subject
from arena.conformance.watched import Ending
from arena.finding import Verdict
from arena.players.process import Exit
from arena.settings import Entry, Isolation, Limits

CAREFUL = Path(__file__).parent.parent / "sample_bots" / "python" / "careful.py"


@dataclass
class Ended:
    """A bot, and the subject of a check, that ended in a certain way."""

    ending: Ending
    stray = ""

    @property
    def subject(self) -> Ended:
        return self

    launched = subject

    def look(self) -> None:
        pass

    async def kill(self) -> None:
        pass

    async def ask_to_end(self, patience: float) -> Ending:
        assert patience
        return self.ending


@pytest.mark.parametrize(
    ("how", "seconds", "idle", "used", "verdict"),
    [
        (Exit(exit_code=0), 0.1, 0.1, 0.0, Verdict.PASS),
        (Exit(exit_code=0), 2.9, 0.1, 0.3, Verdict.PASS),
        (Exit(exit_code=0), 2.9, 2.0, 0.1, Verdict.WARNING),
        (Exit(signal=9), 3.0, 0.2, 0.3, Verdict.SKIPPED),
        (Exit(signal=9), 3.0, 2.9, 0.0, Verdict.FAIL),
        (Exit(signal=9), 3.0, 0.0, 2.9, Verdict.FAIL),
    ],
    ids=["at once", "slow machine", "it waits", "starved", "it ignores the signal", "it computes on"],
)
async def test_only_what_the_bot_itself_waits_for_is_held_against_it(
    how: Exit, seconds: float, idle: float, used: float, verdict: Verdict
) -> None:
    bot = Ended(Ending(how, seconds, idle, used, socket_left=False))

    assert (await end_on_request(cast(Check, cast(Any, bot)))).verdict is verdict


WAITING = f"""
import runpy, time
runpy.run_path({str(CAREFUL)!r}, run_name="__main__")
time.sleep(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process does")
@pytest.mark.parametrize(
    ("program", "waits"), [((str(CAREFUL),), False), (("-c", WAITING), True)], ids=["sdk", "sleeps"]
)
async def test_what_a_bot_waits_for_is_measured(program: tuple[str, ...], waits: bool) -> None:
    entry = Entry("careful", command=("python", *program), directory=CAREFUL.parent)
    async with open_subject(entry, TimeControl(), Isolation.NONE, Limits()) as subject:
        await subject.start()
        assert subject.launched is not None
        ending = await subject.launched.ask_to_end(30.0)

    assert ending.how.exit_code == 0
    assert (ending.idle > 0.5) is waits
    assert ending.idle <= ending.seconds
