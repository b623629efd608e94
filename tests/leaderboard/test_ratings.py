"""Final ratings: small cases by hand, extremes, and independence of order."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results_made import play, result

from arena.results import Result
from leaderboard.columns import Columns
from leaderboard.ratings import Rating, Ratings, rate


def exactly(value: float) -> object:
    return pytest.approx(value, abs=1e-9, rel=0)


def elos(ratings: Ratings) -> dict[str, float | None]:
    return {rating.bot: rating.elo for rating in ratings.ratings}


def turned(one: Result, by: int) -> Result:
    """The same result with its sides in another order."""
    order = [(side + by) % len(one.bots) for side in range(len(one.bots))]
    return replace(
        one,
        bots=tuple(one.bots[side] for side in order),
        points=tuple(one.points[side] for side in order),
        places=tuple(one.places[side] for side in order),
        faults=tuple(one.faults[side] for side in order),
    )


def figures(ratings: Ratings) -> list[float]:
    return [value for rating in ratings.ratings for value in astuple(rating)[1:] if value is not None]


# --- By hand ---


def test_two_bots_where_one_won_all_match_the_closed_form() -> None:
    """With 2.5 comparisons won and a virtual draw each, a = -b = ln 3: 2.5 / (1 + 9) = 3 / (1 + 3) - 1 / 2."""
    results = [result(1, "ab", (0, 1)), result(2, "aabbb", (0, 0, 1, 1, 1))]  # 1 + 6 pairs of 1/4

    ratings = rate(results)

    assert elos(ratings) == {"a": exactly(1500 + 400 * math.log10(3)), "b": exactly(1500 - 400 * math.log10(3))}


def test_two_bots_with_wins_and_losses_match_the_closed_form() -> None:
    """a = -b = ln x solves S - N x²/(1+x²) + 1/2 - x/(1+x) = 0, a cubic; here S = 7.5 of N = 10."""
    results = [result(board, "ab", (0, 1)) for board in range(7)]
    results += [result(7, "ab", (1, 1)), *(result(board, "ab", (1, 0)) for board in (8, 9))]
    won, played = 7.5, 10
    cubic = np.poly1d([1, 0, 1]) * np.poly1d([1, 1]) * (won + 0.5)
    cubic -= np.poly1d([1, 1]) * np.poly1d([played, 0, 0]) + np.poly1d([1, 0]) * np.poly1d([1, 0, 1])
    (x,) = (root.real for root in cubic.roots if abs(root.imag) < 1e-9 and root.real > 0)

    ratings = rate(results)

    assert ratings["a"].elo == exactly(1500 + 400 * math.log10(x))
    assert ratings["b"].elo == exactly(1500 - 400 * math.log10(x))


def test_the_error_of_two_bots_matches_the_sandwich_by_hand() -> None:
    """One unknown t, the bots' distance being 2 t, and one comparison a board: the error is squares over curvature."""
    outcomes = [(0, 1)] * 90 + [(1, 0)] * 60
    ratings = rate([result(board, "ab", points) for board, points in enumerate(outcomes)])
    elo = ratings["a"].elo
    assert elo is not None
    strength = (elo - 1500) * math.log(10) / 400
    won = 1 / (1 + math.exp(-2 * strength))
    drawn = 1 / (1 + math.exp(-strength))
    squares = (90 * (1 - won) ** 2 + 60 * won**2) * 150 / 149 + (drawn - 0.5) ** 2 / 2
    curvature = 4 * 150 * won * (1 - won) + 2 * drawn * (1 - drawn)
    student_over_normal = 1.9760132 / 1.9599640  # 149 degrees of freedom

    error = 1.9599640 * student_over_normal * math.sqrt(4 * squares) / curvature * 400 / math.log(10)

    assert ratings["a"].error == pytest.approx(error, rel=1e-6)
    assert ratings["b"].error == pytest.approx(error, rel=1e-6)


def test_three_bots_in_a_circle_of_wins_are_equal() -> None:
    ratings = rate([result(1, "ab", (0, 1)), result(2, "bc", (0, 1)), result(3, "ca", (0, 1))])

    assert elos(ratings) == {"a": exactly(1500), "b": exactly(1500), "c": exactly(1500)}


def test_a_place_counts_and_not_the_points() -> None:
    retired = Result((1, 0), 0, ("a", "b"), (0, 9), (1, 0), (3, 0))

    ratings = rate([retired])

    assert ratings["b"].elo == exactly(3000 - (ratings["a"].elo or 0))
    assert (ratings["b"].elo or 0) > 1500


def test_copies_of_a_bot_say_nothing_of_each_other() -> None:
    alone = rate([result(1, "ab", (0, 1)), result(2, "ab", (1, 0))])
    with_copies = rate([result(1, "aab", (0, 5, 9)), result(2, "aab", (7, 3, 1))])

    assert elos(with_copies) == {bot: exactly(elo or 0) for bot, elo in elos(alone).items()}


def test_the_mean_is_1500_or_the_anchor_is() -> None:
    results = play("abcdef", 30)

    free = rate(results)
    anchored = rate(results, anchor="c")

    assert np.mean([rating.elo for rating in free.ratings]) == exactly(1500)
    assert anchored["c"].elo == exactly(1500)
    assert (anchored["a"].elo or 0) - (anchored["f"].elo or 0) == exactly((free["a"].elo or 0) - (free["f"].elo or 0))


def test_with_an_anchor_errors_are_against_it_and_its_own_is_nothing() -> None:
    ratings = rate(play("abcdef", 120), anchor="c")

    assert ratings["c"].error == 0.0
    for bot in "abdef":
        difference = ratings.difference(bot, "c")
        assert difference and ratings[bot].error == exactly(difference[1])


def test_an_anchor_says_nothing_of_groups_that_it_never_met() -> None:
    apart, alone = play("abcd", 120) + play("wxyz", 120, first=200), play("wxyz", 120, first=200)

    anchored, free = rate(apart, anchor="a"), rate(alone)

    assert [anchored[bot].error for bot in "wxyz"] == pytest.approx([free[bot].error for bot in "wxyz"], rel=0.1)


def test_an_anchor_that_is_held_by_virtual_draws_alone_leaves_errors_open() -> None:
    others = play("bcd", 150, players=3)
    results = [result(one.board[0], ("a", *one.bots), (-1, *one.points), table=one.table) for one in others]

    ratings = rate(results, anchor="a")

    assert [rating.error for rating in ratings.ratings] == [0.0, None, None, None]


@pytest.mark.parametrize("boards", [40, 240], ids=["bootstrap", "sandwich"])
def test_a_bot_that_hardly_played_makes_nobody_else_unsure(boards: int) -> None:
    results = play("abcdef", boards)
    newcomer = [result(boards + number, "abcx", (3, 4, number, 1 + number)) for number in range(2)]

    before, after = rate(results), rate([*results, *newcomer])

    assert after["x"].error is None or after["x"].error > 200
    for bot in "abcdef":
        assert after[bot].error == pytest.approx(before[bot].error, rel=0.1)
        assert after[bot].relative_points_error == pytest.approx(before[bot].relative_points_error, rel=0.1)


def test_an_anchor_without_results_is_refused() -> None:
    with pytest.raises(ValueError, match="anchor 'nobody' has no results"):
        rate([result(1, "ab", (0, 1))], anchor="nobody")


# --- Points ---


def test_relative_points_allow_for_the_opponents() -> None:
    """a is 2 better than b, b is 4 better than c, exactly: (-8/3, -2/3, 10/3), though a never met c."""
    results = [result(1, "ab", (3, 5)), result(2, "bc", (1, 5)), result(3, "ab", (10, 12))]

    ratings = rate(results)

    assert [rating.relative_points for rating in ratings.ratings] == [exactly(-8 / 3), exactly(-2 / 3), exactly(10 / 3)]
    assert [rating.points_per_deal for rating in ratings.ratings] == [6.5, 6.0, 5.0]


def test_points_of_a_game_are_shared_among_its_deals() -> None:
    game = replace(result(1, "ab", (30, 50)), deals=10)
    deal = result(2, "ab", (6, 4))

    ratings = rate([game, deal])

    assert ratings["a"].points_per_deal == 36 / 11
    assert ratings["a"].relative_points == exactly(-18 / 11 / 2)
    assert ratings["a"].deals == 11


def test_the_error_of_points_is_that_of_the_mean_over_boards() -> None:
    leads = Random(5).choices(range(-9, 10), k=200)
    results = [result(board, "ab", (10, 10 + lead)) for board, lead in enumerate(leads)]

    ratings = rate(results)

    standard_error = np.std(leads, ddof=1) / math.sqrt(200) / 2
    assert ratings["a"].relative_points == exactly(-sum(leads) / 400)
    assert ratings["a"].relative_points_error == pytest.approx(1.9719565 * standard_error, rel=1e-5)  # t of 199 degrees


# --- What can't be known ---


def test_no_results_give_no_ratings() -> None:
    assert rate([]).ratings == ()


def test_one_board_gives_a_rating_and_no_error() -> None:
    ratings = rate(play("abcd", 1))

    assert all(rating.elo is not None and rating.error is None for rating in ratings.ratings)
    assert ratings.chances([("a", "b")]) == [None]
    assert set(ratings.rank_intervals("abcd").values()) == {None}


@pytest.mark.parametrize("boards", [2, 10, 150])
def test_a_bot_that_won_everything_has_a_rating_and_no_error(boards: int) -> None:
    others = play("bcd", boards, players=3)
    results = [result(one.board[0], ("a", *one.bots), (-1, *one.points), table=one.table) for one in others]

    ratings = rate(results)

    assert ratings["a"].error is None
    assert all(rating.error for rating in ratings.ratings[1:])
    assert max(figures(ratings)) == ratings["a"].elo
    assert 0.5 < (ratings.chances([("a", "b")])[0] or 0) < 1


def test_bots_that_always_tie_are_equal_without_an_error() -> None:
    ratings = rate([result(board, "abcd", (5, 5, 5, 5)) for board in range(120)])

    assert [(rating.elo, rating.error, rating.relative_points_error) for rating in ratings.ratings] == [
        (exactly(1500), None, None)
    ] * 4


def test_a_bot_that_met_only_copies_has_no_rating() -> None:
    ratings = rate([result(1, "aa", (0, 1)), *play("bcde", 10, first=2)])

    assert ratings["a"].elo is None
    assert ratings["a"].relative_points is None
    assert ratings["a"].points_per_deal == 0.5


def test_groups_that_never_met_are_named_and_not_compared() -> None:
    ratings = rate(play("abcd", 20) + play("wxyz", 30, first=100))

    assert ratings.groups == (("a", "b", "c", "d"), ("w", "x", "y", "z"))
    assert [chance is None for chance in ratings.chances([("a", "w"), ("a", "b")])] == [True, False]
    assert sum(ratings[bot].elo or 0 for bot in "abcd") == exactly(6000)
    assert not ratings.separable("abcdwxyz")[:4, 4:].any()
    assert all(interval and interval[1] - interval[0] >= 4 for interval in ratings.rank_intervals("abcdwxyz").values())


def test_few_boards_widen_the_error() -> None:
    few, many = rate(play("abcd", 6)), rate(play("abcd", 99))

    assert few.bootstrap and many.bootstrap
    assert not rate(play("abcd", 100)).bootstrap
    assert (few["a"].error or 0) > 3 * (many["a"].error or math.inf)


def test_more_bots_than_boards_are_not_bootstrapped() -> None:
    ratings = rate([result(board, "abcdefgh"[board : board + 3], (0, board % 2, 1)) for board in range(6)])

    assert not ratings.bootstrap
    assert ratings["c"].error


def test_bootstrap_and_sandwich_agree_where_they_meet() -> None:
    results = play("abcdef", 100)

    sandwich, bootstrap = rate(results), rate(results[:-4])

    for bot in "abcdef":
        assert bootstrap[bot].error == pytest.approx(sandwich[bot].error, rel=0.12)


def test_the_same_deals_at_many_tables_are_no_more_than_one_board() -> None:
    """Repeating each table adds no information: the error must not shrink as that of four times the boards would."""
    results = play("abcd", 200)

    once = rate(results)
    four_times = rate([replace(one, table=4 * copy + one.table) for one in results for copy in range(4)])

    assert four_times["b"].error == pytest.approx(once["b"].error, rel=0.02)


@st.composite
def any_results(draw: st.DrawFn) -> list[Result]:
    names = st.sampled_from("abcdefg")
    tables = []
    for number in range(draw(st.integers(0, 12))):
        sides = draw(st.integers(2, 5))
        bots = draw(st.lists(names, min_size=sides, max_size=sides))
        points = draw(st.lists(st.integers(-3, 3), min_size=sides, max_size=sides))
        tables.append(result(draw(st.integers(0, 6)), bots, points, table=number))
    return tables


@given(any_results())
def test_whatever_the_results_figures_are_finite_and_errors_not_nothing(results: list[Result]) -> None:
    ratings = rate(results)
    bots = [rating.bot for rating in ratings.ratings]
    chances = ratings.chances(permutations(bots, 2))

    assert all(math.isfinite(value) for value in figures(ratings))
    assert all(rating.error is None or rating.error > 1e-3 for rating in ratings.ratings)
    assert all(chance is None or 0 <= chance <= 1 for chance in chances)
    assert all(
        interval is None or 1 <= interval[0] <= interval[1] <= len(bots)
        for together in (False, True)
        for interval in ratings.rank_intervals(bots, together=together).values()
    )
    assert sorted(bot for group in ratings.groups for bot in group) == bots


@pytest.mark.parametrize(
    ("won", "intervals"),
    [
        pytest.param(106, {"a": (1, 2), "b": (1, 2)}, id="not sure"),
        pytest.param(112, {"a": (1, 2), "b": (1, 2)}, id="not quite sure"),
        pytest.param(117, {"a": (1, 1), "b": (2, 2)}, id="sure"),
    ],
)
@pytest.mark.parametrize("together", [False, True], ids=["each", "together"])
def test_ranks_of_two_bots_are_sure_where_their_difference_is(
    won: int, intervals: dict[str, tuple[int, int]], *, together: bool
) -> None:
    ratings = rate([result(board, "ab", (0, 1) if board < won else (1, 0)) for board in range(200)])

    assert ratings.rank_intervals("ab", together=together) == intervals


# --- Order ---


@pytest.mark.parametrize("boards", [40, 130], ids=["bootstrap", "sandwich"])
def test_no_order_of_results_or_players_changes_a_bit(boards: int) -> None:
    results = play(["delta", "alpha", "Ωmega", "charlie", "bravo"], boards)
    random = Random(7)
    shuffled = [turned(one, random.randrange(4)) for one in random.sample(results, len(results))]

    ratings, again = rate(results), rate(iter(shuffled))

    assert repr(again) == repr(ratings)
    bots = [rating.bot for rating in ratings.ratings]
    assert again.rank_intervals(reversed(bots)) == ratings.rank_intervals(bots)
    assert [again.difference(one, other) for one, other in permutations(bots, 2)] == [
        ratings.difference(one, other) for one, other in permutations(bots, 2)
    ]


def test_new_names_give_the_same_figures() -> None:
    results = play("abcd", 120)
    renamed = [replace(one, bots=tuple("dcba"["abcd".index(bot)] for bot in one.bots)) for one in results]

    ratings, again = rate(results), rate(renamed)

    for bot, other in zip("abcd", "dcba", strict=True):
        expected = replace(ratings[bot], bot=other)
        assert [getattr(again[other], field) for field in Rating.__slots__] == [
            pytest.approx(value, rel=1e-9) if isinstance(value, float) else value for value in astuple(expected)
        ]


def test_another_seed_gives_another_bootstrap() -> None:
    results = play("abcd", 40)

    assert rate(results, seed=1) != rate(results, seed=2)
    assert repr(rate(results, seed=1)) == repr(rate(results, seed=1))


# --- Columns ---


def test_clean_ratings_leave_out_whole_boards() -> None:
    results = play("abcde", 50, faulty="b")
    faulty = {one.board for one in results if any(one.faults)}

    clean = rate(Columns.of(results).clean())

    assert faulty
    assert repr(clean) == repr(rate([one for one in results if one.board not in faulty]))


def test_bots_without_a_clean_board_have_no_clean_rating() -> None:
    results = [*play("abcd", 5), result(9, "abcx", (0, 1, 2, 3), (0, 0, 0, 1))]

    clean = rate(Columns.of(results).clean())

    assert [rating.bot for rating in clean.ratings] == ["a", "b", "c", "d"]


def test_a_result_with_too_few_places_is_named() -> None:
    wrong = Result((3, 1), 0, ("a", "b"), (0, 1), (0,), (0, 0))

    with pytest.raises(ValueError, match=r"one of places for each of its bots: Result\(board=\(3, 1\)"):
        rate([wrong])


def test_tables_of_different_sizes_weigh_the_same_a_side() -> None:
    """A table of three brings a side one comparison's worth, half of it from each opponent."""
    ratings = rate([result(1, "abb", (0, 1, 1)), result(2, "ab", (1, 0))])

    assert elos(ratings) == {"a": exactly(1500), "b": exactly(1500)}


@pytest.mark.slow
def test_a_thousand_bots_are_rated() -> None:
    bots = [f"bot{number}" for number in range(1000)]
    random = Random(1)
    results = [result(board, random.sample(bots, 4), random.choices(range(26), k=4)) for board in range(2000)]

    ratings = rate(results)

    assert all(math.isfinite(value) for value in figures(ratings))
