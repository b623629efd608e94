"""Comma-separated values: a line a bot or a pair, and no cell that has to be taken apart."""

from __future__ import annotations

import csv
import io

from results_made import play, result

from leaderboard.csv_lines import pairs_csv, standings_csv
from leaderboard.standings import make_standings


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_there_is_a_line_a_bot_and_the_unknown_is_empty() -> None:
    results = [*play("abcd", 30), *(result(99, ['x,"y"', "a"], (0, 1)) for _ in range(1))]

    rows = read(standings_csv(make_standings(results)))

    assert sorted(row["bot"] for row in rows) == ["a", "b", "c", "d", 'x,"y"']
    (unknown,) = (row for row in rows if row["bot"] == 'x,"y"')
    assert (unknown["error"], unknown["rank_best"], unknown["rank_worst"]) == ("", "", "")
    assert float(unknown["elo"]) > 1500


def test_an_interval_of_ranks_is_two_numbers() -> None:
    standings = make_standings(play("abcdef", 60))

    rows = read(standings_csv(standings))

    found = [(int(row["rank_best"]), int(row["rank_worst"])) for row in rows]
    joint = [(int(row["joint_rank_best"]), int(row["joint_rank_worst"])) for row in rows]
    assert found == [row.rank_interval for row in standings.rows]
    assert joint == [row.joint_rank_interval for row in standings.rows]
    assert not any(name.endswith("interval") for name in rows[0])


def test_who_is_disqualified_is_said_to_be() -> None:
    rows = read(standings_csv(make_standings(play("abcde", 40), disqualified="c", bots="abcdef")))

    assert {row["bot"]: row["disqualified"] for row in rows} == {**dict.fromkeys("abdef", "false"), "c": "true"}


def test_each_two_bots_have_a_line() -> None:
    standings = make_standings(play("abcd", 40), pairs=True)

    rows = read(pairs_csv(standings))

    assert [(row["bot"], row["other"]) for row in rows] == [(p.bot, p.other) for p in standings.pairs or ()]
    assert len(rows) == 6 and all(float(row["error"]) > 0 for row in rows)
