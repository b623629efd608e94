"""Plays a schedule: creates or resumes a tournament, plays what is not played yet, and tells what happens as events.

`run_tournament` is the one way of playing: the command line and the server both consume its events. The store is the truth:
the schedule is in it before play, and each table goes in as a whole or not at all, so that the same call after any
interruption plays exactly what is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arena.competitors import House
from arena.dealing import Seed
from arena.disqualification import disqualified
from arena.entrants import Entrants, enforce_for, find_able, find_entrants
from arena.errors import ArenaError, BadInput, Interrupted
from arena.events import Event, Finished, Notice, Started
from arena.game import Game
from arena.identity import fingerprint
from arena.incremental import completed_schedule, kept_matches, kept_notice, nothing_kept_notice
from arena.ledger import Ledger
from arena.match import Match, seat_places
from arena.plan import FixedPlan, Plan, Played, count_boards
from arena.players.base import Setup
from arena.players.isolation import Enforcement
from arena.players.roster import Roster
from arena.rotations import PassLength, Rotations, VoidMatch
from arena.schedule import imbalance, make_schedule
from arena.settings import Entry, Format, Settings, Tournament, game_of
from arena.sockets import private_folder
from arena.table import TableRules

if TYPE_CHECKING:
    from arena.store import Store

T = TypeVar("T")

MAX_ATTEMPTS = 3
"""How often a match may be void through the arena's own faults before the tournament gives up."""

_FROZEN = " None ran while it was not being asked."

GRACE = 5.0
"""Seconds that matches in play have to finish once play is to stop, unless the pace says otherwise."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done at once, and what is kept besides the results. None of it changes a result."""

    tables: int = 64
    """Tables in play at once."""
    parallel: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Requests to launched bots in flight at once."""
    processes: int | None = None
    """Bot processes at once; None for what fits in half the memory."""
    freeze: bool = False
    """Whether launched bots that aren't being asked are stopped, on Linux."""
    bot_logs: Path | None = None
    """The folder where what bots write is kept; None to keep the last lines only."""
    grace: float = GRACE
    """Seconds that matches in play have to finish once play is to stop."""

    @property
    def freezes(self) -> bool:
        """Whether that is wanted and can be done."""
        return self.freeze and sys.platform == "linux"


def fixed_plan(tournament: Tournament) -> Plan:
    """Return the plan of a tournament whose whole schedule follows from its settings."""
    names = [entry.name for entry in tournament.entries]
    return FixedPlan(make_schedule(tournament.settings, game_of(tournament.settings), names, tournament.seed.key))


@dataclass(frozen=True, slots=True)
class _Which:
    """Which tournament is meant, as `run_tournament` takes it."""

    resume: str | None
    fresh: bool
    incremental: bool


async def run_tournament(
    store: Store,
    settings: Settings,
    entries: Sequence[Entry],
    *,
    plan_of: Callable[[Tournament], Plan] = fixed_plan,
    pace: Pace | None = None,
    resume: str | None = None,
    fresh: bool = False,
    skip_broken: bool = False,
    house: House | None = None,
    incremental: bool = False,
    stop: asyncio.Event | None = None,
) -> AsyncGenerator[Event, None]:
    """Play a tournament, or what is left of it, and yield its events; to be consumed under `contextlib.aclosing`.

    What is played is up to the plan that `plan_of` makes (`arena.verdict.plan_of` makes those that go by ratings); where
    that is paused, the events end without Finished.

    The same settings, entries and bots' files resume the latest tournament made of them; `resume` names another one,
    `fresh` starts anew. A new one that is `incremental` keeps the results of earlier ones between versions that are the same
    (see `arena.incremental`), all of them where the bots of an earlier one are back. Once `stop` is set, matches in play have
    `pace.grace` seconds to finish.

    Bots of the `house` take the seats that are left where too few of the entries can play, but not where one is resumed.
    Whatever there is to notice is told before an error, also before Started.

    Raises BadInput where it cannot be played as asked, BotUnusable where a bot does not start (unless `skip_broken`),
    and Interrupted where it was stopped before its end.
    """
    notices: list[str] = []
    entrants = find_entrants(store, settings, entries, house or House(), resume)
    which = _Which(resume, fresh, incremental)
    pace, stop = pace or Pace(), stop or asyncio.Event()
    playing = _play(store, settings, entrants, which, plan_of, pace, notices, stop, skip_broken=skip_broken)
    try:
        async with contextlib.aclosing(playing) as events:
            async for event in events:
                yield event
    except ArenaError:
        for notice in _take(notices):
            yield notice
        raise


async def _play(
    store: Store,
    settings: Settings,
    entrants: Entrants,
    which: _Which,
    plan_of: Callable[[Tournament], Plan],
    pace: Pace,
    notices: list[str],
    stop: asyncio.Event,
    *,
    skip_broken: bool,
) -> AsyncGenerator[Event, None]:
    """Do what `run_tournament` promises; when it raises, `notices` has what is not told yet."""
    known = _find(store, settings, entrants.expected, which)
    if known is not None and known.finished is not None:
        yield _started(store, known)
        yield Finished(known.id, known.seed.key.hex())
        return
    with store.coordinate():
        if which.resume is not None:
            settings = _resumable(store.tournament(which.resume), settings, entrants.entries, notices)
        async with _open_roster(settings, entrants, pace, store.files, notices) as (roster, enforcement):
            house = House() if enforcement is None else entrants.house
            checking = find_able(roster, settings.game, entrants, house, notices, skip_broken=skip_broken)
            working = await _unless_stopped(checking, stop)
            tournament = _find(store, settings, working, which)
            if tournament is None:
                tournament = _create(store, settings, working, notices, plan_of, incremental=which.incremental)
            if enforcement is not None and any(entry.launched for entry in tournament.entries):
                _note_enforced(store, tournament, enforcement, pace, notices)
            yield _started(store, tournament)
            if kept := sum(len(match.tables) for match in store.partly_played(tournament.id).values()):
                notices.append(f"goes on after {kept} tables of matches that were in play")
            for notice in _take(notices):
                yield notice
            yield Notice(str(imbalance(store.matches(tournament.id), game_of(tournament.settings))))
            playing = _Playing(store, tournament, plan_of(tournament), roster, pace, notices, stop)
            async with contextlib.aclosing(playing.events()) as events:
                async for event in events:
                    yield event
        if playing.paused:
            return
        store.finish(tournament.id)
        yield Finished(tournament.id, tournament.seed.key.hex())


def _take(notices: list[str]) -> list[Notice]:
    """Take what is to be told."""
    taken = [Notice(text) for text in notices]
    notices.clear()
    return taken


def _note_enforced(
    store: Store, tournament: Tournament, enforcement: Enforcement, pace: Pace, notices: list[str]
) -> None:
    store.note_enforced(tournament.id, f"{enforcement}{_FROZEN if pace.freezes else ''}")
    if enforcement.obstacle:
        notices.insert(0, f"NO SANDBOX: bots can read and change whatever you can, since {enforcement.obstacle}")


def _started(store: Store, tournament: Tournament) -> Started:
    matches = store.matches(tournament.id)
    done = store.progress(tournament.id).done if tournament.finished is None else len(matches)
    return Started(tournament.id, len(matches), done, count_boards(matches), tournament.seed.commitment)


@contextlib.asynccontextmanager
async def _open_roster(
    settings: Settings, entrants: Entrants, pace: Pace, hidden: tuple[Path, ...], notices: list[str]
) -> AsyncGenerator[tuple[Roster, Enforcement | None], None]:
    """Offer the bots' players, with what the launched ones are confined by; at the end nothing of them is left.

    What is `hidden` they can't read, not even in their own folder.
    """
    with private_folder() as folder:
        enforcement = await enforce_for(settings, entrants, folder, hidden)
        sandbox = enforcement.sandbox if enforcement else None
        setup = Setup(
            settings.time,
            folder,
            asyncio.Semaphore(pace.parallel),
            notices.append,
            sandbox,
            pace.bot_logs,
            pace.freezes,
        )
        entries = (*entrants.entries, *entrants.house.bots)
        roster = Roster(entries, setup, processes=pace.processes, trust_bots=settings.trust_bots)
        try:
            yield roster, enforcement
        finally:
            await roster.close()


async def _unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T:
    """Do some work before play; raise Interrupted as soon as play is to stop."""
    tasks = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise Interrupted("stopped before play; the same command begins again")
        return tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _find(store: Store, settings: Settings, entries: Sequence[Entry], which: _Which) -> Tournament | None:
    """Return the tournament that is asked for, None where there is none yet.

    An incremental one that is finished counts while it is the latest: if others have played since, a new one tells how things
    stand, with all results kept.
    """
    if which.resume is not None:
        return store.tournament(which.resume)
    known = None if which.fresh else next(iter(store.find(fingerprint(settings, entries).fingerprint)), None)
    outdated = (
        which.incremental and known is not None and known.finished is not None and known.id != store.tournament().id
    )
    return None if outdated else known


def _resumable(tournament: Tournament, settings: Settings, entries: Sequence[Entry], notices: list[str]) -> Settings:
    """Return the settings that a tournament goes on with, which are its own; raise BadInput if bots of it are missing."""
    missing = {entry.name for entry in tournament.entries} - {entry.name for entry in entries}
    if missing:
        names = ", ".join(sorted(missing))
        raise BadInput(f"tournament {tournament.id} cannot go on without {names}: enter them again under these names")
    if tournament.fingerprint != fingerprint(settings, entries).fingerprint:
        notices.append("goes on with its own settings, and with bots that are not those it began with")
    return tournament.settings


def _refuse_remembering(schedule: Sequence[Match], entries: Sequence[Entry], game: Game) -> None:
    """Raise BadInput where a bot at one address would hold several seats of a table."""
    addresses = {entry.name: entry.address for entry in entries if entry.address}
    for match in schedule if addresses else ():
        for rotation, seating in enumerate(match.seatings(game)):
            for place in seat_places(match, seating, rotation):
                if place.copy and place.bot in addresses:
                    raise BadInput(
                        f"bot {place.bot} at {addresses[place.bot]} would hold several seats of one table, and see their"
                        " hands: run it once more at another address and enter it under another name"
                    )


def _create(
    store: Store,
    settings: Settings,
    entries: Sequence[Entry],
    notices: list[str],
    plan_of: Callable[[Tournament], Plan],
    *,
    incremental: bool,
) -> Tournament:
    """Store a new tournament with what of its schedule is known before play."""
    identity = fingerprint(settings, entries)
    earlier = len(store.find(identity.fingerprint))
    tournament = Tournament(
        id=identity.fingerprint[:12] + (f"-{earlier + 1}" if earlier else ""),
        fingerprint=identity.fingerprint,
        settings=settings,
        entries=tuple(entries),
        seed=Seed.draw() if settings.seed is None else Seed.from_text(settings.seed),
        created=datetime.now(UTC),
        versions=identity.versions,
    )
    kept = kept_matches(store, tournament) if incremental else ()
    schedule = completed_schedule(tournament, kept) if kept else plan_of(tournament).begin()
    if incremental:
        keeps = any(match.origin for match in schedule)
        notices.append(kept_notice(schedule) if keeps else nothing_kept_notice(store, tournament))
    _refuse_remembering(schedule, entries, game_of(settings))
    notices.extend(_left_behind(store, tournament))
    store.add_tournament(tournament, schedule)
    return tournament


def _left_behind(store: Store, tournament: Tournament) -> list[str]:
    """Say which unfinished tournament a new one leaves behind, where only the bots' files differ."""
    names = [entry.name for entry in tournament.entries]
    for other in reversed(store.tournaments()):
        same = other.settings == tournament.settings and [entry.name for entry in other.entries] == names
        if same and other.finished is None and other.fingerprint != tournament.fingerprint:
            changed = [name for name in names if other.versions.get(name) != tournament.versions.get(name)]
            what = f"{', '.join(changed)} changed" if changed else "the entries changed"
            return [f"this is a new tournament, since {what}; the one before goes on with --resume {other.id}"]
    return []


def disqualified_bots(store: Store, tournament: Tournament) -> frozenset[str]:
    """Return the bots that play no more matches, as decided after the blocks that are played."""
    retirements = [(fault.match, fault.table, fault.bot) for fault in store.faults(tournament.id) if fault.retired]
    if not retirements:
        return frozenset()
    matches = store.matches(tournament.id)
    done = {match.number for match in store.matches(tournament.id, done=True)}
    tables = len(matches[0].seatings(game_of(tournament.settings)))
    return disqualified(matches, lambda match: match.number in done, retirements, tables)


class _Playing:
    """What is left of a tournament, being played."""

    def __init__(
        self,
        store: Store,
        tournament: Tournament,
        plan: Plan,
        roster: Roster,
        pace: Pace,
        notices: list[str],
        stop: asyncio.Event,
    ) -> None:
        settings = tournament.settings
        game = game_of(settings)
        self._rotations = Rotations(
            TableRules(game, settings.format is Format.GAME, settings.time, settings.faults),
            roster,
            tournament.seed.key,
            tables=pace.tables,
            independent=settings.independent,
            stop=stop,
            grace=pace.grace,
        )
        self._store = store
        self._tournament = tournament
        self._plan = plan
        self._roster = roster
        self._notices = notices
        self._stop = stop
        self._passes = PassLength()
        self.paused = False
        """Whether the plan paused the tournament: it is not over."""

    async def events(self) -> AsyncGenerator[Event, None]:
        """Play, store each table as it ends, and yield what happens; raise Interrupted where matches are left."""
        while True:
            ledger = Ledger(self._store, self._tournament)
            async with contextlib.aclosing(self._play_schedule(ledger)) as events:
                async for event in events:
                    yield event
            tournament = self._tournament.id
            played = Played(self._store.matches(tournament), self._store.results(tournament), ledger.disqualified)
            step = self._plan.go_on(played)
            self._notices += [step.note] * bool(step.note)
            for notice in _take(self._notices):
                yield notice
            if not step.matches:
                self.paused = step.paused
                return
            self._store.add_matches(self._tournament.id, step.matches)

    async def _play_schedule(self, ledger: Ledger) -> AsyncGenerator[Event, None]:
        """Play all matches that are written down, pass by pass."""
        attempts = self._store.attempts(self._tournament.id)
        voided: Counter[int] = Counter()
        for event in ledger.settle():
            yield event
        while due := ledger.due(self._passes.blocks):
            began, starting = time.monotonic(), self._roster.starting
            async with contextlib.aclosing(self._rotations.play(due, ledger.tables, attempts)) as results:
                async for result in results:
                    if isinstance(result, VoidMatch):
                        self._void(result, voided, attempts)
                        ledger.drop([result.match.number])
                    else:
                        for event in ledger.add(result):
                            yield event
                    self._notices += ledger.take_notes()
                    for notice in _take(self._notices):
                        yield notice
            if self._stop.is_set() and ledger.due(1):
                (tables, all_tables), (played, matches) = ledger.tables_played, ledger.played
                raise Interrupted(
                    f"stopped after {tables} of {all_tables} tables, {played} of {matches} matches;"
                    " the same command plays the rest"
                )
            self._passes.learn(time.monotonic() - began, self._roster.starting - starting)

    def _void(self, void: VoidMatch, voided: Counter[int], attempts: dict[int, int]) -> None:
        """Let a match be played again: on new deals if a bot could remember the old ones."""
        number = void.match.number
        self._notices.append(f"match {number} is void and played again: {void.reason}")
        anew = self._roster.may_remember(void.match.line_up)
        self._store.void_match(self._tournament.id, number, dealt_anew=anew)
        if anew:
            attempts[number] = attempts.get(number, 0) + 1
        voided[number] += 1
        if voided[number] == MAX_ATTEMPTS:
            raise ArenaError(
                f"match {number} was void {MAX_ATTEMPTS} times through faults of the arena itself: see the notes above"
            )
