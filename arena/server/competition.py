"""A competition under way: its store and shelf, what may be submitted, and what plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from arena.competition import LOCAL, Run, Version
from arena.competitors import House, competitors
from arena.config import Config, parse_config
from arena.errors import BadInput, Refused
from arena.events import Event, Notice
from arena.players.isolation import try_isolation
from arena.server.admissions import Admissions
from arena.server.admissions import Event as AdmissionEvent
from arena.server.calendar import Calendar
from arena.server.limits import Quotas
from arena.server.tournaments import CALENDAR, Tournaments, new_request
from arena.server.uploads import Patience, sweep
from arena.settings import Entry, Isolation, Settings
from arena.store import Store
from arena.submission.admission import Terms as AdmissionTerms
from arena.submission.recording import admit_and_record
from arena.submission.shelf import Shelf
from arena.tournament import Pace, run_tournament
from arena.verdict import plan_of


@dataclass(frozen=True, slots=True)
class Terms:
    """What a server offers, and on which conditions."""

    pace: Pace = field(default_factory=Pace)
    quotas: Quotas = field(default_factory=Quotas)
    patience: Patience = field(default_factory=Patience)
    admission: AdmissionTerms = field(default_factory=lambda: AdmissionTerms(isolation=Isolation.BUBBLEWRAP))
    admissions: int = 1
    """Admissions at once."""
    calendar: Calendar = field(default_factory=Calendar)
    config: str = "{}"
    """The text of the settings of the calendar's tournaments: a bots.yaml, without bots or with the organiser's own."""
    config_path: Path = field(default_factory=lambda: Path("bots.yaml"))
    incremental: bool = False
    """Whether the calendar's tournaments keep results between versions that have met before."""


class Competition:
    """Everything that a server does, apart from calls."""

    def __init__(self, store: Store, shelf: Shelf, terms: Terms) -> None:
        self.store = store
        self.shelf = shelf
        self.terms = terms
        self.admissions = Admissions(store, self._admit, terms.admissions)
        self.tournaments = Tournaments(store, self._play)
        self._config = parse_config(terms.config, terms.config_path, {}, bots_needed=False)
        if terms.calendar and self._config.settings.seed is not None:
            text = "its `seed` would deal the same cards each time: leave it out where the calendar plays"
            raise BadInput(f"{terms.config_path}: {text}")
        self.obstacle = ""
        """Why programs can't be admitted: what keeps the sandbox from working; empty where it works."""
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Find out what the machine can do, and go on with what an earlier server left."""
        self.obstacle = await _sandbox_obstacle(self.terms.admission)
        waiting = [version.submission for version in self.store.submissions.waiting()]
        sweep(self.shelf.incoming(new_request()).parent)
        self.shelf.prune(self.store.submissions.digests(), waiting)
        self.admissions.start()
        self.tournaments.start(self.terms.calendar, self._calendar_run)

    async def close(self, grace: float) -> None:
        """Stop: matches in play have the pace's grace to end; what isn't done goes on at the next start."""
        self._stop.set()
        await asyncio.gather(self.tournaments.close(grace), self.admissions.close())

    def check(self, run: Run, *, trusted: bool) -> None:
        """Raise BadInput where what is asked for can't be played at all; only the trusted may bring bots of their own."""
        config = self._read(run)
        if config.entries and not trusted:
            text = "a server plays the bots that were submitted: leave `bots` out of the file"
            raise Refused("BOTS_IN_CONFIG", text)

    def check_sandbox(self) -> None:
        """Raise Refused where programs can't be admitted."""
        if self.obstacle:
            text = (
                "this server has no sandbox and takes bots at addresses only: run yours somewhere, and give its address"
            )
            raise Refused("NO_SANDBOX", text)

    def _read(self, run: Run) -> Config:
        overrides: dict[str, str | list[str]] = dict(run.overrides)
        if "option" in run.overrides:
            overrides["option"] = run.overrides["option"].splitlines()
        return parse_config(run.config or "{}", Path(run.config_path), overrides, bots_needed=False)

    def _calendar_run(self) -> Run:
        return Run(
            request=new_request(),
            who=CALENDAR,
            config=self.terms.config,
            config_path=str(self.terms.config_path),
            overrides={},
            incremental=self.terms.incremental,
            fresh=not self.terms.incremental,
            created=datetime.now(UTC),
        )

    def _admit(self, version: Version) -> AsyncGenerator[AdmissionEvent, None]:
        reserved = [entry.name for entry in self._config.entries]
        limited = version.owner != LOCAL
        return admit_and_record(
            self.store,
            version,
            self.shelf,
            self.terms.admission,
            apart=True,
            reserved=reserved,
            most_bots=self.terms.quotas.bots if limited else None,
            most_bytes=self.terms.quotas.megabytes * 1_000_000 if limited else None,
        )

    async def _play(self, run: Run) -> AsyncGenerator[Event, None]:
        """Play what was asked for, or what is left of it, by the very bots with which it began."""
        house = None
        if run.tournament:
            tournament = self.store.tournament(run.tournament)
            settings, entries, submitted = tournament.settings, tournament.entries, True
        else:
            notices: list[str] = []
            config = self._read(run)
            submitted = run.who == CALENDAR or not config.entries
            settings, entries = (
                self._with_submitted(config, notices) if submitted else (config.settings, config.entries)
            )
            house = House.beside(entries) if submitted else None
            for text in notices:
                yield Notice(text)
            if not entries:
                none_admitted = "no bot that plays this game is admitted yet: `arena submit` submits one"
                raise BadInput("no bot that was submitted can play:" if notices else none_admitted)
        playing = run_tournament(
            self.store,
            settings,
            entries,
            plan_of=plan_of,
            pace=self.terms.pace,
            skip_broken=submitted,
            house=house,
            incremental=run.incremental,
            fresh=run.fresh and not run.tournament,
            resume=run.tournament or None,
            stop=self._stop,
        )
        async with aclosing(playing) as events:
            async for event in events:
                yield event

    def _with_submitted(self, config: Config, notices: list[str]) -> tuple[Settings, tuple[Entry, ...]]:
        """Return what is played by whom: the organiser's own bots and those that were submitted, in the sandbox or not at all."""
        public_only = not self.terms.admission.private_addresses
        game, named = config.settings.game, config.entries
        submitted = competitors(self.store, self.shelf.whole, game, notices, named, public_only=public_only)
        return replace(config.settings, isolation=Isolation.BUBBLEWRAP), (*named, *submitted)


async def _sandbox_obstacle(terms: AdmissionTerms) -> str:
    try:
        await try_isolation(Isolation.BUBBLEWRAP, terms.limits)
    except BadInput as error:
        return str(error)
    return ""
