"""Adaptive schedules play where the order of the best is open, stop when it is known, and depend on results alone."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from statistics import NormalDist, fmean
from types import ModuleType

import pytest

from arena.adaptive import AdaptivePlan, Lead, Order, Strengths, describe, ranked
from arena.errors import Interrupted
from arena.events import Event, Finished, MatchPlayed, Notice
from arena.game import Game
from arena.games import find_game
from arena.match import Match
from arena.plan import Played, Step, count_boards
from arena.report import document_text
from arena.results import Result, places
from arena.schedule import make_schedule
from arena.settings import Entry, ScheduleKind, Settings, Settling
from arena.store import Store
from arena.tournament import Pace, run_tournament
from arena.verdict import plan_of, rated_strengths

KEY = bytes(range(32))
HEARTS = find_game("hearts-classic")


def strengths(bots: str, points: Mapping[str, float], error: float = 0.1) -> Strengths:
    """Bots with one-letter names, the strongest first; their points a deal, and the standard error of each difference."""

    def lead(bot: str, other: str) -> Lead:
        ahead = points[other] - points[bot]
        return Lead(ahead / error, ahead, error)

    return Strengths(tuple(bots), lead)


# --- What is settled ---


def test_the_order_of_the_top_hangs_on_its_neighbours_and_on_its_last_against_all_below() -> None:
    known = ranked(strengths("ABCDE", dict(zip("ABCDE", range(5), strict=True))), Settling(top=3))

    assert [(one.bot, one.other) for one in known] == [("A", "B"), ("B", "C"), ("C", "D"), ("C", "E")]
    assert {one.order for one in known} == {Order.STRONGER}


def test_more_comparisons_ask_for_more_certainty() -> None:
    """Four comparisons share a chance of error of 5 %: each is sure beyond 2.24 standard errors."""
    bound = NormalDist().inv_cdf(1 - 0.05 / 4)
    points = {"A": 0.0, "B": bound - 0.01, "C": 2 * bound, "D": 9.0, "E": 9.0}

    known = ranked(strengths("ABCDE", points, error=1.0), Settling(top=3, tie_margin=0.0))

    assert [one.order for one in known[:2]] == [Order.OPEN, Order.STRONGER]


@pytest.mark.parametrize(
    ("points", "error", "order"),
    [
        (0.05, 0.12, Order.TIED),
        (0.05, 0.13, Order.OPEN),
        (-0.05, 0.06, Order.TIED),
        (-0.05, 0.07, Order.OPEN),
        (0.14, 0.07, Order.STRONGER),
        (0.20, 0.30, Order.OPEN),
    ],
)
def test_a_bot_is_tied_that_is_surely_not_weaker_by_more_than_the_margin(
    points: float, error: float, order: Order
) -> None:
    (one,) = ranked(strengths("AB", {"A": 0.0, "B": points}, error), Settling(top=1, tie_margin=0.15))

    assert one.order is order


def test_what_the_results_do_not_say_is_open() -> None:
    (one,) = ranked(Strengths(("A", "B"), lambda _bot, _other: None), Settling(top=2))

    assert (one.order, one.certainty) == (Order.OPEN, 0.0)


@pytest.mark.parametrize("bots", ["", "A"])
def test_a_lone_bot_needs_no_order(bots: str) -> None:
    assert ranked(strengths(bots, {}), Settling()) == ()
    assert describe(tuple(bots), (), 1) == f"after 1 boards the order of the top {len(bots)} is known: {bots}"


def test_ties_with_the_last_of_the_top_are_named() -> None:
    points = {"A": 0.0, "B": 1.0, "C": 2.0, "D": 2.0, "E": 2.0}
    known = ranked(strengths("ABCDE", points, error=0.05), Settling(top=3))

    assert describe("ABC", known, 4000).endswith("top 3 is known: A > B > C (tied with D, E)")


# --- What is played ---

TWELVE = "ABCDEFGHIJKL"
CLOSE = {bot: 10.0 * place for place, bot in enumerate(TWELVE)} | {"C": 20.0, "D": 20.001}


def plan(
    estimate: Strengths, *, game: Game = HEARTS, bots: str = TWELVE, budget: int = 20_000, top: int = 3
) -> AdaptivePlan:
    settings = Settings(schedule=ScheduleKind.ADAPTIVE, fill=True)
    settling = Settling(top=top, tie_margin=0.0, budget=budget)
    opening = make_schedule(settings, game, list(bots), KEY)

    def rate(_results: Iterable[Result]) -> Strengths:
        return estimate

    return AdaptivePlan(opening, bots, game=game, key=KEY, settling=settling, rate=rate)


def play_out(one: AdaptivePlan, steps: int, out: frozenset[str] = frozenset()) -> tuple[list[Match], list[int]]:
    """Play some steps; return all matches and the boards at each look."""
    matches = list(one.begin())
    looks = []
    for _ in range(steps):
        looks.append(count_boards(matches))
        matches += one.go_on(Played(matches, (), out)).matches
    return matches, looks


def test_looks_are_a_quarter_of_the_boards_apart() -> None:
    _, looks = play_out(plan(strengths(TWELVE, CLOSE)), 12)

    assert looks[0] == 120
    for before, after in pairwise(looks):
        assert before * 1.25 <= after < before * 1.25 + 4


def test_three_matches_of_four_are_for_the_pair_that_is_open_and_the_fourth_for_all() -> None:
    matches, _ = play_out(plan(strengths(TWELVE, CLOSE)), 12)
    later = matches[30:]

    together = [{"C", "D"} <= set(match.line_up) for match in later]
    assert all(both for match, both in zip(later, together, strict=True) if match.number % 4)
    played = Counter(bot for match in later if match.number % 4 == 0 for bot in match.line_up)
    assert set("EFGHIJKL") <= played.keys()
    assert "C" not in played


def test_seats_that_open_pairs_leave_go_to_whoever_played_least() -> None:
    matches, _ = play_out(plan(strengths(TWELVE, CLOSE)), 12)

    played = Counter(bot for match in matches for bot in match.line_up)
    others = [played[bot] for bot in TWELVE if bot not in "CD"]
    assert max(others) - min(others) <= 1


def test_bots_whose_place_is_open_play_equally_often_however_close_they_are() -> None:
    points = {bot: 0.2 * place for place, bot in enumerate(TWELVE)} | {"C": 0.4, "D": 0.41}
    estimate = strengths(TWELVE, points, error=0.2)
    wanted = {
        bot
        for one in ranked(estimate, Settling(top=3, tie_margin=0.0))
        if one.order is Order.OPEN
        for bot in (one.bot, one.other)
    }
    matches, _ = play_out(plan(estimate), 12)

    played = Counter(bot for match in matches for bot in match.line_up)
    counts = [played[bot] for bot in sorted(wanted)]
    assert {"C", "D", "E"} < wanted < set(TWELVE)
    assert max(counts) - min(counts) <= 1
    assert min(counts) > 2 * played["L"]


def test_a_known_order_is_the_end() -> None:
    points = {bot: float(place) for place, bot in enumerate(TWELVE)}
    one = plan(strengths(TWELVE, points))

    assert one.go_on(Played(one.begin(), ())) == Step(
        note="after 120 boards the order of the top 3 is known: A > B > C"
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("budget", [120, 137, 1_000])
def test_the_budget_is_the_end(budget: int) -> None:
    one = plan(strengths(TWELVE, CLOSE), budget=budget)
    matches = list(one.begin())
    while step := one.go_on(Played(matches, ())).matches:
        matches += step

    assert budget - 4 < count_boards(matches) <= budget
    assert "is open: A > B > C; 1 of 11 comparisons open" in one.go_on(Played(matches, ())).note


def test_an_opening_beyond_the_budget_is_cut() -> None:
    assert count_boards(plan(strengths(TWELVE, CLOSE), budget=50).begin()) == 48


def test_the_same_results_give_the_same_schedule() -> None:
    one, _ = play_out(plan(strengths(TWELVE, CLOSE)), 6)
    other, _ = play_out(plan(strengths(TWELVE, CLOSE), bots=TWELVE[::-1]), 6)

    assert one == other


def test_a_disqualified_bot_is_neither_ranked_nor_seated() -> None:
    one = plan(strengths(TWELVE, CLOSE))
    matches, _ = play_out(one, 4, frozenset({"D", "B"}))

    assert not {"D", "B"}.intersection(bot for match in matches[30:] for bot in match.line_up)
    assert "A > C > E" in one.go_on(Played(matches, (), frozenset({"D", "B"}))).note


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("game", "bots"),
    [
        (HEARTS, "AB"),
        (HEARTS, "ABC"),
        (HEARTS, "ABCD"),
        (find_game("heartswitch", 3), "ABCDE"),
        (find_game("heartswitch", 5), "ABCDEFG"),
        (find_game("heartswitch", 6), "ABCDEFG"),
        (find_game("heartswitch", 4, "partners"), "ABCDE"),
    ],
    ids=lambda value: f"{value.name}-{value.players}" if isinstance(value, Game) else value,
)
def test_every_table_is_full_and_no_bot_sits_more_often_behind_another_than_it_must(game: Game, bots: str) -> None:
    even = dict.fromkeys(bots, 0.0)
    matches, _ = play_out(plan(strengths(bots, even), game=game, bots=bots, top=len(bots)), 10)

    sides = len(game.sides)
    least = sides // len(bots)
    assert all(len(match.line_up) == sides for match in matches)
    assert all(match.line_up.count(bot) in (least, least + 1) for match in matches for bot in bots)
    behind = Counter(
        (bot, match.line_up[(place + distance) % sides], distance)
        for match in matches
        for place, bot in enumerate(match.line_up)
        for distance in range(1, sides)
    )
    for bot, other in combinations(bots, 2):
        counts = [behind[bot, other, distance] for distance in range(1, sides)]
        assert max(counts) - min(counts) <= 0.25 * max(counts) + 2


# --- Whole tournaments ---

SETTINGS = Settings(schedule=ScheduleKind.ADAPTIVE, seed="a test", settling=Settling(top=1, tie_margin=0.5, budget=600))
KINDS = ("Highest", "Random", "Lowest", "Lowest", "Random")
BOTS = tuple(Entry(f"{kind} {number}", python=f"in_process:{kind}") for number, kind in enumerate(KINDS))


async def play(store: Store, *, settings: Settings = SETTINGS, tables: int = 16, stop_after: int = 0) -> list[Event]:
    stop = asyncio.Event()
    events: list[Event] = []
    playing = run_tournament(store, settings, BOTS, plan_of=plan_of, pace=Pace(tables=tables), stop=stop)
    async with contextlib.aclosing(playing):
        async for event in playing:
            events.append(event)
            if stop_after and sum(isinstance(each, MatchPlayed) for each in events) >= stop_after:
                stop.set()
    return events


async def test_a_tournament_ends_when_the_best_is_known(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        events = await play(store)

        played = count_boards(store.matches(store.tournament().id, done=True))
    told = [event.text for event in events if isinstance(event, Notice)]
    assert isinstance(events[-1], Finished)
    assert f"after {played} boards the order of the top 1 is known: Highest 0" in told[-1]
    assert 50 <= played < 600


@pytest.mark.slow
async def test_a_spent_budget_ends_a_tournament_too(tmp_path: Path) -> None:
    settings = replace(SETTINGS, settling=Settling(top=5, tie_margin=0.0, budget=100))
    with Store.open(tmp_path / "arena.db") as store:
        events = await play(store, settings=settings)

        assert count_boards(store.matches(store.tournament().id, done=True)) == 100
    assert isinstance(events[-1], Finished)


@pytest.mark.slow
async def test_at_any_pace_and_after_any_stop_the_result_is_the_same(tmp_path: Path) -> None:
    settings = replace(SETTINGS, settling=Settling(top=3, tie_margin=0.1, budget=160))
    documents = []
    for tables, stop_after in ((64, 0), (1, 0), (2, 5), (2, 20)):
        with Store.open(tmp_path / f"{tables}-{stop_after}.db") as store:
            if stop_after:
                with pytest.raises(Interrupted):
                    await play(store, settings=settings, tables=tables, stop_after=stop_after)
            await play(store, settings=settings, tables=tables)
            documents.append(document_text(store, None)[1])

    assert len(set(documents)) == 1


def test_strengths_are_those_of_the_final_ratings() -> None:
    results = [
        Result((board, 1), table, ("A", "B", "C", "D"), points, places(points), (0, 0, 0, 0))
        for board in range(1, 121)
        for table, points in enumerate([(0, 3, 10, 13), (4, 3, 12 + board % 3, 6)])
    ]

    estimate = rated_strengths(results)

    lead, behind = estimate.lead("A", "C"), estimate.lead("C", "A")
    assert set(estimate.bots[:2]) == {"A", "B"}
    assert lead is not None
    assert behind is not None
    assert lead.certainty == pytest.approx(-behind.certainty)
    assert lead.certainty > 3
    assert lead.points == pytest.approx((10 + 9) / 2)
    assert 0 < lead.points_error < 0.1


# --- The benchmark ---


def benchmark() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "adaptive.py"
    spec = importlib.util.spec_from_file_location("benchmark_adaptive", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("pool", "budget", "runs"),
    [
        pytest.param("3 equal, 5 lower by 1", 800, 16, id="three equal, few"),
        pytest.param("6 equal", 1_200, 150, id="equal, many", marks=pytest.mark.slow),
        pytest.param("3 equal, 5 lower by 1", 2_000, 150, id="three equal", marks=pytest.mark.slow),
        pytest.param("12 spread", 20_000, 30, id="spread", marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_after_an_adaptive_schedule(pool: str, budget: int, runs: int) -> None:
    module = benchmark()
    strengths, _ = module.POOLS[pool]

    covered = [module.cover(seed, strengths, budget) for seed in range(runs)]

    slack = 0.02 if runs >= 150 else 0.04
    for kind in ("differences", "means"):
        share = fmean(getattr(one, kind) for one in covered)
        assert 0.95 - slack <= share <= 0.95 + slack


@pytest.mark.slow
def test_simulated_tournaments_end_sooner_than_uniform_ones_and_claim_no_wrong_order() -> None:
    module = benchmark()

    runs = [module.play_both(seed, 12, Settling()) for seed in range(12)]

    assert all(run.settled for both in runs for run in both)
    assert not any(run.misordered or run.mistied for both in runs for run in both)
    assert sum(adaptive.boards for adaptive, _ in runs) < 0.6 * sum(uniform.boards for _, uniform in runs)
