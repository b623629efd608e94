"""No seat's observation, nor the bytes that go to its bot, say anything about cards that the seat cannot know.

In every game, phase and seat.
"""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from exchange import exchanged, play_again
from hands import play_out

from arena.decision import Decision
from arena.game import Deal, Game, Phase
from arena.games import find_game
from arena.wire import encode_decision

TABLES = [
    find_game("hearts-classic"),
    find_game("hearts-special"),
    find_game("hearts-standard", options={"jack_of_diamonds": True, "queen_breaks_hearts": True}),
    *(find_game("heartswitch", players) for players in range(3, 7)),
    find_game("heartswitch", 4, "partners"),
    find_game("heartswitch", 6, "partners"),
]
every_table = pytest.mark.parametrize(
    "game", TABLES, ids=[f"{game.name}-{game.players}{'-partners' * game.partners}" for game in TABLES]
)


def encoded(deal: Deal, seat: int) -> bytes:
    """Return what goes over the wire when this seat is asked."""
    totals = (0,) * len(deal.game.sides)
    return encode_decision(Decision(deal.observe(seat), "table", 3, False, 2, totals, 1.0, 10.0, 0.25, 7))


@pytest.mark.few(3)
@every_table
def test_exchanging_unseen_cards_changes_no_observation_and_no_byte(game: Game) -> None:
    rng = Random(f"leak {game.name} {game.players}")
    compared: set[tuple[Phase, int, bool]] = set()

    for number in range(1, 2 * len(game.pass_cycle) + 1):
        start = game.random_deal("leak", number)
        hands = [start.observe(seat).hand for seat in range(game.players)]
        chosen = play_out(game.random_deal("leak", number), rng)
        for moment in (0, 1, game.players - 1, game.players, game.players + 1, *rng.sample(range(len(chosen)), 4)):
            deal = play_again(game, number, hands, chosen[:moment])
            for seat in range(game.players):
                other = exchanged(game, number, hands, chosen[:moment], seat, rng)
                if other is None:
                    continue
                assert other.hands != deal.hands or other.passes() != deal.passes()
                assert other.observe(seat) == deal.observe(seat)
                assert encoded(other, seat) == encoded(deal, seat)
                compared.add((deal.phase, seat, seat in deal.to_act))

    for phase in (Phase.PASSING, Phase.PLAYING):
        for seat in range(game.players):
            assert {(phase, seat, True), (phase, seat, False)} <= compared


@every_table
def test_others_do_notice_the_exchange(game: Game) -> None:
    """So the test above compares deals that do differ."""
    start = game.random_deal("notice")
    hands = [start.observe(seat).hand for seat in range(game.players)]

    other = exchanged(game, 1, hands, [], 0, Random(1))

    assert other is not None
    assert other.observe(0) == start.observe(0)
    assert any(other.observe(seat) != start.observe(seat) for seat in range(1, game.players))


@every_table
def test_the_order_in_which_cards_were_passed_changes_no_byte(game: Game) -> None:
    seen = set()
    for order in permutations(range(3)):
        deal = game.random_deal("order")
        while deal.phase is Phase.PASSING:
            seat = deal.to_act[0]
            cards = deal.legal(seat)[:3]
            deal.choose(seat, [cards[place] for place in order])
        seen.add(tuple(encoded(deal, seat) for seat in range(game.players)))

    assert len(seen) == 1


@every_table
def test_what_was_passed_to_others_is_not_seen(game: Game) -> None:
    deal = game.random_deal("passes")
    while deal.phase is Phase.PASSING:
        seat = deal.to_act[0]
        deal.choose(seat, deal.legal(seat)[:3])

    for seat in range(game.players):
        view = deal.observe(seat)
        shown = {*view.hand, *view.passed, *view.received}
        assert len(shown) == game.hand_size + 3
        assert shown == {*view.hand, *view.passed}
