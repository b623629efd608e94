"""Small tournaments among bots in the test's own process, and ways to change what is kept of them."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from arena.errors import Interrupted
from arena.events import MatchPlayed, Started
from arena.plan import Plan
from arena.record import DealRecord
from arena.settings import Entry, Settings, Tournament
from arena.store import Store
from arena.tournament import Pace, fixed_plan, run_tournament
from arena.wire import decode_record, encode_record

SETTINGS = Settings(boards=24, seed="verify me")
KINDS = ("Lowest", "Highest", "Random", "Cheat")


def entries(kinds: Sequence[str]) -> tuple[Entry, ...]:
    """Return entries of bots of `in_process`, named by their kind and their place."""
    return tuple(Entry(f"{kind} {place}", python=f"in_process:{kind}") for place, kind in enumerate(kinds))


def play(
    path: Path,
    settings: Settings = SETTINGS,
    kinds: Sequence[str] = KINDS,
    *,
    stop_after: int | None = None,
    plan_of: Callable[[Tournament], Plan] = fixed_plan,
) -> None:
    """Play a tournament into a store, to its end or until so many matches are played."""
    asyncio.run(_play(path, settings, kinds, stop_after, plan_of))


async def _play(
    path: Path,
    settings: Settings,
    kinds: Sequence[str],
    stop_after: int | None,
    plan_of: Callable[[Tournament], Plan],
) -> None:
    stop = asyncio.Event()
    with Store.open(path) as store, contextlib.suppress(Interrupted):
        playing = run_tournament(store, settings, entries(kinds), plan_of=plan_of, pace=Pace(tables=1), stop=stop)
        async with contextlib.aclosing(playing):
            async for event in playing:
                played = 0 if isinstance(event, Started) else event.played if isinstance(event, MatchPlayed) else None
                if played is not None and played == stop_after:
                    stop.set()


def execute(path: Path, *statements: str) -> None:
    """Change a store behind Arena's back."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def change_record(
    path: Path,
    match: int,
    table: int,
    deal: int,
    change: Callable[[DealRecord], DealRecord],
    *,
    into: int | None = None,
) -> None:
    """Change one record of a store, or put the changed one in as that of another deal."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        place = 'WHERE match = ? AND "table" = ? AND deal = ?'
        query = f"SELECT record FROM records {place}"
        (data,) = connection.execute(query, (match, table, deal)).fetchone()
        changed = zlib.compress(encode_record(change(decode_record(zlib.decompress(data)))))
        if into is None:
            connection.execute(f"UPDATE records SET record = ? {place}", (changed, match, table, deal))
        else:
            connection.execute("INSERT INTO records VALUES (1, ?, ?, ?, ?)", (match, table, into, changed))
