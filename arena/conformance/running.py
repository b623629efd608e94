"""The steps on the bot's process: its memory and output over many deals, being started again, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arena.conformance.answering import CLOSE
from arena.conformance.check import Check, Objection, ask
from arena.conformance.cures import cure_of, tell, with_output
from arena.conformance.play import DEALS, faults_of, play_table, seat_of
from arena.conformance.watched import WatchedBot
from arena.errors import BotUnusable
from arena.faults import Failure
from arena.finding import Finding, failed, passed, skipped, warned
from arena.players.base import Player
from arena.players.connection import Connection
from arena.players.lag import Lag
from arena.players.launcher import STOP_GRACE

TABLES = 32
"""How many tables are in play at once."""

WARMING = 0.1
"""The part of the deals after which memory is first looked at: until then, things are loaded."""

LONGEST = 60.0
"""Seconds after which no more tables begin."""

FEW_DEALS = 10_000
"""A bot whose memory reaches the limit within so many deals fails."""

NOTABLE = 32 << 20
"""Bytes of growth that are worth a warning."""

SETTLING = 0.5
"""Seconds after an answer in which a bot may tidy up."""

RESTING = 1.0
"""Seconds for which it is watched then."""

MOST_AT_REST = 0.2
"""The part of one processor that a bot may use while it isn't asked. Whoever wants all gets little more where many do."""

PATIENCE = 3.0
"""Seconds that a bot has here to end, to be told how long it takes."""


async def bound_memory(check: Check) -> Finding:
    """Many deals at many tables at once, asked as in a tournament."""
    async with _player(check) as (bot, player):
        warm = await _play(check, player, round(check.effort.deals * WARMING))
        before = bot.resident_bytes()
        deals = await _play(check, player, check.effort.deals - warm)
        after = bot.resident_bytes()
    if not before:
        return skipped("this system doesn't tell how much memory a process holds")
    grown = max(0, after - before)
    detail = f"{after >> 20} MiB after {warm + deals:,} deals, {grown >> 20} MiB more than after {warm:,}"
    figures = {"bytes": after, "grown": grown, "deals": warm + deals}
    left = (check.limits.memory - after) * deals / grown if grown else float("inf")
    cure = "forget tables that are over: `table_over` in FinishDeals says which"
    if grown > NOTABLE and left < FEW_DEALS:
        return failed(
            f"{detail}: the limit of {check.limits.memory / 1e9:g} GB is reached in {left:,.0f} more", cure, **figures
        )
    if grown > NOTABLE:
        return warned(detail, cure, **figures)
    return passed(detail, **figures)


@asynccontextmanager
async def _player(check: Check) -> AsyncIterator[tuple[WatchedBot, Player]]:
    """Offer another instance as tournaments ask it."""
    bot = check.subject.another()
    player = Connection(bot, check.subject.setup, Lag())
    try:
        await player.start()
        yield bot, player
    except BotUnusable as unusable:
        cure = "let several processes of the bot run at once: share no port and no lock"
        detail, _, output = str(unusable).partition("\n")
        raise Objection(failed(f"another instance: {with_output(detail, output)}", cure, output)) from None
    finally:
        await player.close()


async def _play(check: Check, player: Player, deals: int) -> int:
    """Play about so many deals, and return how many it were; raise Objection at a fault."""
    loop = asyncio.get_running_loop()
    end = loop.time() + LONGEST
    numbers = iter(range(-(-deals // DEALS)))
    played = 0

    async def play_some() -> None:
        nonlocal played
        for number in numbers:
            if loop.time() > end:
                return
            game = check.variants[number % len(check.variants)]
            table = check.questions.next_table()
            result = await play_table(player, game, table, check.time)
            await player.finish_deals(result.deal_results[seat_of(game, table)])
            for where, fault in faults_of(result):
                detail = f"with {TABLES} tables at once, in {where}: {tell(fault.evidence)}"
                raise Objection(failed(detail, cure_of(fault.evidence), fault.evidence.stderr))
            played += len(result.records)

    await asyncio.gather(*(play_some() for _ in range(TABLES)))
    return played


async def keep_quiet(check: Check) -> Finding:
    """What it wrote to its standard output and error while it was asked."""
    bot = check.subject.launched
    assert bot is not None
    if bot.dropping:
        return failed(
            "it writes more than 1 MB a second to its output, which is dropped",
            "write less: the last lines before a fault are kept, and are of use only if they are few",
        )
    lines = (await bot.output()).splitlines()
    return passed(f"{len(lines)} line{'s' * (len(lines) != 1)} of output" if lines else "no output")


async def stay_confined(check: Check) -> Finding:
    """What the sandbox, in which all steps were made, had to keep it from."""
    enforcement = check.subject.enforcement
    assert enforcement is not None
    limits = f"{check.limits.memory / 1e6:,.0f} MB of memory and {check.limits.processes} processes"
    if check.subject.excess:
        cure = f"use less: an instance has {limits}, and little room for files"
        return failed(f"the arena ended it because {check.subject.excess}", cure)
    if enforcement.sandbox is not None and check.subject.most_tasks >= check.limits.processes:
        detail = f"it had {check.subject.most_tasks} processes and threads, as many as it may"
        return failed(detail, f"start fewer: an instance may have {check.limits.processes}")
    if enforcement.sandbox is None:
        return skipped(f"there was no sandbox: {enforcement.obstacle or 'isolation is none'}")
    if check.refusal:
        return skipped("it does not start in the sandbox")
    if not check.games:
        return skipped("it has played no game in the sandbox")
    return passed(f"all steps were made in the sandbox: no network, no files but its own, {limits}")


async def start_again(check: Check) -> Finding:
    """Killed, started again, and asked amid a deal: so the arena does after a crash."""
    cure = "start whatever an earlier process left behind; each start has an address of its own"
    if check.lost:
        return failed(f"it does not start again: {check.lost}", cure)
    await check.subject.kill()
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        await check.subject.ready()
    except Failure as failure:
        return failed(f"it does not start again: {tell(failure.evidence)}", cure)
    seconds = loop.time() - began
    (question,) = check.questions.middle(check.variants, 1)
    await ask(check.subject, [question], "the first question after a restart, amid a deal")
    detail = f"started again within {seconds:.2f} s, and answers amid a deal"
    if seconds > CLOSE * check.time.startup:
        return warned(detail, "start faster", seconds=seconds)
    return passed(detail, seconds=seconds)


async def rest(check: Check) -> Finding:
    """What it does after the first answer of a fresh instance, while others are asked."""
    bot = check.subject.launched
    assert bot is not None
    await asyncio.sleep(SETTLING)
    shares = [await _share_used(bot)]
    if shares[0] > MOST_AT_REST:  # it may just be compiling what it needs
        shares.append(await _share_used(bot))
    share = min(shares)
    detail = f"it used {share:.0%} of a processor while it was not asked"
    if share > MOST_AT_REST:
        return failed(detail, "think only while a decision waits: the processors are the others' then", share=share)
    return passed(detail, share=share)


async def _share_used(bot: WatchedBot) -> float:
    """Return which part of one processor a bot uses in the time to come."""
    before = bot.processor_seconds()
    await asyncio.sleep(RESTING)
    return (bot.processor_seconds() - before) / RESTING


async def end_on_request(check: Check) -> Finding:
    """SIGTERM ends it, with all that it started, and its socket is gone."""
    bot = check.subject.launched
    assert bot is not None
    bot.look()
    ending = await bot.ask_to_end(PATIENCE)
    await check.subject.kill()
    if ending.how.signal == 9 and ending.idle + ending.used < PATIENCE / 2:
        return skipped(
            f"it has not ended within {PATIENCE:g} s of SIGTERM, but got no processor: this machine is too busy"
        )
    if ending.how.signal == 9:
        return failed(
            f"SIGTERM does not end it within {PATIENCE:g} s", "stop the server and exit on SIGTERM", seconds=PATIENCE
        )
    if bot.stray:
        detail = f"it leaves behind what has left its session: {bot.stray}"
        return failed(detail, "start nothing as a daemon or in a session of its own, so that it ends with the bot")
    figures = {"seconds": ending.seconds, "idle": ending.idle}
    if ending.idle > STOP_GRACE:
        detail = f"after SIGTERM it waits {ending.idle:.2f} s before it ends; it is killed after {STOP_GRACE:g} s"
        return warned(detail, "exit at once on SIGTERM: no request is in flight then", **figures)
    detail = f"{ending.how} {ending.seconds:.2f} s after SIGTERM"
    if ending.socket_left:
        return warned(f"{detail}, but leaves its socket's file", "remove the file on SIGTERM", **figures)
    return passed(detail, **figures)
