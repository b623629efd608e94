"""Comparisons: even patterns, looks at fixed numbers of boards, and one verdict however they are played."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from arena.compare import ComparisonPlan, Finding, patterns
from arena.errors import BadInput, Interrupted
from arena.events import Event, MatchPlayed, Notice
from arena.game import Game
from arena.games import find_game
from arena.match import Match
from arena.plan import Played, count_boards
from arena.settings import Comparison, Entry, Format, Settings
from arena.store import Store
from arena.tournament import Pace, run_tournament
from arena.verdict import Answer, comparison_answer, look_text, plan_of

HEARTS = find_game("hearts-classic")


# --- Patterns ---


@pytest.mark.parametrize(("sides", "count"), [(2, 1), (3, 3), (4, 3), (5, 10), (6, 10)])
def test_patterns_are_all_ways_to_share_the_sides_and_no_two_exchange_into_each_other(sides: int, count: int) -> None:
    found = patterns(sides)

    exchanged = {tuple(not first for first in pattern) for pattern in found}
    assert len(set(found)) == count
    assert {sum(pattern) for pattern in found} == {sides // 2}
    assert not exchanged.intersection(found)
    assert len(exchanged.union(found)) == 2 * count


@pytest.mark.parametrize("sides", [2, 3, 4, 5, 6])
def test_bots_sit_at_every_distance_behind_each_other_equally_often(sides: int) -> None:
    distances = Counter(
        distance
        for pattern in patterns(sides)
        for table in (pattern, tuple(not first for first in pattern))
        for side in range(sides)
        for distance in range(1, sides)
        if table[side] and not table[(side + distance) % sides]
    )

    assert len(distances) == sides - 1
    assert len(set(distances.values())) == 1


# --- Plans ---


def plan(
    budget: int = 10_000, *, game: Game = HEARTS, placed: Format = Format.DUPLICATE, decide: int = 0
) -> ComparisonPlan:
    """Return a plan whose test decides once it was asked `decide` times; 0 for never."""
    asked: list[object] = []

    def test(results: object) -> Finding:
        asked.append(results)
        return Finding(len(asked) == decide, f"look {len(asked)}")

    return ComparisonPlan("A", "B", game=game, placed=placed, test=test, budget=budget)


def looks(one: ComparisonPlan, matches: list[Match]) -> list[int]:
    """Play a plan to its end; return the boards at each look."""
    boards = []
    while True:
        boards.append(count_boards(matches))
        step = one.go_on(Played(matches, ()))
        if not step.matches:
            return boards
        matches += step.matches


def test_looks_are_at_boards_that_grow_by_a_tenth_in_whole_rounds_of_patterns() -> None:
    boards = looks(plan(1_000), list(plan().begin()))

    assert boards[:8] == [48, 60, 72, 84, 96, 108, 120, 132]
    assert boards[-1] == 1_000
    assert all(look % 12 == 0 for look in boards[:-1])
    assert all(after <= before * 1.1 + 12 for before, after in pairwise(boards))


def test_matches_step_through_the_patterns_and_exchange_the_bots() -> None:
    matches = plan().begin()

    assert [match.number for match in matches] == list(range(1, 13))
    assert ["".join(match.line_up) for match in matches[:4]] == ["AABB", "ABAB", "ABBA", "AABB"]
    assert all(match.exchanged and match.deals == 4 for match in matches)


def test_a_whole_game_is_a_board() -> None:
    matches = plan(game=find_game("heartswitch", 3), placed=Format.GAME).begin()

    assert len(matches) == 48
    assert {match.deals for match in matches} == {0}


def test_a_decided_comparison_is_over() -> None:
    step = plan(decide=1).go_on(Played(plan().begin(), ()))

    assert (step.matches, step.note, step.paused) == ((), "look 1", False)


def test_a_spent_budget_pauses_and_a_larger_one_goes_on_to_the_same_looks() -> None:
    first = plan(100)
    matches = list(first.begin())
    assert looks(first, matches) == [48, 60, 72, 84, 96, 100]
    assert first.go_on(Played(matches, ())).paused

    assert looks(plan(150), matches) == [100, 108, 120, 132, 148]


def test_a_disqualified_bot_ends_it_without_a_look() -> None:
    step = plan().go_on(Played(plan().begin(), (), frozenset({"A"})))

    assert (step.matches, step.note, step.paused) == ((), "", False)


# --- Whole comparisons ---

SETTINGS = Settings(seed="a test", comparison=Comparison("good", 0.0, 20.0, 0.05, 0.05))
BOTS = (Entry("good", python="in_process:Highest"), Entry("bad", python="in_process:Lowest"))


async def compare(
    store: Store,
    *,
    settings: Settings = SETTINGS,
    bots: tuple[Entry, Entry] = BOTS,
    budget: int = 2_000,
    tables: int = 16,
    stop_after: int | None = None,
) -> tuple[Answer, list[Event]]:
    stop = asyncio.Event()
    events: list[Event] = []
    playing = run_tournament(
        store, settings, bots, plan_of=partial(plan_of, budget=budget), pace=Pace(tables=tables), stop=stop
    )
    async with contextlib.aclosing(playing):
        async for event in playing:
            events.append(event)
            if stop_after is not None and sum(isinstance(each, MatchPlayed) for each in events) >= stop_after:
                stop.set()
    return comparison_answer(store, store.tournament()), events


async def test_the_stronger_bot_is_found_and_the_weaker_one_is_not(tmp_path: Path) -> None:
    with Store.open(tmp_path / "one.db") as store:
        answer, events = await compare(store)
    with Store.open(tmp_path / "two.db") as store:
        reverse, _ = await compare(
            store, settings=replace(SETTINGS, comparison=Comparison("bad", 0.0, 20.0, 0.05, 0.05))
        )

    assert (answer.stronger, reverse.stronger) == (True, False)
    assert (answer.bot, answer.other) == ("good", "bad")
    assert Notice(look_text("good", "bad", answer.look)) in events


@pytest.mark.few(1)
@pytest.mark.parametrize("game", ["3", "5", "4 partners", "6 partners"])
async def test_any_number_of_players_can_compare(tmp_path: Path, game: str) -> None:
    players, _, partners = game.partition(" ")
    settings = replace(SETTINGS, game="heartswitch", players=int(players), partners=bool(partners))
    with Store.open(tmp_path / "arena.db") as store:
        answer, _ = await compare(store, settings=settings, budget=60)

        assert answer.look.boards >= 48
        tables = {result.table for result in store.results(store.tournament().id)}
    assert tables == {0, 1}


@pytest.mark.slow
async def test_equal_bots_are_not_stronger_than_each_other(tmp_path: Path) -> None:
    bots = (BOTS[0], Entry("bad", python="in_process:Highest"))
    with Store.open(tmp_path / "arena.db") as store:
        answer, _ = await compare(store, bots=bots)

    assert answer.stronger is False
    assert answer.look.score == 0.5


@pytest.mark.few(1)
@pytest.mark.parametrize("tables", [1, 64])
async def test_the_verdict_is_the_same_at_any_pace(tmp_path: Path, tables: int) -> None:
    with Store.open(tmp_path / "one.db") as store:
        expected, _ = await compare(store)
    with Store.open(tmp_path / "two.db") as store:
        answer, _ = await compare(store, tables=tables)

    assert answer == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("stop_after", [1, 13])
async def test_stopped_and_resumed_gives_the_same_verdict(tmp_path: Path, stop_after: int) -> None:
    settings = replace(SETTINGS, comparison=Comparison("good", 0.0, 15.0, 0.01, 0.01))
    with Store.open(tmp_path / "one.db") as store:
        expected, _ = await compare(store, settings=settings)
    with Store.open(tmp_path / "two.db") as store:
        with pytest.raises(Interrupted):
            await compare(store, settings=settings, tables=1, stop_after=stop_after)
        answer, _ = await compare(store, settings=settings)

        assert len(store.tournaments()) == 1
    assert answer == expected


async def test_a_larger_budget_goes_on_where_the_smaller_one_was_spent(tmp_path: Path) -> None:
    settings = replace(SETTINGS, comparison=Comparison("good", 0.0, 1.0, 0.05, 0.05))
    with Store.open(tmp_path / "arena.db") as store:
        undecided, _ = await compare(store, settings=settings, budget=60)
        more, _ = await compare(store, settings=settings, budget=84)

        assert store.tournament().finished is None
    assert (undecided.stronger, undecided.look.boards) == (None, 60)
    assert (more.stronger, more.look.boards) == (None, 84)


async def test_a_disqualified_bot_is_not_the_stronger_one(tmp_path: Path) -> None:
    bots = (BOTS[0], Entry("bad", python="in_process:Cheat"))
    with Store.open(tmp_path / "arena.db") as store:
        answer, _ = await compare(store, bots=bots)

    assert (answer.stronger, answer.disqualified) == (True, ("bad",))


async def test_another_tournament_is_no_comparison(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store, pytest.raises(BadInput, match="is no comparison"):
        await compare(store, settings=Settings(boards=4, fill=True, seed="a test"))
