"""What `Game` and `Deal` promise, whatever the game."""

from __future__ import annotations

from random import Random

import pytest
from hands import complete_hands, deal_of, pass_cards, pass_lowest, play, play_out, short_deal, snapshot

from arena.cards import Card, parse_cards
from arena.errors import BadGame, IllegalChoice
from arena.game import NOBODY, Deal, Game, PassDirection, Phase
from arena.games import find_game, game_names

CLASSIC = find_game("hearts-classic")
SWITCH = find_game("heartswitch", 3)
GAMES = [find_game(name) for name in game_names()]
every_game = pytest.mark.parametrize("game", GAMES, ids=[game.name for game in GAMES])


@pytest.mark.parametrize(
    ("direction", "players"),
    [(direction, players) for direction in PassDirection for players in range(3, 7)],
)
def test_whoever_passes_somebody_receives(direction: PassDirection, players: int) -> None:
    receivers = [direction.receiver(seat, players) for seat in range(players)]

    assert sorted(receivers) == list(range(players))
    assert (receivers == list(range(players))) is (direction is PassDirection.NONE)


# Starting a deal


@pytest.mark.parametrize(
    "hands",
    [
        [],
        ["2C", "3C", "4C"],
        ["2C", "3C", "4C", "5C", "6C"],
        ["2C", "3C", "4C", ""],
        ["2C", "3C 6C", "4C", "5C"],
    ],
    ids=["none", "three", "five", "empty", "longer"],
)
def test_hands_are_one_a_seat_and_of_one_size(hands: list[str]) -> None:
    with pytest.raises(BadGame, match="4 hands of the same size"):
        short_deal(CLASSIC, *hands)


@pytest.mark.parametrize(
    "hands",
    [
        ["2C", "2C", "4C", "5C"],
        ["2C 2C", "3C 4C", "5C 6C", "7C 8C"],
        ["WH", "3C", "4C", "5C"],
        ["M1", "3C", "4C", "5C"],
    ],
    ids=["twice", "twice in a hand", "witch", "magician"],
)
def test_hands_are_distinct_cards_of_the_pack(hands: list[str]) -> None:
    with pytest.raises(BadGame, match="distinct cards of the 52"):
        short_deal(CLASSIC, *hands)


@pytest.mark.parametrize("number", [0, -1])
def test_deals_are_numbered_from_one(number: int) -> None:
    with pytest.raises(BadGame, match="numbered from 1"):
        deal_of(CLASSIC, number=number)


@every_game
def test_hands_too_short_to_pass_begin_with_play(game: Game) -> None:
    deal = short_deal(game, "2C 3C", "4C 5C", "6C 7C", "8C 9C")

    assert deal.phase is Phase.PLAYING
    assert deal.passes() == ((), (), (), ())


def test_the_order_within_a_hand_does_not_matter() -> None:
    hands = complete_hands(CLASSIC, "QS AH 2C")

    assert CLASSIC.start([hand[::-1] for hand in hands]).observe(0) == CLASSIC.start(hands).observe(0)


@pytest.mark.parametrize("seed", [5, "five", b"five"], ids=["number", "text", "bytes"])
def test_a_random_deal_is_the_same_for_the_same_seed(seed: int | str | bytes) -> None:
    assert SWITCH.random_deal(seed, 2).hands == SWITCH.random_deal(seed, 2).hands
    assert SWITCH.random_deal(seed, 2).hands != SWITCH.random_deal(seed, 3).hands


# Choosing


def test_whose_turn_it_is_goes_with_the_phase() -> None:
    deal = short_deal(SWITCH, "2C 3C 4C", "5C 6C 7C", "8C 9C TC")
    assert (deal.phase, deal.turn, deal.to_act) == (Phase.PASSING, NOBODY, (0, 1, 2))

    pass_lowest(deal)
    assert (deal.phase, deal.turn, deal.to_act) == (Phase.PLAYING, 1, (1,))

    play_out(deal, Random(1))
    assert (deal.phase, deal.turn, deal.to_act) == (Phase.OVER, NOBODY, ())


def test_passes_may_come_in_any_order() -> None:
    deals = []
    for order in ([0, 1, 2], [2, 0, 1]):
        deal = short_deal(SWITCH, "2C 3C 4C KC", "5C 6C 7C QC", "8C 9C TC JC")
        for seat in order:
            deal.choose(seat, deal.legal(seat)[:3])
        deals.append(snapshot(deal))

    assert deals[0] == deals[1]


@pytest.mark.parametrize("seat", [-1, 3, 4, 100, NOBODY])
def test_a_seat_that_is_none_is_refused(seat: int) -> None:
    deal = short_deal(SWITCH, "2C 3C 4C KC", "5C 6C 7C QC", "8C 9C TC JC")
    passing = snapshot(deal)
    with pytest.raises(IllegalChoice):
        deal.choose(seat, parse_cards("2C 3C 4C"))
    assert snapshot(deal) == passing

    pass_lowest(deal)
    playing = snapshot(deal)
    with pytest.raises(IllegalChoice):
        deal.choose(seat, parse_cards("KC"))
    assert snapshot(deal) == playing
    assert deal.legal(seat) == ()

    play_out(deal, Random(1))
    with pytest.raises(IllegalChoice):
        deal.choose(seat, parse_cards("KC"))


def test_nobody_passes_twice() -> None:
    deal = short_deal(SWITCH, "2C 3C 4C KC", "5C 6C 7C QC", "8C 9C TC JC")
    deal.choose(0, parse_cards("2C 3C 4C"))
    before = snapshot(deal)

    with pytest.raises(IllegalChoice, match="seat 0 owes no decision"):
        deal.choose(0, parse_cards("3C 4C KC"))

    assert snapshot(deal) == before
    assert deal.legal(0) == ()


@pytest.mark.parametrize(
    ("seat", "cards", "message"),
    [
        (0, "2C", "it is seat 1's turn to play, not seat 0's"),
        (1, "", "one card is to be played, not 0"),
        (1, "5C 6C", "one card is to be played, not 2"),
        (1, "2C", "seat 1 does not hold 2C"),
    ],
)
def test_a_refusal_says_why(seat: int, cards: str, message: str) -> None:
    deal = short_deal(SWITCH, "2C 3D", "5C 6C", "8C 9C")

    with pytest.raises(IllegalChoice) as refusal:
        deal.choose(seat, parse_cards(cards))

    assert str(refusal.value) == message


def test_a_refusal_lists_what_is_legal() -> None:
    deal = play(short_deal(SWITCH, "2C 3D", "5C 6C", "8D 9C"), "5C")

    with pytest.raises(IllegalChoice, match="seat 2 may not play 8D now, but one of 9C"):
        play(deal, "8D")


def test_a_pass_of_strange_cards_names_them() -> None:
    deal = short_deal(SWITCH, "2C 3C 4C KC", "5C 6C 7C QC", "8C 9C TC JC")

    with pytest.raises(IllegalChoice, match="seat 0 does not hold 5C AH"):
        deal.choose(0, parse_cards("AH 2C 5C"))


# Seeing


def test_an_observation_shows_the_whole_play() -> None:
    deal = short_deal(CLASSIC, "2C 9H 3D", "3C 2S 4D", "4C 3S 5D", "5C 4S 6D", number=4)

    play(deal, "2C 3C 4C 5C 4S 9H")
    view = deal.observe(1)

    assert view.trick_leaders == bytes([0])
    assert view.trick_cards == parse_cards("2C 3C 4C 5C")
    assert (view.trick_leader, view.trick) == (3, parse_cards("4S 9H"))
    assert (view.hearts_broken, view.points) == (True, (0, 0, 0, 0))
    assert (view.seat, view.count, view.hand, view.legal) == (1, 1, parse_cards("4D 2S"), parse_cards("2S"))
    assert (view.number, view.dealer, view.direction, view.phase) == (4, 3, PassDirection.NONE, Phase.PLAYING)
    assert deal.trick == view.trick


def test_points_are_those_of_the_tricks_taken() -> None:
    deal = short_deal(CLASSIC, "2C 9H 3D", "3C 2S 4D", "4C QS 5D", "5C 4S 6D", number=4)

    play(deal, "2C 3C 4C 5C 4S 9H 2S QS")

    assert deal.observe(0).points == (0, 0, 14, 0)


def test_a_seat_sees_what_it_passed_at_once_and_what_it_received_at_last() -> None:
    deal = deal_of(CLASSIC, "2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H")

    pass_cards(deal, "4C 2C 3C")
    assert deal.observe(0).passed == parse_cards("2C 3C 4C")
    assert len(deal.observe(0).hand) == 13
    assert deal.observe(0).count == 0

    for seat, codes in ((1, "2D 3D 4D"), (2, "2S 3S 4S"), (3, "2H 3H 4H")):
        deal.choose(seat, parse_cards(codes))
    assert deal.observe(0).passed == parse_cards("2C 3C 4C")
    assert deal.observe(0).received == parse_cards("2H 3H 4H")
    assert deal.passes() == tuple(map(parse_cards, ("2C 3C 4C", "2D 3D 4D", "2S 3S 4S", "2H 3H 4H")))


@every_game
def test_there_are_no_scores_before_the_end(game: Game) -> None:
    deal = pass_lowest(game.random_deal(1))
    with pytest.raises(ValueError, match="only once it is over"):
        deal.scores()

    play_out(deal, Random(1))

    assert len(deal.scores()) == 4


@every_game
def test_scores_are_those_of_the_piles(game: Game) -> None:
    deal = game.random_deal(2)
    play_out(deal, Random(2))

    piles: list[list[Card]] = [[] for _ in range(4)]
    for trick, leader in enumerate(deal.trick_leaders):
        taker = deal.trick_leaders[trick + 1] if trick + 1 < len(deal.trick_leaders) else deal.leader
        piles[taker] += deal.plays[4 * trick : 4 * trick + 4]
        assert leader in range(4)

    assert deal.scores() == game.score(piles)


def test_a_deal_is_copied_in_every_phase() -> None:
    deal = deal_of(SWITCH)
    copies: list[tuple[Deal, tuple[object, ...]]] = []

    def keep(deal: Deal) -> None:
        copies.append((deal.copy(), snapshot(deal)))

    play_out(deal, Random(3), keep)

    assert {copy.phase for copy, _ in copies} == set(Phase)
    assert all(snapshot(copy) == before for copy, before in copies)
