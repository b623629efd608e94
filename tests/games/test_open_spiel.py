"""Hearts as OpenSpiel plays it: the same turn, legal cards and scores on random deals, under every option that both know.

OpenSpiel's conventions are translated here and nowhere else: pass directions are offsets, cards number by rank and then
suit, the deal is a chain of chance actions, passing is one card at a time, and returns are 26 less the points. One rule
differs by design: with points allowed on the first trick, OpenSpiel allows the queen of spades, and Arena never (H-12).
"""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from playthrough import counts_by_depth, perft_deal

from arena.cards import Card, Suit
from arena.game import Deal, Game, PassDirection, Phase
from arena.games import find_game

pyspiel = pytest.importorskip("pyspiel", reason="the comparison needs OpenSpiel: pip install 'hearts-arena[dev]'")
pytestmark = pytest.mark.slow

OPTIONS = {
    "passing": "pass_cards",
    "points_on_first_trick": "no_pts_on_first_trick",
    "any_club_leads": "can_lead_any_club",
    "jack_of_diamonds": "jd_bonus",
    "queen_breaks_hearts": "qs_breaks_hearts",
    "hearts_before_queen": "can_lead_hearts_instead_of_qs",
}
DEALS_EACH = 1_000  # for each of 64 combinations of options
OFFSETS = {PassDirection.LEFT: 1, PassDirection.ACROSS: 2, PassDirection.RIGHT: 3, PassDirection.NONE: 0}
SUITS = [Suit.CLUBS, Suit.DIAMONDS, Suit.HEARTS, Suit.SPADES]
RANKS = "23456789TJQKA"
QUEEN = Card("QS")


def their_number(card: Card) -> int:
    suit = card.suit
    assert suit is not None
    return 4 * RANKS.index(str(card)[0]) + SUITS.index(suit)


THEIRS = {card: their_number(card) for card in find_game("hearts-standard").deck}
OURS = {number: card for card, number in THEIRS.items()}


def their_game(options: dict[str, bool]) -> Any:
    values = {theirs: options[ours] for ours, theirs in OPTIONS.items()}
    values["no_pts_on_first_trick"] = not values["no_pts_on_first_trick"]
    return pyspiel.load_game("hearts", values)


def their_state(game: Any, deal: Deal) -> Any:
    """Deal the same hands there: after the direction, a card to each seat in turn."""
    state = game.new_initial_state()
    state.apply_action(OFFSETS[deal.game.pass_direction(deal.number)])
    hands = [deal.observe(seat).hand for seat in range(4)]
    for i in range(13):
        for hand in hands:
            state.apply_action(THEIRS[hand[i]])
    return state


def random_hands(game: Game, rng: Random) -> list[list[Card]]:
    """Deal at random, half of the time with long suits, for the rare rules."""
    spread = rng.choice([0.0, 40.0])
    cards = sorted(game.deck, key=lambda card: spread * (card >> 4) / 3 + 30 * rng.random())
    hands = [cards[13 * seat : 13 * seat + 13] for seat in range(4)]
    rng.shuffle(hands)
    return hands


def play_both(game: Game, theirs: Any, rng: Random) -> tuple[int, Deal]:
    """Play a random deal in both, comparing at each decision; return how many there were."""
    deal = game.start(random_hands(game, rng), rng.randint(1, 4))
    state = their_state(theirs, deal)
    decisions = 0
    while deal.phase is Phase.PASSING:
        seat = state.current_player()
        assert seat == deal.to_act[0]
        assert [OURS[action] for action in state.legal_actions()] == sorted(deal.legal(seat), key=THEIRS.__getitem__)
        cards = rng.sample(deal.legal(seat), 3)
        deal.choose(seat, cards)
        for card in cards:
            state.apply_action(THEIRS[card])
        decisions += 1
    while deal.phase is Phase.PLAYING:
        assert state.current_player() == deal.turn
        expected = {OURS[action] for action in state.legal_actions()}
        if not deal.trick_leaders and deal.game.options["points_on_first_trick"] and len(expected) > 1:
            led = deal.trick[:1]
            if not led or all(card.suit is not led[0].suit for card in expected):
                expected.discard(QUEEN)
        assert set(deal.legal(deal.turn)) == expected
        card = rng.choice(deal.legal(deal.turn))
        deal.choose(deal.turn, (card,))
        state.apply_action(THEIRS[card])
        decisions += 1
    assert state.is_terminal()
    assert [26 - points for points in state.returns()] == list(deal.scores())
    return decisions, deal


@pytest.mark.timeout(600)
def test_open_spiel_plays_the_same_game() -> None:
    rng = Random("OpenSpiel")
    deals = moons = 0

    for values in product([False, True], repeat=len(OPTIONS)):
        options = dict(zip(OPTIONS, values, strict=True))
        game = find_game("hearts-standard", options=options)
        theirs = their_game(options)
        for _ in range(DEALS_EACH):
            decisions, deal = play_both(game, theirs, rng)
            assert decisions >= 52
            deals += 1
            moons += 26 in deal.scores() and min(deal.scores()) <= 0

    assert deals >= 20_000
    assert moons


def test_open_spiel_counts_the_same_positions() -> None:
    for name in ("hearts-classic", "hearts-special", "hearts-standard"):
        game = find_game(name)
        deal = perft_deal(game)
        theirs = their_game({option: bool(game.options[option]) for option in OPTIONS})

        counts = counts_by_depth(deal)

        assert [count_theirs(their_state(theirs, deal), depth) for depth in range(1, len(counts) + 1)] == counts


def count_theirs(state: Any, depth: int) -> int:
    if depth == 0 or state.is_terminal():
        return 1
    total = 0
    for action in state.legal_actions():
        total += count_theirs(state.child(action), depth - 1)
    return total
