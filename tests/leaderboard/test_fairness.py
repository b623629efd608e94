"""Fairness is found where it is missing, and not where it isn't: in simulated tournaments whose faults are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from random import Random

import pytest
from results_made import result

from arena.results import Result
from leaderboard.changes import Change, find_changes
from leaderboard.fairness import Fairness, find_fairness

Bias = Callable[[str, int, frozenset[str]], float]
"""Points that a bot gets on top, by its name, its seat and who sits at the table."""


def none(_bot: str, _seat: int, _others: frozenset[str]) -> float:
    return 0.0


def simulate(
    bots: str = "ABCDEF",
    *,
    rounds: int = 8,
    bias: Bias = none,
    hands: float = 10.0,
    noise: float = 10.0,
    strengths: Mapping[str, float] | None = None,
    fresh: bool = False,
    seed: int = 1,
) -> list[Result]:
    """Play all line-ups of four, so often, at four rotations: points are the seat's hand, noise, strength and bias."""
    random = Random(seed)
    results = []
    line_ups = [list(line_up) for _ in range(rounds) for line_up in combinations(bots, 4)]
    for board, line_up in enumerate(line_ups):
        random.shuffle(line_up)
        hand = [random.gauss(0, hands) for _ in range(4)]
        for rotation in range(4):
            seated = line_up[rotation:] + line_up[:rotation]
            hand = [random.gauss(0, hands) for _ in range(4)] if fresh else hand
            points = [
                round(
                    100
                    + hand[seat]
                    + random.gauss(0, noise)
                    + bias(bot, seat, frozenset(seated))
                    - (strengths or {}).get(bot, 0.0)
                )
                for seat, bot in enumerate(seated)
            ]
            results.append(result(board, seated, points, table=rotation))
    return results


def flagged(fairness: Fairness) -> int:
    kinds = (fairness.seats, fairness.contexts, fairness.influences)
    return sum(one.flagged for found in kinds for one in found)


def test_a_fair_tournament_has_few_flags_by_chance() -> None:
    strengths = {"A": 5.0, "B": 3.0, "F": -6.0}

    counts = [flagged(find_fairness(simulate(strengths=strengths, seed=seed))) for seed in range(30)]

    assert sum(count > 0 for count in counts) <= 9  # three kinds of tests, each wrong once in twenty times


def test_an_uneven_seat_is_flagged() -> None:
    def bias(_bot: str, seat: int, _others: frozenset[str]) -> float:
        return 8.0 if seat == 1 else 0.0

    fairness = find_fairness(simulate(bias=bias))

    assert fairness.seats[1].flagged
    assert max(fairness.seats, key=lambda seat: seat.points.value).side == 1
    assert fairness.seats[1].points.value == pytest.approx(6.0, abs=2.5)
    assert fairness.seats[1].place.value > 0
    assert sum(seat.points.value for seat in fairness.seats) == pytest.approx(0.0, abs=1e-9)


def test_seats_that_bots_did_not_share_evenly_are_told() -> None:
    balanced = simulate(rounds=1)

    assert find_fairness(balanced).seat_surplus == 0
    assert find_fairness([one for one in balanced if one.table != 3]).seat_surplus > 0


@pytest.mark.parametrize(
    ("fresh", "hands", "gain"),
    [(False, 10.0, 2.0), (False, 20.0, 5.0), (False, 0.0, 1.0), (True, 10.0, 1.0)],
    ids=["luck as large as noise", "more luck", "no luck", "fresh deals"],
)
def test_duplicate_deals_are_worth_the_luck_that_they_cancel(fresh: bool, hands: float, gain: float) -> None:
    """Each bot holds each hand once, so of a board's mean the noise is left: (luck + noise) / noise as much worth."""
    strengths = {"A": 20.0, "F": -20.0}
    worth = find_fairness(simulate(rounds=30, fresh=fresh, hands=hands, strengths=strengths)).worth

    assert worth is not None
    assert worth.tables == 4.0
    assert worth.gain.value == pytest.approx(gain, rel=0.12)
    assert worth.gain.error is not None
    assert abs(worth.gain.value - gain) < 2 * worth.gain.error
    assert worth.effective == pytest.approx(30 * 15 * 4 * worth.gain.value)


def test_who_sits_there_changes_how_two_fare() -> None:
    def bias(bot: str, _seat: int, others: frozenset[str]) -> float:
        return -12.0 if bot == "A" and {"B", "C"} <= others else 0.0

    contexts = find_fairness(simulate(rounds=12, bias=bias)).contexts

    found = next(one for one in contexts if (one.bot, one.other, one.third) == ("A", "B", "C"))
    assert found.flagged
    assert found.lead.value == pytest.approx(12.0, abs=3.0)
    assert found.shift.value == pytest.approx(12.0, abs=4.0)
    assert {contexts[0].bot, contexts[0].other, contexts[0].third} == set("ABC")


def test_a_bot_that_is_helped_shows_by_whom() -> None:
    def bias(bot: str, _seat: int, others: frozenset[str]) -> float:
        return {"B": -12.0, "E": 12.0}.get(bot, 0.0) if {"B", "E"} <= others else 0.0

    strongest = find_fairness(simulate(rounds=12, bias=bias)).influences[:2]

    assert {(one.bot, one.on) for one in strongest} == {("E", "B"), ("B", "E")}
    assert all(one.flagged for one in strongest)
    assert {one.on: one.points.value < 0 for one in strongest} == {"B": True, "E": False}


def test_strength_alone_is_no_influence() -> None:
    strengths = {"A": 40.0, "B": 20.0, "E": -30.0}

    fairness = find_fairness(simulate(rounds=12, strengths=strengths, seed=4))

    assert not any(one.flagged for one in fairness.influences)


def test_where_all_sit_at_every_table_nothing_is_said_of_pairs() -> None:
    fairness = find_fairness(simulate("ABCD", rounds=20))

    assert (fairness.contexts, fairness.influences) == ((), ())
    assert fairness.worth is not None


def test_bots_that_play_all_alike_are_never_flagged() -> None:
    """No luck but the hands', which all bots hold: what is left is the rounding of sums."""
    for seed in range(10):
        fairness = find_fairness(simulate("ABCDEFG", rounds=3, noise=0.0, seed=seed))

        assert flagged(fairness) == sum(seat.flagged for seat in fairness.seats)
        assert fairness.worth is None


def test_an_error_that_one_board_cannot_tell_is_not_nothing() -> None:
    (seat, *_) = find_fairness([result(1, "ABCD", [4, 5, 6, 11])]).seats

    assert (seat.points.value, seat.points.error) == (-2.5, None)


@pytest.mark.parametrize("boards", [0, 1, 2])
def test_few_boards_say_little_and_break_nothing(boards: int) -> None:
    results = [one for one in simulate(rounds=1) if one.board[0] < boards]

    fairness = find_fairness(results)

    assert fairness.boards == boards
    assert fairness.worth is None
    assert fairness.contexts == ()
    assert not any(seat.flagged for seat in fairness.seats)


def test_the_order_of_results_is_irrelevant() -> None:
    results = simulate(rounds=3)
    shuffled = results[:]
    Random(3).shuffle(shuffled)

    one, other = find_fairness(results), find_fairness(shuffled)

    assert [seat.points.value for seat in one.seats] == pytest.approx([seat.points.value for seat in other.seats])
    assert [(each.bot, each.on) for each in one.influences] == [(each.bot, each.on) for each in other.influences]


# --- With a stand-in ---


def test_changes_by_hand() -> None:
    """X out, Y in: on board 1 A goes from 4 to 8 and B from 6 to 7, on board 2 A from 5 to 5 and B from 5 to 6.

    Two boards leave one degree of freedom, for which 95 % of Student's t are within 12.7.
    """
    before = [result(1, "XAB", [3, 4, 6]), result(2, "XAB", [3, 5, 5]), result(3, "XAB", [0, 0, 13])]
    after = [result(1, "YAB", [1, 8, 7]), result(2, "YAB", [2, 5, 6])]

    changes = find_changes(before, after, "X", "Y", "ABX")

    assert [change.bot for change in changes] == ["A", "B"]
    first, second = changes
    assert (first.boards, first.before, first.after, first.change.value) == (2, 4.5, 6.5, 2.0)
    assert first.change.error == pytest.approx(12.7062 * 2.0, rel=1e-5)
    assert first.beyond_others is not None
    assert second.beyond_others is not None
    assert (first.beyond_others.value, second.beyond_others.value) == (1.0, -1.0)
    assert first.beyond_others.error == second.beyond_others.error == pytest.approx(12.7062 * 2.0, rel=1e-5)


def test_a_bot_that_was_helped_does_worse_with_a_stand_in_and_the_others_do_not() -> None:
    def helping(bot: str, _seat: int, others: frozenset[str]) -> float:
        return (-12.0 if "C" in others else -8.0) if bot == "B" else 0.0

    before = [one for one in simulate("XBCDE", rounds=20, bias=helping) if "X" in one.bots]
    after = [
        Result(one.board, one.table, tuple("Y" if bot == "X" else bot for bot in one.bots), *rest)
        for one in simulate("XBCDE", rounds=20)
        if "X" in one.bots
        for rest in [(one.points, one.places, one.faults)]
    ]

    changes: dict[str, Change] = {change.bot: change for change in find_changes(before, after, "X", "Y", "BCDEX")}

    assert set(changes) == set("BCDE")
    assert changes["B"].change.value == pytest.approx(10.0, abs=2.0)
    assert {bot for bot, change in changes.items() if change.beyond_others and change.beyond_others.value > 5} == {"B"}
    assert changes["B"].flagged


def test_nobody_to_compare_with_is_none() -> None:
    (change,) = find_changes([result(1, "XA", [5, 8])], [result(1, "YA", [4, 9])], "X", "Y", "AX")

    assert change.beyond_others is None
    assert not change.flagged
