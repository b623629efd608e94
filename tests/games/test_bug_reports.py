"""What went wrong in other people's games of Hearts, each as a test that it cannot go wrong here.

The ids BR-01 to BR-20 are those of docs/rules.md, which says where each was reported.
"""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hands import deal_of, pass_cards, pass_lowest, play, play_out, short_deal, snapshot

from arena.cards import Card, Suit, parse_cards
from arena.decision import Decision
from arena.errors import IllegalChoice
from arena.game import Deal, Game, Phase
from arena.games import find_game, game_names
from arena.simulate import simulate

GAMES = [find_game(name) for name in game_names()]
CLASSIC = find_game("hearts-classic")
every_game = pytest.mark.parametrize("game", GAMES, ids=[game.name for game in GAMES])


@pytest.mark.parametrize("heart", [card for card in CLASSIC.deck if card.suit is Suit.HEARTS], ids=str)
def test_br01_each_of_the_thirteen_hearts_breaks_hearts(heart: Card) -> None:
    spare = Card("3H") if heart == Card("2H") else Card("2H")
    deal = short_deal(CLASSIC, f"2C {heart} 9D 8D", "3C 4D 5D 6D", "4C 2S 7D TD", f"5C 3S JD {spare}", number=4)
    play(deal, "2C 3C 4C 5C")
    assert spare not in deal.legal(3)

    play(deal, f"3S {heart} 4D 2S")

    assert spare in deal.legal(3)


@pytest.mark.parametrize(
    ("option", "value", "hand", "trick", "first_trick"),
    [
        ("points_on_first_trick", True, "2H 4D", "2C", True),
        ("any_club_leads", True, "2C 3C", "", True),
        ("hearts_before_queen", True, "QS 2H", "", False),
    ],
)
def test_br02_each_option_changes_only_its_own_rule(
    option: str, value: bool, hand: str, trick: str, first_trick: bool
) -> None:
    plain = find_game("hearts-standard")
    changed = find_game("hearts-standard", options={option: value})
    situations = [
        ("2H 4D", "2C", True),
        ("2C 3C", "", True),
        ("QS 2H", "", False),
        ("2H 4D", "", False),
        ("QS 4D", "2C", False),
    ]

    for situation in situations:
        same = _legal(plain, *situation) == _legal(changed, *situation)
        assert same is (situation != (hand, trick, first_trick))
    assert plain.breaking == changed.breaking
    assert plain.score([parse_cards("QS JD"), (), (), ()]) == changed.score([parse_cards("QS JD"), (), (), ()])


def _legal(game: Game, hand: str, trick: str, first_trick: bool) -> tuple[Card, ...]:
    return game.legal(parse_cards(hand), parse_cards(trick), first_trick)


@every_game
def test_br03_the_receiver_sees_no_order_of_passing(game: Game) -> None:
    views = []
    for order in permutations(parse_cards("2C 3D 4S")):
        deal = deal_of(game, "2C 3D 4S", "5C 6C 7C", "8C 9C TC", "JC QC KC")
        deal.choose(0, order)
        pass_cards_from_1(deal)
        views.append([deal.observe(seat) for seat in range(4)])

    assert len(views) == 6
    assert all(view == views[0] for view in views)
    assert views[0][1].received == parse_cards("2C 3D 4S")


def pass_cards_from_1(deal: Deal) -> None:
    for seat, codes in ((1, "5C 6C 7C"), (2, "8C 9C TC"), (3, "JC QC KC")):
        deal.choose(seat, parse_cards(codes))


def test_br04_sixteen_points_are_no_moon() -> None:
    piles = ["2H 3H 4H 5H 6H 7H 8H 9H TH", "JH QH KH QS", "AH", ""]

    assert CLASSIC.score([parse_cards(pile) for pile in piles]) == (9, 16, 1, 0)


@every_game
def test_br05_a_card_passed_twice_is_refused(game: Game) -> None:
    deal = deal_of(game, "2C 5D")

    with pytest.raises(IllegalChoice, match="3 different cards"):
        deal.choose(0, parse_cards("2C 2C 5D"))


def test_br05_only_the_holder_of_the_two_of_clubs_may_begin() -> None:
    deal = deal_of(CLASSIC, "3H", "2C", number=4)

    assert deal.to_act == (1,)
    for seat in (0, 2, 3):
        assert deal.legal(seat) == ()
        with pytest.raises(IllegalChoice, match="seat 1's turn"):
            deal.choose(seat, deal.observe(seat).hand[:1])


def test_br06_a_deal_without_passing_has_its_leader() -> None:
    for seat in range(4):
        deal = deal_of(CLASSIC, *["2C" if other == seat else "" for other in range(4)], number=4)
        assert deal.turn == seat


@every_game
@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_br07_no_other_number_of_cards_is_passed(game: Game, count: int) -> None:
    deal = game.random_deal("seven")
    before = snapshot(deal)

    for seat in range(4):
        with pytest.raises(IllegalChoice, match="3 different cards"):
            deal.choose(seat, deal.legal(seat)[:count])

    assert snapshot(deal) == before


@every_game
def test_br08_a_card_not_held_is_refused(game: Game) -> None:
    deal = pass_lowest(game.random_deal("eight"))
    turn = deal.turn
    deal.choose(turn, deal.legal(turn)[:1])
    before = snapshot(deal)
    elsewhere = [card for seat in range(4) if seat != deal.turn for card in deal.observe(seat).hand]

    for card in [*elsewhere, *deal.plays]:
        with pytest.raises(IllegalChoice, match=f"seat {deal.turn} does not hold {card}"):
            deal.choose(deal.turn, (card,))

    assert snapshot(deal) == before


@pytest.mark.parametrize(("game", "codes"), [(CLASSIC, "QS KS 2C"), (find_game("heartswitch"), "QS M1 WH")])
def test_br09_no_card_is_kept_from_being_passed(game: Game, codes: str) -> None:
    deal = deal_of(game, codes)

    deal.choose(0, parse_cards(codes))

    assert deal.to_act == (1, 2, 3)


@every_game
def test_br10_whatever_is_legal_is_held(game: Game) -> None:
    def check(deal: Deal) -> None:
        for seat in deal.to_act:
            assert set(deal.legal(seat)) <= set(deal.observe(seat).hand)

    for seed in range(50):
        play_out(game.random_deal(seed, seed + 1), Random(seed), check)


@pytest.mark.parametrize(
    ("hand", "legal"),
    [
        ("4D QS 2H", "4D 2H"),
        ("2H 3H 4H QS", "2H 3H 4H"),
        ("2H 3H 4H", "2H 3H 4H"),
        ("QS", "QS"),
    ],
)
def test_br11_the_first_trick_bars_the_queen_and_leaves_a_way_out(hand: str, legal: str) -> None:
    assert CLASSIC.legal(parse_cards(hand), parse_cards("2C"), first_trick=True) == parse_cards(legal)


def test_br12_passing_begins_left_and_has_a_deal_without() -> None:
    assert [CLASSIC.pass_direction(number).name for number in range(1, 6)] == [
        "LEFT",
        "RIGHT",
        "ACROSS",
        "NONE",
        "LEFT",
    ]


def test_br13_the_queen_as_the_last_card_is_led() -> None:
    assert CLASSIC.legal(parse_cards("QS"), ()) == parse_cards("QS")


def test_br14_a_partner_is_known() -> None:
    partners: list[tuple[int, int | None]] = []

    def bot(decision: Decision) -> tuple[Card, ...]:
        partners.append((decision.seat, decision.partner))
        return decision.legal[: decision.count]

    simulate(find_game("heartswitch", 4, "partners"), [bot] * 4, seed=14, deals=1)

    assert set(partners) == {(0, 2), (1, 3), (2, 0), (3, 1)}


@every_game
def test_br15_play_goes_on_when_all_points_are_taken(game: Game) -> None:
    deal = game.random_deal(15, 4)
    play_out(deal, Random(15))

    assert len(deal.plays) == len(game.deck)


def test_br16_a_new_deal_starts_afresh() -> None:
    simulation = simulate(CLASSIC, [lambda decision: decision.legal[-decision.count :]] * 4, seed=16)

    assert len(simulation.records) > 1
    for record in simulation.records:
        assert sorted(record.plays) == list(CLASSIC.deck)


def test_br17_the_first_deal_has_passing() -> None:
    deal = CLASSIC.random_deal(17)
    assert deal.phase is Phase.PASSING

    assert [hand.bit_count() for hand in pass_lowest(deal).hands] == [13] * 4


@pytest.mark.parametrize(("players", "size"), [(3, 20), (4, 15), (5, 12), (6, 10)])
def test_br18_seeds_and_numbers_of_players_decide_the_deal(players: int, size: int) -> None:
    game = find_game("heartswitch", players)

    assert game.random_deal(18).hands == game.random_deal(18).hands
    assert game.random_deal(18).hands != game.random_deal(19).hands
    assert game.hand_size == size


def test_br19_a_magician_is_always_legal_and_never_in_hearts() -> None:
    assert Card("M1") in find_game("heartswitch").legal(parse_cards("5C M1"), parse_cards("KC"))
    assert not [card for card in CLASSIC.deck if card.is_magician]


def test_br20_a_magician_that_is_led_does_not_win() -> None:
    deal = short_deal(find_game("heartswitch"), "M1", "2C", "AD", "AH", number=4)

    assert play(deal, "M1 2C AD AH").leader == 1


def test_games_are_told_apart_by_their_whole_names() -> None:
    """The name heartswitch begins like the names of Hearts."""
    assert len(find_game("heartswitch").deck) == 60
    assert type(find_game("heartswitch")) is not type(CLASSIC)


def test_the_pass_of_everyone_is_taken_at_once() -> None:
    deal = deal_of(CLASSIC, "2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H")

    pass_cards(deal, "2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H")

    assert deal.passes() == tuple(parse_cards(codes) for codes in ("2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H"))
