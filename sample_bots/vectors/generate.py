"""Write careful.jsonl.gz, decisions with the choices that careful.py makes: `python sample_bots/vectors/generate.py`.

Every game is played in both formats among copies of careful.py that now and then play at random, so that odd situations
come up too; of all their decisions a fixed choice is kept. The same sources always write the same lines.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from arena.cards import Card
from arena.dealing import Seed, Stream, opaque_id
from arena.decision import Choice, Decision
from arena.game import Game, Phase
from arena.games import find_game
from arena.simulate import simulate
from arena.v1 import bot_pb2
from arena.wire import encode_decision, encode_response

HERE = Path(__file__).resolve().parent
FILE = HERE / "careful.jsonl.gz"

GAMES = (
    *(find_game(name) for name in ("hearts-classic", "hearts-special", "hearts-standard")),
    *(find_game("heartswitch", players) for players in (3, 4, 5, 6)),
    *(find_game("heartswitch", players, "partners") for players in (4, 6)),
)
DEALS = 12
"""How many deals are played where each is placed by itself."""

KEPT = {"passing": 40, "choosing": 300, "forced": 15}
"""How many decisions of each kind are kept of each game in each format."""


def load_careful() -> Any:
    """Return the bot of careful.py, whose methods are plain."""
    spec = importlib.util.spec_from_file_location("careful", HERE.parent / "python" / "careful.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Careful()


def answer(bot: Any, view: Decision) -> list[Card]:
    """Return the cards that a bot with plain methods chooses."""
    cards: list[Card] = bot.pass_cards(view) if view.phase is Phase.PASSING else [bot.play(view)]
    return cards


def collect(game: Game, bot: Any, seed: Seed, *, placed_by_game: bool) -> list[Decision]:
    """Return all decisions of a game, or of some deals, with names and times as a table might give them."""
    asked: list[Decision] = []
    table_id = opaque_id(seed.key, "table")

    def play(view: Decision) -> Sequence[Card]:
        view = replace(view, table_id=table_id, decision_time=1.0, bank_left=10.0 - view.number % 8 / 4)
        asked.append(replace(view, last_answer=0.002) if view.number else view)
        if view.random % 8 == 0:
            return view.rng.sample(view.legal, view.count)
        return answer(bot, view)

    simulate(game, [play] * game.players, seed=seed, deals=None if placed_by_game else DEALS)
    return asked


def kind(view: Decision) -> str:
    """Return which kind of decision it is."""
    if view.phase is Phase.PASSING:
        return "passing"
    return "choosing" if len(view.legal) > 1 else "forced"


def keep(asked: Sequence[Decision], stream: Stream) -> Iterator[Decision]:
    """Yield as many decisions of each kind as are to be kept, in the order of play."""
    kept: list[int] = []
    for name, count in KEPT.items():
        kept += stream.shuffle([i for i, view in enumerate(asked) if kind(view) == name])[:count]
    yield from (asked[i] for i in sorted(kept))


def to_values(message: Message) -> dict[str, Any]:
    """Return a message in the JSON form of the protocol, its fields in their order there, maps by key."""
    values = MessageToDict(
        message,
        always_print_fields_with_no_presence=True,
        preserving_proto_field_name=True,
        use_integers_for_enums=True,
    )
    return {field.name: values[field.name] for field in message.DESCRIPTOR.fields if field.name in values}


def to_json(decision: Decision, cards: Sequence[Card]) -> str:
    """Return a decision and its choice as one line of JSON."""
    asked = bot_pb2.Decision.FromString(encode_decision(decision))
    (chosen,) = bot_pb2.DecideResponse.FromString(encode_response(0, [Choice(tuple(cards))])).choices
    values = to_values(asked) | {"game": to_values(asked.game)}
    values["game"]["options"] = dict(sorted(values["game"]["options"].items()))
    return json.dumps({"decision": values, "choice": to_values(chosen)}, separators=(",", ":"))


def lines() -> Iterator[str]:
    """Yield every line of the file."""
    bot = load_careful()
    for number, game in enumerate(GAMES):
        for placed_by_game in (False, True):
            seed = Seed.from_text(f"vectors {number} {placed_by_game}")
            asked = collect(game, bot, seed, placed_by_game=placed_by_game)
            for decision in keep(asked, Stream(seed.key, "keep")):
                yield to_json(decision, answer(bot, decision))


def main() -> None:
    """Write the file."""
    with FILE.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        count = 0
        for line in lines():
            packed.write(line.encode() + b"\n")
            count += 1
    print(f"wrote {count} decisions to {FILE.name}: {FILE.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
