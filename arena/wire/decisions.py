"""The conversation with a bot: descriptions, decisions, choices, results.

Decisions are encoded through a private twin of the `Decision` message, derived from its descriptor, in which packed lists of
one-byte numbers and submessages are `bytes` fields. On the wire that is the same to the bit and costs a tenth. Nothing is
decoded through the twin, since other encoders may split a packed list or not pack it.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import Malformed
from arena.game import Observation, PassDirection, Phase
from arena.text import clean_line, clip_bytes
from arena.v1 import bot_pb2
from arena.wire.parts import (
    card_enums,
    cards_of,
    duration_bytes,
    duration_message,
    game_bytes,
    game_of_bytes,
    read_message,
    seconds_of,
)

MAX_NOTE_BYTES = 256
"""How much of a bot's remark is kept."""

MAX_BATCH = 1024
"""The most decisions in one request."""


# --- Describe ---


def encode_describe() -> bytes:
    """Return a DescribeRequest."""
    return bot_pb2.DescribeRequest().SerializeToString()


def encode_description(description: Description) -> bytes:
    """Return a DescribeResponse."""
    return bot_pb2.DescribeResponse(
        name=description.name,
        version=description.version,
        author=description.author,
        games=description.games,
        max_batch=description.max_batch,
    ).SerializeToString()


def decode_description(data: bytes) -> Description:
    """Read a DescribeResponse; texts are cleaned and bounded, the batch is brought into 1..1024."""
    return read_message(bot_pb2.DescribeResponse, data, _description)


def _description(message: bot_pb2.DescribeResponse) -> Description:
    return Description(
        name=clean_line(message.name, 64),
        version=clean_line(message.version, 64),
        author=clean_line(message.author, 64),
        games=tuple(clean_line(game, 64) for game in message.games[:64]),
        max_batch=min(max(message.max_batch, 1), MAX_BATCH),
    )


# --- Decide ---


def _twin(name: str, as_bytes: set[str]) -> type[Message]:
    """Return a message class like arena.v1.`name`, with these fields declared as bytes."""
    original = descriptor_pb2.DescriptorProto()
    bot_pb2.DESCRIPTOR.message_types_by_name[name].CopyToProto(original)
    file = descriptor_pb2.FileDescriptorProto(name=f"arena/twin/{name}.proto", package="arena.twin", syntax="proto3")
    message = file.message_type.add(name=name)
    for field in original.field:
        copy = message.field.add(name=field.name, number=field.number, type=field.type, label=field.label)
        if field.name in as_bytes:
            copy.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            if field.name != "decisions":
                copy.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        elif field.type == descriptor_pb2.FieldDescriptorProto.TYPE_ENUM:
            copy.type = descriptor_pb2.FieldDescriptorProto.TYPE_INT32
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"arena.twin.{name}"))


_CARD_LISTS = {"hand", "legal", "passed", "received", "trick_leaders", "trick_cards", "trick"}
_MESSAGES = {"game", "decision_time", "bank_left", "last_answer"}
_TwinDecision = _twin("Decision", _CARD_LISTS | _MESSAGES)
_TwinRequest = _twin("DecideRequest", {"time_limit", "decisions"})


def encode_decision(decision: Decision) -> bytes:
    """Return a Decision message."""
    seen = decision.observation
    last = decision.last_answer
    return _TwinDecision(
        table_id=decision.table_id,
        number=decision.number,
        game=game_bytes(seen.game, decision.placed_by_game),
        deals_left=decision.deals_left,
        seat=seen.seat,
        deal_number=seen.number,
        dealer=seen.dealer,
        phase=seen.phase,
        count=seen.count,
        hand=bytes(seen.hand),
        legal=bytes(seen.legal),
        passed=bytes(seen.passed),
        received=bytes(seen.received),
        pass_direction=seen.direction,
        trick_leaders=seen.trick_leaders,
        trick_cards=bytes(seen.trick_cards),
        trick_leader=seen.trick_leader,
        trick=bytes(seen.trick),
        hearts_broken=seen.hearts_broken,
        points=seen.points,
        totals=decision.totals,
        decision_time=duration_bytes(round(decision.decision_time * 1000)),
        bank_left=duration_bytes(round(decision.bank_left * 1000)),
        last_answer=None if last is None else duration_bytes(round(last * 1000)),
        random=decision.random,
    ).SerializeToString()


def encode_request(request_id: int, time_limit: float, decisions: Sequence[Decision]) -> bytes:
    """Return a DecideRequest; `time_limit` in seconds."""
    return _TwinRequest(
        request_id=request_id,
        time_limit=duration_message(time_limit).SerializeToString(),
        decisions=[encode_decision(decision) for decision in decisions],
    ).SerializeToString()


def decode_request(data: bytes) -> tuple[int, float, list[Decision]]:
    """Read a DecideRequest: its id, its time limit in seconds, its decisions."""
    return read_message(bot_pb2.DecideRequest, data, _request)


def _request(message: bot_pb2.DecideRequest) -> tuple[int, float, list[Decision]]:
    return message.request_id, seconds_of(message.time_limit), [_decision(each) for each in message.decisions]


_DIRECTIONS = {int(direction): direction for direction in PassDirection}


def _phase(message: bot_pb2.Decision) -> Phase:
    """Return the phase; of one that this version does not know, that which asks for as many cards."""
    if int(message.phase) in (Phase.PASSING, Phase.PLAYING):
        return Phase(message.phase)
    return Phase.PLAYING if message.count == 1 else Phase.PASSING


def _decision(message: bot_pb2.Decision) -> Decision:
    game, placed_by_game = game_of_bytes(message.game.SerializeToString())
    observation = Observation(
        game,
        message.deal_number,
        message.dealer,
        message.seat,
        _phase(message),
        message.count,
        cards_of(message.hand),
        cards_of(message.legal),
        cards_of(message.passed),
        cards_of(message.received),
        _DIRECTIONS.get(message.pass_direction, PassDirection.NONE),
        bytes(message.trick_leaders),
        cards_of(message.trick_cards),
        message.trick_leader,
        cards_of(message.trick),
        message.hearts_broken,
        tuple(message.points),
    )
    return Decision(
        observation,
        message.table_id,
        message.number,
        placed_by_game,
        message.deals_left,
        tuple(message.totals),
        seconds_of(message.decision_time),
        seconds_of(message.bank_left),
        seconds_of(message.last_answer) if message.HasField("last_answer") else None,
        message.random,
    )


def encode_response(request_id: int, choices: Sequence[Choice]) -> bytes:
    """Return a DecideResponse."""
    return bot_pb2.DecideResponse(
        request_id=request_id,
        choices=[bot_pb2.Choice(cards=card_enums(choice.cards), note=choice.note) for choice in choices],
    ).SerializeToString()


def decode_response(data: bytes, request_id: int, decisions: Sequence[Decision]) -> list[Choice | Malformed]:
    """Read the response to a request, whose choices may each be Malformed.

    Raises Malformed where the response as a whole is unusable: unreadable, for another request, or with another number of
    choices than there were decisions.
    """
    response = read_message(bot_pb2.DecideResponse, data, lambda message: message)
    if response.request_id != request_id:
        raise Malformed(f"the answer is to request {response.request_id}, not to {request_id}")
    if len(response.choices) != len(decisions):
        raise Malformed(f"{len(decisions)} choices were asked for, {len(response.choices)} came")
    return [_choice(choice, decision.count) for choice, decision in zip(response.choices, decisions, strict=True)]


def _choice(message: bot_pb2.Choice, count: int) -> Choice | Malformed:
    numbers = message.cards
    if len(numbers) != count:
        return Malformed(f"{count} cards were asked for, {len(numbers)} came")
    cards = cards_of(numbers)
    if len(cards) != count:
        return Malformed(f"an unknown card among {list(numbers)}")
    note = message.note
    return Choice(cards, clip_bytes(clean_line(note, MAX_NOTE_BYTES), MAX_NOTE_BYTES) if note else "")


# --- FinishDeals ---


def encode_results(results: Sequence[DealResult]) -> bytes:
    """Return a FinishDealsRequest."""
    return bot_pb2.FinishDealsRequest(
        results=[
            bot_pb2.DealResult(
                table_id=result.table_id,
                deal_number=result.number,
                seat=result.seat,
                scores=result.scores,
                totals=result.totals,
                trick_leaders=result.trick_leaders,
                trick_cards=card_enums(result.trick_cards),
                table_over=result.table_over,
            )
            for result in results
        ]
    ).SerializeToString()


def decode_results(data: bytes) -> list[DealResult]:
    """Read a FinishDealsRequest."""
    return read_message(
        bot_pb2.FinishDealsRequest, data, lambda message: [_deal_result(each) for each in message.results]
    )


def _deal_result(message: bot_pb2.DealResult) -> DealResult:
    return DealResult(
        message.table_id,
        message.deal_number,
        message.seat,
        tuple(message.scores),
        tuple(message.totals),
        bytes(message.trick_leaders),
        cards_of(message.trick_cards),
        message.table_over,
    )
