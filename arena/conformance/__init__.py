"""`arena check`: whether a bot will survive a competition, in numbered steps, each with its cause and its cure.

A step is a function of a check under way; it returns a finding, or raises Objection with one. What a failed step would only
repeat is skipped. Nothing here prints.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from arena.clock import TimeControl
from arena.conformance import answering, beginning, protocol, running
from arena.conformance.check import QUICK, Check, Effort, Objection
from arena.conformance.cures import cure_of, tell
from arena.conformance.questions import Questions
from arena.conformance.subject import open_subject
from arena.errors import BotUnusable
from arena.faults import Failure
from arena.finding import Finding, Outcome, Verdict, failed, skipped
from arena.settings import Entry, Isolation, Limits

__all__ = ["QUICK", "STEPS", "Effort", "Finding", "Outcome", "Step", "Verdict", "check_bot"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a bot must be able to do."""

    name: str
    title: str
    make: Callable[[Check], Awaitable[Finding]]
    needs: tuple[str, ...] = ("play-games",)
    """The steps without which it says nothing."""
    of_process: bool = False
    """Whether it is about the bot's process, which the arena must have started."""
    starts: bool = False
    """Whether it starts the bot itself."""


STEPS: tuple[Step, ...] = (
    Step("build", "is built", beginning.build, needs=(), of_process=True, starts=True),
    Step("start", "starts in time and answers Describe", beginning.start, needs=("build",), starts=True),
    Step("describe", "describes itself, always the same", beginning.describe, needs=("start",)),
    Step("play-games", "plays each game, in each phase", answering.play_games, needs=("start",)),
    Step("play-counts", "plays with each number of players", answering.play_counts),
    Step("batches", "takes requests of one decision and of max_batch", answering.take_batches),
    Step("legal", "answers legally, decision after decision", answering.answer_legally),
    Step("latency", "answers in time", answering.answer_in_time, needs=("legal",)),
    Step("unknown", "ignores unknown fields and enum values", protocol.ignore_the_unknown),
    Step("two-tables", "keeps two tables apart", answering.keep_tables_apart, needs=("legal",)),
    Step("repeated", "answers a repeated decision", protocol.repeat),
    Step("cancelled", "answers after a cancelled question", protocol.survive_cancelling),
    Step("finish-deals", "takes FinishDeals, or leaves it out", protocol.finish_deals),
    Step("same-answers", "gives the same answer twice", protocol.repeat_choices, needs=("legal",)),
    Step("output", "writes little", running.keep_quiet, of_process=True),
    Step(
        "memory",
        "needs no more memory deal after deal",
        running.bound_memory,
        ("batches", "two-tables"),
        of_process=True,
    ),
    Step("restart", "starts again, and plays on", running.start_again, of_process=True, starts=True),
    Step("rest", "rests while it is not asked", running.rest, needs=("restart",), of_process=True),
    Step(
        "confined",
        "runs without network, within the sandbox's limits",
        running.stay_confined,
        needs=("build",),
        of_process=True,
        starts=True,
    ),
    Step("stop", "ends on SIGTERM, with all that it started", running.end_on_request, of_process=True),
)
"""All steps, in the order in which they are made and numbered."""


async def check_bot(
    entry: Entry,
    time: TimeControl,
    *,
    games: Sequence[str] = (),
    build: Sequence[str] = (),
    isolation: Isolation = Isolation.AUTO,
    limits: Limits | None = None,
    effort: Effort | None = None,
    begin: Callable[[int, Step], None] = lambda _number, _step: None,
) -> AsyncGenerator[Outcome, None]:
    """Make all steps with a bot and yield what each found; to be consumed under `contextlib.aclosing`.

    `games` are those that it is to play, all that it says it plays if left out; `build` is the command that builds it, if
    any; `begin` is called as a step begins. Raises BadInput where a sandbox is asked for that doesn't work.
    """
    loop = asyncio.get_running_loop()
    verdicts: dict[str, Verdict] = {}
    limits = limits or Limits()
    async with open_subject(entry, time, isolation, limits) as subject:
        check = Check(subject, time, effort or Effort(), tuple(games), Questions(time), limits, tuple(build))
        for number, step in enumerate(STEPS, 1):
            begin(number, step)
            began = loop.time()
            finding = _reason_to_skip(step, check, verdicts) or await _make(step, check)
            verdicts[step.name] = finding.verdict
            yield Outcome(number, step.name, step.title, finding, loop.time() - began)


def _reason_to_skip(step: Step, check: Check, verdicts: dict[str, Verdict]) -> Finding | None:
    if step.of_process and check.subject.launched is None:
        return skipped("not the arena's to see: it doesn't start this bot")
    for number, other in enumerate(STEPS, 1):
        if other.name in _all_needs(step) and verdicts.get(other.name) is Verdict.FAIL:
            return skipped(f"step {number} failed")
    return None


def _all_needs(step: Step) -> set[str]:
    """Return the steps that a step needs, and those that they need."""
    above = [other for other in STEPS if other.name in step.needs]
    return set(step.needs).union(*map(_all_needs, above))


async def _alive(check: Check) -> bool:
    """Start the bot again if need be; return False, and note the reason, if that is in vain."""
    if not check.lost:
        try:
            await check.subject.ready()
        except Failure as failure:
            check.lost = tell(failure.evidence)
    return not check.lost


async def _make(step: Step, check: Check) -> Finding:
    """Make a step with a living bot; add what the bot wrote where it fails."""
    if not step.starts and not await _alive(check):
        return skipped(f"the bot has ended and does not start again: {check.lost}")
    finding = await _find(step, check)
    if finding.verdict is Verdict.FAIL and not finding.output:
        return replace(finding, output=await check.subject.output())
    return finding


async def _find(step: Step, check: Check) -> Finding:
    try:
        return await step.make(check)
    except Objection as objection:
        return objection.finding
    except Failure as failure:
        return failed(tell(failure.evidence), cure_of(failure.evidence))
    except BotUnusable as unusable:
        return failed(str(unusable), "mend what keeps it from starting")
