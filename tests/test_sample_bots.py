"""What the sample bots promise: legal choices everywhere, the same ones each time, and an order of strength."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import grpc
import pytest

from arena import wire
from arena.cards import Card, parse_cards
from arena.config import load_config
from arena.dealing import Stream, random_word
from arena.decision import Choice, Decision
from arena.game import Deal, Game, Phase
from arena.games import find_game
from arena.sdk import Bot, choose
from arena.v1 import bot_pb2, bot_pb2_grpc

SAMPLES = Path(__file__).parent.parent / "sample_bots"
SCRIPTS = {name: SAMPLES / "python" / f"{name}.py" for name in ("random_bot", "lowest", "careful", "counting")}
GAMES = [
    find_game("hearts-classic"),
    find_game("hearts-special"),
    find_game("hearts-standard"),
    *(find_game("heartswitch", players) for players in (3, 4, 5, 6)),
    *(find_game("heartswitch", players, "partners") for players in (4, 6)),
]

every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.name}-{game.players}-{len(game.sides)}")
every_bot = pytest.mark.parametrize("name", SCRIPTS)
thoughtful = pytest.mark.parametrize("name", ["careful", "counting"])


def load_bot(name: str) -> Bot:
    """Return a new bot from its script, as the only class of bots that it defines."""
    spec = importlib.util.spec_from_file_location(f"sample_{name}", SCRIPTS[name])
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Bot) and value.__module__ == spec.name
    )
    bot = kind()
    assert isinstance(bot, Bot)
    return bot


def decision(deal: Deal, seat: int, number: int = 0) -> Decision:
    game = deal.game
    return Decision(
        observation=deal.observe(seat),
        table_id="t",
        number=number,
        placed_by_game=False,
        deals_left=0,
        totals=(0,) * len(game.sides),
        decision_time=1.0,
        bank_left=10.0,
        last_answer=None,
        random=random_word(b"sample bots", "decision", deal.number, seat, number),
    )


async def play(deal: Deal, bots: Sequence[Bot]) -> list[tuple[Decision, Choice]]:
    """Play a deal to its end, and return what was asked and answered; raises IllegalChoice where a bot breaks a rule."""
    history: list[tuple[Decision, Choice]] = []
    while deal.phase is not Phase.OVER:
        for seat in deal.to_act:
            asked = decision(deal, seat, len(history))
            answer = await choose(bots[seat], asked)
            deal.choose(seat, answer.cards)
            history.append((asked, answer))
    return history


async def play_legally(game: Game, deals: int) -> None:
    bots = [load_bot(name) for name in SCRIPTS]
    for number in range(1, deals + 1):
        table = [bots[(number + seat) % len(bots)] for seat in range(game.players)]
        history = await play(game.random_deal(number, number), table)

        assert sum(len(answer.cards) for _asked, answer in history if _asked.phase is Phase.PLAYING) == len(game.deck)


@pytest.mark.few(1)
@every_game
async def test_every_choice_is_legal(game: Game) -> None:
    await play_legally(game, 300)


@pytest.mark.slow
@every_game
async def test_br_10_every_choice_is_legal_in_a_thousand_deals(game: Game) -> None:
    await play_legally(game, 1000)


@every_game
@every_bot
async def test_br_13_a_hand_of_one_card_is_always_played(game: Game, name: str) -> None:
    bot = load_bot(name)
    for seed in range(100):
        cards = Stream(b"one card", "hands", seed).shuffle(game.deck)

        history = await play(game.start([[card] for card in cards[: game.players]], 1 + seed % 7), [bot] * game.players)

        assert [answer.cards for _asked, answer in history] == [asked.hand for asked, _answer in history]


def after(plays: str, hand: str, *, sides: str = "single") -> Decision:
    """Return seat 0's decision after seats 1, 2 and 3 have played to the first trick; seat 2 is its partner, if it has one.

    The hands are what is wanted after passing, so each seat first holds the three cards that it is to pass on.
    """
    game = find_game("heartswitch", 4, sides)
    played, mine = parse_cards(plays), parse_cards(hand)
    others = [card for card in game.deck if card not in (*played, *mine)]
    wanted = [mine, *((card, *others[i::3]) for i, card in enumerate(played))]
    to_pass = [wanted[(seat + 1) % 4][1:4] for seat in range(4)]
    deal = game.start([(cards[0], *cards[4:], *to_pass[seat]) for seat, cards in enumerate(wanted)], 1)
    for seat, cards in enumerate(to_pass):
        deal.choose(seat, cards)
    for card in played:
        deal.choose(deal.turn, [card])
    return decision(deal, 0)


async def chosen(name: str, asked: Decision) -> str:
    return str((await choose(load_bot(name), asked)).cards[0])


VOID_IN_DIAMONDS = "QS 2C 3C 4C 5C 6C 7C 2S 3S 4S 2H 3H 4H 5H 6H"


@thoughtful
@pytest.mark.parametrize(
    ("plays", "hand"),
    [
        ("2D KD 3D", VOID_IN_DIAMONDS),
        ("2S AS 3S", "QS 4S 5S 2C 3C 4C 5C 6C 7C 2D 3D 4D 2H 3H 4H"),
        ("M1 KD 3D", VOID_IN_DIAMONDS),
    ],
    ids=["discarded", "under the ace", "after a magician"],
)
async def test_br_14_the_queen_is_dropped_on_opponents_but_not_on_the_partner(name: str, plays: str, hand: str) -> None:
    alone = after(plays, hand)
    together = after(plays, hand, sides="partners")
    assert together.winning
    assert together.winning[0] == together.partner

    assert await chosen(name, alone) == "QS"
    assert await chosen(name, together) != "QS"


@thoughtful
async def test_a_trick_with_the_queen_is_ducked(name: str) -> None:
    hand = "2S KS AS 2C 3C 4C 5C 6C 7C 2D 3D 4D 2H 3H 4H"

    assert await chosen(name, after("5S 6S QS", hand)) == "2S"


@thoughtful
async def test_a_magician_saves_from_taking_the_queen(name: str) -> None:
    hand = "M1 KS AS 2C 3C 4C 5C 6C 7C 2D 3D 4D 2H 3H 4H"

    assert await chosen(name, after("5S 6S QS", hand)) == "M1"


async def test_who_counts_takes_a_heart_to_stop_a_moon() -> None:
    game = find_game("heartswitch")
    wanted = [
        parse_cards("2H 5H 8H 2C AC 2D 3D 4D 5D 6D 7D 8D 9D TD JD"),
        parse_cards("AH KH QH 4H 5C 8C 9C TC JC QS KS AS M1 M2 M3"),
        parse_cards("6H 9H WH 3C 4C 6C 7C QC KC WC QD KD AD WD M4"),
        parse_cards("7H TH JH 3H 2S 3S 4S 5S 6S 7S 8S 9S TS WS JS"),
    ]
    to_pass = [wanted[(seat + 1) % 4][-3:] for seat in range(4)]
    deal = game.start([(*cards[:-3], *to_pass[seat]) for seat, cards in enumerate(wanted)], 1)
    for seat, cards in enumerate(to_pass):
        deal.choose(seat, cards)
    for card in parse_cards("AH 6H 7H 2H  KH 9H TH 5H  QH WH JH 8H  QS QD 4S 2D  5C 6C 3H"):
        deal.choose(deal.turn, [card])

    assert await chosen("counting", decision(deal, 0)) == "AC"
    assert await chosen("careful", decision(deal, 0)) == "2C"


@pytest.mark.few(12)
@every_game
@every_bot
async def test_choices_depend_on_the_decision_alone(game: Game, name: str) -> None:
    experienced = load_bot(name)
    for number in range(1, 5):
        history = await play(game.random_deal(f"again {number}", number), [experienced] * game.players)
        request = wire.encode_request(1, 1.0, [asked for asked, _answer in history])

        fresh = load_bot(name)
        answers = [await choose(fresh, copy) for copy in reversed(wire.decode_request(request)[2])]

        assert answers[::-1] == [answer for _asked, answer in history]


async def penalties(game: Game, names: Sequence[str], boards: int) -> list[float]:
    """Return each bot's mean points a deal, where each deal is played at every rotation of changing circles."""
    bots = [load_bot(name) for name in names]
    players = game.players
    circles = [(0, *rest) for rest in permutations(range(1, players))]
    sums = [0] * players
    for board in range(boards):
        circle = circles[board % len(circles)]
        for rotation in range(players):
            seated = [circle[(seat + rotation) % players] for seat in range(players)]
            deal = game.random_deal(f"strength {board}", 1 + board // len(circles) % 12)
            await play(deal, [bots[bot] for bot in seated])
            for seat, points in enumerate(deal.scores()):
                sums[seated[seat]] += points
    return [total / (boards * players) for total in sums]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "margin"), [("hearts-classic", 0.3), ("heartswitch", 0.1)])
async def test_the_bots_are_of_different_strength(name: str, margin: float) -> None:
    counting, careful, lowest, random = await penalties(
        find_game(name), ["counting", "careful", "lowest", "random_bot"], 600
    )

    assert counting + margin < careful
    assert careful + 3 < lowest
    assert lowest + 3 < random


# --- As programs ---


def test_the_configuration_lists_the_scripts() -> None:
    config = load_config(SAMPLES / "bots.yaml", {})

    assert [entry.name for entry in config.entries] == ["random", "lowest", "careful", "counting"]
    assert {entry.directory / entry.command[-1] for entry in config.entries} == set(SCRIPTS.values())


@pytest.mark.parametrize(
    "name", [name if name == "counting" else pytest.param(name, marks=pytest.mark.slow) for name in SCRIPTS]
)
async def test_a_script_serves_its_bot(name: str, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/bot.sock"
    asked = decision(GAMES[0].random_deal("served", 1), 2)
    answer = await choose(load_bot(name), asked)

    with (
        subprocess.Popen([sys.executable, SCRIPTS[name]], env={**os.environ, "ARENA_BOT_ADDRESS": address}) as process,
        grpc.insecure_channel(address, [("grpc.default_authority", "localhost")]) as channel,
    ):
        try:
            stub = bot_pb2_grpc.BotServiceStub(channel)
            described = stub.Describe(bot_pb2.DescribeRequest(), wait_for_ready=True, timeout=30)
            request = bot_pb2.DecideRequest.FromString(wire.encode_request(1, 1.0, [asked]))
            response = stub.Decide(request, timeout=30)
        finally:
            process.terminate()

    assert described.name == name.removesuffix("_bot")
    assert tuple(map(Card, response.choices[0].cards)) == answer.cards
    assert process.returncode == 0
