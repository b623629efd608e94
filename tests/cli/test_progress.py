"""What is told while a tournament is played, where no terminal is."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from arena.cli.progress import PlainDisplay
from arena.events import Event, Notice, Started, TablePlayed


def told(events: Sequence[Event], *, grows: bool = False, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
    with PlainDisplay(Console(file=stream), grows=grows) as display:
        for event in events:
            display.show(event)
    stream.seek(0)
    return stream.read().splitlines()


def started(matches: int, already_played: int = 0) -> Started:
    return Started("3f9a", matches, already_played, 4 * matches, "c0ffee")


def played(number: int, tables: int) -> TablePlayed:
    return TablePlayed(number, 0, number, tables, 220)


def test_a_schedule_that_is_known_says_how_far_it_is() -> None:
    first, _, last = told([started(2), played(1, 2), played(2, 2)])

    assert first == "tournament 3f9a: 2 matches, 8 boards"
    assert last.startswith("table 2 of 2, ")


def test_a_schedule_that_grows_promises_no_end() -> None:
    first, before, _, *matches = told([started(3, 2), played(3, 3), played(6, 6)], grows=True)

    assert first == "tournament 3f9a: 3 matches, 12 boards so far"
    assert before == "2 of them were played before; --fresh plays again on new deals"
    assert [line.split(",")[0] for line in matches] == ["table 3", "table 6"]


def test_a_stream_that_cannot_encode_a_sign_gets_another_one() -> None:
    assert told([Notice("is +3 ±5 Elo")], encoding="ascii") == ["note: is +3 +-5 Elo"]
    assert told([Notice("is +3 ±5 Elo")]) == ["note: is +3 ±5 Elo"]
