"""What is said of each two bots: the difference with an error of its own, and the shares of wins, ties and losses."""

from __future__ import annotations

import io

import pytest
from results_made import play, result
from rich.cells import cell_len
from rich.console import Console

from leaderboard.matrix import Matrix
from leaderboard.pairs import Pair
from leaderboard.ratings import rate
from leaderboard.standings import Standings, make_standings


def pairs(standings: Standings) -> dict[tuple[str, str], Pair]:
    return {(pair.bot, pair.other): pair for pair in standings.pairs or ()}


def shown(standings: Standings, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as capture:
        console.print(Matrix(standings, "Tournament"))
    return capture.get()


def test_shares_are_counted_at_tables_where_both_sat() -> None:
    """a is ahead of b at three of five tables and ties at one; a second table of a board counts too."""
    results = [result(1, "ab", (0, 3)), result(1, "ba", (3, 0), table=1), result(2, "ab", (1, 1))]
    results += [result(3, "ba", (0, 9)), result(4, "ab", (2, 5)), result(5, "bc", (0, 1)), result(6, "bc", (1, 0))]

    found = pairs(make_standings(results, pairs=True))
    met = next(pair for names, pair in found.items() if set(names) == set("ab"))
    shares = (met.wins, met.ties, met.losses) if met.bot == "a" else (met.losses, met.ties, met.wins)

    assert shares == pytest.approx((0.6, 0.2, 0.2))
    assert met.boards == 4


def test_shares_don_t_depend_on_how_many_sat_at_the_table() -> None:
    results = [result(board, "abcd", (0, 5, 5, 9)) for board in range(4)]

    found = pairs(make_standings(results, pairs=True))

    assert {(pair.wins, pair.ties, pair.losses) for pair in found.values()} == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)}
    assert (found["b", "c"].ties, found["a", "b"].wins) == (1.0, 1.0)


def test_an_error_of_a_difference_is_its_own() -> None:
    results = play("abcdef", 120)
    ratings = rate(results)

    standings = make_standings(results, pairs=True)
    errors = {row.bot: row.error or 0 for row in standings.rows}

    for pair in standings.pairs or ():
        assert (pair.difference, pair.error) == ratings.difference(pair.bot, pair.other)
        assert (pair.points_difference, pair.points_error) == ratings.points_difference(pair.bot, pair.other)
        assert [pair.superiority] == ratings.chances([(pair.bot, pair.other)])
        assert (pair.error or 0) / max(errors[pair.bot], errors[pair.other]) > 1.2
    assert len(standings.pairs or ()) == 15


def test_pairs_stand_in_the_order_of_the_rows_the_disqualified_last() -> None:
    standings = make_standings(play("abcde", 60), disqualified="a", pairs=True)

    order = [row.bot for row in (*standings.rows, *standings.disqualified)]
    assert list(pairs(standings)) == [(one, two) for i, one in enumerate(order) for two in order[i + 1 :]]


def test_who_never_met_and_can_t_be_compared_is_left_out() -> None:
    standings = make_standings(play("abcd", 20) + play("wxyz", 20, first=50), pairs=True)

    assert {min(names) in "abcd" for names in pairs(standings)} == {True, False}
    assert all((one in "abcd") == (two in "abcd") for one, two in pairs(standings))


def test_pairs_are_left_out_unless_asked_for() -> None:
    assert make_standings(play("abcd", 20)).pairs is None


@pytest.mark.parametrize("bots", [4, 30])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_matrix_fits_and_both_halves_agree(bots: int, width: int) -> None:
    names = [f"a-bot-with-a-long-name-{number:02}" for number in range(bots)]
    standings = make_standings(play(names, 60), pairs=True)

    text = shown(standings, width)

    assert max(cell_len(line) for line in text.splitlines()) <= width
    blocks = [block.splitlines() for block in text.split("\n\n")[1:-1]]
    cells: dict[tuple[int, int], str] = {}
    for header, *rows in blocks:
        columns = [int(number) for number in header.split()[2:]]
        for row in rows:
            number, found = int(row.split()[0]), row.split()[2:]
            own = [column for column in columns if column != number]
            cells |= {(number, column): cell for column, cell in zip(own, found, strict=True)}
    assert len(cells) == bots * (bots - 1)
    for (one, two), cell in cells.items():
        mirrored = cells[two, one]
        if cell.isdigit():
            assert abs(int(cell) + int(mirrored) - 100) <= 1
        else:
            assert {cell, mirrored} == {">99", "<1"}
