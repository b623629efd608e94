"""What a decision lets a player conclude, checked against what the whole deal knows."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from arena.cards import Card, Suit, cards_to_set, parse_cards
from arena.decision import Decision
from arena.game import Deal, Game, PassDirection, Phase
from arena.games import find_game

GAMES = [
    find_game("hearts-classic"),
    *(find_game("heartswitch", players) for players in (3, 4, 5, 6)),
    *(find_game("heartswitch", players, "partners") for players in (4, 6)),
]

every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.name}-{game.players}-{len(game.sides)}")


def view(deal: Deal, seat: int) -> Decision:
    return Decision(deal.observe(seat), "t", 0, False, 0, (0,) * len(deal.game.sides), 1.0, 10.0, None, 99)


def positions(game: Game, deals: int = 10) -> Iterator[tuple[Deal, int, Decision]]:
    """Yield each position of deals that are played at random, and the view of the seat to act."""
    rng = random.Random(5)
    for number in range(1, deals + 1):
        deal = game.random_deal("positions", number)
        while deal.phase is not Phase.OVER:
            seat = deal.to_act[0]
            seen = view(deal, seat)
            yield deal, seat, seen
            deal.choose(seat, rng.sample(seen.legal, seen.count))


@every_game
def test_outstanding_cards_are_those_that_others_hold(game: Game) -> None:
    for deal, seat, seen in positions(game):
        held = [hand for other, hand in enumerate(deal.hands) if other != seat]

        assert cards_to_set(seen.outstanding) == sum(held)
        assert list(seen.outstanding) == sorted(seen.outstanding)


@every_game
def test_piles_and_plays_are_what_happened(game: Game) -> None:
    for deal, _seat, seen in positions(game):
        assert [cards_to_set(pile) for pile in seen.piles] == deal.piles
        assert [card for _seat, card in seen.plays] == deal.plays
        assert [cards for _leader, cards in seen.tricks] == [
            tuple(deal.plays[i : i + game.players])
            for i in range(0, len(deal.trick_leaders) * game.players, game.players)
        ]


@every_game
def test_known_voids_are_true(game: Game) -> None:
    found = 0
    for deal, _seat, seen in positions(game):
        for other, suits in enumerate(seen.voids):
            found += len(suits)
            held = {card.suit for card in game.deck if deal.hands[other] >> card & 1}
            assert not suits & held

    assert found > 100


@every_game
def test_the_winning_player_takes_the_trick_when_nobody_goes_over(game: Game) -> None:
    for deal, seat, seen in positions(game):
        if not seen.last:
            continue
        before = seen.winning
        card = seen.legal[0]
        after = deal.copy()
        after.choose(seat, [card])

        assert before is not None
        over = card.suit == seen.led_suit and card > before[1]
        assert after.leader == (seat if over or before[1].is_magician > card.is_magician else before[0])


@every_game
def test_followers_are_the_seats_still_to_play(game: Game) -> None:
    for _deal, seat, seen in positions(game, 2):
        if seen.phase is Phase.PASSING:
            assert seen.followers == ()
            continue
        played = {(seen.observation.trick_leader + i) % game.players for i in range(len(seen.trick))}
        assert seen.followers == tuple(
            other for other in ((seat + i) % game.players for i in range(1, game.players)) if other not in played
        )
        assert seen.leading == (not played)
        assert seen.last == (not seen.followers)


def test_the_partner_sits_opposite() -> None:
    deal = find_game("heartswitch", 6, "partners").random_deal(1)

    assert [view(deal, seat).partner for seat in range(6)] == [3, 4, 5, 0, 1, 2]
    assert view(find_game("heartswitch", 6).random_deal(1), 0).partner is None


def test_passed_cards_go_to_the_receiver() -> None:
    deal = find_game("hearts-classic").random_deal(1, 2)

    assert view(deal, 0).direction is PassDirection.RIGHT
    assert [view(deal, seat).receiver for seat in range(4)] == [3, 0, 1, 2]


def test_magicians_set_no_suit_and_the_trick_is_worth_its_cards() -> None:
    deal = find_game("heartswitch", 4).start(list(map(parse_cards, ("2C 3C", "M1 4C", "QS 5C", "WH 6C"))))
    for card in ("M1", "QS", "WH"):
        deal.choose(deal.turn, [Card(card)])
    seen = view(deal, 0)

    assert (seen.led_suit, seen.winning, seen.trick_points) == (Suit.SPADES, (2, Card("QS")), 13)
    assert seen.cards_of(Suit.CLUBS) == (Card("2C"), Card("3C"))


def test_random_choices_can_be_repeated_and_differ_within_a_decision() -> None:
    deal = find_game("hearts-classic").random_deal(1)
    first, again = view(deal, 0), view(deal, 0)

    numbers = [first.rng.getrandbits(64) for _ in range(3)]

    assert numbers == [again.rng.getrandbits(64) for _ in range(3)]
    assert len(set(numbers)) == 3
