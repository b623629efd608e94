"""Who plays no more: decided by whole blocks, by how many tables a bot was retired from."""

from __future__ import annotations

import pytest

from arena.disqualification import BLOCK, blocks, disqualified
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
    retirements = [(1 + place % matches, "a") for place in range(retired)]

    assert disqualified(schedule(matches), retirements, 4) == ({"a"} if out else set())


def test_only_what_was_played_counts() -> None:
    retirements = [(number, "a") for number in (51, 52, 53, 54, 55, 56)]

    assert disqualified(schedule(50), retirements, 4) == set()
    assert disqualified(schedule(53), retirements, 1) == set()


def test_a_bots_tables_are_those_that_it_sat_at() -> None:
    played = [*schedule(10), *(Match(number, ("b", "c", "d", "e"), 4) for number in range(11, 51))]
    retirements = [(number, bot) for number in (1, 2, 3, 4, 5) for bot in ("a", "b")]

    assert disqualified(played, retirements, 4) == {"a"}


def test_copies_share_their_tables() -> None:
    played = [Match(number, ("a", "a", "b", "b"), 4) for number in range(1, 11)]

    assert disqualified(played, [(number, "a") for number in (1, 2, 3, 4)], 4) == set()
    assert disqualified(played, [(number, "a") for number in (1, 2, 3, 4, 5)], 4) == {"a"}
