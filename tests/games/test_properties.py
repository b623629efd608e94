"""What holds in every game, whatever is dealt and chosen."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hands import complete_hands, pass_lowest, play_out, replay, snapshot
from hypothesis import given
from hypothesis import strategies as st

from arena.cards import Card, cards_to_set
from arena.errors import IllegalChoice
from arena.game import Deal, Game, OptionValue, Phase
from arena.games import find_game

HEARTS_OPTIONS: dict[str, st.SearchStrategy[OptionValue]] = {
    "moon": st.sampled_from([13, 26, "off"]),
    "queen_breaks_hearts": st.booleans(),
    "points_on_first_trick": st.booleans(),
    "any_club_leads": st.booleans(),
    "hearts_before_queen": st.booleans(),
    "jack_of_diamonds": st.booleans(),
    "cards_passed": st.integers(1, 13),
}


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Any game with any options that decide how a deal is played."""
    if draw(st.booleans()):
        name = draw(st.sampled_from(["hearts-classic", "hearts-special", "hearts-standard"]))
        return find_game(name, options=draw(st.fixed_dictionaries({}, optional=HEARTS_OPTIONS)))
    players = draw(st.integers(3, 6))
    partners = players % 2 == 0 and draw(st.booleans())
    return find_game("heartswitch", players, "partners" if partners else "single")


def everywhere(deal: Deal) -> list[int]:
    """Return each card's number of places: in hands, in piles, in the current trick."""
    places = [*deal.hands, *deal.piles, cards_to_set(deal.trick)]
    return [sum(place >> card & 1 for place in places) for card in deal.game.deck]


@given(game=games(), seed=st.integers(0, 2**32), number=st.integers(1, 12))
def test_a_random_deal_keeps_every_promise(game: Game, seed: int, number: int) -> None:
    deal = game.random_deal(seed, number)
    rng = Random(seed)

    def check(deal: Deal) -> None:
        assert everywhere(deal) == [1] * len(game.deck)
        for seat in range(game.players):
            legal = deal.legal(seat)
            assert bool(legal) is (seat in deal.to_act)
            assert list(legal) == sorted(set(legal))
            assert set(legal) <= set(deal.observe(seat).hand)
            view = deal.observe(seat)
            assert view.legal == legal
            assert view.count == (0 if not legal else 1 if deal.phase is Phase.PLAYING else game.cards_passed)

    check(deal)
    chosen = play_out(deal, rng, check)

    assert deal.phase is Phase.OVER
    assert deal.to_act == ()
    assert len(chosen) == len(game.deck) + (game.players if any(deal.passes()) else 0)
    check_sum(game, deal)
    assert snapshot(replay(game.random_deal(seed, number), chosen)) == snapshot(deal)


def check_sum(game: Game, deal: Deal) -> None:
    scores = deal.scores()
    if game.name == "heartswitch":
        moons = {value * (game.players - len(game.sides[0])) for value in (20, 25, 30)}
        assert 8 <= sum(scores) <= 38 or sum(scores) in moons
        return
    jack = -10 if game.options["jack_of_diamonds"] else 0
    moon = -26 if game.options["moon"] == "off" else 3 * int(game.options["moon"] or 0)
    assert sum(scores) - jack in {26, moon}


@given(game=games(), seed=st.integers(0, 2**32), number=st.integers(1, 4))
def test_every_other_card_is_refused_and_changes_nothing(game: Game, seed: int, number: int) -> None:
    deal = pass_lowest(game.random_deal(seed, number))
    rng = Random(seed)

    while deal.to_act:
        before = snapshot(deal)
        for seat in range(game.players):
            for card in set(game.deck) - set(deal.legal(seat)):
                with pytest.raises(IllegalChoice):
                    deal.choose(seat, (card,))
        for cards in ((), deal.legal(deal.turn)[:1] * 2, deal.observe(deal.turn).hand):
            if len(cards) != 1:
                with pytest.raises(IllegalChoice, match="one card is to be played"):
                    deal.choose(deal.turn, cards)
        assert snapshot(deal) == before
        deal.choose(deal.turn, (rng.choice(deal.legal(deal.turn)),))

    for seat in range(game.players):
        with pytest.raises(IllegalChoice, match="the deal is over"):
            deal.choose(seat, (game.deck[0],))


@given(game=games(), seed=st.integers(0, 2**32))
def test_every_legal_card_can_be_chosen(game: Game, seed: int) -> None:
    deal = pass_lowest(game.random_deal(seed))
    rng = Random(seed)

    while deal.to_act:
        for card in deal.legal(deal.turn):
            branch = deal.copy()
            branch.choose(deal.turn, (card,))
            assert branch.plays[-1] == card
        deal.choose(deal.turn, (rng.choice(deal.legal(deal.turn)),))


@given(game=games(), seed=st.integers(0, 2**32), moment=st.integers(0, 70))
def test_a_copy_is_independent(game: Game, seed: int, moment: int) -> None:
    chosen = play_out(game.random_deal(seed), Random(seed))
    deal = replay(game.random_deal(seed), chosen[:moment])
    before = snapshot(deal)

    twin = deal.copy()
    assert snapshot(twin) == before
    play_out(twin, Random(seed + 1))

    assert snapshot(deal) == before
    replay(deal, chosen[moment:])
    assert snapshot(deal) == snapshot(replay(game.random_deal(seed), chosen))


@given(
    game=games(),
    hand=st.sets(st.sampled_from(find_game("heartswitch").deck), min_size=1, max_size=20),
    trick=st.lists(st.sampled_from(find_game("heartswitch").deck), max_size=5, unique=True),
    first_trick=st.booleans(),
    broken=st.booleans(),
)
def test_any_hand_has_a_legal_card_for_any_trick(
    game: Game, hand: set[Card], trick: list[Card], first_trick: bool, broken: bool
) -> None:
    legal = game.legal(sorted(hand), trick, first_trick, broken)

    assert legal
    assert list(legal) == sorted(legal)
    assert set(legal) <= hand


@given(game=games(), data=st.data())
def test_any_piles_have_a_score(game: Game, data: st.DataObject) -> None:
    cards = data.draw(st.lists(st.sampled_from(game.deck), unique=True))
    takers = data.draw(st.lists(st.integers(0, game.players - 1), min_size=len(cards), max_size=len(cards)))
    piles = [[card for card, taker in zip(cards, takers, strict=True) if taker == seat] for seat in range(game.players)]

    scores = game.score(piles)

    assert len(scores) == game.players
    assert all(-36 <= points <= 33 for points in scores)
    assert game.side_totals(scores) == tuple(sum(scores[seat] for seat in seats) for seats in game.sides)


@pytest.mark.parametrize("name", ["hearts-classic", "hearts-standard"])
def test_every_way_to_pass_is_accepted(name: str) -> None:
    game = find_game(name)
    hands = complete_hands(game, "2C QS AH")

    for cards in combinations(hands[0], 3):
        deal = game.start(hands)
        deal.choose(0, cards)
        assert deal.to_act == (1, 2, 3)
