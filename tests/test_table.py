"""What the referee promises."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted import Script, Scripted, failing, highest, lowest

from arena.cards import STANDARD_DECK, parse_cards
from arena.clock import TimeControl
from arena.dealing import Stream
from arena.decision import Choice, Decision
from arena.faults import FaultKind, FaultPolicy, substitute
from arena.game import Game, Phase
from arena.games import find_game
from arena.table import Table, TableResult, TableRules, Void

HEARTS = find_game("hearts-classic")


def make_table(
    players: list[Scripted],
    *,
    game: Game = HEARTS,
    deals: int = 1,
    by_game: bool = False,
    policy: FaultPolicy | None = None,
    time: TimeControl | None = None,
) -> Table:
    rules = TableRules(game, by_game, time or TimeControl(), policy or FaultPolicy())
    return Table(
        rules,
        players,
        [f"bot {seat}" for seat in range(game.players)],
        table_id="table",
        deals=deals,
        hands_of=lambda number: Stream(b"test", "deal", number).deal(game.deck, game.players),
        random_of=lambda seat, number: 1000 * seat + number,
    )


async def play(
    *scripts: Script, deals: int = 1, policy: FaultPolicy | None = None
) -> tuple[TableResult, list[Scripted]]:
    players = [Scripted(script) for script in scripts]
    return await make_table(players, deals=deals, policy=policy).play(), players


async def test_a_deal_is_recorded_whole() -> None:
    result, players = await play(lowest, highest, lowest, highest)

    (record,) = result.records
    deal = HEARTS.start(record.hands, 1)
    for seat, cards in enumerate(record.passes):
        deal.choose(seat, cards)
    for card in record.plays:
        deal.choose(deal.turn, (card,))
    assert deal.scores() == record.scores
    assert sum(record.scores) in (26, 39)
    assert record.bots == ("bot 0", "bot 1", "bot 2", "bot 3")
    assert (record.faults, record.retired, record.totals) == ((), (), (0, 0, 0, 0))
    assert len(record.answer_micros) == result.decisions == 56
    assert [len(player.asked) for player in players] == [14, 14, 14, 14]


async def test_decisions_are_numbered_and_carry_the_streams_random_number() -> None:
    _, players = await play(lowest, lowest, lowest, lowest, deals=2)

    for seat, player in enumerate(players):
        assert [decision.number for decision in player.asked] == list(range(28))
        assert [decision.random for decision in player.asked] == [1000 * seat + number for number in range(28)]
        assert [player.asked[i].deals_left for i in (0, 13, 14, 27)] == [1, 1, 0, 0]


async def test_the_fourth_deal_has_no_passing() -> None:
    result, players = await play(lowest, lowest, lowest, lowest, deals=4)

    assert [len(record.passes[0]) for record in result.records] == [3, 3, 3, 0]
    assert sum(decision.phase is Phase.PASSING for decision in players[0].asked) == 3


def unheld(decision: Decision) -> Choice:
    """Choose cards that are not in the hand."""
    others = [card for card in STANDARD_DECK if card not in decision.hand]
    return Choice(tuple(others[: decision.count]))


async def test_an_illegal_card_is_a_fault_and_the_substitute_is_played() -> None:
    patient = FaultPolicy(max_faults=1000)

    result, players = await play(unheld, lowest, lowest, lowest, policy=patient)
    honest, _ = await play(lowest, lowest, lowest, lowest)

    (record,) = result.records
    assert record.plays == honest.records[0].plays
    assert record.passes == honest.records[0].passes
    assert len(record.faults) == len(players[0].asked) == 14
    first = record.faults[0]
    assert (first.seat, first.decision, first.retired) == (0, 0, False)
    assert first.evidence.kind is FaultKind.ILLEGAL
    assert "does not hold" in first.evidence.detail
    assert parse_cards(first.evidence.answer)


async def test_too_many_faults_retire_a_player_from_the_table() -> None:
    result, players = await play(failing(), lowest, lowest, lowest, deals=2)

    first, second = result.records
    assert [fault.retired for fault in first.faults] == [False, False, True]
    assert len(players[0].asked) == 3
    assert first.retired == second.retired == (0,)
    assert second.faults == ()
    assert result.decisions == 3 + 3 * 28


async def test_with_forfeit_the_first_fault_retires() -> None:
    result, players = await play(failing(), lowest, lowest, lowest, policy=FaultPolicy(forfeit=True))

    assert len(players[0].asked) == 1
    assert result.records[0].retired == (0,)


async def test_the_others_play_on_as_if_the_substitute_were_a_player() -> None:
    result, _ = await play(highest, failing(FaultKind.DISCONNECTED), highest, highest, deals=3)
    honest, _ = await play(highest, lowest, highest, highest, deals=3)

    assert [record.scores for record in result.records] == [record.scores for record in honest.records]


async def test_a_fault_of_the_arena_voids_the_table() -> None:
    with pytest.raises(Void, match="lost the launcher"):
        await play(lowest, failing(FaultKind.ARENA, "lost the launcher"), lowest, lowest)


async def test_time_beyond_the_decision_comes_off_the_bank() -> None:
    time = TimeControl(decision=1.0, bank=10.0)
    slow = Scripted(lowest, elapsed=1.25)

    await make_table([slow, Scripted(), Scripted(), Scripted()], time=time).play()

    assert [decision.bank_left for decision in slow.asked[:3]] == [10.0, 9.75, 9.5]
    assert [decision.last_answer for decision in slow.asked[:2]] == [None, 1.25]


async def test_notes_are_recorded_with_their_decision() -> None:
    result, _ = await play(lambda view: replace(lowest(view), note=f"no. {view.number}"), lowest, lowest, lowest)

    notes = result.records[0].notes
    assert [(note.seat, note.decision, note.text) for note in notes[:2]] == [(0, 0, "no. 0"), (0, 1, "no. 1")]
    assert len(notes) == 14


async def test_a_game_is_played_to_its_end_with_running_totals() -> None:
    game = find_game("hearts-classic", options={"target": 50})
    players = [Scripted(), Scripted(highest), Scripted(), Scripted(highest)]

    result = await make_table(players, game=game, deals=0, by_game=True).play()

    totals: tuple[int, ...] = (0, 0, 0, 0)
    for record in result.records:
        assert max(totals) < 50
        totals = tuple(map(sum, zip(totals, record.scores, strict=True)))
        assert record.totals == totals
    assert max(totals) >= 50
    assert result.outcome is not None
    assert (result.outcome.over, result.outcome.reason) == (True, "target_reached")
    assert players[0].asked[-1].totals == result.records[-2].totals


async def test_a_game_of_fixed_deals_tells_how_many_are_left() -> None:
    game = find_game("heartswitch", players=3, options={"deals": 4})
    players = [Scripted(), Scripted(), Scripted()]

    result = await make_table(players, game=game, deals=0, by_game=True).play()

    assert len(result.records) == 4
    assert (players[0].asked[0].deals_left, players[0].asked[-1].deals_left) == (3, 0)
    assert result.outcome is not None
    assert result.outcome.reason == "fixed_deals"


async def test_every_seat_is_told_how_the_deals_ended() -> None:
    result, _ = await play(lowest, lowest, lowest, lowest, deals=2)

    assert [[told.seat for told in seat] for seat in result.deal_results] == [[0, 0], [1, 1], [2, 2], [3, 3]]
    first, second = result.deal_results[2]
    assert (first.number, first.table_over, second.number, second.table_over) == (1, False, 2, True)
    assert first.scores == result.records[0].scores
    assert first.trick_cards == result.records[0].plays
    assert len(first.trick_leaders) == 13


def test_the_substitute_is_the_lowest_by_rank_then_suit_magicians_last() -> None:
    assert substitute(parse_cards("M1 3C 2H M2 AS 2D"), 3) == parse_cards("2D 2H 3C")
    assert substitute(parse_cards("M2 M1"), 1) == parse_cards("M1")
