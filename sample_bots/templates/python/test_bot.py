"""Play the bot in this process, without the arena's clocks: `python -m unittest`."""

import unittest

from bot import NewBot

from arena.games import find_game
from arena.sdk import Card, Decision, Phase
from arena.simulate import simulate

BOT = NewBot()


def mine(view: Decision) -> list[Card]:
    return BOT.pass_cards(view) if view.phase is Phase.PASSING else [BOT.play(view)]


def lowest(view: Decision) -> tuple[Card, ...]:
    return view.legal[: view.count]


class BotTest(unittest.TestCase):
    def test_every_choice_is_legal_in_every_game(self) -> None:
        for name in ("hearts-classic", "hearts-special", "hearts-standard", "heartswitch"):
            simulation = simulate(find_game(name), [mine, lowest, mine, lowest], seed="test", deals=50)

            self.assertEqual(len(simulation.records), 50)  # an illegal choice raises IllegalChoice, with seat and deal

    def test_it_takes_fewer_points_than_a_bot_that_does_not_think(self) -> None:
        game = find_game("hearts-classic")
        totals = [0, 0, 0, 0]
        for seat in range(4):  # the same deals at every seat
            bots = [mine if place == seat else lowest for place in range(4)]
            scores = simulate(game, bots, seed="test", deals=50).totals
            for place in range(4):
                totals[(place - seat) % 4] += scores[place]

        self.assertLess(totals[0], sum(totals) / 4)
