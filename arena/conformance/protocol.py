"""The steps on the protocol's promises: what later versions may send, repeated and cancelled questions, FinishDeals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from arena import wire
from arena.cards import Card
from arena.conformance.check import Check, Objection, ask, object_to_illegal
from arena.conformance.cures import tell
from arena.conformance.questions import Question
from arena.conformance.subject import time_limit
from arena.decision import Choice, DealResult
from arena.errors import Malformed
from arena.faults import Failure
from arena.finding import Finding, Verdict, failed, passed, warned
from arena.game import Game
from arena.players.channel import CallFailed
from arena.players.telling import FINISH_LIMIT
from arena.v1 import bot_pb2

UNKNOWN = b"\xc0\x3e\x07" + b"\xca\x3e\x05later"
"""Fields 1000 (a number) and 1001 (a text), which no message of arena.v1 has."""

LATER = 99
"""A value that no enum of arena.v1 has."""

REQUEST_ID = 1 << 63
"""Beyond what a signed number holds, to see that all 64 bits come back."""

PATIENCE = (0.005, 0.001, 0.0002)
"""Seconds after which a question is cancelled, until one is before its answer."""


AFTERMATH = 0.25
"""Seconds after which a bot must have got over a cancelled question."""


async def ignore_the_unknown(check: Check) -> Finding:
    """Fields and enum values of later versions, at the level of bytes."""
    game = check.variants[0]
    for what, spoil in _LATER_VERSIONS:
        await _ask_both(check, game, what, spoil)
    try:
        await _ask_both(check, game, f"with phase {LATER}", _set_unknown_phase)
    except Objection as objection:
        # No game has such a phase, so nothing is lost yet.
        return warned(objection.finding.detail, objection.finding.cure)
    return passed("unknown fields in request, decision and game; an unknown phase, direction and placing")


Spoil = Callable[[bot_pb2.Decision], None]


def _add_unknown_fields(decision: bot_pb2.Decision) -> None:
    decision.game.MergeFromString(UNKNOWN)
    decision.MergeFromString(UNKNOWN)


def _set_unknown_direction(decision: bot_pb2.Decision) -> None:
    decision.pass_direction = LATER  # type: ignore[assignment]


def _set_unknown_placing(decision: bot_pb2.Decision) -> None:
    decision.game.placed = LATER  # type: ignore[assignment]


def _set_unknown_phase(decision: bot_pb2.Decision) -> None:
    decision.phase = LATER  # type: ignore[assignment]


_LATER_VERSIONS: tuple[tuple[str, Spoil], ...] = (
    ("with unknown fields", _add_unknown_fields),
    (f"with pass_direction {LATER}", _set_unknown_direction),
    (f"with placed {LATER}", _set_unknown_placing),
)


async def _ask_both(check: Check, game: Game, what: str, spoil: Spoil) -> None:
    """Ask for cards to pass, if the game has that, and for one to play."""
    for question in (check.questions.passing(game), check.questions.playing(game, 2, 1)):
        if question is not None:
            await _ask_spoiled(check, question, what, spoil)


async def _ask_spoiled(check: Check, question: Question, what: str, spoil: Spoil) -> None:
    decisions = [question.decision]
    limit = time_limit(decisions)
    request = bot_pb2.DecideRequest.FromString(wire.encode_request(REQUEST_ID, limit, decisions))
    spoil(request.decisions[0])
    data = request.SerializeToString() + UNKNOWN
    where = f"a decision to choose {question.decision.count} {what}"
    cure = "ignore fields you don't know, and go by `count` where an enum has a value you don't know"
    try:
        reply = await check.subject.exchange(data, REQUEST_ID, decisions, limit)
    except Failure as failure:
        raise Objection(failed(f"{where}: {tell(failure.evidence)}", cure)) from None
    try:
        object_to_illegal([question], reply, where)
    except Objection as objection:
        raise Objection(failed(objection.finding.detail, cure)) from None


async def repeat(check: Check) -> Finding:
    """The same decision again, at once and after another one: so the arena asks when a request failed as a whole."""
    one, other = check.questions.middle(check.variants, 2)
    for question in (one, one, other, one):
        await ask(check.subject, [question])
    return passed("answered again, at once and after another one")


async def survive_cancelling(check: Check) -> Finding:
    """A question that is cancelled before its answer, and then another one."""
    questions = list(check.questions.opening(check.variants, min(check.subject.description.max_batch, 64)))
    decisions = [question.decision for question in questions]
    request = wire.encode_request(REQUEST_ID, time_limit(decisions), decisions)
    cancelled = False
    for patience in PATIENCE:
        cancelled = cancelled or await _cancelled(check, request, patience)
    for pause in (0.0, AFTERMATH):
        await asyncio.sleep(pause)
        (question,) = check.questions.middle(check.variants, 1)
        reply = await ask(check.subject, [question], "the question after a cancelled one")
    what = "cancelled" if cancelled else "answered sooner than it could be cancelled"
    return passed(f"a question was {what}, the next one answered in {reply.elapsed * 1000:.3g} ms", cancelled=cancelled)


async def _cancelled(check: Check, request: bytes, patience: float) -> bool:
    try:
        await check.subject.call("Decide", request, patience)
    except TimeoutError:
        return True
    except (CallFailed, EOFError):
        return False
    return False


async def finish_deals(check: Check) -> Finding:
    """How deals ended, which a bot may not care for."""
    request = wire.encode_results(list(_results(check)))
    cure = "take note within a second and return a FinishDealsResponse, or leave FinishDeals unimplemented"
    try:
        reply = await check.subject.call("FinishDeals", request, FINISH_LIMIT)
        bot_pb2.FinishDealsResponse.FromString(reply)
    except CallFailed as failure:
        if failure.code.name == "UNIMPLEMENTED":
            return passed("not implemented, which is fine: it is not told how deals end")
        return failed(f"FinishDeals: {failure}", cure)
    except TimeoutError:
        await check.subject.kill()
        return failed(f"FinishDeals is not done within {FINISH_LIMIT:g} s", cure)
    except EOFError:
        return failed("the process ended in FinishDeals", cure)
    (question,) = check.questions.middle(check.variants, 1)
    await ask(check.subject, [question], "the question after FinishDeals")
    return passed("takes note, and goes on")


def _results(check: Check) -> Iterator[DealResult]:
    for question in check.questions.middle(check.variants, 2 * len(check.variants)):
        deal = question.deal.copy()
        while deal.to_act:
            deal.choose(deal.turn, deal.legal(deal.turn)[:1])
        yield DealResult(
            table_id=question.decision.table_id,
            number=deal.number,
            seat=question.decision.seat,
            scores=deal.scores(),
            totals=question.decision.totals,
            trick_leaders=deal.trick_leaders,
            trick_cards=tuple(deal.plays),
            table_over=True,
        )


async def repeat_choices(check: Check) -> Finding:
    """The same decisions twice: whether a tournament can be repeated exactly."""
    questions = list(check.questions.middle(check.variants, check.effort.repeated))
    answers = [[(await ask(check.subject, [question])).choices[0] for question in questions] for _ in range(2)]
    same = sum(_cards(one) == _cards(other) for one, other in zip(*answers, strict=True))
    figures = {"asked": len(questions), "same": same}
    if same == len(questions):
        return Finding(
            Verdict.INFORMATION, f"{same} of {same} the same: its tournaments can be repeated", figures=figures
        )
    detail = f"{len(questions) - same} of {len(questions)} answers differ when asked again"
    return Finding(Verdict.INFORMATION, detail, "draw what is random from the decision's `random`", figures)


def _cards(choice: Choice | Malformed) -> tuple[Card, ...]:
    """Return the cards of a choice that is legal, sorted."""
    return () if isinstance(choice, Malformed) else tuple(sorted(choice.cards))
