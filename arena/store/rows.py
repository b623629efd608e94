"""Between what is kept and the rows of the store's tables: a list in a cell is JSON, or numbers joined by commas."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from arena.dealing import Seed
from arena.faults import FaultKind
from arena.match import Match, RotationResult
from arena.record import DealRecord
from arena.results import Result
from arena.settings import Entry, Settings, Tournament
from arena.wire import decode_record, encode_record

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredFault:
    """A fault without its evidence, which is in the deal's record."""

    match: int
    table: int
    deal: int
    seat: int
    bot: str
    kind: FaultKind
    retired: bool


def tournament_row(tournament: Tournament) -> Row:
    """Return a tournament's row, without its key, which the database gives."""
    return {
        "id": tournament.id,
        "fingerprint": tournament.fingerprint,
        "settings": _json(tournament.settings.to_json()),
        "entries": _json([entry.to_json() for entry in tournament.entries]),
        "versions": _json(dict(tournament.versions)),
        "seed_key": tournament.seed.key,
        "seed_text": tournament.seed.text,
        "created": tournament.created.isoformat(),
        "finished": tournament.finished and tournament.finished.isoformat(),
        "enforced": _json(tournament.enforced),
    }


def read_tournament(row: Mapping[Any, Any]) -> Tournament:
    """Make a tournament of its row."""
    return Tournament(
        id=row["id"],
        fingerprint=row["fingerprint"],
        settings=Settings.from_json(json.loads(row["settings"])),
        entries=tuple(Entry.from_json(values) for values in json.loads(row["entries"])),
        seed=Seed(bytes(row["seed_key"]), row["seed_text"]),
        created=datetime.fromisoformat(row["created"]),
        finished=None if row["finished"] is None else datetime.fromisoformat(row["finished"]),
        versions=json.loads(row["versions"]),
        enforced=tuple(json.loads(row["enforced"])),
    )


def match_row(key: int, match: Match) -> Row:
    """Return the row of a match that is to be played."""
    line_up = _json(match.line_up)
    return {
        "tournament": key,
        "number": match.number,
        "line_up": line_up,
        "deals": match.deals,
        "exchanged": match.exchanged,
        "origin": None if match.origin is None else _json(match.origin),
        "attempt": 0,
        "done": False,
    }


def read_match(number: int, line_up: str, deals: int, exchanged: bool, origin: str | None) -> Match:
    """Make a match of cells of its row. Positional, as for a result."""
    return Match(number, _names(line_up), deals, exchanged, None if origin is None else read_origin(origin))


def result_row(key: int, result: Result) -> Row:
    """Return a result's row."""
    match, deal = result.board
    return {
        "tournament": key,
        "match": match,
        "table": result.table,
        "deal": deal,
        "bots": _json(result.bots),
        "points": _joined(result.points),
        "places": _joined(result.places),
        "faults": _joined(result.faults),
        "deals": result.deals,
    }


def read_result(
    match: int, table: int, deal: int, bots: str, points: str, places: str, faults: str, deals: int
) -> Result:
    """Make a result of cells of its row. Positional, since a tournament has up to millions."""
    return Result((match, deal), table, _names(bots), _numbers(points), _numbers(places), _numbers(faults), deals)


def record_row(key: int, table: RotationResult, record: DealRecord) -> Row:
    """Return the row of a deal's record: a compressed message."""
    data = zlib.compress(encode_record(record))
    return {
        "tournament": key,
        "match": table.match.number,
        "table": table.rotation,
        "deal": record.number,
        "record": data,
    }


def read_record(data: bytes) -> DealRecord:
    """Make a record of its cell; raise zlib.error or Malformed where it is damaged."""
    return decode_record(zlib.decompress(data))


def fault_rows(key: int, table: RotationResult) -> list[Row]:
    """Return the rows of a table's faults, numbered in the order in which they happened."""
    return [
        {
            "tournament": key,
            "match": table.match.number,
            "table": table.rotation,
            "position": position,
            "deal": record.number,
            "seat": fault.seat,
            "bot": record.bots[fault.seat],
            "kind": int(fault.evidence.kind),
            "retired": fault.retired,
        }
        for position, (record, fault) in enumerate(
            (record, fault) for record in table.records for fault in record.faults
        )
    ]


def read_fault(match: int, table: int, deal: int, seat: int, bot: str, kind: int, retired: bool) -> StoredFault:
    """Make a fault of cells of its row."""
    return StoredFault(match, table, deal, seat, bot, FaultKind(kind), retired)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_origin(text: str) -> tuple[str, int]:
    """Read where a match was really played: the id of the tournament, and its number there."""
    tournament, number = json.loads(text)
    return str(tournament), int(number)


@lru_cache(maxsize=65536)
def _names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=65536)
def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
