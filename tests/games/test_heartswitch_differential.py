"""Two HeartSwitches, written apart from the same rules, make the same of whatever is dealt and chosen.

Each random case has a seed of its own, which a failure names: `Random(seed)` gives the case again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
import second_heartswitch as second

from arena.cards import Card, format_cards, parse_cards, set_to_cards
from arena.game import Deal, Game, Outcome, Phase
from arena.games import find_game

TABLES = [(3, "single"), (4, "single"), (5, "single"), (6, "single"), (4, "partners"), (6, "partners")]
at_each_table = pytest.mark.parametrize(("players", "sides"), TABLES, ids=[f"{n} {sides}" for n, sides in TABLES])


def amounts(*, ordinary: int, blocks: int, each: int) -> pytest.MarkDecorator:
    """Run a test on a few random cases, and in the slow run on blocks of many others."""
    cases = [pytest.param("short", ordinary, id="short")]
    cases += [pytest.param(f"block {n}", each, id=f"block {n}", marks=pytest.mark.slow) for n in range(blocks)]
    return pytest.mark.parametrize(("block", "amount"), cases)


@contextmanager
def random_case(*parts: object) -> Iterator[Random]:
    """Give random numbers for one case, and name its seed if it fails."""
    seed = "/".join(map(str, parts))
    try:
        yield Random(seed)
    except BaseException as failure:
        failure.add_note(f"random case with the seed {seed!r}")
        raise


def cards(codes: Iterable[str]) -> tuple[Card, ...]:
    return parse_cards(" ".join(codes))


def codes(some: Iterable[Card]) -> list[str]:
    return sorted(format_cards(some).split())


def random_hands(rng: Random, players: int) -> list[list[str]]:
    pack = list(second.DECK)
    rng.shuffle(pack)
    return [pack[seat::players] for seat in range(players)]


def random_piles(rng: Random, players: int) -> list[list[str]]:
    """Give each card to any seat or to nobody, and often most or all hearts to the same seat."""
    piles: list[list[str]] = [[] for _ in range(players)]
    collector, greed = rng.randrange(players), rng.choice([0, 0.5, 0.95, 1])
    for card in second.DECK:
        owner = collector if card in second.HEARTS and rng.random() < greed else rng.randrange(-1, players)
        if owner >= 0:
            piles[owner].append(card)
    return piles


def random_end(rng: Random) -> dict[str, int]:
    """Let a game end at 70, at another target, or after some number of deals."""
    return rng.choice([{}, {"target": rng.randint(1, 200)}, {"deals": rng.randint(1, 12)}])


def heartswitch(players: int, sides: str, end: Mapping[str, int]) -> Game:
    return find_game("heartswitch", players, sides, {**end})


def second_outcome(totals: list[int], number: int, end: Mapping[str, int]) -> Outcome:
    over, winners, reason = second.end_of_game(totals, number, **end)
    return Outcome(over, tuple(winners), reason)


def assert_same_hands(deal: Deal, other: second.Deal) -> None:
    hands = [codes(deal.observe(seat).hand) for seat in range(deal.game.players)]

    assert hands == [sorted(hand) for hand in other.hands]


def assert_same_piles(deal: Deal, other: second.Deal) -> None:
    assert [codes(set_to_cards(pile)) for pile in deal.piles] == [sorted(pile) for pile in other.piles]
    assert list(deal.observe(0).points) == [second.pile_score(pile) for pile in other.piles]


def pass_in_both(deal: Deal, other: second.Deal, rng: Random) -> None:
    """Let every seat pass any three cards, in any order of seats."""
    players, direction = deal.game.players, deal.game.pass_direction(deal.number)
    assert direction.name.lower() == second.direction(players, deal.number)

    while owing := other.must_pass():
        assert deal.phase is Phase.PASSING
        assert list(deal.to_act) == owing
        assert_same_hands(deal, other)
        seat = rng.choice(owing)
        assert codes(deal.legal(seat)) == sorted(other.hands[seat])
        chosen = rng.sample(other.hands[seat], second.CARDS_PASSED)
        deal.choose(seat, cards(chosen))
        other.pass_cards(seat, chosen)

    for seat in range(players):
        receiver = second.receiver(seat, players, deal.number)
        assert direction.receiver(seat, players) == receiver
        assert codes(deal.observe(receiver).received) == sorted(other.passes[seat])


def play_in_both(deal: Deal, other: second.Deal, rng: Random) -> None:
    """Play any legal cards; in half the deals magicians go first, so that some tricks hold nothing else."""
    magicians_first = rng.random() < 0.5
    while not other.is_over():
        if not other.trick:
            assert_same_hands(deal, other)
            assert_same_piles(deal, other)
        seat, legal = other.to_play(), sorted(other.legal())
        assert deal.phase is Phase.PLAYING
        assert deal.to_act == (seat,)
        assert codes(deal.legal(seat)) == legal
        magicians = [code for code in legal if second.is_magician(code)]
        chosen = rng.choice(magicians if magicians and magicians_first else legal)
        deal.choose(seat, cards([chosen]))
        other.play(chosen)
        if not other.trick:
            assert deal.leader == other.winners[-1]

    assert deal.phase is Phase.OVER
    assert deal.to_act == ()
    assert_same_piles(deal, other)


def play_a_game(game: Game, end: Mapping[str, int], rng: Random, most_deals: int) -> list[second.Deal]:
    """Play deals in both until the game is over or there are enough; compare all there is; return the deals."""
    deals: list[second.Deal] = []
    totals = [0] * len(game.sides)
    over = False
    while not over and len(deals) < most_deals:
        number, hands = len(deals) + 1, random_hands(rng, game.players)
        deal, other = game.start([cards(hand) for hand in hands], number), second.Deal(hands, number)
        assert deal.dealer == second.dealer(game.players, number)
        pass_in_both(deal, other, rng)
        play_in_both(deal, other, rng)
        deals.append(other)

        scores = second.deal_scores(other.piles, partnerships=game.partners)
        sides = second.side_scores(scores, partnerships=game.partners)
        assert list(deal.scores()) == scores
        assert list(game.side_totals(scores)) == sides
        totals = [total + points for total, points in zip(totals, sides, strict=True)]
        outcome = game.finished(totals, sides, number)
        assert outcome == second_outcome(totals, number, end)
        over = outcome.over
    return deals


@amounts(ordinary=60, blocks=5, each=1000)
@at_each_table
def test_both_play_every_deal_of_a_game_alike(players: int, sides: str, block: str, amount: int) -> None:
    tricks: list[second.Trick] = []
    played = games = 0
    while played < amount:
        with random_case("deals", players, sides, block, games) as rng:
            end = random_end(rng)
            deals = play_a_game(heartswitch(players, sides, end), end, rng, amount - played)
        tricks += [trick for deal in deals for trick in deal.finished_tricks]
        played += len(deals)
        games += 1

    assert played == amount
    assert len(tricks) == amount * second.CARDS_EACH[players]
    only_magicians = [trick for trick in tricks if second.led_suit(trick) is None]
    assert bool(only_magicians) == (players <= 4)


@amounts(ordinary=500, blocks=1, each=20_000)
@at_each_table
def test_both_score_any_piles_alike(players: int, sides: str, block: str, amount: int) -> None:
    game = heartswitch(players, sides, {})
    partners = sides == "partners"
    moons: set[int | None] = set()
    for number in range(amount):
        with random_case("piles", players, sides, block, number) as rng:
            piles = random_piles(rng, players)
            scores = second.deal_scores(piles, partnerships=partners)

            assert list(game.score([cards(pile) for pile in piles])) == scores
            assert list(game.side_totals(scores)) == second.side_scores(scores, partnerships=partners)
            moons.update(map(second.moon_value, piles))

    assert moons == {None, 20, 25, 30}


@amounts(ordinary=60, blocks=1, each=1000)
@at_each_table
def test_both_end_a_game_alike_whatever_the_totals(players: int, sides: str, block: str, amount: int) -> None:
    outcomes: list[Outcome] = []
    for number in range(amount):
        with random_case("totals", players, sides, block, number) as rng:
            end = random_end(rng)
            game = heartswitch(players, sides, end)
            target, latest = end.get("target", 70), end.get("deals", 20)
            for _ in range(20):
                spread = rng.choice([2, 20, 200])
                totals = [max(0, target + rng.randint(-spread, spread // 2)) for _ in game.sides]
                scores = [rng.randint(0, 33) for _ in game.sides]
                deal = rng.randint(1, latest)

                outcomes.append(game.finished(totals, scores, deal))

                assert outcomes[-1] == second_outcome(totals, deal, end)

    reasons = {outcome.reason for outcome in outcomes}
    assert reasons == {"target_reached", "target_not_reached", "fixed_deals", "deals_left"}
    assert {len(outcome.winners) for outcome in outcomes} >= {0, 1, 2}


@amounts(ordinary=500, blocks=1, each=20_000)
def test_both_allow_the_same_of_any_hand_to_any_trick(block: str, amount: int) -> None:
    game = heartswitch(6, "single", {})
    for number in range(amount):
        with random_case("legal", block, number) as rng:
            length = rng.randrange(6)
            some = rng.sample(second.DECK, length + rng.randint(1, 20))
            trick, hand = list(enumerate(some[:length])), some[length:]

            legal = game.legal(cards(hand), cards(code for _, code in trick))

            assert codes(legal) == sorted(second.legal_cards(hand, trick))


@at_each_table
def test_both_know_the_same_pack_hands_and_sides(players: int, sides: str) -> None:
    game = heartswitch(players, sides, {})
    side_of = [second.team(seat, players) if game.partners else seat for seat in range(players)]

    assert codes(game.deck) == sorted(second.DECK)
    assert game.hand_size == second.CARDS_EACH[players]
    assert game.cards_passed == second.CARDS_PASSED
    assert list(game.side_of) == side_of


def test_the_second_one_imports_nothing() -> None:
    tree = ast.parse(Path(second.__file__ or "").read_text())

    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
