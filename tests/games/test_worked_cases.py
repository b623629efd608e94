"""The specification's worked cases, computed by hand: each is a test with its id."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hands import deal_of, pass_cards, pass_lowest, play, play_out, short_deal, snapshot

from arena.cards import Card, format_cards, parse_cards
from arena.decision import Decision
from arena.errors import BadGame, IllegalChoice
from arena.game import PassDirection
from arena.games import find_game
from arena.simulate import simulate
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


# The cases in words


@pytest.mark.parametrize(("number", "holder", "leader"), [(1, 0, 1), (3, 3, 1)], ids=["M01", "M02"])
def test_who_receives_the_two_of_clubs_leads_it(number: int, holder: int, leader: int) -> None:
    starts = ["KC AC QC", "3C 4C 5C", "6C 7C 8C", "9C TC JC"]
    starts[holder] = "2C " + starts[holder][3:]
    deal = deal_of(find_game("hearts-classic"), *starts, number=number)

    pass_cards(deal, *starts)

    assert deal.turn == leader
    assert deal.legal(leader) == (Card("2C"),)


def test_m03_without_exchange_the_holder_leads_and_passes_are_refused() -> None:
    deal = deal_of(find_game("hearts-classic"), "", "", "2C", number=4)

    assert deal.turn == 2
    for seat in range(4):
        with pytest.raises(IllegalChoice):
            deal.choose(seat, deal.observe(seat).hand[:3])


def test_m04_a_card_cannot_be_passed_twice() -> None:
    deal = deal_of(find_game("hearts-classic"), "3C KD")

    with pytest.raises(IllegalChoice):
        deal.choose(0, parse_cards("3C 3C KD"))


@pytest.mark.parametrize("cards", ["3C KD", "3C KD QS 2H"])
@pytest.mark.parametrize(
    ("name", "players"),
    [("hearts-classic", 4), ("hearts-special", 4), *(("heartswitch", players) for players in range(3, 7))],
)
def test_m05_two_or_four_cards_cannot_be_passed(name: str, players: int, cards: str) -> None:
    deal = deal_of(find_game(name, players), "3C KD QS 2H")

    with pytest.raises(IllegalChoice):
        deal.choose(0, parse_cards(cards))


def test_m06_magicians_witches_and_queens_can_be_passed() -> None:
    deal = deal_of(find_game("heartswitch"), "M1 WH QS")

    deal.choose(0, parse_cards("M1 WH QS"))

    assert deal.observe(0).passed == tuple(sorted(parse_cards("M1 WH QS")))


@pytest.mark.parametrize(("players", "size"), [(3, 20), (4, 15), (5, 12), (6, 10)])
def test_m07_sixty_cards_are_dealt_equally(players: int, size: int) -> None:
    deal = find_game("heartswitch", players).random_deal("M07")
    hands = [deal.observe(seat).hand for seat in range(players)]

    assert [len(hand) for hand in hands] == [size] * players
    assert len({str(card) for hand in hands for card in hand}) == 60


@pytest.mark.parametrize(
    ("name", "players", "sides"),
    [
        ("heartswitch", 2, "single"),
        ("heartswitch", 7, "single"),
        ("heartswitch", 3, "partners"),
        ("heartswitch", 5, "partners"),
        *((f"hearts-{kind}", players, "single") for kind in ("classic", "special", "standard") for players in (3, 5)),
    ],
)
def test_m08_other_numbers_of_players_are_refused(name: str, players: int, sides: str) -> None:
    with pytest.raises(BadGame, match=f"not {players}"):
        find_game(name, players, sides)


def test_m09_the_deal_goes_round_a_table_of_five() -> None:
    game = find_game("heartswitch", 5)
    deals = [pass_lowest(game.random_deal("M09", number)) for number in range(1, 7)]

    assert [deal.dealer for deal in deals] == [0, 1, 2, 3, 4, 0]
    assert [deal.leader for deal in deals] == [1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize("card", ["2D", "5C", "AH"], ids=["passed", "played", "never held"])
def test_m10_a_card_not_in_hand_is_refused(card: str) -> None:
    game = find_game("heartswitch", 3)
    deal = short_deal(game, "2D 3D 4D 5C AC KD", "6C 7C 8C 9C TC QC", "2S 3S 4S AH KS JC", number=3)
    pass_cards(deal, "2D 3D 4D", "6C 7C 8C", "2S 3S 4S")
    play(deal, "AC 9C 6C")
    assert deal.turn == 0
    play(deal, "5C TC 7C")
    while deal.turn != 0:
        deal.choose(deal.turn, deal.legal(deal.turn)[:1])
    before = snapshot(deal)

    with pytest.raises(IllegalChoice):
        play(deal, card)

    assert snapshot(deal) == before


def test_m11_hearts_broken_in_one_deal_are_whole_in_the_next() -> None:
    game = find_game("hearts-classic", options={"passing": False})
    first = game.random_deal("M11", 1)
    play_out(first, Random(11))
    assert first.hearts_broken

    second = short_deal(game, "2C 3H", "3C 4D", "4C 5D", "AC 5H", number=2)
    play(second, "2C 3C 4C AC")
    third = short_deal(game, "2C 3H 6D", "3C 4D 7D", "4C 5D 8D", "AC 5H 9D", number=2)
    play(third, "2C 3C 4C AC")

    assert second.legal(3) == (Card("5H"),)
    assert third.legal(3) == (Card("9D"),)


def test_m12_a_classic_game_to_100_is_over_by_deal_16() -> None:
    for seed in range(10):
        simulation = simulate(find_game("hearts-classic"), [at_random] * 4, seed=seed)
        assert len(simulation.records) <= 16


def at_random(decision: Decision) -> list[Card]:
    return decision.rng.sample(decision.legal, decision.count)


def test_the_cases_are_written_as_they_are_parsed() -> None:
    for case in CASES:
        for text in (case.get(key, "") for key in ("hand", "trick", "legal", "pile")):
            assert format_cards(parse_cards(text)) == text
