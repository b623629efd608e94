"""Results between versions that are unchanged are kept, and only what is new is played."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small_tournaments import execute

from arena.cli import run as main
from arena.difference import Difference
from arena.errors import BadInput, Interrupted
from arena.events import Event, Finished, MatchPlayed, Notice, Started
from arena.games import find_game
from arena.match import Match
from arena.report import result_notes, stored_document
from arena.schedule import circles, make_schedule
from arena.settings import Comparison, Entry, ScheduleKind, Settings, Settling, Substitution
from arena.store import Store
from arena.tournament import Pace, disqualified_bots, run_tournament
from arena.verdict import plan_of, replayed_matches, stored_plan
from arena.verify import verify_tournament
from leaderboard.standings import make_standings

SETTINGS = Settings(game="heartswitch", boards=24, players=3)
NAMES = ("ann", "bob", "cat", "dan", "eve")


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_bot_that_is_new_meets_all_others(folder: Path) -> None:
    play(folder, pool(folder)[:4])

    line_ups = played_line_ups(folder, play(folder, pool(folder)))

    assert all("eve" in line_up for line_up in line_ups)
    assert {frozenset(line_up) for line_up in line_ups} == {
        frozenset({"eve", *others}) for others in itertools.combinations(["ann", "bob", "cat", "dan"], 2)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"options": {"target": 50}}, {"independent": True}, {"players": 4}],
    ids=["options", "independent", "players"],
)
def test_under_other_conditions_nothing_is_kept(folder: Path, change: dict[str, object]) -> None:
    play(folder, pool(folder))

    events = play(folder, pool(folder), replace(SETTINGS, **change))  # type: ignore[arg-type]

    assert "no results could be kept: no finished tournament was played under these conditions" in notices(events)
    assert verified(folder) == 0


@pytest.mark.slow
def test_where_a_bot_that_changed_was_in_every_match_that_is_told(folder: Path) -> None:
    first, *_ = play(folder, pool(folder)[:3])
    assert isinstance(first, Started)

    events = play(folder, pool(folder, changed="bob")[:3])

    assert (
        f"no results could be kept: no match of tournament {first.tournament}, the latest under these conditions, is between "
        "unchanged bots alone (changed, gone or of unknown version: bob)"
    ) in notices(events)


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


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [ScheduleKind.GAUNTLET, ScheduleKind.ADAPTIVE])
def test_schedules_that_go_by_results_keep_none(folder: Path, kind: ScheduleKind) -> None:
    play(folder, pool(folder))
    gauntlet = "ann" if kind is ScheduleKind.GAUNTLET else ""

    with pytest.raises(BadInput, match="leave --incremental out"):
        play(folder, pool(folder, changed="bob"), replace(SETTINGS, schedule=kind, gauntlet=gauntlet))


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_smaller_tournament_meanwhile_hides_nothing(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder)[2:], incremental=False)

    events = play(folder, pool(folder, changed="bob"))

    assert all("bob" in line_up for line_up in played_line_ups(folder, events))
    assert verified(folder) == 8


@pytest.mark.slow
def test_a_version_that_is_brought_back_has_its_results_again(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))
    back = [bot(folder, "eve", "Highest", 2) if entry.name == "eve" else entry for entry in pool(folder)]

    line_ups = played_line_ups(folder, play(folder, back))

    assert line_ups
    assert all("eve" in line_up for line_up in line_ups)
    verified(folder)


@pytest.mark.slow
def test_bots_that_are_back_get_a_leaderboard_of_their_own_again_without_play(folder: Path) -> None:
    ann, bob, cat, dan = (bot(folder, name) for name in NAMES[:4])
    play(folder, [ann, bob, cat])
    play(folder, [ann, bob, dan])

    back = play(folder, [ann, bob, cat])
    again = play(folder, [ann, bob, cat])

    started = [event for event in (*back, *again) if isinstance(event, Started)]
    assert played_line_ups(folder, back) == []
    assert started[0].tournament == started[1].tournament
    with Store.open(folder / "arena.db") as store:
        assert store.tournament().id == started[0].tournament
        assert {entry.name for entry in store.tournament().entries} == {"ann", "bob", "cat"}
        assert len(store.tournaments()) == 3


def test_each_result_is_kept_once_however_many_tournaments_have_it(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))
    play(folder, pool(folder)[:4])

    with Store.open(folder / "arena.db") as store:
        origins = [match.origin for match in store.matches(store.tournaments()[-1].id) if match.origin]
    assert len(origins) == len(set(origins)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [ScheduleKind.GAUNTLET, ScheduleKind.ADAPTIVE])
def test_results_are_kept_however_the_earlier_schedule_was_made(folder: Path, schedule: ScheduleKind) -> None:
    settling = Settling(budget=60) if schedule is ScheduleKind.ADAPTIVE else None
    gauntlet = "ann" if schedule is ScheduleKind.GAUNTLET else ""
    earlier = replace(SETTINGS, schedule=schedule, gauntlet=gauntlet, settling=settling)
    play(folder, pool(folder), earlier, incremental=False)

    play(folder, pool(folder))

    assert verified(folder) > 0
    assert min(boards(folder).values()) >= 24


def boards(folder: Path) -> Counter[str]:
    """Return how many boards each bot has in the latest tournament."""
    counts: Counter[str] = Counter()
    with Store.open(folder / "arena.db") as store:
        for match in store.matches(store.tournaments()[-1].id):
            counts.update(dict.fromkeys(match.line_up, match.deals))
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [ScheduleKind.ROUND_ROBIN, ScheduleKind.BALANCED])
def test_a_table_among_copies_serves_no_table_of_different_bots(folder: Path, schedule: ScheduleKind) -> None:
    play(folder, pool(folder)[:2], replace(SETTINGS, fill=True))

    play(folder, pool(folder), replace(SETTINGS, schedule=schedule))

    assert verified(folder) == 0
    with Store.open(folder / "arena.db") as store:
        assert all(len(set(match.line_up)) == 3 for match in store.matches(store.tournaments()[-1].id))


@pytest.mark.slow
def test_boards_that_unchanged_bots_lack_are_played_and_said_to_be(folder: Path) -> None:
    play(folder, pool(folder))

    events = play(folder, pool(folder, changed="bob"), replace(SETTINGS, boards=48))

    besides = sum("bob" not in line_up for line_up in played_line_ups(folder, events))
    assert besides
    assert any(f"; {besides} of the others are between bots that are unchanged" in text for text in notices(events))
    assert min(boards(folder).values()) >= 48
    verified(folder)


@pytest.mark.slow
def test_fewer_boards_keep_no_more_than_they_need(folder: Path) -> None:
    balanced = replace(SETTINGS, schedule=ScheduleKind.BALANCED)
    play(folder, pool(folder), replace(balanced, boards=120))

    play(folder, pool(folder, changed="bob"), balanced)

    assert min(boards(folder).values()) >= 24
    assert max(boards(folder).values()) <= 48
    verified(folder)


@pytest.mark.slow
def test_a_seed_deals_once(folder: Path) -> None:
    seeded = replace(SETTINGS, seed="known")
    play(folder, pool(folder), seeded)

    with pytest.raises(BadInput, match="choose another one"):
        play(folder, pool(folder, changed="bob"), seeded)

    assert isinstance(play(folder, pool(folder, changed="bob"))[-1], Finished)


@pytest.mark.slow
def test_a_comparison_gives_nothing_away(folder: Path) -> None:
    two = pool(folder)[:2]
    filled = replace(SETTINGS, fill=True)
    question = replace(filled, comparison=Comparison("ann", elo0=0, elo1=200, alpha=0.2, beta=0.2), fill=False)
    play(folder, two, question, incremental=False)

    play(folder, two, filled)

    assert verified(folder) == 0


# --- Ratings ---


@pytest.mark.slow
def test_ratings_are_those_of_the_union(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))

    with Store.open(folder / "arena.db") as store:
        first, second = store.tournaments()
        new = {match.number for match in store.matches(second.id) if match.origin is None}
        union = [result for result in store.results(first.id) if "bob" not in result.bots]
        union += [
            replace(result, board=(1000 + result.board[0], result.board[1]))
            for result in store.results(second.id)
            if result.board[0] in new
        ]
        shown = stored_document(store, second)
    by_hand = json.loads(json.dumps([asdict(row) for row in make_standings(union).rows]))
    rows = shown["standings"]
    assert isinstance(rows, list)
    for row, expected in zip(rows, by_hand, strict=True):
        assert isinstance(row, dict)
        assert (row["bot"], row["boards"], row["faults"]) == tuple(expected[key] for key in ("bot", "boards", "faults"))
        assert row["elo"] == pytest.approx(expected["elo"], abs=0.006)
        assert row["points_per_deal"] == pytest.approx(expected["points_per_deal"], abs=0.0001)


# --- Disqualified bots ---


def with_cheat(folder: Path, changed: str = "") -> list[Entry]:
    return [*pool(folder, changed), bot(folder, "zed", "Cheat")]


@pytest.mark.slow
@pytest.mark.parametrize("others", ["all", "fewer"])
def test_who_was_disqualified_for_what_is_kept_stays_so(folder: Path, others: str) -> None:
    long = replace(SETTINGS, boards=240)
    play(folder, with_cheat(folder), long)
    if others == "fewer":
        play(folder, with_cheat(folder)[1:], long, incremental=False)

    line_ups = played_line_ups(folder, play(folder, with_cheat(folder, changed="bob"), long))

    with Store.open(folder / "arena.db") as store:
        for tournament in store.tournaments():
            assert disqualified_bots(store, tournament) == {"zed"}
        schedule = store.matches(store.tournaments()[-1].id)
    assert sum("zed" in line_up for line_up in line_ups) <= 50
    assert any("zed" in match.line_up for match in schedule if match.origin)
    for tournament_number in (0, -1):
        with Store.open(folder / "arena.db") as store:
            found = store.tournaments()[tournament_number].id
        verified(folder, found)


# --- Looking at what was kept ---


@pytest.mark.slow
def test_a_match_that_was_kept_is_shown_and_replayed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    play(folder, pool(folder))
    play(folder, pool(folder, changed="bob"))
    with Store.open(folder / "arena.db") as store:
        first, second = (tournament.id for tournament in store.tournaments())
        kept = store.matches(second)[0]
    assert kept.origin is not None
    lines = [f"  - {{name: {one.name}, python: '{one.python}'}}" for one in pool(folder, changed="bob")]
    (folder / "bots.yaml").write_text("\n".join(["game: heartswitch", "players: 3", "bots:", *lines]))

    shown = []
    for tournament, number in ((second, kept.number), kept.origin):
        arguments = [str(number), "--table", "1", "--deal", "2", "--tournament", tournament]
        assert main(["show", *arguments]) == 0
        shown.append(capsys.readouterr().out.split("deal 2", 1)[1])
    replayed = main(["replay", "1/0", "--bot", kept.line_up[0], "--tournament", second])

    assert shown[0] == shown[1]
    assert replayed == 0
    assert "all answers are as recorded" in capsys.readouterr().out
    assert first == kept.origin[0]


@pytest.mark.slow
def test_deals_that_were_kept_are_played_again_where_they_were_played(folder: Path) -> None:
    play(folder, pool(folder))
    play(folder, pool(folder)[:4], replace(SETTINGS, boards=12))

    with Store.open(folder / "arena.db") as store:
        first, second = store.tournaments()
        with pytest.raises(BadInput, match=f"--tournament {first.id}"):
            replayed_matches(store, second, Substitution(second.id, "ann", "eve"))
        assert replayed_matches(store, first, Substitution(first.id, "ann", "stand-in"))


# --- Histories ---


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from(NAMES), min_size=3),
            st.sampled_from(NAMES),
            st.sampled_from([12, 24, 60]),
            st.sampled_from([None, ScheduleKind.BALANCED]),
        ),
        min_size=2,
        max_size=4,
    )
)
@hypothesis_settings(max_examples=20, deadline=None)
def test_whatever_came_before_every_tournament_has_its_boards_and_is_verified(
    history: list[tuple[set[str], str, int, ScheduleKind | None]],
) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.syspath_prepend(name)
        versions = Counter(NAMES)
        for present, changed, wanted, kind in history:
            versions[changed] += 1
            entries = [bot(folder, one, "Lowest", versions[one]) for one in sorted(present)]

            events = play(folder, entries, replace(SETTINGS, boards=wanted, schedule=kind))

            assert isinstance(events[-1], Finished)
            assert min(boards(folder)[one] for one in present) >= wanted
            verified(folder, events[-1].tournament)


# --- Schedules ---


@pytest.mark.slow
def test_groups_that_never_met_are_brought_together() -> None:
    game = find_game("hearts-classic", players=4)
    names = [f"bot {number}" for number in range(16)]
    settings = Settings(boards=120, schedule=ScheduleKind.BALANCED)
    kept = [
        replace(match, origin=(group[0], match.number))
        for group in (names[:8], names[8:])
        for match in make_schedule(settings, game, group, b"k" * 32)
    ]

    schedule = make_schedule(settings, game, names, b"n" * 32, kept)

    met = Counter(pair for match in schedule for pair in itertools.combinations(sorted(match.line_up), 2))
    across = [met[one, other] for one, other in itertools.product(sorted(names[:8]), sorted(names[8:]))]
    across += [met[other, one] for one, other in itertools.product(sorted(names[:8]), sorted(names[8:]))]
    assert sum(across) >= sum(met.values()) / 4
    assert sum(match.origin is not None for match in schedule) >= len(schedule) / 4


def line_up_of(match: Match) -> tuple[str, ...]:
    return tuple(sorted(match.line_up))


@pytest.mark.slow
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
