"""Results between versions that are unchanged are kept, and only what is new is played."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small_tournaments import execute

from arena.difference import Difference
from arena.errors import BadInput, Interrupted
from arena.events import Event, Finished, MatchPlayed, Notice, Started
from arena.games import find_game
from arena.match import Match
from arena.report import result_notes, stored_document
from arena.schedule import circles, make_schedule
from arena.settings import Entry, ScheduleKind, Settings
from arena.store import Store
from arena.tournament import Pace, run_tournament
from arena.verdict import plan_of, stored_plan
from arena.verify import verify_tournament

SETTINGS = Settings(game="heartswitch", boards=24, players=3)


def bot(folder: Path, name: str, kind: str = "Lowest", version: int = 1) -> Entry:
    """Return a bot in this process whose version follows from a file of its own."""
    module = f"{name}_{folder.name}".replace("-", "_")
    (folder / f"{module}.py").write_text(f"from in_process import {kind}\n# version {version}\n")
    return Entry(name, python=f"{module}:{kind}", directory=folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def play(
    folder: Path,
    entries: Sequence[Entry],
    settings: Settings = SETTINGS,
    *,
    incremental: bool = True,
    stop_after: int | None = None,
) -> list[Event]:
    """Play a tournament into `arena.db`, or a part of it, and return its events."""

    async def run() -> list[Event]:
        events: list[Event] = []
        stop = asyncio.Event()
        with Store.open(folder / "arena.db") as store:
            playing = run_tournament(
                store, settings, entries, plan_of=plan_of, pace=Pace(tables=3), incremental=incremental, stop=stop
            )
            with contextlib.suppress(Interrupted):
                async with contextlib.aclosing(playing):
                    async for event in playing:
                        events.append(event)
                        if (
                            stop_after is not None
                            and sum(isinstance(each, MatchPlayed) for each in events) >= stop_after
                        ):
                            stop.set()
        return events

    return asyncio.run(run())


def played_line_ups(folder: Path, events: Sequence[Event]) -> list[tuple[str, ...]]:
    started = next(event for event in events if isinstance(event, Started))
    with Store.open(folder / "arena.db") as store:
        by_number = {match.number: match for match in store.matches(started.tournament)}
    return [by_number[event.match].line_up for event in events if isinstance(event, MatchPlayed)]


def notices(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def verified(folder: Path, tournament: str | None = None) -> int:
    """Verify a tournament, and return how many of its matches were kept."""
    with Store.open(folder / "arena.db") as store:
        found = store.tournament(tournament)
        return verify_tournament(store, found, plan_of=partial(stored_plan, store)).kept


def pool(folder: Path, changed: str = "") -> list[Entry]:
    kinds = {"ann": "Lowest", "bob": "Highest", "cat": "Random", "dan": "Lowest", "eve": "Highest"}
    return [bot(folder, name, kind, 1 + (name == changed)) for name, kind in kinds.items()]


def test_only_line_ups_with_a_changed_bot_are_played(folder: Path) -> None:
    play(folder, pool(folder))

    events = play(folder, pool(folder, changed="bob"))

    line_ups = played_line_ups(folder, events)
    assert line_ups
    assert all("bob" in line_up for line_up in line_ups)
    assert isinstance(events[-1], Finished)
    with Store.open(folder / "arena.db") as store:
        first, second = store.tournaments()
        matches = store.matches(second.id)
        assert [match.number for match in matches] == list(range(1, len(matches) + 1))
        kept = [match for match in matches if match.origin]
        assert {match.origin[0] for match in kept if match.origin} == {first.id}
        assert len(kept) + len(line_ups) == len(matches) == len(store.matches(first.id))
        assert first.seed.key != second.seed.key
        assert Counter(tuple(sorted(match.line_up)) for match in matches) == Counter(
            tuple(sorted(match.line_up)) for match in store.matches(first.id)
        )
        assert any("are kept from tournament" in note for note in result_notes(store, second))
    assert f"{len(kept)} of {len(matches)} matches are kept from tournament {first.id}" in notices(events)
    assert verified(folder) == len(kept)


def test_kept_results_count_as_they_were(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))

    with Store.open(folder / "arena.db") as store:
        first, second = store.tournaments()
        earlier = {result.board[0]: [] for result in store.results(first.id)}  # type: ignore[var-annotated]
        for result in store.results(first.id):
            earlier[result.board[0]].append((result.board[1], result.table, result.bots, result.points, result.places))
        for match in store.matches(second.id):
            if match.origin:
                results = [each for each in store.results(second.id) if each.board[0] == match.number]
                assert [(r.board[1], r.table, r.bots, r.points, r.places) for r in results] == earlier[match.origin[1]]
                assert store.records(second.id, match.number) == store.records(*match.origin)
        document = stored_document(store, second)
    rows = document["standings"]
    assert isinstance(rows, list)
    assert all(isinstance(row, dict) and isinstance(row["boards"], int) and row["boards"] >= 24 for row in rows)


def test_nothing_that_changed_plays_nothing_again(folder: Path) -> None:
    first = play(folder, pool(folder))

    again = play(folder, pool(folder))

    assert [type(event) for event in again] == [Started, Finished]
    assert first[-1] == again[-1]


def test_a_chain_of_tournaments_leads_to_where_each_match_was_played(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))
    third = [bot(folder, "cat", "Random", 2) if entry.name == "cat" else entry for entry in pool(folder, changed="bob")]

    line_ups = played_line_ups(folder, play(folder, third))

    assert all("cat" in line_up for line_up in line_ups)
    with Store.open(folder / "arena.db") as store:
        ids = [tournament.id for tournament in store.tournaments()]
        origins = {match.origin[0] for match in store.matches(ids[2]) if match.origin}
    assert origins == set(ids[:2])
    assert verified(folder, ids[2])


@pytest.mark.parametrize("left", [4, 3], ids=["one", "two"])
def test_a_bot_that_is_gone_leaves_the_others_results(folder: Path, left: int) -> None:
    play(folder, pool(folder))

    events = play(folder, pool(folder)[:left])

    with Store.open(folder / "arena.db") as store:
        tournament = store.tournaments()[-1]
        boards: Counter[str] = Counter()
        for match in store.matches(tournament.id):
            boards.update(dict.fromkeys(match.line_up, match.deals))
    assert min(boards.values()) >= 24
    assert isinstance(events[-1], Finished)
    verified(folder)


def test_a_bot_that_is_new_meets_all_others(folder: Path) -> None:
    play(folder, pool(folder)[:4])

    line_ups = played_line_ups(folder, play(folder, pool(folder)))

    assert all("eve" in line_up for line_up in line_ups)
    assert {frozenset(line_up) for line_up in line_ups} == {
        frozenset({"eve", *others}) for others in itertools.combinations(["ann", "bob", "cat", "dan"], 2)
    }


@pytest.mark.parametrize(
    "change",
    [{"options": {"target": 50}}, {"independent": True}, {"players": 4}],
    ids=["options", "independent", "players"],
)
def test_under_other_conditions_nothing_is_kept(folder: Path, change: dict[str, object]) -> None:
    play(folder, pool(folder))

    events = play(folder, pool(folder), replace(SETTINGS, **change))  # type: ignore[arg-type]

    assert any(text.startswith("no results could be kept") for text in notices(events))
    assert verified(folder) == 0


def test_a_tournament_that_keeps_results_is_resumed_as_any_other(folder: Path) -> None:
    play(folder, pool(folder))
    changed = pool(folder, changed="bob")
    part = play(folder, changed, stop_after=2)
    assert not isinstance(part[-1], Finished)

    rest = play(folder, changed)

    line_ups = played_line_ups(folder, part) + played_line_ups(folder, rest)
    assert isinstance(rest[-1], Finished)
    assert all("bob" in line_up for line_up in line_ups)
    with Store.open(folder / "arena.db") as store:
        assert len(store.tournaments()) == 2
    verified(folder)


@pytest.mark.parametrize("kind", [ScheduleKind.GAUNTLET, ScheduleKind.ADAPTIVE])
def test_schedules_that_go_by_results_keep_none(folder: Path, kind: ScheduleKind) -> None:
    play(folder, pool(folder))
    gauntlet = "ann" if kind is ScheduleKind.GAUNTLET else ""

    with pytest.raises(BadInput, match="leave --incremental out"):
        play(folder, pool(folder, changed="bob"), replace(SETTINGS, schedule=kind, gauntlet=gauntlet))


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE results SET points = '1,2,3' WHERE tournament = 2 AND \"table\" = 0", "result"),
        ("UPDATE records SET record = x'00' WHERE tournament = 1", "records"),
        ("UPDATE tournaments SET seed_key = zeroblob(32) WHERE key = 1", "hand"),
        ("UPDATE matches SET origin = '[\"nowhere\", 1]' WHERE tournament = 2 AND number = 1", "kept from"),
        ('UPDATE matches SET line_up = \'["ann","bob","cat"]\' WHERE tournament = 2 AND number = 1', "match"),
        ("UPDATE tournaments SET versions = '{}' WHERE key = 1", "match that was kept"),
        ("DELETE FROM results WHERE tournament = 2 AND match = 1", "result"),
    ],
    ids=["results", "records", "seed", "origin", "line-up", "versions", "missing"],
)
def test_tampering_with_what_was_kept_is_found(folder: Path, statement: str, what: str) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))
    execute(folder / "arena.db", statement)

    with pytest.raises((Difference, BadInput), match=what):
        verified(folder)


# --- Schedules ---


def line_up_of(match: Match) -> tuple[str, ...]:
    return tuple(sorted(match.line_up))


@given(
    st.integers(4, 8),
    st.integers(0, 3),
    st.sampled_from([ScheduleKind.ROUND_ROBIN, ScheduleKind.BALANCED]),
    st.integers(0, 2**32),
)
@hypothesis_settings(max_examples=25, deadline=None)
def test_whatever_is_kept_every_bot_gets_its_boards_and_a_circle_is_a_circle(
    count: int, changed: int, kind: ScheduleKind, seed: int
) -> None:
    game = find_game("hearts-classic", players=4)
    names = [f"bot {number}" for number in range(count)]
    settings = Settings(boards=48, schedule=kind)
    chance = random.Random(seed)
    base = make_schedule(settings, game, names, seed.to_bytes(32))
    new = set(chance.sample(names, changed))
    kept = [replace(match, origin=("t", match.number)) for match in base if not new.intersection(match.line_up)]

    schedule = make_schedule(settings, game, names, (seed + 1).to_bytes(32), kept)

    served = [match for match in schedule if match.origin]
    assert [match.number for match in schedule] == list(range(1, len(schedule) + 1))
    assert schedule[: len(served)] == tuple(served)
    new |= set(names) - {name for match in kept for name in match.line_up}
    assert all(new.intersection(match.line_up) for match in schedule[len(served) :]) or not new
    boards: Counter[str] = Counter()
    for match in schedule:
        boards.update(dict.fromkeys(match.line_up, match.deals))
        order = [sorted(match.line_up).index(name) for name in match.line_up]
        assert tuple(order) in circles(4)
    assert min(boards.values()) >= 48
    if kind is ScheduleKind.ROUND_ROBIN:
        assert Counter(map(line_up_of, schedule)) == Counter(map(line_up_of, base))
    assert schedule == make_schedule(settings, game, names, (seed + 1).to_bytes(32), kept)
