"""What a server was asked to play, and the events of its tournaments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from arena.competition import Run
from arena.store.database import Database
from arena.store.tables import EVENTS, RUNS


class Runs:
    """The requests and events of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: Run) -> Run:
        """Keep a request; where there is one of its id already, return that one and change nothing."""
        row = {name: getattr(run, name) for name in run.__slots__}
        row |= {"overrides": json.dumps(dict(run.overrides)), "created": run.created.isoformat()}
        with self._database.writing(alone=True) as connection:
            found = connection.execute(sa.select(RUNS).where(RUNS.c.request == run.request)).mappings().first()
            if found is not None:
                return _run(found)
            connection.execute(sa.insert(RUNS).values(row))
        return run

    def find(self, request: str) -> Run | None:
        """Return the request of this id."""
        return self._first(sa.select(RUNS).where(RUNS.c.request == request))

    def last(self, who: str) -> Run | None:
        """Return the latest request of somebody."""
        return self._first(sa.select(RUNS).where(RUNS.c.who == who).order_by(RUNS.c.key.desc()).limit(1))

    def unfinished(self) -> list[Run]:
        """Return the requests that are not done, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(RUNS).where(~RUNS.c.over).order_by(RUNS.c.key)).mappings().all()
        return list(map(_run, rows))

    def set_tournament(self, request: str, tournament: str) -> None:
        """Note which tournament a request has led to."""
        self._change(request, {"tournament": tournament})

    def finish(self, request: str, error: str = "") -> None:
        """Note that a request is done with, and what ended it if it ended badly."""
        self._change(request, {"over": True, "error": error})

    def add_event(self, tournament: str, time: datetime, data: bytes) -> int:
        """Keep an event of a tournament, and return its number, from 1 without gaps."""
        with self._database.writing(alone=True) as connection:
            number = _last_event(connection, tournament) + 1
            row = {"tournament": tournament, "number": number, "time": time.isoformat(), "event": data}
            connection.execute(sa.insert(EVENTS).values(row))
        return number

    def events(self, tournament: str, first: int, most: int = 1000) -> list[tuple[int, datetime, bytes]]:
        """Return a tournament's events from number `first` on, at most so many, with their times."""
        c = EVENTS.c
        query = sa.select(c.number, c.time, c.event).where((c.tournament == tournament) & (c.number >= first))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(c.number).limit(most)).all()
        return [(number, datetime.fromisoformat(time), bytes(data)) for number, time, data in rows]

    def last_event(self, tournament: str) -> int:
        """Return the number of a tournament's last event, 0 where there is none."""
        with self._database.reading() as connection:
            return _last_event(connection, tournament)

    def _first(self, query: sa.Select[Any]) -> Run | None:
        with self._database.reading() as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else _run(row)

    def _change(self, request: str, values: Mapping[str, Any]) -> None:
        with self._database.writing() as connection:
            connection.execute(sa.update(RUNS).where(RUNS.c.request == request).values(values))


def _last_event(connection: sa.Connection, tournament: str) -> int:
    query = sa.select(sa.func.coalesce(sa.func.max(EVENTS.c.number), 0)).where(EVENTS.c.tournament == tournament)
    return int(connection.execute(query).scalar_one())


def _run(row: Mapping[Any, Any]) -> Run:
    values = {name: row[name] for name in Run.__slots__}
    created = datetime.fromisoformat(row["created"])
    return Run(**values | {"overrides": json.loads(row["overrides"]), "created": created, "over": bool(row["over"])})
