"""How fast are deals played, next to OpenSpiel driven from Python? `python benchmarks/play.py`

Everything is random legal play in one process, in processor time, and every figure is the median of five rounds in which all
contestants take turns, so that a busy machine is equally busy for all of them. Ratios are what counts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from operator import itemgetter
from random import Random
from statistics import median
from time import process_time
from typing import Any

from arena.game import NOBODY, Deal, Game
from arena.games import find_game

ROUNDS = 5
HANDS = 2000
COPIES = 50_000

Number = Callable[[], float]


PASSES = {size: [itemgetter(*places) for places in combinations(range(size), 3)] for size in (10, 12, 13, 15, 20)}
"""All ways to choose three cards to pass from a hand, by its size: one draw chooses among them."""


def play_hand(game: Game, rng: Random, number: int) -> Deal:
    """Deal, pass and play a hand at random."""
    cards = sorted(game.deck, key=lambda card: rng.random())
    size = game.hand_size
    deal = game.start([cards[i : i + size] for i in range(0, len(cards), size)], number)
    legal, choose, pick = deal.legal, deal.choose, rng.choice
    for seat in deal.to_act if deal.turn == NOBODY else ():
        choose(seat, pick(PASSES[size])(legal(seat)))
    seat = deal.turn
    while seat >= 0:
        choose(seat, (pick(legal(seat)),))
        seat = deal.turn
    deal.scores()
    return deal


def play_ordinary(game: Any, rng: Random) -> None:
    """Play a hand in OpenSpiel by the shortest loop: chance and players alike choose among legal actions."""
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    state.returns()


def play_textbook(game: Any, rng: Random) -> None:
    """Play a hand in OpenSpiel by the loop of its documentation: chance by its outcomes and their probabilities."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            actions, weights = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(actions, weights)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
    state.returns()


def seconds(work: Callable[[int], object], times: int) -> float:
    """Return the processor seconds that one piece of work takes."""
    began = process_time()
    for i in range(times):
        work(i)
    return (process_time() - began) / times


def medians(contestants: dict[str, Number]) -> dict[str, float]:
    """Let each contestant take its turn in every round; return the median of each."""
    rounds = [{name: measure() for name, measure in contestants.items()} for _ in range(ROUNDS)]
    return {name: median(figures[name] for figures in rounds) for name in contestants}


def hands_of(name: str, players: int) -> Number:
    """Return a measurement of one hand of a game."""
    game, rng = find_game(name, players), Random(1)
    return lambda: seconds(lambda i: play_hand(game, rng, i + 1), HANDS)


def open_spiel() -> dict[str, Number]:
    """Return measurements of OpenSpiel's loops; none where it isn't installed."""
    try:
        import pyspiel
    except ImportError:
        print("OpenSpiel is not installed, so there is nothing to compare with: pip install open_spiel")
        return {}
    game, rng = pyspiel.load_game("hearts"), Random(1)
    return {
        "OpenSpiel, ordinary loop": lambda: seconds(lambda i: play_ordinary(game, rng), HANDS),
        "OpenSpiel, textbook loop": lambda: seconds(lambda i: play_textbook(game, rng), HANDS),
    }


def compare_games() -> None:
    """Print hands a second, and how many times as many Arena plays as OpenSpiel."""
    arena = {f"{name} for {players}": (name, players) for name, players in TABLES}
    found = medians({title: hands_of(*table) for title, table in arena.items()} | open_spiel())
    ours = found["hearts-standard for 4"]
    decision = ours / 55
    for title, figure in found.items():
        line = f"{title:26} {1 / figure:8.0f} hands a second"
        if title in arena:
            game = find_game(*arena[title])
            each = figure / decisions(game)
            line += f"  {each * 1e6:5.2f} us a decision, {each / decision:4.2f} of hearts-standard's"
        else:
            line += f"  Arena plays {figure / ours:4.2f} times as many"
        print(line)


TABLES = [("hearts-standard", 4), *(("heartswitch", players) for players in range(3, 7))]


def decisions(game: Game) -> float:
    """Return how many decisions a deal has on average over a cycle of passing."""
    passing = sum(direction.name != "NONE" for direction in game.pass_cycle) / len(game.pass_cycle)
    return len(game.deck) + passing * game.players


def compare_copies() -> None:
    """Print what a copy of a deal costs, next to copying three short lists."""
    deal = play_half(find_game("hearts-standard"))
    hands, piles, plays = deal.hands, deal.piles, deal.plays
    found = medians(
        {
            "copy": lambda: seconds(lambda i: deal.copy(), COPIES),
            "lists": lambda: seconds(lambda i: (hands[:], piles[:], plays[:]), COPIES),
        }
    )
    ratio = found["copy"] / found["lists"]
    print(
        f"deal.copy()                {found['copy'] * 1e9:8.0f} ns, {ratio:4.2f} times the copying of three short lists"
    )


def play_half(game: Game) -> Deal:
    """Return a deal without passing after half of its plays."""
    deal, rng = game.random_deal("half", 4), Random(1)
    for _ in range(26):
        deal.choose(deal.turn, (rng.choice(deal.legal(deal.turn)),))
    return deal


if __name__ == "__main__":
    compare_games()
    compare_copies()
