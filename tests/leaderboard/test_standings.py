"""Standings: order, ties, groups that can't be told apart, and a document of stable bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from results_made import play, result, turn

from leaderboard.document import SCHEMA, document, read_document
from leaderboard.ratings import rate
from leaderboard.standings import Row, Standings, make_standings, unseparated_runs


def as_json(standings: Standings) -> str:
    return json.dumps(document(standings, {"tournament": "7f3a"}, ["The seed is not secret."]), allow_nan=False)


def width(rows: tuple[Row, ...]) -> int:
    """How long the rank intervals are, together."""
    return sum(row.rank_interval[1] - row.rank_interval[0] for row in rows if row.rank_interval)


def test_rows_are_ordered_by_rating() -> None:
    standings = make_standings(play("abcdef", 150))

    elos = [row.elo or 0 for row in standings.rows]
    assert elos == sorted(elos, reverse=True)
    assert [row.rank for row in standings.rows] == [1, 2, 3, 4, 5, 6]
    assert standings.rows[0].bot == "a"


def test_equal_ratings_are_ordered_by_points_per_deal() -> None:
    """All beat each other equally often; a has the most points, and c the fewest."""
    results = [result(1, "ab", (9, 10)), result(2, "bc", (0, 1)), result(3, "ca", (0, 11))]
    results += [replace(one, board=(9 + number, 0)) for number, one in enumerate(results)]

    rows = make_standings(
        [*results, result(20, "bc", (9, 9)), result(21, "ab", (11, 11)), result(22, "ca", (9, 9))]
    ).rows

    assert [row.elo for row in rows] == pytest.approx([1500] * 3)
    assert [row.bot for row in rows] == ["c", "b", "a"]
    assert [row.rank for row in rows] == [1, 2, 3]


def test_bots_equal_in_rating_and_points_share_a_rank_and_stand_by_name() -> None:
    mirrored = [
        result(board, bots, (0, 1, 1, 4), table=table)
        for board in range(8)
        for table, bots in enumerate(["adcb", "acdb"])
    ]

    rows = make_standings(mirrored).rows

    assert [(row.rank, row.bot) for row in rows] == [(1, "a"), (2, "c"), (2, "d"), (4, "b")]


def test_superiority_is_over_the_next_row_and_the_last_has_none() -> None:
    rows = make_standings(play("abcd", 200)).rows

    assert all(row.superiority is not None and 0.5 <= row.superiority < 1 for row in rows[:-1])
    assert rows[-1].superiority is None


def test_rows_in_one_bracket_may_each_have_the_others_rank() -> None:
    bracketed = 0
    for boards in range(30, 230, 4):
        rows = make_standings(play("abcdef", boards)).rows
        pairs = [(one, two) for one in rows for two in rows if set(one.unseparated) & set(two.unseparated)]
        bracketed += len(pairs)
        for one, two in pairs:
            assert one.rank_interval is not None
            assert one.rank_interval[0] <= (two.rank or 0) <= one.rank_interval[1]
    assert bracketed


def test_joint_rank_intervals_hold_those_of_each() -> None:
    for boards in (2, 4, 20, 60, 200):
        for row in make_standings(play("abcdefgh", boards)).rows:
            each, joint = row.rank_interval, row.joint_rank_interval
            assert (each is None) == (joint is None)
            assert each is None or joint is None or joint[0] <= each[0] <= each[1] <= joint[1]


def test_rank_intervals_hold_the_rank_and_narrow_with_boards() -> None:
    few, many = (make_standings(play("abcdef", boards)).rows for boards in (20, 1200))

    assert all(
        row.rank_interval and row.rank and row.rank_interval[0] <= row.rank <= row.rank_interval[1] for row in few
    )
    assert width(many) < width(few)


@pytest.mark.parametrize(
    ("rows", "separable", "runs"),
    [
        pytest.param(0, [], [], id="nobody"),
        pytest.param(1, [], [], id="one"),
        pytest.param(3, [(0, 1), (1, 2), (0, 2)], [], id="all apart"),
        pytest.param(3, [], [range(3)], id="all together"),
        pytest.param(3, [(0, 2)], [range(2), range(1, 3)], id="overlapping"),
        pytest.param(3, [(0, 1), (0, 2)], [range(1, 3)], id="the first apart"),
        pytest.param(4, [(0, 3), (1, 3)], [range(3), range(2, 4)], id="four rows"),
        pytest.param(4, [(1, 2)], [range(2), range(2, 4)], id="apart in the middle"),
    ],
)
def test_unseparated_runs_are_the_longest_without_a_separable_pair(
    rows: int, separable: list[tuple[int, int]], runs: list[range]
) -> None:
    matrix = np.zeros((rows, rows), np.bool_)
    for one, other in separable:
        matrix[one, other] = matrix[other, one] = True

    assert unseparated_runs(matrix) == runs


def test_bots_of_one_strength_are_not_separated_and_far_ones_are() -> None:
    equal = make_standings([result(board, turn("abcd", board), (0, 1, 2, 3)) for board in range(40)]).rows
    far = make_standings([result(board, "ab", (board % 10 == 0, board % 10 != 0)) for board in range(200)]).rows

    assert {row.unseparated for row in equal} == {(1,)}
    assert {row.unseparated for row in far} == {()}


def test_disqualified_bots_are_listed_apart() -> None:
    results = play("abcde", 120)

    standings = make_standings(results, disqualified=["b"])

    assert [row.bot for row in standings.rows].count("b") == 0
    assert [row.rank for row in standings.rows] == [1, 2, 3, 4]
    assert [(row.bot, row.rank, row.rank_interval) for row in standings.disqualified] == [("b", None, None)]


def test_the_mean_of_those_ranked_is_1500_whoever_is_disqualified() -> None:
    results = play("abcde", 120)
    everybody = {row.bot: row for row in make_standings(results).rows}

    standings = make_standings(results, disqualified=["e"])

    moved = {row.bot: (row.elo or 0) - (everybody[row.bot].elo or 0) for row in standings.rows}
    assert float(np.mean([row.elo for row in standings.rows])) == pytest.approx(1500)
    assert float(np.mean([row.clean_elo for row in standings.rows])) == pytest.approx(1500)
    assert float(np.mean([row.relative_points for row in standings.rows])) == pytest.approx(0)
    assert moved["a"] < -20 and list(moved.values()) == pytest.approx([moved["a"]] * 4)


def test_errors_are_against_the_mean_of_those_ranked() -> None:
    """Two are ranked: each is as far from their mean as the other's share of the boards, and so is its error."""
    standings = make_standings(play("abcde", 120), disqualified="cde")
    ratings = rate(play("abcde", 120))

    difference = ratings.difference("a", "b")
    assert difference is not None
    shares = [row.boards / sum(row.boards for row in standings.rows) for row in standings.rows][::-1]
    assert [row.error for row in standings.rows] == pytest.approx([difference[1] * share for share in shares], rel=1e-3)
    points = ratings.points_difference("a", "b")
    assert points is not None
    assert [row.relative_points for row in standings.rows] == pytest.approx([points[0] / 2, -points[0] / 2])
    assert [row.relative_points_error for row in standings.rows] == pytest.approx(
        [points[1] * share for share in shares], rel=1e-3
    )


def test_the_disqualified_alone_are_against_each_other() -> None:
    standings = make_standings(play("abcd", 40), disqualified="abcd")

    assert float(np.mean([row.elo for row in standings.disqualified])) == pytest.approx(1500)


def test_clean_ratings_come_from_boards_without_faults() -> None:
    results = play("abcd", 120, faulty="b")
    clean = [one for one in results if one.board[0] % 10 or "b" not in one.bots]

    rows = make_standings(results).rows

    assert {row.bot: (row.clean_elo, row.clean_error) for row in rows} == {
        row.bot: (row.elo, row.error) for row in make_standings(clean).rows
    }
    assert {row.clean_boards for row in rows} == {108}
    assert {row.bot: row.faults for row in rows} == {"a": 0, "b": 48, "c": 0, "d": 0}


def test_without_faults_clean_ratings_are_the_ratings() -> None:
    assert all(row.clean_elo == row.elo for row in make_standings(play("abcd", 10)).rows)


def test_an_anchor_that_has_no_clean_board_leaves_clean_ratings_open() -> None:
    results = [result(board, "ab", (board % 2, 1 - board % 2), (1, 0)) for board in range(4)]

    assert {row.clean_elo for row in make_standings(results, anchor="a").rows} == {None}


def test_the_document_has_what_readers_count_on() -> None:
    read = json.loads(as_json(make_standings(play("abcd", 120))))

    assert (read["schema"], read["tournament"], read["boards"]) == (SCHEMA, "7f3a", 120)
    first = read["standings"][0]
    assert {"rank", "bot", "elo", "error", "rank_interval", "boards", "points_per_deal", "faults"} <= first.keys()
    assert (first["rank"], first["bot"], first["boards"], first["faults"]) == (1, "a", 120, 0)
    assert first["elo"] == round(first["elo"], 2)
    assert read["notes"] == ["The seed is not secret."]


def test_the_document_is_the_same_bytes_whatever_the_order_of_results() -> None:
    results = play("abcde", 60, faulty="c")

    documents = {as_json(make_standings(Random(seed).sample(results, len(results)))) for seed in range(3)}

    assert len(documents) == 1


def test_no_results_give_an_empty_document() -> None:
    read = json.loads(as_json(make_standings([])))

    assert (read["standings"], read["boards"], read["groups"]) == ([], 0, [])


def test_a_document_gives_the_standings_back() -> None:
    values = document(make_standings(play("abcde", 60), disqualified="e", bots="abcdef", pairs=True), {})

    assert document(read_document(values), {}) == values
    assert read_document(values).rows[-1].bot == "f"
