"""The specification's worked cases, computed by hand: each is a test with its id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hands import play, short_deal

from arena.cards import format_cards, parse_cards
from arena.game import PassDirection
from arena.games import find_game
from arena.trick import winning_place

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("worked_cases.json").read_text())


def cases(kind: str) -> pytest.MarkDecorator:
    rows = [case for case in CASES if case["kind"] == kind]
    return pytest.mark.parametrize("case", rows, ids=[case["id"] for case in rows])


def test_all_142_cases_are_here() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) == 142


@cases("legal")
def test_legal_cards(case: dict[str, Any]) -> None:
    game = find_game(case["game"])
    hand, trick = parse_cards(case["hand"]), parse_cards(case["trick"])

    legal = game.legal(hand, trick, case["first_trick"], case["broken"])

    assert legal == tuple(sorted(parse_cards(case["legal"])))


@cases("pass")
def test_pass_direction(case: dict[str, Any]) -> None:
    game = find_game(case["game"], case["players"])

    direction = game.pass_direction(case["deal"])

    assert direction is PassDirection[case["direction"].upper()]
    assert [direction.receiver(seat, game.players) for seat in range(game.players)] == case["receivers"]


@cases("winner")
def test_trick_winner(case: dict[str, Any]) -> None:
    players, leader = case["players"], case["leader"]
    trick = parse_cards(case["trick"])
    by_seat = [trick[(seat - leader) % players] for seat in range(players)]
    deal = short_deal(find_game("heartswitch", players), *map(str, by_seat), number=leader or players)

    play(deal, case["trick"])

    assert (leader + winning_place(trick)) % players == case["winner"]
    assert deal.leader == case["winner"]
    assert [bool(pile) for pile in deal.piles] == [seat == case["winner"] for seat in range(players)]


@cases("pile_score")
def test_score_of_one_pile(case: dict[str, Any]) -> None:
    assert find_game("heartswitch", 3).score([parse_cards(case["pile"]), (), ()]) == (case["score"], 0, 0)


@cases("deal_score")
def test_score_of_a_deal(case: dict[str, Any]) -> None:
    piles = [parse_cards(pile) for pile in case["piles"]]
    game = find_game(case["game"], len(piles), "partners" if case["partners"] else "single")

    scores = game.score(piles)

    assert list(scores) == case["scores"]
    assert list(game.side_totals(scores)) == case.get("sides", case["scores"])


@cases("end")
def test_end_of_a_game(case: dict[str, Any]) -> None:
    partners = case["id"] in {"L08", "L09"}
    players = len(case["before"]) * (2 if partners else 1)
    end = {"target": case["target"]} if case["deals"] is None else {"deals": case["deals"]}
    game = find_game(case["game"], players, "partners" if partners else "single", end)
    totals = [before + score for before, score in zip(case["before"], case["scores"], strict=True)]

    outcome = game.finished(totals, case["scores"], case["number"] or 9)

    assert totals == case["totals"]
    assert (outcome.over, list(outcome.winners), outcome.reason) == (case["over"], case["winners"], case["reason"])


def test_the_cases_are_written_as_they_are_parsed() -> None:
    for case in CASES:
        for text in (case.get(key, "") for key in ("hand", "trick", "legal", "pile")):
            assert format_cards(parse_cards(text)) == text
