"""Results as arrays: nothing is lost, boards are told apart, and their order decides."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from results_made import play, result

from leaderboard import columns as module
from leaderboard.columns import Columns
from leaderboard.comparisons import Comparisons


def test_boards_are_numbered_by_match_and_deal() -> None:
    boards = [(2**62, 5), (3, 2**40), (3, 0), (-7, 9), (3, 0)]

    columns = Columns.of([replace(result(0, "ab", (index, 9)), board=board) for index, board in enumerate(boards)])

    assert columns.board.tolist() == [0, 1, 1, 2, 3]
    assert columns.points.tolist() == [3, 9, 2, 9, 4, 9, 1, 9, 0, 9]


def test_tables_of_any_size_keep_their_sides() -> None:
    columns = Columns.of([result(2, "cab", (1, 2, 3), (0, 4, 0)), result(1, "xa", (7, 8))])

    assert columns.bots == ("a", "b", "c", "x")
    assert columns.table.tolist() == [0, 0, 1, 1, 1]
    assert [columns.bots[bot] for bot in columns.bot] == ["x", "a", "c", "a", "b"]
    assert columns.place.tolist() == [0, 1, 0, 1, 2]
    assert columns.faults.tolist() == [0, 0, 0, 4, 0]


def test_results_are_read_once_and_a_batch_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 1 << 10)
    results = play("abcdef", 600)

    columns = Columns.of(iter(results))

    assert columns.points.tolist() == [points for one in results for points in one.points]
    assert columns.boards == 600


def test_boards_of_a_bot_are_counted_once_however_many_tables_and_copies() -> None:
    results = [result(1, "aab", (0, 0, 0), table=0), result(1, "baa", (0, 0, 0), table=1), result(2, "bbb", (0, 0, 0))]

    columns = Columns.of(results)

    assert dict(zip(columns.bots, columns.boards_by_bot.tolist(), strict=True)) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("boards", "portion"),
    [(0, 1 << 8), (1, 1 << 8), (500, 1 << 8), pytest.param(20_000, 1 << 16, marks=pytest.mark.slow)],
)
def test_portions_are_whole_boards_and_all_of_them(boards: int, portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PORTION", portion)
    columns = Columns.of(play("abcd", boards))

    portions = columns.portions()

    assert [table for tables, _ in portions for table in range(tables.start, tables.stop)] == list(range(4 * boards))
    assert [side for _, sides in portions for side in range(sides.start, sides.stop)] == list(range(16 * boards))
    assert all(tables.start % 4 == 0 for tables, _ in portions)


def test_comparisons_count_each_pair_of_sides_of_different_bots() -> None:
    """a beats both copies of b at one table of three, and loses to one and ties with the other at the next."""
    comparisons = Comparisons.of(Columns.of([result(1, "bab", (5, 0, 9)), result(1, "bba", (3, 4, 4), table=1)]))

    assert comparisons.first.tolist() == [0]
    assert comparisons.weight.tolist() == [2.0]
    assert comparisons.score.tolist() == [(1 + 1 + 0 + 0.5) / 2]
    assert comparisons.lead.tolist() == [(5 + 9 - 1 + 0) / 2]


def test_comparisons_of_many_boards_equal_a_plain_count() -> None:
    results = play("abcdef", 300)
    wins: dict[tuple[int, str, str], float] = {}
    for one in results:
        for bot, place in zip(one.bots, one.places, strict=True):
            for other, other_place in zip(one.bots, one.places, strict=True):
                if bot < other:
                    key = (one.board[0], bot, other)
                    wins[key] = wins.get(key, 0) + (1 + (place < other_place) - (place > other_place)) / 6

    comparisons = Comparisons.of(Columns.of(Random(1).sample(results, len(results))))

    found = zip(comparisons.board.tolist(), comparisons.first, comparisons.second, comparisons.score, strict=True)
    assert {
        (board, "abcdef"[first], "abcdef"[second]): score for board, first, second, score in found
    } == pytest.approx(wins)
