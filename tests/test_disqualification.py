"""Who plays no more: decided by whole blocks, by how many tables a bot was retired from."""

from __future__ import annotations

import pytest

from arena.disqualification import BLOCK, Retirement, blocks, disqualified, owed
from arena.match import Match


def schedule(matches: int) -> list[Match]:
    return [Match(number, ("a", "b", "c", "d"), 4) for number in range(1, matches + 1)]


@pytest.mark.parametrize(
    ("matches", "lengths"),
    [(0, []), (1, [1]), (BLOCK, [50]), (BLOCK + 1, [50, 1]), (3 * BLOCK - 1, [50, 50, 49])],
)
def test_blocks_are_fifty_matches_in_the_order_of_the_schedule(matches: int, lengths: list[int]) -> None:
    found = blocks(schedule(matches))

    assert [len(block) for block in found] == lengths
    assert [match for block in found for match in block] == schedule(matches)


def out_after(matches: list[Match], retirements: list[Retirement], tables: int = 4) -> frozenset[str]:
    return disqualified(matches, lambda match: True, retirements, tables)


@pytest.mark.parametrize(
    ("matches", "retired", "out"),
    [
        (50, 20, False),
        (50, 21, True),
        (5, 2, False),
        (5, 3, True),
        (1, 2, False),
        (1, 3, True),
        (8, 3, False),
        (7, 3, True),
    ],
    ids=str,
)
def test_more_than_a_tenth_of_its_tables_and_at_least_three_are_too_many(matches: int, retired: int, out: bool) -> None:
    retirements = [(1 + place % matches, place // matches, "a") for place in range(retired)]

    assert out_after(schedule(matches), retirements) == ({"a"} if out else set())


def test_a_block_that_is_not_played_does_not_count() -> None:
    retirements = [(number, 0, "a") for number in range(51, 101)]

    assert disqualified(schedule(100), lambda match: match.number != 60, retirements, 4) == set()
    assert disqualified(schedule(100), lambda match: True, retirements, 4) == {"a"}


def test_matches_that_a_disqualified_bot_was_to_play_are_not_owed() -> None:
    matches = [*schedule(50), *(Match(number, ("b", "c", "d", "e"), 4) for number in range(51, 101))]
    matches[60] = Match(61, ("a", "b", "c", "d"), 4)
    retirements = [(number, 0, "a") for number in range(1, 31)] + [(100, table, "e") for table in range(4)]

    out = disqualified(matches, lambda match: match.number != 61, retirements, 4)

    assert out == {"a"}


def test_a_bots_tables_are_those_that_it_sat_at() -> None:
    played = [*schedule(10), *(Match(number, ("b", "c", "d", "e"), 4) for number in range(11, 51))]
    retirements = [(number, 0, bot) for number in (1, 2, 3, 4, 5) for bot in ("a", "b")]

    assert out_after(played, retirements) == {"a"}


def test_a_table_counts_once_however_many_of_its_seats_the_bot_held() -> None:
    played = [Match(number, ("a", "a", "b", "b"), 4) for number in range(1, 11)]
    twice_each = [(number, 0, "a") for number in (1, 2, 3, 4) for _ in range(2)]

    assert out_after(played, twice_each) == set()
    assert out_after(played, [*twice_each, (5, 0, "a")]) == {"a"}


def test_results_that_were_kept_count_whoever_was_disqualified_before() -> None:
    played, kept = Match(51, ("a", "b"), 4), Match(52, ("a", "b"), 4, origin=("other", 1))

    assert owed([played, kept], {"a"}) == [kept]
    assert owed([played, kept], {"c"}) == [played, kept]
