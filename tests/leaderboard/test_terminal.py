"""The table on a terminal: it fits, it stays plain where there is no terminal, and every encoding can show it."""

from __future__ import annotations

import io
import re

import pytest
from results_made import play, result, turn
from rich.cells import cell_len
from rich.console import Console

from arena.results import Result
from leaderboard.standings import Standings, make_standings
from leaderboard.terminal import Leaderboard

LONG = ["a-bot-with-a-very-long-name-that-goes-on-and-on-v1", "a-bot-with-a-very-long-name-that-goes-on-and-on-v2"]
NAMES = [*LONG, "日本のボットと長い長い名前のボット", "[red]markup[/red]", "e", "f", "g", "h", "i", "j", "k", "l"]


def shown(
    results: list[Result] | Standings, *, width: int = 80, encoding: str = "utf-8", notes: tuple[str, ...] = ()
) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    standings = results if isinstance(results, Standings) else make_standings(results)
    board = Leaderboard(standings, "Tournament 7f3a · hearts-classic · 4 players", notes)
    Console(file=file, width=width).print(board)
    file.flush()
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("bots", [4, 8, 12])
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_fits_the_width_and_shows_every_bot_on_one_line(bots: int, width: int) -> None:
    text = shown(play(NAMES[:bots], 60, faulty="e"), width=width)

    assert max(cell_len(line) for line in text.splitlines()) <= width
    ranks = [line.split()[0] for line in text.splitlines() if re.match(r" ?\d", line)]
    assert ranks == [str(rank) for rank in range(1, bots + 1)]


def test_long_names_keep_what_tells_them_apart() -> None:
    text = shown(play(NAMES, 60))

    assert re.search(r"a-bot-\S*…\S*-v1 ", text)
    assert re.search(r"a-bot-\S*…\S*-v2 ", text)


def test_names_are_text_and_not_markup() -> None:
    assert "[red]markup[/red]" in shown(play(NAMES, 60), width=120)


def test_there_are_no_control_codes_where_there_is_no_terminal() -> None:
    assert "\x1b" not in shown(play("abcd", 30))
    assert "\x1b" not in shown([result(board, ["a\x1b[31mb", "c"], (board, 1)) for board in range(3)])


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
def test_other_encodings_get_plain_ascii(encoding: str) -> None:
    text = shown(play(NAMES, 60, faulty="e"), encoding=encoding, notes=("Ωmega joined late.",))

    assert text.isascii()
    assert "+-95%" in text
    assert "?mega joined late." in text


def test_what_cannot_be_known_is_said_to_be_so() -> None:
    text = shown(play("abcd", 1))

    assert text.count("n/a") > 4
    assert "n/a: too few boards" in text
    assert not re.search(r"nan|inf|±0\b", text)


def test_neighbours_that_cannot_be_told_apart_are_bracketed() -> None:
    text = shown([result(board, turn("abc", board), (0, 1, 2)) for board in range(12)])

    assert [line[-1:] for line in re.findall(r"^ ?\d .*[╮│╯]", text, re.MULTILINE)] == ["╮", "│", "╯"]


def test_overlapping_groups_get_brackets_side_by_side() -> None:
    """a beats c clearly, and b is between them."""
    results = [result(board, "abc", ((0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 0, 1))[board % 4]) for board in range(8)]
    results += [result(board, "ac", (board % 4 == 0, board % 4 != 0)) for board in range(8, 48)]

    rows = make_standings(results).rows
    text = shown(results)

    assert [row.unseparated for row in rows] == [(1,), (1, 2), (2,)]
    assert re.search(r"╮.*\n.*╯╮.*\n.* ╯", text)


def test_ranks_hold_each_by_itself_or_all_at_once_and_the_legend_says_which() -> None:
    standings = make_standings(play("abcdefghijkl", 60))
    wider = [row for row in standings.rows if row.rank_interval != row.joint_rank_interval]
    assert wider

    def ranks(*, simultaneous: bool) -> str:
        console = Console(file=io.StringIO(), width=120)
        with console.capture() as capture:
            console.print(Leaderboard(standings, "Tournament", simultaneous=simultaneous))
        return capture.get()

    assert "Ranks: with 95 % each." in ranks(simultaneous=False)
    text = ranks(simultaneous=True)
    assert "Ranks: with 95 % all at once." in text
    for row in wider:
        low, high = row.joint_rank_interval or (0, 0)
        assert re.search(rf"^ *{row.rank} +{row.bot} .* {low}–{high} ", text, re.MULTILINE)


def test_many_groups_are_told_as_ranks_and_never_left_out() -> None:
    results = play([f"bot-{number:03}" for number in range(60)], 400)
    standings = make_standings(results)
    rows = standings.rows
    assert len({number for row in rows for number in row.unseparated}) > 15
    for encoding, sign, dash in (("utf-8", "≈", "–"), ("ascii", "~", "-")):
        for width in (40, 80, 120):
            lines = shown(standings, width=width, encoding=encoding).splitlines()

            column = next(line for line in lines if sign in line).index(sign) + 1
            cells = [line[:column].split()[-1] for line in lines if re.match(r" *\d+ +bot-", line)]
            assert len(cells) == 60
            for row, cell in zip(rows, cells, strict=True):
                like = [one.rank for one in rows if set(one.unseparated) & set(row.unseparated)]
                assert like and cell == f"{like[0]}{dash}{like[-1]}"
            assert f"{sign}: not to be told from rows of these ranks." in " ".join(" ".join(lines).split())


def test_the_legend_says_what_ratings_are_against() -> None:
    anchored = make_standings(play("abcd", 200), anchor="b")
    apart = make_standings(play("abcd", 20) + play("wxyz", 20, first=50))

    assert "error against b, by boards" in shown(anchored, width=120)
    assert re.search(r"b +1500 +±0 ", shown(anchored, width=120))
    assert "error against the mean of those that met, by boards" in shown(apart, width=120)


def test_the_legend_explains_the_error_and_only_what_is_shown() -> None:
    assert "±95%: error against the mean of those ranked, by boards (bootstrap)." in shown(play("abcd", 30)).replace(
        "\n", " "
    )
    wide, narrow = shown(play("abcd", 200), width=120), shown(play("abcd", 200), width=30)
    assert "by boards." in wide and "Points:" in wide
    assert "Points:" not in narrow
    assert "Clean:" not in wide
    assert "Clean: boards without a fault." in shown(play("abcd", 200, faulty="a"), width=120)


def test_groups_that_never_met_are_named() -> None:
    text = shown(play("abcd", 10) + play("wxyz", 10, first=50))

    assert "never met: a, b, c, d; w, x, y, z." in " ".join(text.split())


def test_disqualified_bots_are_named() -> None:
    standings = make_standings(play("abcde", 20, faulty="e"), disqualified=["e"])
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as capture:
        console.print(Leaderboard(standings, "Tournament"))

    assert re.search(r"Disqualified: e \(\d+ faults\)\.", capture.get())


def test_no_results_are_said_to_be_none() -> None:
    assert "No results yet." in shown([])
