"""What asking again promises: each decision is the one that was asked, and whatever the bot does is compared and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from scripted import Script, Scripted, ScriptedRoster, failing, highest, lowest

from arena.clock import TimeControl
from arena.decision import Choice, Decision
from arena.errors import BadInput
from arena.faults import FaultKind, FaultPolicy
from arena.game import Game
from arena.games import find_game
from arena.match import Match
from arena.players.roster import Place
from arena.reasking import PlayedTable, ask_again
from arena.rotations import Rotations
from arena.table import TableRules

KEY = b"k" * 32


def illegal_at_5(decision: Decision) -> Choice:
    """Play a card that was not dealt to this seat, once a deal or so."""
    if decision.number % 14 == 5:
        return Choice((next(card for card in decision.game.deck if card not in decision.hand),))
    return lowest(decision)


async def play(
    game: Game,
    scripts: Mapping[str, Script],
    *,
    placed_by_game: bool = False,
    independent: bool = False,
    table: int = 1,
) -> tuple[PlayedTable, list[list[Decision]]]:
    """Play a match and return one of its tables, with what each seat was asked there."""
    rules = TableRules(game, placed_by_game, TimeControl(decision=0.3, bank=1.0), FaultPolicy())
    roster = ScriptedRoster(scripts)
    match = Match(3, tuple(scripts), 0 if placed_by_game else 2)
    playing = Rotations(rules, roster, KEY, tables=8, independent=independent)
    records = (await playing.play_table(match, table, attempt=2)).records
    asked = [roster.players[Place(bot, table)].asked for bot in records[0].bots]
    return PlayedTable(rules, KEY, match, 2, table, independent, records), asked


def about(decision: Decision) -> Decision:
    """Return a decision with times in microseconds, as precise as they are recorded."""
    last = decision.last_answer
    return replace(
        decision, bank_left=round(decision.bank_left, 5), last_answer=None if last is None else round(last, 5)
    )


def four(**special: Script) -> dict[str, Script]:
    return {"a": lowest, "b": highest, "c": lowest, "d": highest} | special


@pytest.mark.parametrize(
    ("game", "scripts", "placed_by_game", "independent"),
    [
        pytest.param(find_game("hearts-classic"), four(), False, False, id="deals"),
        pytest.param(find_game("hearts-classic"), four(), False, True, id="independent"),
        pytest.param(find_game("hearts-special", options={"target": 60}), four(), True, False, id="a-whole-game"),
        pytest.param(find_game("hearts-classic"), four(b=failing()), False, False, id="a-player-retired"),
        pytest.param(find_game("hearts-classic"), four(c=illegal_at_5), False, False, id="a-player-at-fault"),
        pytest.param(
            find_game("heartswitch", 3), {"a": lowest, "b": highest, "c": illegal_at_5}, False, False, id="three"
        ),
    ],
)
async def test_every_decision_is_the_one_that_was_asked(
    game: Game, scripts: dict[str, Script], placed_by_game: bool, independent: bool
) -> None:
    played, asked = await play(game, scripts, placed_by_game=placed_by_game, independent=independent)

    again = {seat: Scripted(lowest) for seat in range(game.players)}
    comparisons = await ask_again(played, again)

    assert [[about(each) for each in again[seat].asked] for seat in again] == [
        [about(each) for each in decisions] for decisions in asked
    ]
    assert len(comparisons) == sum(map(len, asked)) > 0


async def test_the_same_bot_gives_the_same_answers() -> None:
    played, _ = await play(find_game("hearts-classic"), four())

    bots = {seat: Scripted(lowest if bot in "ac" else highest) for seat, bot in enumerate(played.records[0].bots)}
    comparisons = await ask_again(played, bots)

    assert all(each.same for each in comparisons)


async def test_another_bots_answers_differ_and_change_nothing() -> None:
    played, asked = await play(find_game("hearts-classic"), four())

    seat = played.records[0].bots.index("a")
    comparisons = await ask_again(played, {seat: Scripted(highest)})

    different = [each for each in comparisons if not each.same]
    assert 0 < len(different) < len(comparisons) == len(asked[seat])
    assert all(each.seat == seat and each.fault is None for each in comparisons)
    assert all(sorted(each.recorded.cards) == sorted(lowest(each.decision).cards) for each in comparisons)
    assert [each.cards for each in comparisons] == [highest(each.decision).cards for each in comparisons]


async def test_the_order_in_which_cards_are_passed_is_no_difference() -> None:
    played, _ = await play(find_game("hearts-classic"), four())

    def backwards(decision: Decision) -> Choice:
        return Choice(lowest(decision).cards[::-1])

    assert all(each.same for each in await ask_again(played, {played.records[0].bots.index("a"): Scripted(backwards)}))


async def test_a_failure_now_is_a_difference_with_its_evidence() -> None:
    played, asked = await play(find_game("hearts-classic"), four())

    comparisons = await ask_again(played, {0: Scripted(failing(FaultKind.DISCONNECTED, "gone"))})

    assert len(comparisons) == len(asked[0])
    assert not any(each.same for each in comparisons)
    assert {(each.cards, each.fault and each.fault.detail) for each in comparisons} == {(None, "gone")}


async def test_an_illegal_answer_is_a_difference() -> None:
    played, _ = await play(find_game("hearts-classic"), four())

    comparisons = await ask_again(played, {0: Scripted(illegal_at_5)})

    faults = [each.fault.kind for each in comparisons if each.fault]
    assert faults == [FaultKind.ILLEGAL] * 2


async def test_a_substitute_is_told_with_the_fault_that_led_to_it() -> None:
    played, _ = await play(find_game("hearts-classic"), four(c=failing(FaultKind.TIMEOUT, "no answer")))
    seat = played.records[0].bots.index("c")

    comparisons = await ask_again(played, {seat: Scripted(lowest)})

    assert len(comparisons) == 3, "a retired player was asked no more"
    assert all(each.same for each in comparisons)
    assert {each.recorded.fault and each.recorded.fault.detail for each in comparisons} == {"no answer"}


async def test_a_failure_that_repeats_itself_is_no_answer() -> None:
    script = failing(FaultKind.TIMEOUT, "no answer")
    played, _ = await play(find_game("hearts-classic"), four(c=script))

    comparisons = await ask_again(played, {played.records[0].bots.index("c"): Scripted(script)})

    assert [each.same for each in comparisons] == [False] * 3


async def test_only_the_deals_of_interest_are_asked() -> None:
    played, asked = await play(find_game("hearts-classic"), four())

    comparisons = await ask_again(played, {2: Scripted(lowest)}, deals=[2])

    assert {each.recorded.deal for each in comparisons} == {2}
    assert [about(each.decision) for each in comparisons] == [about(each) for each in asked[2] if each.deal_number == 2]


@pytest.mark.parametrize("change", ["plays", "hands", "times"])
async def test_records_that_cannot_have_happened_are_refused(change: str) -> None:
    played, _ = await play(find_game("hearts-classic"), four())
    record = played.records[0]
    spoiled = {
        "plays": replace(record, plays=(record.plays[1], record.plays[0], *record.plays[2:])),
        "hands": replace(record, hands=record.hands[::-1], passes=record.passes[::-1]),
        "times": replace(record, answer_micros=record.answer_micros[:-1]),
    }[change]

    with pytest.raises(BadInput, match="arena verify"):
        await ask_again(replace(played, records=(spoiled, *played.records[1:])), {})
