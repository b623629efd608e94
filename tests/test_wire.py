"""What the bridge between domain values and protobuf promises."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from arena import wire
from arena.cards import parse_cards
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import Malformed
from arena.faults import Evidence, Fault, FaultKind
from arena.game import Game, Phase
from arena.games import find_game
from arena.record import DealRecord, Note
from arena.v1 import bot_pb2
from arena.v1.card_pb2 import Card

GAMES = [
    ("hearts-classic", 4, "single"),
    ("hearts-special", 4, "single"),
    ("hearts-standard", 4, "single"),
    ("heartswitch", 3, "single"),
    ("heartswitch", 4, "partners"),
    ("heartswitch", 5, "single"),
    ("heartswitch", 6, "single"),
    ("heartswitch", 6, "partners"),
]


def decisions(game: Game, seed: int) -> Iterator[Decision]:
    """Yield every decision of a deal that is played at random."""
    rng = random.Random(seed)
    deal = game.random_deal(seed, 1 + seed % 4)
    number = 0
    while deal.phase is not Phase.OVER:
        for seat in deal.to_act:
            decision = Decision(
                observation=deal.observe(seat),
                table_id="00c0ffee00c0ffee",
                number=number,
                placed_by_game=bool(seed % 2),
                deals_left=3,
                totals=tuple(range(len(game.sides))),
                decision_time=1.0,
                bank_left=9.25,
                last_answer=None if number == 0 else 0.125,
                random=rng.getrandbits(64),
            )
            yield decision
            number += 1
            deal.choose(seat, rng.sample(decision.legal, decision.count))


@pytest.mark.parametrize(("name", "players", "sides"), GAMES, ids=str)
def test_a_request_comes_back_as_it_was(name: str, players: int, sides: str) -> None:
    game = find_game(name, players=players, sides=sides)
    for seed in (1, 2, 3):
        asked = list(decisions(game, seed))

        request_id, time_limit, read = wire.decode_request(wire.encode_request(7, 12.5, asked))

        assert (request_id, time_limit) == (7, 12.5)
        assert read == asked


@pytest.mark.parametrize(("name", "players", "sides"), GAMES, ids=str)
def test_the_twin_writes_what_the_message_would(name: str, players: int, sides: str) -> None:
    asked = list(decisions(find_game(name, players=players, sides=sides), 5))

    data = wire.encode_request(1, 1.0, asked)

    assert bot_pb2.DecideRequest.FromString(data).SerializeToString(deterministic=True) == data


def small_decision() -> Decision:
    game = find_game("heartswitch", players=3, options={"target": 50})
    hands = ("2C TD WH 5C", "AC KD M1 6C", "3C QS AH 7C")
    deal = game.start([parse_cards(hand) for hand in hands], 2)
    for seat, cards in enumerate(("2C TD WH", "AC KD M1", "3C QS AH")):
        deal.choose(seat, parse_cards(cards))
    deal.choose(2, parse_cards("7C"))
    return Decision(deal.observe(0), "0123456789abcdef", 4, True, 0, (10, 0, 33), 1.0, 9.5, 0.002, 99)


def as_json(message: Message) -> dict[str, object]:
    return json_format.MessageToDict(message, preserving_proto_field_name=True, use_integers_for_enums=True)


def test_a_decision_on_the_wire_is_this() -> None:
    message = bot_pb2.Decision.FromString(wire.encode_decision(small_decision()))

    assert as_json(message) == {
        "table_id": "0123456789abcdef",
        "number": 4,
        "game": {
            "name": "heartswitch",
            "players": 3,
            "sides": [0, 1, 2],
            "options": {"target": "50", "deals": "none"},
            "placed": 2,
            "target": 50,
        },
        "deal_number": 2,
        "dealer": 1,
        "phase": 2,
        "count": 1,
        "hand": [1, 5, 15, 30],
        "legal": [1, 5, 15],
        "passed": [2, 26, 59],
        "received": [1, 15, 30],
        "pass_direction": 2,
        "trick_leader": 2,
        "trick": [7],
        "points": [0, 0, 0],
        "totals": [10, 0, 33],
        "decision_time": "1s",
        "bank_left": "9.500s",
        "last_answer": "0.002s",
        "random": "99",
    }


def test_a_response_on_the_wire_is_this() -> None:
    data = wire.encode_response(7, [Choice(parse_cards("QS"), "out with it")])

    assert data == bytes.fromhex("090700000000000000" + "1210" + "0a012d" + "120b") + b"out with it"


def test_a_result_comes_back_as_it_was() -> None:
    results = [
        DealResult(
            "ab", 1, 3, (0, 13, 13, -10), (1, 2, 3, 4), b"\x00\x03", parse_cards("2C 3C 4C 5C QS 2H 3H 4H"), True
        )
    ]

    assert wire.decode_results(wire.encode_results(results)) == results


def test_a_description_is_cleaned_and_bounded() -> None:
    said = Description("a\x1b[31mb\n\u202ec" + "x" * 10_000, "1\x00", "<script>", ("hearts-classic",), 1_000_000)

    heard = wire.decode_description(wire.encode_description(said))

    assert heard.name.startswith("ab cx")
    assert len(heard.name) == 64
    assert (heard.version, heard.author, heard.games, heard.max_batch) == ("1", "<script>", ("hearts-classic",), 1024)


def test_a_description_without_a_batch_takes_one_decision() -> None:
    assert wire.decode_description(b"").max_batch == 1


def choice(*numbers: int) -> bot_pb2.Choice:
    return bot_pb2.Choice(cards=[Card.ValueType(number) for number in numbers])


def response(*choices: bot_pb2.Choice, request_id: int = 7) -> bytes:
    return bot_pb2.DecideResponse(request_id=request_id, choices=choices).SerializeToString()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xff", "not a DecideResponse"),
        (response(choice(1), request_id=6), "to request 6, not to 7"),
        (response(), "1 choices were asked for, 0 came"),
        (response(choice(1), choice(1)), "1 choices were asked for, 2 came"),
    ],
    ids=["garbage", "another request", "too few", "too many"],
)
def test_an_unusable_response_is_malformed(data: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        wire.decode_response(data, 7, [small_decision()])


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ([], "1 cards were asked for, 0 came"),
        ([1, 5], "1 cards were asked for, 2 came"),
        ([0], "unknown card"),
        ([16], "unknown card"),
        ([64], "unknown card"),
        ([-1], "unknown card"),
    ],
    ids=str,
)
def test_a_bad_choice_is_malformed_by_itself(numbers: list[int], reason: str) -> None:
    choices = [choice(5), choice(*numbers), choice(15)]

    good, bad, other = wire.decode_response(response(*choices), 7, [small_decision()] * 3)

    assert (good, other) == (Choice(parse_cards("5C")), Choice(parse_cards("AC")))
    assert isinstance(bad, Malformed)
    assert reason in str(bad)


def test_cards_may_come_unpacked() -> None:
    unpacked = bytes.fromhex("090700000000000000" + "1202" + "0805")

    assert wire.decode_response(unpacked, 7, [small_decision()]) == [Choice(parse_cards("5C"))]


def test_unknown_fields_are_ignored() -> None:
    unknown = bytes.fromhex("fa01") + b"\x03new"

    assert wire.decode_request(wire.encode_request(3, 1.0, [small_decision()]) + unknown)[2] == [small_decision()]


@pytest.mark.parametrize("number", [0, 99, -1])
def test_unknown_enum_values_are_harmless(number: int) -> None:
    message = bot_pb2.Decision.FromString(wire.encode_decision(small_decision()))
    message.phase = bot_pb2.Phase.ValueType(number)
    message.pass_direction = bot_pb2.PassDirection.ValueType(number)
    message.hand.append(Card.ValueType(number))
    request = bot_pb2.DecideRequest(request_id=1, decisions=[message])

    _, _, (decision,) = wire.decode_request(request.SerializeToString())

    assert decision.phase is Phase.PLAYING
    assert decision.hand == small_decision().hand
    assert decision.legal == small_decision().legal


def test_a_note_is_cleaned_and_kept_to_256_bytes() -> None:
    data = wire.encode_response(7, [Choice(parse_cards("5C"), "\x1b[2Jé" * 1000)])

    (kept,) = wire.decode_response(data, 7, [small_decision()])

    assert isinstance(kept, Choice)
    assert kept.note.strip("é…") == ""
    assert 250 <= len(kept.note.encode()) <= 256


def test_a_record_comes_back_as_it_was() -> None:
    game = find_game("hearts-classic", options={"jack_of_diamonds": True})
    deal = game.random_deal(3, 2)
    hands = tuple(deal.legal(seat) for seat in range(4))
    rng = random.Random(3)
    while deal.phase is not Phase.OVER:
        for seat in deal.to_act:
            count = 3 if deal.phase is Phase.PASSING else 1
            deal.choose(seat, rng.sample(deal.legal(seat), count))
    record = DealRecord(
        game=game,
        placed_by_game=True,
        number=2,
        bots=("a", "b", "c", "d"),
        hands=hands,
        passes=deal.passes(),
        plays=tuple(deal.plays),
        scores=deal.scores(),
        totals=(-10, 5, 7, 50),
        faults=(
            Fault(1, 7, Evidence(FaultKind.TIMEOUT, "late", overrun=0.25), True),
            Fault(2, 0, Evidence(FaultKind.DISCONNECTED, "gone", exit_code=0, stderr="bye")),
            Fault(3, 9, Evidence(FaultKind.ILLEGAL, "no", signal=9, answer="QS")),
        ),
        retired=(1,),
        notes=(Note(0, 3, "hm"),),
        answer_micros=(12, 0, 100_000),
        credit_micros=(0, 5, 0),
    )

    data = wire.encode_record(record)

    assert wire.decode_record(data) == record
    assert wire.encode_record(wire.decode_record(data)) == data


READERS = [
    wire.decode_request,
    wire.decode_results,
    wire.decode_description,
    wire.decode_record,
    lambda data: wire.decode_response(data, 7, [small_decision()]),
]


@pytest.mark.parametrize("read", READERS, ids=["request", "results", "description", "record", "response"])
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_value_or_malformed(read: Callable[[bytes], object], data: bytes) -> None:
    with contextlib.suppress(Malformed):
        read(data)


@given(data=st.data())
def test_a_broken_request_is_a_value_or_malformed(data: st.DataObject) -> None:
    good = bytearray(wire.encode_request(7, 1.0, [small_decision()]))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))

    with contextlib.suppress(Malformed):
        wire.decode_request(bytes(good))
