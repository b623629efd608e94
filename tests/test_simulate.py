"""A simulated game is the game, played by callables."""

from __future__ import annotations

import pytest

from arena.cards import Card
from arena.decision import Decision
from arena.errors import BadGame, IllegalChoice
from arena.game import Game, PassDirection, Phase
from arena.games import find_game, game_names
from arena.simulate import Bot, simulate


def lowest(decision: Decision) -> tuple[Card, ...]:
    return decision.legal[: decision.count]


def at_random(decision: Decision) -> list[Card]:
    return decision.rng.sample(decision.legal, decision.count)


def one_card(decision: Decision) -> Card | tuple[Card, ...]:
    return decision.legal[-1] if decision.phase is Phase.PLAYING else decision.legal[-decision.count :]


@pytest.mark.parametrize("name", game_names())
def test_a_whole_game_is_played_to_its_end(name: str) -> None:
    game = find_game(name)

    simulation = simulate(game, [at_random] * 4, seed=1)

    assert simulation.outcome is not None
    assert simulation.outcome.over
    assert max(simulation.totals) >= (game.target or 0)
    assert [record.number for record in simulation.records] == list(range(1, len(simulation.records) + 1))
    assert simulation.totals == game.side_totals([sum(points) for points in zip(*simulation.scores, strict=True)])
    assert simulation.records[-1].totals == simulation.totals


def test_the_winners_of_a_game_have_the_lowest_total() -> None:
    for seed in range(20):
        simulation = simulate(find_game("hearts-special"), [at_random] * 4, seed=seed)
        assert simulation.outcome is not None
        assert [simulation.totals[side] for side in simulation.outcome.winners] == [min(simulation.totals)]


def test_a_game_of_fixed_deals_tells_how_many_are_left() -> None:
    left: list[int] = []

    def counting(decision: Decision) -> tuple[Card, ...]:
        left.append(decision.deals_left)
        return lowest(decision)

    simulation = simulate(find_game("heartswitch", 3, options={"deals": 3}), [counting, lowest, lowest], seed=1)

    assert sorted(set(left), reverse=True) == [2, 1, 0]
    assert len(simulation.records) == 3
    assert simulation.outcome is not None
    assert simulation.outcome.reason == "fixed_deals"


def test_single_deals_are_told_no_totals() -> None:
    totals: set[tuple[int, ...]] = set()

    def listening(decision: Decision) -> tuple[Card, ...]:
        totals.add(decision.totals)
        assert not decision.placed_by_game
        return lowest(decision)

    simulation = simulate(find_game("hearts-standard"), [listening, lowest, lowest, lowest], seed=1, deals=3)

    assert totals == {(0, 0, 0, 0)}
    assert simulation.outcome is None
    assert sum(simulation.totals) == sum(map(sum, simulation.scores))
    assert all(record.totals == (0, 0, 0, 0) for record in simulation.records)


def test_a_game_is_told_its_totals() -> None:
    told: dict[int, tuple[int, ...]] = {}

    def listening(decision: Decision) -> tuple[Card, ...]:
        told[decision.deal_number] = decision.totals
        return lowest(decision)

    simulation = simulate(find_game("hearts-classic"), [listening, lowest, lowest, lowest], seed=1)

    assert told == {1: (0, 0, 0, 0)} | {record.number + 1: record.totals for record in simulation.records[:-1]}


@pytest.mark.parametrize("seed", [7, "text", b"k" * 32], ids=["number", "text", "bytes"])
def test_the_same_seed_plays_the_same(seed: int | str | bytes) -> None:
    game = find_game("heartswitch", 6, "partners")

    simulations = [simulate(game, [at_random] * 6, seed=seed) for _ in range(2)]

    assert simulations[0] == simulations[1]
    assert simulate(game, [at_random] * 6, seed="another") != simulations[0]


def test_without_a_seed_deals_differ() -> None:
    hands = [simulate(find_game("hearts-classic"), [lowest] * 4, deals=1).records[0].hands for _ in range(2)]

    assert hands[0] != hands[1]


def test_the_deals_do_not_depend_on_the_bots() -> None:
    game = find_game("hearts-classic")
    dealt = [
        [record.hands for record in simulate(game, bots, seed=3, deals=5).records]
        for bots in ([lowest] * 4, [at_random] * 4)
    ]

    assert dealt[0] == dealt[1]


def test_a_record_replays_to_its_scores() -> None:
    for record in simulate(find_game("heartswitch", 5), [at_random] * 5, seed=9, deals=4).records:
        deal = record.game.start(record.hands, record.number)
        for seat, cards in enumerate(record.passes):
            deal.choose(seat, cards)
        for card in record.plays:
            deal.choose(deal.turn, (card,))
        assert deal.scores() == record.scores


def test_a_bot_may_answer_with_a_card_or_a_sequence() -> None:
    records = simulate(find_game("hearts-classic"), [one_card] * 4, seed=1, deals=4).records

    assert records[3].game.pass_direction(4) is PassDirection.NONE
    assert records[3].passes == ((), (), (), ())


def test_a_bot_that_breaks_the_rules_is_named() -> None:
    def cheat(decision: Decision) -> tuple[Card, ...]:
        return (Card("2C"),) * decision.count

    with pytest.raises(IllegalChoice, match="cheat, in deal 1: 3 different cards"):
        simulate(find_game("hearts-classic"), [lowest, lowest, cheat, lowest], seed=1)


def test_what_a_bot_raises_goes_through() -> None:
    def broken(decision: Decision) -> Card:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        simulate(find_game("hearts-classic"), [broken, lowest, lowest, lowest])


@pytest.mark.parametrize(("game", "bots"), [(find_game("hearts-classic"), 3), (find_game("heartswitch", 6), 4)])
def test_there_is_a_bot_for_each_seat(game: Game, bots: int) -> None:
    players: list[Bot] = [lowest] * bots

    with pytest.raises(BadGame, match=f"needs {game.players} bots, not {bots}"):
        simulate(game, players)


def test_no_deals_are_refused() -> None:
    with pytest.raises(BadGame, match="at least 1"):
        simulate(find_game("hearts-classic"), [lowest] * 4, deals=0)
