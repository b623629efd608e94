"""What a match promises: the same deals at every seating, and results that follow from the records."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from scripted import Script, ScriptedRoster, failing, highest, lowest

from arena.clock import TimeControl
from arena.faults import FaultKind, FaultPolicy
from arena.game import Game
from arena.games import find_game
from arena.match import Match, RotationResult, deal_hands, seat_places
from arena.players.roster import Place
from arena.results import Result
from arena.rotations import Rotations, play_match
from arena.table import TableRules, Void

HEARTS = find_game("hearts-classic")
KEY = bytes(range(32))
FOUR = Match(number=3, line_up=("ann", "bob", "cid", "dee"), deals=4)


async def play(
    scripts: Mapping[str, Script],
    *,
    match: Match = FOUR,
    game: Game = HEARTS,
    by_game: bool = False,
    tables: int = 8,
    independent: bool = False,
    policy: FaultPolicy | None = None,
) -> tuple[list[RotationResult], ScriptedRoster]:
    roster = ScriptedRoster(scripts)
    rules = TableRules(game, by_game, TimeControl(), policy or FaultPolicy())
    rotations = Rotations(rules, roster, KEY, tables=tables, independent=independent)
    return await play_match(rotations, match), roster


def results(tables: list[RotationResult]) -> list[Result]:
    return [result for table in tables for result in table.results]


ALIKE = dict.fromkeys(FOUR.line_up, lowest)


async def test_every_bot_holds_every_seat_with_the_same_hands() -> None:
    tables, _ = await play(ALIKE)

    assert len(tables) == 4
    for deal in range(4):
        assert len({records[deal].hands for records in (table.records for table in tables)}) == 1
    for seat in range(4):
        assert {records[0].bots[seat] for records in (table.records for table in tables)} == set(FOUR.line_up)


async def test_copies_of_one_bot_get_equal_totals_over_the_rotations() -> None:
    tables, _ = await play(ALIKE)

    totals = dict.fromkeys(FOUR.line_up, 0)
    for row in results(tables):
        for bot, points in zip(row.bots, row.points, strict=True):
            totals[bot] += points
    assert len(set(totals.values())) == 1


async def test_each_deal_is_a_result_with_its_board() -> None:
    tables, _ = await play(ALIKE)

    assert [(row.board, row.table) for row in results(tables)] == [
        ((3, deal), table) for table in range(4) for deal in (1, 2, 3, 4)
    ]
    for row in results(tables):
        assert row.points == tables[row.table].records[row.board[1] - 1].scores


async def test_concurrency_changes_nothing() -> None:
    one, _ = await play(ALIKE, tables=1)
    many, _ = await play(ALIKE, tables=8)

    assert [(table.records, table.results) for table in one] == [(table.records, table.results) for table in many]


async def test_independent_tables_have_deals_of_their_own() -> None:
    tables, _ = await play(ALIKE, independent=True)

    assert len({records[0].hands for records in (table.records for table in tables)}) == 4


async def test_a_retired_player_comes_last_and_the_others_keep_their_results() -> None:
    tables, _ = await play({**ALIKE, "bob": failing()}, policy=FaultPolicy(forfeit=True))
    honest, _ = await play(ALIKE)

    assert [row.points for row in results(tables)] == [row.points for row in results(honest)]
    for row in results(tables):
        side = row.bots.index("bob")
        assert row.places[side] == 3
        assert sum(row.faults) == (1 if row.board[1] == 1 else 0)


async def test_a_whole_game_is_one_result_with_the_match_as_its_board() -> None:
    game = find_game("hearts-classic", options={"target": 40})
    scripts = {"ann": lowest, "bob": highest, "cid": lowest, "dee": highest}

    tables, _ = await play(scripts, match=Match(5, FOUR.line_up, 0), game=game, by_game=True)

    assert [row.board for row in results(tables)] == [(5, 0)] * 4
    for row, records in zip(results(tables), [table.records for table in tables], strict=True):
        assert row.points == records[-1].totals
        assert row.deals == len(records)
        assert row.places[row.points.index(min(row.points))] == 0


async def test_partners_are_two_instances_of_one_bot() -> None:
    game = find_game("heartswitch", players=4, sides="partners")

    tables, roster = await play({"ann": lowest, "bob": highest}, match=Match(1, ("ann", "bob"), 3), game=game)

    assert set(roster.players) == {
        Place(bot, rotation, copy) for bot in ("ann", "bob") for rotation in (0, 1) for copy in (0, 1)
    }
    assert [records[0].bots for records in (table.records for table in tables)] == [
        ("ann", "bob") * 2,
        ("bob", "ann") * 2,
    ]
    assert results(tables)[0].bots == ("ann", "bob")


async def test_instances_play_one_rotation_only() -> None:
    _, roster = await play(ALIKE)

    tables = [{decision.table_id for decision in player.asked} for player in roster.players.values()]
    assert all(len(ids) == 1 for ids in tables)
    assert len({next(iter(ids)) for ids in tables}) == 4


async def test_players_are_told_how_all_their_deals_ended() -> None:
    tables, roster = await play(ALIKE)

    for place, player in roster.players.items():
        told = [(deal.number, deal.scores) for deal in player.told]
        assert told == [(record.number, record.scores) for record in tables[place.rotation].records]


async def test_a_fault_of_the_arena_ends_the_match() -> None:
    with pytest.raises(Void):
        await play({**ALIKE, "dee": failing(FaultKind.ARENA)})


def test_a_bot_that_sits_twice_has_two_instances() -> None:
    places = seat_places(Match(1, ("ann", "bob", "ann", "cid"), 4), (1, 2, 3, 0), 1)

    assert places == (Place("bob", 1), Place("ann", 1, 0), Place("cid", 1), Place("ann", 1, 1))


def test_hands_depend_on_everything_that_names_them() -> None:
    named = [(1, 0, None, 1), (2, 0, None, 1), (1, 1, None, 1), (1, 0, 0, 1), (1, 0, 1, 1), (1, 0, None, 2)]

    hands = [str(deal_hands(KEY, HEARTS, *names)) for names in named]

    assert len(set(hands)) == len(named)


@pytest.mark.parametrize(
    ("game", "line_up", "tables"),
    [
        (find_game("hearts-classic"), "ABAB", ("ABAB", "BABA")),
        (find_game("hearts-classic"), "AABB", ("AABB", "BBAA")),
        (find_game("heartswitch", 3), "ABA", ("ABA", "BAB")),
        (find_game("heartswitch", 5), "AABBB", ("AABBB", "BBAAA")),
        (find_game("heartswitch", 4, "partners"), "AB", ("ABAB", "BABA")),
        (find_game("heartswitch", 6, "partners"), "ABB", ("ABBABB", "BAABAA")),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bots_exchange_their_sides_on_the_second_of_two_tables(
    game: Game, line_up: str, tables: tuple[str, ...]
) -> None:
    match = Match(1, tuple(line_up), 4, exchanged=True)

    seated = tuple("".join(match.line_up[place] for place in seating) for seating in match.seatings(game))

    assert seated == tables
