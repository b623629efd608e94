"""What replaying promises: a record gives back its deal, step by step, and whatever breaks a rule is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from scripted import Script, Scripted, failing, highest, lowest

from arena.clock import TimeControl
from arena.dealing import Stream
from arena.decision import Choice, Decision
from arena.difference import Difference
from arena.faults import Evidence, Fault, FaultKind, FaultPolicy
from arena.game import Game, Phase
from arena.games import find_game
from arena.record import DealRecord, Note
from arena.replay import TableReplay, replay
from arena.table import Table, TableRules

HEARTS = find_game("hearts-classic")


def rules(game: Game = HEARTS, *, by_game: bool = False, policy: FaultPolicy | None = None) -> TableRules:
    return TableRules(game, by_game, TimeControl(), policy or FaultPolicy())


async def play(of: TableRules, *scripts: Script, deals: int = 1) -> tuple[DealRecord, ...]:
    """Play a table and return its records."""
    table = Table(
        of,
        [Scripted(script) for script in scripts],
        [f"bot {seat}" for seat in range(len(scripts))],
        table_id="table",
        deals=deals,
        hands_of=lambda number: Stream(b"replay", "deal", number).deal(of.game.deck, of.game.players),
        random_of=lambda seat, number: 1000 * seat + number,
    )
    return (await table.play()).records


def noting(decision: Decision) -> Choice:
    """Play low, and say so."""
    return replace(lowest(decision), note="low")


def once(first: Script, then: Script) -> Script:
    """Return a script that differs at its first decision."""
    return lambda decision: (first if decision.number == 0 else then)(decision)


def random(decision: Decision) -> Choice:
    return Choice(tuple(decision.rng.sample(decision.legal, decision.count)))


async def test_a_record_gives_back_every_choice_in_order() -> None:
    (record,) = await play(rules(), random, random, random, random)

    steps = [(step.seat, step.cards, step.legal) for step in replay(record)]

    assert tuple(cards for _, cards, _ in steps[:4]) == record.passes
    assert tuple(cards[0] for _, cards, _ in steps[4:]) == record.plays
    assert [seat for seat, _, _ in steps[:4]] == [0, 1, 2, 3]
    assert all(set(cards) <= set(legal) for _, cards, legal in steps)
    assert all(len(legal) == 13 for _, _, legal in steps[:4])


async def test_each_step_shows_the_deal_right_after_it() -> None:
    (record,) = await play(rules(), random, random, random, random)

    seen = [(step.deal.phase, len(step.deal.plays)) for step in replay(record)]

    assert [count for _, count in seen] == [0] * 4 + list(range(1, 53))
    assert [phase for phase, _ in seen] == [Phase.PASSING] * 3 + [Phase.PLAYING] * 52 + [Phase.OVER]


@pytest.mark.parametrize(
    ("game", "players", "sides"),
    [
        ("hearts-special", 4, "single"),
        ("hearts-standard", 4, "single"),
        ("heartswitch", 3, "single"),
        ("heartswitch", 6, "partners"),
    ],
)
@pytest.mark.parametrize("by_game", [False, True], ids=["deals", "game"])
async def test_a_table_is_followed_to_its_end(game: str, players: int, sides: str, by_game: bool) -> None:
    of = rules(find_game(game, players=players, sides=sides, options={"target": 30}), by_game=by_game)
    deals = 0 if by_game else 3
    scripts: list[Script] = [failing(), random, noting, highest, random, lowest]
    records = await play(of, *scripts[:players], deals=deals)

    table = TableReplay(of, deals)
    over = []
    asked = 0
    for record in records:
        over.append(table.over)
        asked += table.follow(record)

    assert not any(over)
    assert table.over
    assert asked == sum(len(record.answer_micros) for record in records)


async def test_a_table_that_is_not_over_says_why() -> None:
    of = rules(find_game("heartswitch", options={"target": 70}), by_game=True)
    records = await play(of, random, random, random, random, deals=0)
    table = TableReplay(of, 0)

    before = table.why_not_over
    table.follow(records[0])

    assert before == "a game is to be played to its end"
    assert table.why_not_over == "the game goes on (target not reached)"


def late(seat: int, decision: int, *, retired: bool = False) -> Fault:
    return Fault(seat, decision, Evidence(FaultKind.TIMEOUT, "too late"), retired)


@pytest.mark.parametrize(
    ("script", "change", "policy", "what"),
    [
        (
            highest,
            lambda record: replace(record, faults=(late(0, 0),)),
            FaultPolicy(),
            "what is chosen for seat 0, which failed its decision 0",
        ),
        (
            once(failing(), lowest),
            lambda record: replace(record, faults=(replace(record.faults[0], retired=True),), retired=(0,)),
            FaultPolicy(),
            "what follows from the fault of seat 0, decision 0",
        ),
        (
            once(failing(), lowest),
            lambda record: replace(record, faults=(replace(record.faults[0], decision=99),)),
            FaultPolicy(),
            "a fault",
        ),
        (
            once(failing(), lowest),
            lambda record: replace(record, notes=(Note(0, 0, "late"),)),
            FaultPolicy(),
            "a note",
        ),
        (
            noting,
            lambda record: replace(record, notes=(*record.notes, Note(0, 14, "late"))),
            FaultPolicy(),
            "a note",
        ),
        (lowest, lambda record: replace(record, retired=(2,)), FaultPolicy(), "the retired seats"),
        (
            lowest,
            lambda record: replace(record, answer_micros=()),
            FaultPolicy(),
            "the number of answers that were timed",
        ),
        (lowest, lambda record: replace(record, totals=(1, 0, 0, 0)), FaultPolicy(), "the totals"),
        (
            once(lowest, highest),
            lambda record: replace(record, faults=(late(0, 0, retired=True),), retired=(0,)),
            FaultPolicy(forfeit=True),
            "what is chosen for seat 0, which is retired",
        ),
    ],
    ids=[
        "a fault that was none",
        "retired too early",
        "a fault of no decision",
        "a note with a fault",
        "a note of no decision",
        "retired without a fault",
        "no times",
        "totals of single deals",
        "a retired player that plays",
    ],
)
async def test_what_breaks_the_rules_of_the_table_is_found(
    script: Script, change: Callable[[DealRecord], DealRecord], policy: FaultPolicy, what: str
) -> None:
    (record,) = await play(rules(), script, lowest, lowest, lowest)

    with pytest.raises(Difference) as raised:
        TableReplay(rules(policy=policy), 1).follow(change(record))

    assert raised.value.what == what


async def test_a_revoke_is_found_with_the_cards_that_were_legal() -> None:
    (record,) = await play(rules(), lowest, lowest, lowest, lowest)
    last = record.plays[-1]

    with pytest.raises(Difference) as raised:
        list(replay(replace(record, plays=(record.plays[0], last, *record.plays[2:-1], record.plays[1]))))

    assert raised.value.what.endswith("plays to trick 1")
    assert raised.value.found == str(last)
    assert str(record.plays[1]) in raised.value.expected


def test_hands_that_are_no_deal_are_a_difference() -> None:
    record = DealRecord(HEARTS, False, 1, ("a",) * 4, ((),) * 3, ((),) * 4, (), (0,) * 4, (0,) * 4)

    with pytest.raises(Difference, match="the hands: expected a deal of the pack"):
        list(replay(record))


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "the seed: expected 1, found 2"),
        ({"match": 3}, "match 3: the seed: expected 1, found 2"),
        ({"match": 3, "table": 0, "deal": 2}, "match 3, table 0, deal 2: the seed: expected 1, found 2"),
    ],
    ids=["nowhere", "a match", "a deal"],
)
def test_a_difference_says_where_it_is(where: dict[str, int], text: str) -> None:
    assert str(Difference("the seed", 1, 2, **where)) == text
