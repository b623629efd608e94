"""The numbered rules of Hearts, H-01 to H-33 and S-01 to S-09: a test each, named after its rule."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hands import complete_hands, deal_of, pass_cards, pass_lowest, play, play_out, short_deal, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.cards import STANDARD_DECK, Card, Suit, parse_cards
from arena.errors import BadGame, IllegalChoice
from arena.game import Deal, Game, PassDirection, Phase
from arena.games import find_game
from arena.simulate import simulate

CLASSIC = find_game("hearts-classic")
SPECIAL = find_game("hearts-special")
STANDARD = find_game("hearts-standard")
ALL = [CLASSIC, SPECIAL, STANDARD]
HEARTS = "2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH"
NO_PASS = 4  # the number of a deal without passing

every_game = pytest.mark.parametrize("game", ALL, ids=[game.name for game in ALL])


def legal(game: Game, hand: str, trick: str = "", *, first_trick: bool = False, broken: bool = False) -> str:
    return " ".join(map(str, game.legal(parse_cards(hand), parse_cards(trick), first_trick, broken)))


def in_order(codes: str) -> str:
    return " ".join(map(str, sorted(parse_cards(codes))))


def score(game: Game, *piles: str) -> tuple[int, ...]:
    return game.score([parse_cards(pile) for pile in piles])


# Set-up


@pytest.mark.parametrize("name", ["hearts-classic", "hearts-special", "hearts-standard"])
@pytest.mark.parametrize("players", [3, 5])
def test_h01_is_for_four_players(name: str, players: int) -> None:
    with pytest.raises(BadGame, match="4 players"):
        find_game(name, players)


@every_game
def test_h01_each_plays_for_himself(game: Game) -> None:
    assert game.sides == ((0,), (1,), (2,), (3,))
    with pytest.raises(BadGame, match="single"):
        find_game(game.name, 4, "partners")


@every_game
def test_h02_is_played_with_52_cards(game: Game) -> None:
    assert game.deck == STANDARD_DECK
    assert len(set(game.deck)) == 52
    assert not {card for card in game.deck if card.is_magician or str(card)[0] == "W"}


@pytest.mark.parametrize("suit", "CDSH")
def test_h03_ranks_go_from_two_to_ace(suit: str) -> None:
    ranks = "23456789TJQKA"

    for lower, higher in pairwise(ranks):
        deal = short_deal(find_game("heartswitch", 3), lower + suit, higher + suit, "M1", number=3)
        assert play(deal, f"{lower}{suit} {higher}{suit} M1").leader == 1


def test_h03_there_is_no_trump() -> None:
    deal = short_deal(CLASSIC, "2C", "AS", "AH", "AD", number=NO_PASS)

    assert play(deal, "2C AS AH AD").leader == 0


@every_game
@pytest.mark.parametrize("number", range(1, 6))
def test_h04_each_player_gets_13_cards(game: Game, number: int) -> None:
    deal = game.random_deal("thirteen", number)

    assert [hand.bit_count() for hand in deal.hands] == [13] * 4


# Passing


@every_game
def test_h05_each_player_passes_three_of_his_own_cards(game: Game) -> None:
    deal = deal_of(game, "2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H")
    assert (deal.phase, deal.to_act) == (Phase.PASSING, (0, 1, 2, 3))

    pass_cards(deal, "2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H")

    assert deal.phase is Phase.PLAYING
    for seat, codes in enumerate(["2H 3H 4H", "2C 3C 4C", "2D 3D 4D", "2S 3S 4S"]):
        assert deal.observe(seat).received == parse_cards(codes)
        assert set(parse_cards(codes)) < set(deal.observe(seat).hand)
        assert len(deal.observe(seat).hand) == 13


@every_game
def test_h06_passes_left_right_across_and_not_at_all_by_turns(game: Game) -> None:
    directions = [game.pass_direction(number).name for number in range(1, 10)]

    assert directions == ["LEFT", "RIGHT", "ACROSS", "NONE"] * 2 + ["LEFT"]


def test_h07_nobody_sees_what_he_receives_before_choosing() -> None:
    deal = deal_of(CLASSIC)
    before = [deal.observe(seat) for seat in range(4)]

    for seat in range(3):
        deal.choose(seat, deal.legal(seat)[:3])
        assert deal.observe(3) == before[3]

    assert deal.observe(0).received == ()
    assert deal.observe(0).hand == before[0].hand


@pytest.mark.parametrize("codes", ["3C KD", "3C KD QS 2H", "3C 3C KD", "3C KD AC", ""])
def test_h07_an_illegal_pass_is_refused(codes: str) -> None:
    deal = deal_of(CLASSIC, "3C KD QS 2H", "AC")
    before = snapshot(deal)

    with pytest.raises(IllegalChoice):
        deal.choose(0, parse_cards(codes))

    assert snapshot(deal) == before


@every_game
@pytest.mark.parametrize("codes", ["2C QS AH", "AS AD AC", "KS QS AS"])
def test_h08_any_card_may_be_passed(game: Game, codes: str) -> None:
    deal = deal_of(game, codes)

    deal.choose(0, parse_cards(codes))

    assert deal.to_act == (1, 2, 3)


@every_game
def test_h09_in_a_deal_without_exchange_a_pass_is_refused(game: Game) -> None:
    deal = deal_of(game, number=NO_PASS)
    before = snapshot(deal)
    assert deal.phase is Phase.PLAYING
    assert deal.observe(0).direction is PassDirection.NONE

    for seat in range(4):
        with pytest.raises(IllegalChoice):
            deal.choose(seat, [Card(card) for card in deal.observe(seat).hand[:3]])

    assert snapshot(deal) == before
    assert deal.passes() == ((), (), (), ())


# First trick


@pytest.mark.parametrize(
    ("number", "holder", "leader"),
    [(1, 0, 1), (2, 0, 3), (3, 3, 1), (4, 2, 2), (5, 3, 0)],
    ids=str,
)
def test_h10_the_holder_of_the_two_of_clubs_after_passing_leads(number: int, holder: int, leader: int) -> None:
    starts = ["3C 4C 5C 6C", "3D 4D 5D 6D", "3S 4S 5S 6S", "3H 4H 5H 6H"]
    starts[holder] = "2C " + starts[holder]

    deal = pass_lowest(deal_of(CLASSIC, *starts, number=number))

    assert deal.turn == deal.leader == leader
    assert Card("2C") in deal.observe(leader).hand


@every_game
def test_h11_the_two_of_clubs_must_be_led(game: Game) -> None:
    deal = deal_of(game, "2C 3C AC", number=NO_PASS)

    assert deal.legal(0) == (Card("2C"),)
    with pytest.raises(IllegalChoice, match="one of 2C"):
        play(deal, "3C")


@every_game
def test_h12_the_queen_of_spades_is_barred_from_the_first_trick(game: Game) -> None:
    deal = deal_of(game, "2C", "QS 3S 4S 5S 6S 7S 8S 9S TS JS KS AS 2D", number=NO_PASS)

    play(deal, "2C")

    assert Card("QS") not in deal.legal(1)
    with pytest.raises(IllegalChoice):
        play(deal, "QS")


def test_h12_following_to_a_first_trick_of_spades_may_be_with_the_queen() -> None:
    """Only short hands without any club have such a trick; the suit led comes first."""
    assert legal(CLASSIC, "QS 2H", "3S", first_trick=True) == "QS"


@pytest.mark.parametrize("game", [CLASSIC, SPECIAL], ids=["hearts-classic", "hearts-special"])
def test_h13_hearts_may_be_discarded_on_the_first_trick(game: Game) -> None:
    deal = deal_of(game, "2C", "2H 3H 4S 5S 6S 7S 8S 9S TS JS KS AS 2D", number=NO_PASS)

    play(deal, "2C 3H")

    assert deal.hearts_broken


def test_h13_in_standard_hearts_may_not_be_discarded_on_the_first_trick() -> None:
    assert legal(STANDARD, "2H QS 4D", "2C", first_trick=True) == "4D"
    assert legal(STANDARD, "2H QS 4D", "2C") == in_order("2H QS 4D")


@every_game
@pytest.mark.parametrize("hand", [HEARTS, "QS"])
def test_h14_what_is_barred_may_be_played_if_nothing_else_is_held(game: Game, hand: str) -> None:
    assert legal(game, hand, "2C", first_trick=True) == in_order(hand)


def test_h14_in_standard_a_hand_of_points_may_be_played_on_the_first_trick() -> None:
    assert legal(STANDARD, HEARTS[:-3] + " QS", "2C", first_trick=True) == in_order(HEARTS[:-3] + " QS")


# Play


@every_game
def test_h15_play_goes_clockwise(game: Game) -> None:
    deal = deal_of(game, "3C", "4C", "2C", "5C", number=NO_PASS)

    seats = []
    for _ in range(4):
        seats.append(deal.turn)
        deal.choose(deal.turn, deal.legal(deal.turn)[:1])

    assert seats == [2, 3, 0, 1]


@every_game
@pytest.mark.parametrize("suit", list(Suit))
def test_h16_the_suit_led_must_be_followed(game: Game, suit: Suit) -> None:
    led = f"2{'CDSH'[suit]}"

    for seed in range(50):
        hand = game.random_deal(seed).observe(0).hand
        own = tuple(card for card in hand if card.suit is suit)
        assert game.legal(hand, [Card(led)], broken=True) == (own or hand)


@every_game
def test_h17_the_highest_card_of_the_suit_led_takes_the_trick(game: Game) -> None:
    deal = deal_of(game, "2C", "TC", "KC", "JC", number=NO_PASS)

    play(deal, "2C TC KC JC")

    assert deal.piles[2] == sum(1 << card for card in parse_cards("2C TC KC JC"))


@every_game
def test_h18_the_taker_leads_the_next_trick(game: Game) -> None:
    deal = deal_of(game, "2C", "TC", "KC", "JC", number=NO_PASS)

    play(deal, "2C TC KC JC")

    assert (deal.leader, deal.turn, deal.trick) == (2, 2, ())


@every_game
def test_h19_hearts_may_not_be_led_before_they_are_broken(game: Game) -> None:
    assert legal(game, "3C QS KH 2D") == in_order("3C QS 2D")
    assert legal(game, "3C QS KH 2D", broken=True) == in_order("3C QS KH 2D")


@every_game
@pytest.mark.parametrize("heart", HEARTS.split())
def test_h20_any_heart_played_breaks_hearts(game: Game, heart: str) -> None:
    other = "KH" if heart == "AH" else "AH"
    deal = short_deal(game, "2C 3D", f"3C {other}", f"4D {heart}", "4C 5D", number=NO_PASS)
    play(deal, "2C 3C 4D 4C")
    assert not deal.hearts_broken

    play(deal, f"5D 3D {other} {heart}")

    assert deal.hearts_broken


def test_h20_hearts_are_unbroken_again_in_the_next_deal() -> None:
    first = CLASSIC.random_deal("breaks", 4)
    play_out(first, Random(1))
    assert first.hearts_broken

    assert not CLASSIC.random_deal("breaks", 5).hearts_broken


@every_game
def test_h21_the_queen_of_spades_does_not_break_hearts(game: Game) -> None:
    deal = short_deal(game, "2C QS 4H", "3C 2S 5H", "4C 3S 6H", "5C 4D 7H", number=NO_PASS)

    play(deal, "2C 3C 4C 5C 4D QS 2S 3S")

    assert not deal.hearts_broken


def test_h21_the_queen_breaks_hearts_where_the_option_says_so() -> None:
    game = find_game("hearts-classic", options={"queen_breaks_hearts": True})
    deal = short_deal(game, "2C QS 4H", "3C 2S 5H", "4C 3S 6H", "5C 4D 7H", number=NO_PASS)

    play(deal, "2C 3C 4C 5C 4D QS 2S 3S")

    assert deal.hearts_broken


@every_game
def test_h22_who_holds_only_hearts_may_lead_any_and_breaks_them(game: Game) -> None:
    assert legal(game, "5H 9H KH") == "5H 9H KH"
    deal = short_deal(game, "2C 3S", "5C 9H", "3C 4S", "4C 5S", number=NO_PASS)

    play(deal, "2C 5C 3C 4C")
    assert (deal.turn, deal.hearts_broken, deal.legal(1)) == (1, False, (Card("9H"),))
    play(deal, "9H")

    assert deal.hearts_broken


@every_game
def test_h23_the_queen_of_spades_must_be_led_from_hearts_unbroken(game: Game) -> None:
    assert legal(game, "QS 5H KH") == "QS"


def test_h23_a_heart_may_be_led_instead_where_the_option_says_so() -> None:
    game = find_game("hearts-classic", options={"hearts_before_queen": True})

    assert legal(game, "QS 5H KH") == "QS 5H KH"
    assert legal(game, "QS 2S KH") == "2S QS"


@every_game
def test_h24_the_queen_of_spades_is_free_from_the_second_trick_on(game: Game) -> None:
    assert "QS" in legal(game, "QS 3C", "4D").split()
    assert "QS" in legal(game, "QS 3S", "4S").split()
    assert "QS" in legal(game, "QS 3C").split()


@every_game
def test_h25_all_thirteen_tricks_are_played(game: Game) -> None:
    deal = game.random_deal("to the end", NO_PASS)

    play_out(deal, Random(5))

    assert len(deal.trick_leaders) == 13
    assert len(deal.plays) == 52


def test_h25_play_goes_on_when_no_points_are_left() -> None:
    deal = short_deal(CLASSIC, "2C 3C", "4C 5C", "6C 7C", "8C 9C", number=NO_PASS)

    play_out(deal, Random(2))

    assert len(deal.trick_leaders) == 2
    assert deal.scores() == (0, 0, 0, 0)


# Scoring


@every_game
def test_h26_hearts_cost_one_and_the_queen_13(game: Game) -> None:
    costs = {str(card): score(game, str(card), "", "", "")[0] for card in STANDARD_DECK}

    assert {code: cost for code, cost in costs.items() if cost} == dict.fromkeys(HEARTS.split(), 1) | {"QS": 13}


@pytest.mark.parametrize(("name", "moon"), [("hearts-classic", 13), ("hearts-special", 13), ("hearts-standard", 26)])
def test_h27_a_moon_costs_every_opponent_the_same(name: str, moon: int) -> None:
    for shooter in range(4):
        piles = ["", "", "", ""]
        piles[shooter] = HEARTS + " QS AC"
        assert score(find_game(name), *piles) == tuple(0 if seat == shooter else moon for seat in range(4))


def test_h28_a_moon_is_told_by_cards_and_not_by_points() -> None:
    game = find_game("hearts-classic", options={"jack_of_diamonds": True})

    assert score(game, HEARTS + " QS JD", "", "", "") == (-10, 13, 13, 13)
    assert score(game, HEARTS + " QS", "", "JD", "") == (0, 13, 3, 13)
    assert score(CLASSIC, HEARTS, "QS", "", "") == (13, 13, 0, 0)


def test_h29_points_add_up_over_the_deals() -> None:
    simulation = simulate(CLASSIC, [lambda decision: decision.legal[: decision.count]] * 4, seed=29)
    totals = (0, 0, 0, 0)

    for record in simulation.records:
        totals = tuple(a + b for a, b in zip(totals, record.scores, strict=True))  # type: ignore[assignment]
        assert record.totals == totals


# End


@pytest.mark.parametrize("target", [1, 50, 100, 1000])
def test_h30_the_target_may_be_any_number_from_one(target: int) -> None:
    game = find_game("hearts-classic", options={"target": target})

    assert game.target == target
    assert game.finished((target, 0, 5, 6), (1, 2, 3, 4), 3).over
    assert not game.finished((target - 1, 0, 0, 0), (1, 2, 3, 4), 3).over


def test_h30_the_target_is_100_if_nothing_is_said() -> None:
    assert [game.target for game in ALL] == [100, 100, 100]


def test_h31_the_lowest_total_wins_once_one_is_at_the_target() -> None:
    outcome = CLASSIC.finished((80, 73, 108, 40), (0, 13, 13, 0), 9)

    assert (outcome.over, outcome.winners, outcome.reason) == (True, (3,), "target_reached")


def test_h32_equal_lowest_totals_share_the_win() -> None:
    assert CLASSIC.finished((100, 40, 69, 40), (15, 0, 9, 2), 9).winners == (1, 3)


@pytest.mark.parametrize("target", [1, 26, 27, 50, 100, 137])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_h33_a_game_to_a_target_is_bounded(target: int, seed: int) -> None:
    """Whether points fall anyhow or always to whoever has the fewest, the game ends in time."""
    game = find_game("hearts-classic", options={"target": target})
    rng = Random(seed)
    totals = [0, 0, 0, 0]

    for number in range(1, 4 * (target - 1) // 26 + 2):
        scores = [0, 0, 0, 0]
        for points in [1] * 13 + [13]:
            fewest = min(range(4), key=lambda seat: (totals[seat] + scores[seat], rng.random()))
            scores[rng.choice([fewest, rng.randrange(4)])] += points
        totals = [total + points for total, points in zip(totals, scores, strict=True)]
        if game.finished(totals, scores, number).over:
            return

    pytest.fail(f"still not over: {totals}")


# Special


def test_s01_is_played_like_classic() -> None:
    for seed in range(20):
        deals = [game.random_deal(seed, seed + 1) for game in (CLASSIC, SPECIAL)]
        chosen = [play_out(deal, Random(seed)) for deal in deals]
        assert chosen[0] == chosen[1]
        assert deals[0].scores() == deals[1].scores()


def test_s02_the_exceptions_count_only_at_the_target() -> None:
    outcome = SPECIAL.finished((20, 20, 46, 40), (10, 0, 16, 0), 3)

    assert (outcome.over, outcome.reason) == (False, "target_not_reached")


def test_s03_equal_lowest_totals_play_on() -> None:
    assert SPECIAL.finished((100, 40, 69, 40), (15, 0, 9, 2), 9).reason == "equal_points"
    assert SPECIAL.finished((40, 60, 104, 60), (4, 10, 10, 2), 9).over


def test_s04_a_perfect_deal_of_another_plays_on() -> None:
    assert SPECIAL.finished((50, 60, 114, 70), (10, 0, 16, 0), 9).reason == "perfect_round"
    assert SPECIAL.finished((45, 61, 110, 78), (5, 1, 12, 8), 9).over


@given(
    totals=st.lists(st.integers(0, 130), min_size=4, max_size=4),
    scores=st.lists(st.integers(0, 26), min_size=4, max_size=4),
)
def test_s05_otherwise_one_wins_alone(totals: list[int], scores: list[int]) -> None:
    outcome = SPECIAL.finished(totals, scores, 9)

    assert len(outcome.winners) == (1 if outcome.over else 0)
    assert not outcome.over or totals[outcome.winners[0]] == min(totals)


def test_s06_who_leads_is_judged_after_the_deal() -> None:
    """Seat 1 was behind, and is ahead through its perfect deal: it wins."""
    assert SPECIAL.finished((60, 45, 104, 70), (20, 0, 6, 0), 9).winners == (1,)


def test_s07_a_moon_is_a_perfect_deal() -> None:
    assert SPECIAL.finished((43, 60, 108, 63), (13, 0, 13, 13), 9).reason == "perfect_round"
    assert SPECIAL.finished((73, 30, 108, 63), (13, 0, 13, 13), 9).winners == (1,)


def test_s08_extra_deals_go_on_with_the_cycle_and_the_target() -> None:
    assert SPECIAL.pass_direction(16) is PassDirection.NONE
    assert SPECIAL.pass_direction(17) is PassDirection.LEFT
    assert SPECIAL.finished((126, 40, 69, 40), (26, 0, 0, 0), 17, reached=16).reason == "equal_points"


@pytest.mark.parametrize(("number", "over"), [(59, False), (60, True)])
def test_s09_after_fifty_extra_deals_the_lowest_share_the_win(number: int, over: bool) -> None:
    outcome = SPECIAL.finished((126, 40, 69, 40), (26, 0, 0, 0), number, reached=10)

    assert outcome.over is over
    assert outcome.reason == ("cap" if over else "equal_points")
    assert outcome.winners == ((1, 3) if over else ())


def test_s09_at_the_cap_a_winner_is_a_winner() -> None:
    assert SPECIAL.finished((126, 41, 69, 40), (5, 5, 5, 11), 60, reached=10).reason == "target_reached"


# Options beyond the three games


@pytest.mark.parametrize("game", ALL, ids=[game.name for game in ALL])
def test_a_fixed_number_of_deals_makes_every_target_void(game: Game) -> None:
    fixed = find_game(game.name, options={"deals": 4})

    assert fixed.target is None
    assert fixed.finished((126, 40, 69, 40), (26, 0, 0, 0), 3).reason == "deals_left"
    assert fixed.finished((126, 40, 69, 40), (26, 0, 0, 0), 4).winners == (1, 3)


def test_a_moon_may_be_subtracted_from_the_shooter() -> None:
    game = find_game("hearts-standard", options={"moon": "off"})

    assert score(game, "", HEARTS + " QS", "", "") == (0, -26, 0, 0)
    assert score(game, "", HEARTS, "QS", "") == (0, 13, 13, 0)


def test_any_club_may_be_led_where_the_option_says_so() -> None:
    game = find_game("hearts-standard", options={"any_club_leads": True})

    assert legal(game, "2C 9C 3D", first_trick=True) == "2C 9C"


def test_points_on_the_first_trick_are_hearts_only() -> None:
    game = find_game("hearts-standard", options={"points_on_first_trick": True})

    assert legal(game, "2H QS 4D", "2C", first_trick=True) == in_order("2H 4D")


@pytest.mark.parametrize("count", [1, 3, 13])
def test_as_many_cards_are_passed_as_the_option_says(count: int) -> None:
    game = find_game("hearts-classic", options={"cards_passed": count})
    deal = deal_of(game)
    first = deal.observe(0).hand
    assert deal.observe(0).count == count

    pass_lowest(deal)

    assert set(deal.observe(1).received) == set(first[:count])


def test_without_passing_every_deal_begins_with_play() -> None:
    game = find_game("hearts-classic", options={"passing": False})

    assert all(game.random_deal(1, number).phase is Phase.PLAYING for number in range(1, 9))


@pytest.mark.parametrize("options", [{"moon": "off"}, {"jack_of_diamonds": True}], ids=["moon", "jack"])
def test_a_game_whose_totals_can_fall_ends_after_a_thousand_deals(options: dict[str, str | bool]) -> None:
    game = find_game("hearts-classic", options=options)

    assert not game.finished((99, 40, -69, 40), (26, 0, 0, 0), 999).over
    outcome = game.finished((99, 40, -69, 40), (26, 0, 0, 0), 1000)
    assert (outcome.over, outcome.reason, outcome.winners) == (True, "cap", (2,))


def test_a_game_whose_totals_cannot_fall_has_no_such_end() -> None:
    assert not CLASSIC.finished((99, 40, 69, 40), (26, 0, 0, 0), 1000).over


def test_special_with_falling_totals_is_capped_though_they_fell_below_the_target() -> None:
    game = find_game("hearts-special", options={"moon": "off"})

    assert game.finished((90, 40, 69, 40), (0, 0, 0, -26), 60, reached=10).reason == "cap"


def test_short_hands_without_the_two_of_clubs_begin_with_the_lowest_club() -> None:
    deal = short_deal(CLASSIC, "9C", "8C", "KD", "AC", number=NO_PASS)

    assert (deal.turn, deal.legal(1)) == (1, (Card("8C"),))


def test_short_hands_without_a_club_begin_after_the_dealer() -> None:
    deal = short_deal(CLASSIC, "9D", "8D", "KD", "AD", number=2)

    assert deal.turn == 2


def test_complete_hands_hold_the_whole_pack() -> None:
    """What these tests build on."""
    hands = complete_hands(CLASSIC, "QS", "AH 2C")

    assert sorted(card for hand in hands for card in hand) == list(STANDARD_DECK)
    assert isinstance(CLASSIC.start(hands), Deal)
