"""The numbered rules of HeartSwitch, W-01 to W-32 and P-01 to P-06: a test each, named after its rule."""

from __future__ import annotations

from random import Random

import pytest
from hands import complete_hands, deal_of, pass_cards, pass_lowest, play, play_out, short_deal, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.cards import ALL_CARDS, Card, Rank, parse_cards
from arena.errors import BadGame, IllegalChoice
from arena.game import Game, PassDirection, Phase
from arena.games import find_game

THREE, FOUR, FIVE, SIX = (find_game("heartswitch", players) for players in range(3, 7))
ALL = [THREE, FOUR, FIVE, SIX]
PAIRS = find_game("heartswitch", 4, "partners")
TRIOS = find_game("heartswitch", 6, "partners")
HEARTS = "2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH"

every_table = pytest.mark.parametrize("game", ALL, ids=["3", "4", "5", "6"])


def legal(hand: str, trick: str = "", game: Game = FOUR) -> str:
    return " ".join(map(str, game.legal(parse_cards(hand), parse_cards(trick), first_trick=not trick)))


def in_order(codes: str) -> str:
    return " ".join(map(str, sorted(parse_cards(codes))))


def pile(codes: str) -> int:
    return THREE.score([parse_cards(codes), (), ()])[0]


def score(game: Game, *piles: str) -> tuple[int, ...]:
    return game.score([parse_cards(codes) for codes in piles])


# Set-up


@pytest.mark.parametrize("players", [-1, 0, 1, 2, 7, 60])
def test_w01_is_for_three_to_six_players(players: int) -> None:
    with pytest.raises(BadGame, match="3 to 6 players"):
        find_game("heartswitch", players)


@every_table
def test_w02_is_played_with_60_cards(game: Game) -> None:
    assert game.deck == ALL_CARDS
    assert len({str(card) for card in game.deck}) == 60
    assert sum(card.is_magician for card in game.deck) == 4
    assert sum(card.rank is Rank.WITCH for card in game.deck) == 4


@pytest.mark.parametrize("suit", "CDSH")
def test_w03_witches_rank_between_ten_and_jack(suit: str) -> None:
    cards = [Card(rank + suit) for rank in "23456789TWJQKA"]

    assert sorted(cards) == cards
    assert len({card.suit for card in cards}) == 1


@pytest.mark.parametrize(("trick", "taker"), [("TD WD 2D", 1), ("WD JD 2D", 1), ("WD 2D 3D", 0)])
def test_w04_a_witch_takes_tricks_in_her_suit(trick: str, taker: int) -> None:
    assert play(short_deal(THREE, *trick.split(), number=3), trick).leader == taker


@pytest.mark.parametrize("suit", "CDSH")
def test_w04_a_witch_follows_her_suit(suit: str) -> None:
    other = "D" if suit == "C" else "C"

    assert legal(f"W{suit} 8{other}", f"2{suit}") == f"W{suit}"


def test_w05_magicians_have_no_suit_and_no_points() -> None:
    magicians = parse_cards("M1 M2 M3 M4")

    assert [card.suit for card in magicians] == [None] * 4
    assert pile("M1 M2 M3 M4") == 0


@pytest.mark.parametrize(("game", "size"), [(THREE, 20), (FOUR, 15), (FIVE, 12), (SIX, 10)], ids=["3", "4", "5", "6"])
def test_w06_all_cards_are_dealt_equally(game: Game, size: int) -> None:
    for seed in range(20):
        deal = game.random_deal(seed)
        assert [hand.bit_count() for hand in deal.hands] == [size] * game.players
        assert sorted(card for seat in range(game.players) for card in deal.observe(seat).hand) == list(ALL_CARDS)


@every_table
def test_w07_the_deal_moves_to_the_left(game: Game) -> None:
    n = game.players

    for number in range(1, 14):
        deal = pass_lowest(game.random_deal(7, number))
        assert deal.dealer == (number - 1) % n
        assert deal.leader == deal.turn == number % n


# Passing


@every_table
def test_w08_three_cards_are_passed_in_every_deal(game: Game) -> None:
    for number in range(1, 13):
        deal = game.random_deal(8, number)
        assert deal.phase is Phase.PASSING
        assert [deal.observe(seat).count for seat in range(game.players)] == [3] * game.players
        pass_lowest(deal)
        assert [hand.bit_count() for hand in deal.hands] == [game.hand_size] * game.players


@pytest.mark.parametrize(
    ("game", "cycle"), [(THREE, "LR"), (FOUR, "LRA"), (FIVE, "LR"), (SIX, "LRA")], ids=["3", "4", "5", "6"]
)
def test_w09_directions_go_by_the_number_of_players(game: Game, cycle: str) -> None:
    directions = "".join(game.pass_direction(number).name[0] for number in range(1, 13))

    assert directions == cycle * (12 // len(cycle))


@every_table
@pytest.mark.parametrize("number", [1, 2, 3])
def test_w09_cards_arrive_where_they_are_passed(game: Game, number: int) -> None:
    deal = game.random_deal(9, number)
    n = game.players
    passed = [deal.observe(seat).hand[:3] for seat in range(n)]
    pass_lowest(deal)

    step = {PassDirection.LEFT: 1, PassDirection.RIGHT: n - 1, PassDirection.ACROSS: n // 2}[
        game.pass_direction(number)
    ]

    for seat in range(n):
        assert deal.observe((seat + step) % n).received == deal.observe(seat).passed == passed[seat]


@every_table
@pytest.mark.parametrize("codes", ["M1 WH QS", "WC WD WS", "M2 M3 M4"])
def test_w10_any_three_cards_may_be_passed(game: Game, codes: str) -> None:
    deal = deal_of(game, codes)

    deal.choose(0, parse_cards(codes))

    assert 0 not in deal.to_act


@every_table
@pytest.mark.parametrize("codes", ["M1 WH", "M1 M1 WH", "M1 WH QS 2C", "M1 WH AS", ""])
def test_w10_other_passes_are_refused(game: Game, codes: str) -> None:
    deal = deal_of(game, "M1 WH QS 2C", "AS")
    before = snapshot(deal)

    with pytest.raises(IllegalChoice):
        deal.choose(0, parse_cards(codes))

    assert snapshot(deal) == before


# Play


@every_table
def test_w11_anything_may_be_led_first(game: Game) -> None:
    deal = pass_lowest(deal_of(game, number=game.players))

    assert deal.legal(deal.turn) == deal.observe(deal.turn).hand


@every_table
def test_w12_nothing_is_barred_from_the_first_trick_and_hearts_need_no_breaking(game: Game) -> None:
    assert legal("QS 2H WH AS", "2C", game) == in_order("QS 2H WH AS")
    assert legal("2H 3C WS", "", game) == in_order("2H 3C WS")
    deal = game.random_deal(12)
    play_out(deal, Random(12))
    assert not deal.hearts_broken


@every_table
def test_w13_a_suit_is_followed_or_a_magician_played(game: Game) -> None:
    assert legal("3D WD M2 AS", "7D", game) == in_order("3D WD M2")
    assert legal("3C M2 AS", "7D", game) == in_order("3C M2 AS")


@pytest.mark.parametrize(
    ("trick", "expected"), [("M1", "4S KH M3"), ("M1 9S", "4S M3"), ("M1 M2", "4S KH M3"), ("M1 M2 9H", "KH M3")]
)
def test_w14_the_first_card_of_a_suit_sets_the_suit(trick: str, expected: str) -> None:
    assert legal("4S KH M3", trick) == in_order(expected)


@pytest.mark.parametrize(
    ("players", "trick", "taker"),
    [(3, "M1 2C M2", 1), (4, "5D M1 M2 AS", 0), (6, "M2 M1 M3 M4 2C 3D", 4)],
)
def test_w15_a_magician_takes_no_trick_with_other_cards_in_it(players: int, trick: str, taker: int) -> None:
    game = find_game("heartswitch", players)

    assert play(short_deal(game, *trick.split(), number=players), trick).leader == taker


@pytest.mark.parametrize(("players", "trick"), [(3, "M3 M1 M2"), (4, "M4 M2 M3 M1")])
@pytest.mark.parametrize("leader", [0, 1, 2])
def test_w16_the_first_of_only_magicians_takes_the_trick(players: int, trick: str, leader: int) -> None:
    codes = trick.split()
    hands = [codes[(seat - leader) % players] for seat in range(players)]
    deal = short_deal(find_game("heartswitch", players), *hands, number=leader or players)

    assert play(deal, trick).leader == leader
    assert deal.piles[leader].bit_count() == players


@every_table
def test_w17_the_taker_leads_the_next_trick(game: Game) -> None:
    hands = [f"{rank}D 2{suit}" for rank, suit in zip("2A3456", "CSHHHH", strict=True)][: game.players]
    hands = [hand if seat < 3 else f"{hand[0]}D {hand[0]}H" for seat, hand in enumerate(hands)]
    deal = short_deal(game, *hands, number=game.players)

    play(deal, " ".join(hand.split()[0] for hand in hands))

    assert (deal.leader, deal.turn) == (1, 1)


# One pile


@pytest.mark.parametrize("count", range(14))
def test_w18_hearts_count_one_each_or_double_up_to_15(count: int) -> None:
    codes = " ".join(HEARTS.split()[:count])

    assert pile(codes) == count
    assert pile(codes + " WH") == min(2 * count, 15)


@pytest.mark.parametrize(("codes", "points"), [("WS", 5), ("QS", 13), ("WS QS", 18), ("KS AS", 0)])
def test_w19_the_witch_of_spades_costs_5_and_the_queen_13(codes: str, points: int) -> None:
    assert pile(codes) == points


@pytest.mark.parametrize("codes", ["WS", "QS", "WS QS", ""])
def test_w20_the_witch_of_clubs_cancels_both(codes: str) -> None:
    assert pile(codes + " WC") == 0
    assert pile(codes + " WC 2H 3H") == 2


@pytest.mark.parametrize(
    ("codes", "points"),
    [("", 0), ("2H 3H 4H", 0), (HEARTS[:17], 1), ("QS", 8), ("WS QS", 13), ("2H 3H 4H WH", 1), ("2H 3H QS WC", 0)],
)
def test_w21_the_witch_of_diamonds_takes_off_up_to_5_at_last(codes: str, points: int) -> None:
    assert pile(codes + " WD") == points


def test_w22_a_witch_works_only_for_her_taker() -> None:
    assert score(FOUR, "QS", "WC", HEARTS, "WH WS WD") == (13, 0, 13, 0)


# Moon


@pytest.mark.parametrize(("spades", "value"), [("WS", 20), ("QS", 25), ("WS QS", 30)])
@every_table
def test_w23_w24_all_14_hearts_and_a_spade_are_a_moon_of_20_25_or_30(game: Game, spades: str, value: int) -> None:
    for shooter in range(game.players):
        piles = [""] * game.players
        piles[shooter] = f"{HEARTS} WH {spades}"
        assert score(game, *piles) == tuple(0 if seat == shooter else value for seat in range(game.players))


def test_w25_opponents_score_exactly_the_value() -> None:
    assert score(FOUR, "WS WD", f"{HEARTS} WH QS", "", "") == (25, 0, 25, 25)


@pytest.mark.parametrize("witches", ["WC", "WD", "WC WD"])
def test_w26_the_other_witches_change_no_moon(witches: str) -> None:
    assert score(FOUR, "", f"{HEARTS} WH QS {witches}", "", "WS") == (25, 0, 25, 25)
    assert score(FOUR, witches, f"{HEARTS} WH QS", "", "WS") == (25, 0, 25, 25)


def test_w27_a_moon_needs_the_witch_of_hearts_and_a_spade() -> None:
    assert score(FOUR, "WS", f"{HEARTS} WH", "QS", "") == (5, 15, 13, 0)
    assert score(FOUR, "", f"{HEARTS} QS WS", "WH", "") == (0, 31, 0, 0)


def test_w28_a_moon_is_automatic() -> None:
    """The whole game, played by a shooter who holds everything: nobody is asked anything but cards."""
    deal = short_deal(THREE, "AH WH", "QS 2C", "3H 4C", number=3)

    assert play(deal, "AH QS 3H WH 2C 4C").phase is Phase.OVER


# End


@pytest.mark.parametrize(("total", "over"), [(69, False), (70, True), (71, True)])
def test_w29_the_game_ends_at_70(total: int, over: bool) -> None:
    assert FOUR.target == 70
    assert FOUR.finished((total, 10, 20, 30), (5, 5, 5, 5), 3).over is over


def test_w30_a_fixed_number_of_deals_takes_the_place_of_the_target() -> None:
    game = find_game("heartswitch", 3, options={"deals": 6})

    assert game.target is None
    assert game.finished((80, 25, 31), (5, 5, 21), 3).reason == "deals_left"
    outcome = game.finished((90, 85, 80), (5, 5, 10), 6)
    assert (outcome.over, outcome.winners, outcome.reason) == (True, (2,), "fixed_deals")


def test_w31_equal_lowest_totals_share_the_win() -> None:
    assert FOUR.finished((74, 30, 30, 74), (5, 0, 2, 24), 5).winners == (1, 2)


BOUNDS = [(THREE, 26), (FOUR, 35), (FIVE, 44), (SIX, 52), (PAIRS, 18), (TRIOS, 26)]


@pytest.mark.parametrize(("game", "bound"), BOUNDS, ids=["3", "4", "5", "6", "pairs", "trios"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_w32_a_game_to_70_is_bounded(game: Game, bound: int, seed: int) -> None:
    """The cheapest deals, 8 points always to whoever has the fewest, still end the game in time."""
    rng = Random(seed)
    totals = [0] * len(game.sides)

    for number in range(1, bound + 1):
        scores = [0] * len(game.sides)
        for _ in range(8):
            scores[min(range(len(scores)), key=lambda side: (totals[side] + scores[side], rng.random()))] += 1
        totals = [total + points for total, points in zip(totals, scores, strict=True)]
        if game.finished(totals, scores, number).over:
            return

    pytest.fail(f"not over after {bound} deals: {totals}")


@given(st.data())
def test_w32_a_deal_without_a_moon_costs_8_to_38(data: st.DataObject) -> None:
    game = data.draw(st.sampled_from(ALL))
    takers = data.draw(st.lists(st.integers(0, game.players - 1), min_size=60, max_size=60))
    piles = [
        [card for card, taker in zip(ALL_CARDS, takers, strict=True) if taker == seat] for seat in range(game.players)
    ]

    scores = game.score(piles)

    assert 8 <= sum(scores) <= 38 or sorted(scores) in ([0] + [value] * (game.players - 1) for value in (20, 25, 30))


# Partnerships


@pytest.mark.parametrize("players", [3, 5])
def test_p01_partners_need_four_or_six_players(players: int) -> None:
    with pytest.raises(BadGame, match="4 or 6 players"):
        find_game("heartswitch", players, "partners")


def test_p01_sides_are_two() -> None:
    assert [len(side) for side in PAIRS.sides] == [2, 2]
    assert [len(side) for side in TRIOS.sides] == [2, 2, 2]


def test_p02_partners_sit_opposite() -> None:
    assert PAIRS.sides == ((0, 2), (1, 3))
    assert TRIOS.sides == ((0, 3), (1, 4), (2, 5))
    assert PAIRS.side_of == (0, 1, 0, 1)
    assert TRIOS.side_of == (0, 1, 2, 0, 1, 2)


def test_p03_play_is_unchanged_and_across_goes_to_the_partner() -> None:
    assert PAIRS.pass_direction(3).receiver(0, 4) in PAIRS.sides[0]
    for alone, together in ((FOUR, PAIRS), (SIX, TRIOS)):
        deals = [game.random_deal(3, 3) for game in (alone, together)]
        assert play_out(deals[0], Random(3)) == play_out(deals[1], Random(3))
        assert deals[0].piles == deals[1].piles


def test_p04_each_pile_is_scored_by_itself_and_added() -> None:
    scores = score(PAIRS, "QS", "2H", "WC", "3H")

    assert scores == (13, 1, 0, 1)
    assert PAIRS.side_totals(scores) == (13, 2)


def test_p05_a_moon_is_one_players_and_spares_the_partner() -> None:
    assert score(PAIRS, f"{HEARTS} WH QS", "", "", "WS") == (0, 25, 0, 25)
    assert score(TRIOS, "", "", "", "", f"{HEARTS} WH QS WS", "") == (30, 0, 30, 30, 0, 30)
    assert score(PAIRS, HEARTS, "", "WH QS", "") == (13, 0, 13, 0)


def test_p06_team_totals_end_the_game() -> None:
    assert PAIRS.finished((71, 60), (3, 20), 8).winners == (1,)
    assert TRIOS.finished((65, 74, 60), (5, 5, 20), 8).winners == (2,)


def test_complete_hands_hold_the_whole_pack() -> None:
    """What these tests build on."""
    assert sorted(card for hand in complete_hands(FIVE, "M1 WH") for card in hand) == list(ALL_CARDS)
    assert (
        pass_cards(deal_of(THREE, "M1 WH QS", "2C 3C 4C", "2D 3D 4D"), "M1 WH QS", "2C 3C 4C", "2D 3D 4D").phase
        is Phase.PLAYING
    )
