"""Recorded playthroughs and counts of every game and number of players: what they are, and how they are recorded.

`python tests/playthrough.py` records them anew, below tests/games/golden. Do so only after a change of the rules that is
meant, and look at the difference: it is the change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from arena.cards import Card, format_cards
from arena.errors import BadGame
from arena.game import Deal, Game, Phase
from arena.games import find_game, game_names

GOLDEN = Path(__file__).parent / "games" / "golden"
PLAYERS = range(2, 8)
ENOUGH_NODES = 10_000
SHORT_HANDS = 3


def all_tables() -> Iterator[Game]:
    """Every registered game at every number of players and with every kind of sides that it allows."""
    for name in game_names():
        for players in PLAYERS:
            for sides in ("single", "partners"):
                try:
                    yield find_game(name, players, sides)
                except BadGame:
                    continue


def table_name(game: Game) -> str:
    """What a table's recording is called."""
    return f"{game.name}-{game.players}{'-partners' * game.partners}"


def playthrough(game: Game) -> dict[str, Any]:
    """Play a whole game at random, from fixed seeds, and write down all that happens."""
    rng = Random(f"playthrough {table_name(game)}")
    totals: tuple[int, ...] = (0,) * len(game.sides)
    deals: list[dict[str, Any]] = []
    reached: int | None = None
    while True:
        number = len(deals) + 1
        deal = game.random_deal(table_name(game), number)
        row = _play(deal, rng)
        scores = deal.scores()
        totals = tuple(total + points for total, points in zip(totals, game.side_totals(scores), strict=True))
        if reached is None and game.target is not None and max(totals) >= game.target:
            reached = number
        outcome = game.finished(totals, game.side_totals(scores), number, reached=reached)
        row |= {"scores": list(scores), "totals": list(totals), "reason": outcome.reason}
        deals.append(row)
        if outcome.over:
            return {"game": table_name(game), "deals": deals, "winners": list(outcome.winners)}


def _play(deal: Deal, rng: Random) -> dict[str, Any]:
    row: dict[str, Any] = {
        "number": deal.number,
        "dealer": deal.dealer,
        "direction": deal.game.pass_direction(deal.number).name,
        "hands": list(map(format_cards, _hands(deal))),
    }
    while deal.phase is Phase.PASSING:
        seat = deal.to_act[0]
        deal.choose(seat, rng.sample(deal.legal(seat), deal.game.cards_passed))
    row["passes"] = [format_cards(cards) for cards in deal.passes()]
    plays = []
    while deal.phase is Phase.PLAYING:
        seat, legal = deal.turn, deal.legal(deal.turn)
        card = rng.choice(legal)
        deal.choose(seat, (card,))
        broken = " broken" if deal.hearts_broken else ""
        plays.append(f"{seat}:{card} of {format_cards(legal)}{broken}")
    row["plays"] = plays
    row["points"] = list(deal.observe(0).points)
    return row


def count_nodes(deal: Deal, depth: int) -> int:
    """Count the ways in which the next `depth` choices can be made; passing counts every set of cards."""
    if depth == 0 or not deal.to_act:
        return 1
    seat = deal.to_act[0]
    count = deal.game.cards_passed if deal.phase is Phase.PASSING else 1
    total = 0
    for cards in combinations(deal.legal(seat), count):
        branch = deal.copy()
        branch.choose(seat, cards)
        total += count_nodes(branch, depth - 1)
    return total


def count_endings(deal: Deal) -> dict[str, int]:
    """Play out every way to the end; return how often the seats' scores are what."""
    endings: dict[str, int] = {}
    stack = [deal]
    while stack:
        state = stack.pop()
        if not state.to_act:
            key = " ".join(map(str, state.scores()))
            endings[key] = endings.get(key, 0) + 1
            continue
        seat = state.to_act[0]
        for cards in combinations(state.legal(seat), state.game.cards_passed if state.phase is Phase.PASSING else 1):
            branch = state.copy()
            branch.choose(seat, cards)
            stack.append(branch)
    return dict(sorted(endings.items()))


def counts(game: Game) -> dict[str, Any]:
    """Count nodes from fixed deals, and all endings of a deal of short hands."""
    short = game.start(
        [
            Random(seat).sample(seat_hand, SHORT_HANDS)
            for seat, seat_hand in enumerate(_hands(game.random_deal("short")))
        ],
        len(game.pass_cycle),
    )
    return {
        "passing": count_nodes(game.random_deal("perft", 1), 1),
        "playing": counts_by_depth(perft_deal(game)),
        "short_hands": [format_cards(hand) for hand in _hands(short)],
        "endings": count_endings(short),
    }


def perft_deal(game: Game) -> Deal:
    """Return the fixed deal whose plays are counted, its lowest cards passed."""
    deal = game.random_deal("perft", len(game.pass_cycle))
    while deal.phase is Phase.PASSING:
        seat = deal.to_act[0]
        deal.choose(seat, deal.legal(seat)[:3])
    return deal


def counts_by_depth(deal: Deal) -> list[int]:
    """Count nodes at depth 1, 2, ..., until there are enough."""
    nodes = [count_nodes(deal, 1)]
    while nodes[-1] < ENOUGH_NODES:
        nodes.append(count_nodes(deal, len(nodes) + 1))
    return nodes


def _hands(deal: Deal) -> list[tuple[Card, ...]]:
    return [deal.observe(seat).hand for seat in range(deal.game.players)]


def recording(game: Game) -> dict[str, Any]:
    """Return all that is recorded of a table."""
    return playthrough(game) | {"counts": counts(game)}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for table in all_tables():
        path = GOLDEN / f"{table_name(table)}.json"
        path.write_text(json.dumps(recording(table), indent=1) + "\n")
        print(path.name, path.stat().st_size)  # noqa: T201
