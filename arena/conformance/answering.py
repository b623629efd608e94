"""The steps on what the bot answers: in every game, in requests of every size, legally and in time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import cycle
from statistics import median, quantiles

from arena.conformance.check import Check, Objection, ask
from arena.conformance.cures import cure_of, tell
from arena.conformance.play import Asked, faults_of, play_table
from arena.conformance.questions import Question, describe_game, usual
from arena.faults import Fault
from arena.finding import Finding, failed, passed, skipped, warned
from arena.game import Game

LARGE_REPLY = 1024
"""Bytes of a reply to one decision beyond which there must be a note that is cut."""

CLOSE = 0.5
"""The part of the decision time beyond which a bot is warned: the machine of a competition may be slower, or busy."""


async def play_games(check: Check) -> Finding:
    """Each game, in each phase."""
    if not check.games:
        return failed("it plays none of the games here", "name games in Describe that this arena has: `arena games`")
    return await _ask_all(check, (usual(games) for games in check.games))


async def play_counts(check: Check) -> Finding:
    """Each number of players, also in partnerships."""
    others = [game for games in check.games for game in games if game != usual(games)]
    if not others:
        return skipped("its games are for one number of players only, which the step before asked")
    return await _ask_all(check, others)


async def _ask_all(check: Check, games: Iterable[Game]) -> Finding:
    asked = []
    for game in games:
        for question in _each_phase(check, game):
            await ask(check.subject, [question])
        asked.append(describe_game(game))
    return passed(", ".join(asked), variants=len(asked))


def _each_phase(check: Check, game: Game) -> list[Question]:
    """Return a decision to pass, one to lead and one to follow to the first tricks."""
    passing = check.questions.passing(game)
    playing = [check.questions.playing(game, place=place) for place in range(game.players)]
    return [passing, *playing] if passing else playing


async def take_batches(check: Check) -> Finding:
    """Requests of one decision and of as many as it takes, of the games in turn."""
    most = check.subject.description.max_batch
    variants = check.variants
    for size in sorted({1, min(2, most), most}):
        questions = list(check.questions.opening(variants, size))
        reply = await ask(check.subject, questions, f"a request of {size} decision{'s' * (size > 1)}")
    rate = most / max(reply.elapsed, 1e-6)
    if most == 1:
        return warned(
            "it takes one decision a request",
            "set max_batch in Describe and go through the decisions of a request: that is several times faster",
            decisions_per_second=rate,
        )
    return passed(f"1 and {most}, at {rate:,.0f} decisions/s", max_batch=most, decisions_per_second=rate)


async def answer_legally(check: Check) -> Finding:
    """So many decisions one by one, at whole tables under the referee."""
    player = Asked(check.subject)
    games = cycle(check.variants)
    faults: list[tuple[str, Fault]] = []
    while len(player.latencies) < check.effort.decisions and not faults:
        result = await play_table(player, next(games), check.questions.next_table(), check.time)
        faults += faults_of(result)
    check.latencies = player.latencies
    asked = len(player.latencies)
    if faults:
        where, fault = faults[0]
        detail = f"after {asked:,} answers, in {where}: {tell(fault.evidence)}"
        return failed(detail, cure_of(fault.evidence), decisions=asked)
    if player.largest > LARGE_REPLY:
        detail = f"{asked:,} legal, but one decision's reply has {player.largest:,} bytes"
        return warned(detail, "of a note 256 bytes are kept: write short ones, or none", decisions=asked)
    return passed(f"{asked:,} of {asked:,}, in {len(check.variants)} kinds of tables", decisions=asked)


async def answer_in_time(check: Check) -> Finding:
    """What the decisions took that were asked one by one."""
    if len(check.latencies) < 2:
        return skipped("too few decisions were answered")
    limit = check.time.decision
    middle, high, worst = median(check.latencies), quantiles(check.latencies, n=100)[98], max(check.latencies)
    late = sum(latency > limit for latency in check.latencies)
    detail = (
        f"median {_shown(middle)}, 99th percentile {_shown(high)}, worst {_shown(worst)}; the limit is {_shown(limit)}"
    )
    figures = {"median": middle, "percentile_99": high, "worst": worst, "limit": limit, "over_limit": late}
    if middle > limit:
        return failed(detail, "answer faster: the bank pays for a few late answers only", **figures)
    if late:
        times = f"{late} answer{'s' * (late > 1)}"
        return warned(
            f"{detail}; the bank paid for {times}", "keep within the decision time, bank_left is soon gone", **figures
        )
    if high > CLOSE * limit:
        return warned(detail, "answer faster: on a busy machine this is late", **figures)
    return passed(detail, **figures)


def _shown(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


async def keep_tables_apart(check: Check) -> Finding:
    """Two tables whose decisions come in turn, of different games if it plays several."""
    player = Asked(check.subject)
    first, second = check.variants[0], check.variants[-1]
    tables = [play_table(player, game, check.questions.next_table(), check.time) for game in (first, second)]
    results = await asyncio.gather(*tables)
    for result in results:
        for where, fault in faults_of(result):
            cure = "keep what you remember by table_id; a decision has all that is needed to answer it"
            detail = f"with two tables in turn, in {where}: {tell(fault.evidence)}"
            raise Objection(failed(detail, cure, fault.evidence.stderr))
    return passed(f"{len(player.latencies)} decisions of {describe_game(first)} and {describe_game(second)} in turn")
