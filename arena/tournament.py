"""Plays a schedule: creates or resumes a tournament, plays what is not played yet, and tells what happens as events.

`run_tournament` is the one way of playing: the command line and the server both consume its events. The store is the truth:
the schedule is in it before play, and each match goes in as a whole or not at all, so that the same call after any
interruption plays exactly what is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from arena.dealing import Seed
from arena.errors import ArenaError, BotUnusable, Interrupted
from arena.events import Event, Finished, MatchPlayed, Notice, Started
from arena.faults import Fault
from arena.game import Game
from arena.games import find_game
from arena.identity import fingerprint
from arena.match import Match, MatchPlay, MatchResult
from arena.players.base import Setup
from arena.players.roster import Roster
from arena.schedule import make_schedule
from arena.settings import Entry, Format, Settings, Tournament
from arena.table import TableRules, Void

if TYPE_CHECKING:
    from arena.store import Store

MAX_ATTEMPTS = 3
"""How often a match may be void through the arena's own faults before the tournament gives up."""

GRACE = 5.0
"""Seconds that matches in play have to finish once play is to stop."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done at once. None of it changes a result."""

    tables: int = 64
    """Tables in play at once."""
    parallel: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Requests to launched bots in flight at once."""
    processes: int | None = None
    """Bot processes at once; None for what fits in half the memory."""


async def run_tournament(
    store: Store,
    settings: Settings,
    entries: Sequence[Entry],
    *,
    pace: Pace | None = None,
    resume: str | None = None,
    fresh: bool = False,
    skip_broken: bool = False,
    stop: asyncio.Event | None = None,
) -> AsyncGenerator[Event, None]:
    """Play a tournament, or what is left of it, and yield its events; to be consumed under `contextlib.aclosing`.

    The same settings, entries and bots' files resume the latest tournament made of them; `resume` names another one,
    `fresh` starts anew. Once `stop` is set, matches in play have `GRACE` seconds to finish.

    Raises BadInput where it cannot be played as asked, BotUnusable where a bot does not start (unless `skip_broken`),
    and Interrupted where it was stopped before its end.
    """
    pace = pace or Pace()
    stop = stop or asyncio.Event()
    with store.coordinate():
        tournament, notices = _find_or_create(store, settings, entries, resume=resume, fresh=fresh)
        matches = store.matches(tournament.id)
        waiting = store.matches(tournament.id, done=False)
        boards = sum(match.deals or 1 for match in matches)
        yield Started(tournament.id, len(matches), len(matches) - len(waiting), boards, tournament.seed.commitment)
        for text in notices:
            yield Notice(text)
        if waiting:
            async for event in _play(
                store, tournament, waiting, len(matches), pace, skip_broken=skip_broken, stop=stop
            ):
                yield event
            store.finish(tournament.id)
        yield Finished(tournament.id, tournament.seed.key.hex())


def _find_or_create(
    store: Store, settings: Settings, entries: Sequence[Entry], *, resume: str | None, fresh: bool
) -> tuple[Tournament, list[str]]:
    """Return the tournament to play, and what there is to say about the choice."""
    identity = fingerprint(settings, entries)
    if resume is not None:
        tournament = store.tournament(resume)
        changed = tournament.fingerprint != identity.fingerprint
        return tournament, ["resumed with settings or bots that are not those it began with"] if changed else []
    earlier = store.find(identity.fingerprint)
    if earlier and not fresh:
        return earlier[0], []
    seed = Seed.draw() if settings.seed is None else Seed.from_text(settings.seed)
    tournament = Tournament(
        id=identity.fingerprint[:12] + (f"-{len(earlier) + 1}" if earlier else ""),
        fingerprint=identity.fingerprint,
        settings=settings,
        entries=tuple(entries),
        seed=seed,
        created=datetime.now(UTC),
        finished=None,
        versions=identity.versions,
    )
    store.add_tournament(
        tournament, make_schedule(settings, _game(settings), [entry.name for entry in entries], seed.key)
    )
    return tournament, _changed_bots(store, tournament)


def _changed_bots(store: Store, tournament: Tournament) -> list[str]:
    """Say which unfinished tournament this one leaves behind, where only the bots' files differ."""
    names = [entry.name for entry in tournament.entries]
    for other in reversed(store.tournaments()):
        same = other.settings == tournament.settings and [entry.name for entry in other.entries] == names
        if same and other.finished is None and other.fingerprint != tournament.fingerprint:
            changed = [name for name in names if other.versions.get(name) != tournament.versions.get(name)]
            what = f"changed: {', '.join(changed)}" if changed else "the entries changed"
            return [f"a new tournament, since {what}; the one before goes on with --resume {other.id}"]
    return []


async def _play(
    store: Store,
    tournament: Tournament,
    waiting: Sequence[Match],
    total: int,
    pace: Pace,
    *,
    skip_broken: bool,
    stop: asyncio.Event,
) -> AsyncGenerator[Event, None]:
    """Play the waiting matches, store each as it ends, and yield what happens."""
    settings = tournament.settings
    notices: list[str] = []
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    setup = Setup(settings.time, folder, asyncio.Semaphore(pace.parallel), notices.append)
    roster = Roster(tournament.entries, setup, processes=pace.processes, trust_bots=settings.trust_bots)
    rules = TableRules(_game(settings), settings.format is Format.GAME, settings.time, settings.faults)
    play = MatchPlay(rules, roster, tournament.seed.key, asyncio.Semaphore(pace.tables), settings.independent)
    played = total - len(waiting)
    try:
        await _check_bots(roster, settings, notices, skip_broken=skip_broken)
        async with contextlib.aclosing(_play_matches(play, waiting, pace, notices, stop)) as results:
            async for result in results:
                store.save_match(tournament.id, result)
                played += 1
                while notices:
                    yield Notice(notices.pop(0))
                yield _match_played(result, played, total)
        if played < total:
            raise Interrupted(f"stopped after {played} of {total} matches; the same command plays the rest")
    finally:
        await roster.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _check_bots(roster: Roster, settings: Settings, notices: list[str], *, skip_broken: bool) -> None:
    """Start every bot once; raise BotUnusable with all that do not start, unless they are to be skipped."""
    failures = await roster.check(settings.game)
    if failures and not skip_broken:
        cure = "mend them, or play without them with --skip-broken"
        raise BotUnusable("\n".join([*failures.values(), cure]))
    notices.extend(failures.values())


async def _play_matches(
    play: MatchPlay, waiting: Sequence[Match], pace: Pace, notices: list[str], stop: asyncio.Event
) -> AsyncGenerator[MatchResult, None]:
    """Yield the results of matches as they end, with enough matches in play to keep all tables busy."""
    window = 1 + -(-pace.tables // len(play.rules.game.sides))
    upcoming = iter(waiting)
    running: set[asyncio.Task[MatchResult]] = set()
    stopping = asyncio.create_task(stop.wait())
    try:
        while not stop.is_set():
            for match in islice(upcoming, window - len(running)):
                running.add(asyncio.create_task(_play_match(play, match, notices)))
            if not running:
                return
            await asyncio.wait({*running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                yield task.result()
        done, _ = await asyncio.wait(running, timeout=GRACE) if running else (set(), None)
        for task in done:
            yield task.result()
    finally:
        stopping.cancel()
        for task in running:
            task.cancel()
        await asyncio.gather(stopping, *running, return_exceptions=True)


async def _play_match(play: MatchPlay, match: Match, notices: list[str]) -> MatchResult:
    """Play a match until it counts."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            return await play.play(match, attempt if play.roster.may_remember(match.line_up) else 0)
        except Void as void:
            notices.append(f"match {match.number} is void and played again: {void}")
    raise ArenaError(
        f"match {match.number} was void {MAX_ATTEMPTS} times through faults of the arena itself; see the notices"
    )


def _match_played(result: MatchResult, played: int, total: int) -> MatchPlayed:
    faults = tuple(
        describe_fault(
            record.bots[fault.seat], fault, f"match {result.match.number}, table {table}, deal {record.number}"
        )
        for table, records in enumerate(result.tables, 1)
        for record in records
        for fault in record.faults
    )
    return MatchPlayed(result.match.number, played, total, sum(map(len, result.tables)), result.decisions, faults)


def describe_fault(bot: str, fault: Fault, where: str) -> str:
    """Say in a line which bot failed, how and where."""
    retired = "; retired from this table" if fault.retired else ""
    return f"{bot}: {fault.evidence.kind} ({fault.evidence.detail}) in {where}{retired}"


def _game(settings: Settings) -> Game:
    return find_game(
        settings.game,
        players=settings.players,
        sides="partners" if settings.partners else "single",
        options=settings.options,
    )
