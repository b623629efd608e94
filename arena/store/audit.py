"""The audit log: who did what, and how it ended. Entries are only ever added."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from arena.competition import Deed
from arena.store.database import Database
from arena.store.tables import DEEDS


class Audit:
    """The audit log of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, deed: Deed) -> None:
        """Write down a deed."""
        row = {name: getattr(deed, name) for name in ("who", "token", "deed", "what", "outcome")}
        with self._database.writing() as connection:
            connection.execute(sa.insert(DEEDS).values(row | {"time": deed.time.isoformat()}))

    def last(self, count: int) -> list[Deed]:
        """Return the last so many deeds, oldest first."""
        columns = DEEDS.c.time, DEEDS.c.who, DEEDS.c.token, DEEDS.c.deed, DEEDS.c.what, DEEDS.c.outcome
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*columns).order_by(DEEDS.c.key.desc()).limit(count)).all()
        return [Deed(datetime.fromisoformat(time), *rest) for time, *rest in reversed(rows)]
