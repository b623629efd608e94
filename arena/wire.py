"""Between domain values and protobuf: the only bridge. Bytes in, bytes out; whatever is unreadable raises Malformed.

Decisions are encoded through a private twin of the `Decision` message, derived from its descriptor, in which packed lists of
one-byte numbers and submessages are `bytes` fields. On the wire that is the same to the bit and costs a tenth. Nothing is
decoded through the twin, since other encoders may split a packed list or not pack it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TypeVar, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message

from arena.cards import CARD_OF_NUMBER, Card
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import BadInput, Malformed
from arena.events import Event, Finished, MatchPlayed, Notice, Started
from arena.faults import Evidence, Fault, FaultKind
from arena.game import Game, Observation, PassDirection, Phase
from arena.games import find_game
from arena.games.options import format_option
from arena.record import DealRecord, Note
from arena.text import clean_line, clip_bytes
from arena.v1 import arena_pb2, bot_pb2, card_pb2, record_pb2

MAX_NOTE_BYTES = 256
"""How much of a bot's remark is kept."""

MAX_BATCH = 1024
"""The most decisions in one request."""

M = TypeVar("M", bound=Message)
V = TypeVar("V")


def _read(message: type[M], data: bytes, convert: Callable[[M], V]) -> V:
    """Parse and convert; raise Malformed where either is impossible."""
    try:
        return convert(message.FromString(data))
    except (DecodeError, ValueError, IndexError, OverflowError, BadInput) as error:
        raise Malformed(f"not a {message.DESCRIPTOR.name}: {clean_line(str(error))}") from error


# --- Durations, cards, games ---


@lru_cache(maxsize=65536)
def _duration_bytes(milliseconds: int) -> bytes:
    seconds, rest = divmod(milliseconds, 1000)
    return Duration(seconds=seconds, nanos=rest * 1_000_000).SerializeToString()


def _duration(seconds: float) -> Duration:
    microseconds = round(seconds * 1e6)
    return Duration(seconds=microseconds // 1_000_000, nanos=microseconds % 1_000_000 * 1000)


def _seconds(duration: Duration) -> float:
    return float(duration.seconds) + duration.nanos / 1e9


def _cards(numbers: Iterable[int]) -> tuple[Card, ...]:
    """Return the cards of these numbers, leaving out what is no card (a later version's, perhaps)."""
    return tuple([card for number in numbers if 0 < number < 64 and (card := CARD_OF_NUMBER[number]) is not None])


def _card_enums(cards: Iterable[Card]) -> Iterable[card_pb2.Card.ValueType]:
    """Return cards as the generated types want them: they are the enum's numbers already."""
    return cast("Iterable[card_pb2.Card.ValueType]", cards)


def _game_message(game: Game, placed_by_game: bool) -> bot_pb2.Game:
    return bot_pb2.Game(
        name=game.name,
        players=game.players,
        sides=game.side_of,
        options={name: format_option(value) for name, value in game.options.items()},
        placed=bot_pb2.PLACED_GAME if placed_by_game else bot_pb2.PLACED_DEAL,
        target=(game.target or 0) if placed_by_game else 0,
    )


@lru_cache(maxsize=256)
def _game_bytes(game: Game, placed_by_game: bool) -> bytes:
    return _game_message(game, placed_by_game).SerializeToString(deterministic=True)


@lru_cache(maxsize=256)
def _game_of(data: bytes) -> tuple[Game, bool]:
    message = bot_pb2.Game.FromString(data)
    sides = "partners" if len(set(message.sides)) < message.players else "single"
    game = find_game(message.name, players=message.players, sides=sides, options=dict(message.options))
    return game, message.placed == bot_pb2.PLACED_GAME


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
    return _read(bot_pb2.DescribeResponse, data, _description)


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
        game=_game_bytes(seen.game, decision.placed_by_game),
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
        decision_time=_duration_bytes(round(decision.decision_time * 1000)),
        bank_left=_duration_bytes(round(decision.bank_left * 1000)),
        last_answer=None if last is None else _duration_bytes(round(last * 1000)),
        random=decision.random,
    ).SerializeToString()


def encode_request(request_id: int, time_limit: float, decisions: Sequence[Decision]) -> bytes:
    """Return a DecideRequest; `time_limit` in seconds."""
    return _TwinRequest(
        request_id=request_id,
        time_limit=_duration(time_limit).SerializeToString(),
        decisions=[encode_decision(decision) for decision in decisions],
    ).SerializeToString()


def decode_request(data: bytes) -> tuple[int, float, list[Decision]]:
    """Read a DecideRequest: its id, its time limit in seconds, its decisions."""
    return _read(bot_pb2.DecideRequest, data, _request)


def _request(message: bot_pb2.DecideRequest) -> tuple[int, float, list[Decision]]:
    return message.request_id, _seconds(message.time_limit), [_decision(each) for each in message.decisions]


_DIRECTIONS = {int(direction): direction for direction in PassDirection}


def _phase(message: bot_pb2.Decision) -> Phase:
    """Return the phase; of one that this version does not know, that which asks for as many cards."""
    if int(message.phase) in (Phase.PASSING, Phase.PLAYING):
        return Phase(message.phase)
    return Phase.PLAYING if message.count == 1 else Phase.PASSING


def _decision(message: bot_pb2.Decision) -> Decision:
    game, placed_by_game = _game_of(message.game.SerializeToString())
    observation = Observation(
        game,
        message.deal_number,
        message.dealer,
        message.seat,
        _phase(message),
        message.count,
        _cards(message.hand),
        _cards(message.legal),
        _cards(message.passed),
        _cards(message.received),
        _DIRECTIONS.get(message.pass_direction, PassDirection.NONE),
        bytes(message.trick_leaders),
        _cards(message.trick_cards),
        message.trick_leader,
        _cards(message.trick),
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
        _seconds(message.decision_time),
        _seconds(message.bank_left),
        _seconds(message.last_answer) if message.HasField("last_answer") else None,
        message.random,
    )


def encode_response(request_id: int, choices: Sequence[Choice]) -> bytes:
    """Return a DecideResponse."""
    return bot_pb2.DecideResponse(
        request_id=request_id,
        choices=[bot_pb2.Choice(cards=_card_enums(choice.cards), note=choice.note) for choice in choices],
    ).SerializeToString()


def decode_response(data: bytes, request_id: int, decisions: Sequence[Decision]) -> list[Choice | Malformed]:
    """Read the response to a request, whose choices may each be Malformed.

    Raises Malformed where the response as a whole is unusable: unreadable, for another request, or with another number of
    choices than there were decisions.
    """
    response = _read(bot_pb2.DecideResponse, data, lambda message: message)
    if response.request_id != request_id:
        raise Malformed(f"the answer is to request {response.request_id}, not to {request_id}")
    if len(response.choices) != len(decisions):
        raise Malformed(f"{len(decisions)} choices were asked for, {len(response.choices)} came")
    return [_choice(choice, decision.count) for choice, decision in zip(response.choices, decisions, strict=True)]


def _choice(message: bot_pb2.Choice, count: int) -> Choice | Malformed:
    numbers = message.cards
    if len(numbers) != count:
        return Malformed(f"{count} cards were asked for, {len(numbers)} came")
    cards = _cards(numbers)
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
                trick_cards=_card_enums(result.trick_cards),
                table_over=result.table_over,
            )
            for result in results
        ]
    ).SerializeToString()


def decode_results(data: bytes) -> list[DealResult]:
    """Read a FinishDealsRequest."""
    return _read(bot_pb2.FinishDealsRequest, data, lambda message: [_deal_result(each) for each in message.results])


def _deal_result(message: bot_pb2.DealResult) -> DealResult:
    return DealResult(
        message.table_id,
        message.deal_number,
        message.seat,
        tuple(message.scores),
        tuple(message.totals),
        bytes(message.trick_leaders),
        _cards(message.trick_cards),
        message.table_over,
    )


# --- Records ---


def encode_record(record: DealRecord) -> bytes:
    """Return a DealRecord message, the same bytes for the same record."""
    return record_pb2.DealRecord(
        game=_game_message(record.game, record.placed_by_game),
        number=record.number,
        bots=record.bots,
        hands=_card_enums(card for hand in record.hands for card in hand),
        passes=_card_enums(card for cards in record.passes for card in cards),
        plays=_card_enums(record.plays),
        scores=record.scores,
        totals=record.totals,
        faults=[_fault_message(fault) for fault in record.faults],
        retired=record.retired,
        notes=[record_pb2.Note(seat=note.seat, decision=note.decision, text=note.text) for note in record.notes],
        answer_micros=record.answer_micros,
        credit_micros=record.credit_micros,
    ).SerializeToString(deterministic=True)


def _fault_message(fault: Fault) -> record_pb2.Fault:
    evidence = fault.evidence
    return record_pb2.Fault(
        kind=record_pb2.FaultKind.ValueType(evidence.kind),
        seat=fault.seat,
        decision=fault.decision,
        detail=evidence.detail,
        overrun=None if evidence.overrun is None else _duration(evidence.overrun),
        exit_code=evidence.exit_code,
        signal=evidence.signal,
        answer=evidence.answer,
        stderr=evidence.stderr,
        retired=fault.retired,
    )


def decode_record(data: bytes) -> DealRecord:
    """Read a DealRecord message."""
    return _read(record_pb2.DealRecord, data, _record)


def _record(message: record_pb2.DealRecord) -> DealRecord:
    game, placed_by_game = _game_of(message.game.SerializeToString())
    return DealRecord(
        game=game,
        placed_by_game=placed_by_game,
        number=message.number,
        bots=tuple(message.bots),
        hands=_by_seat(message.hands, game.players),
        passes=_by_seat(message.passes, game.players),
        plays=_cards(message.plays),
        scores=tuple(message.scores),
        totals=tuple(message.totals),
        faults=tuple(map(_fault, message.faults)),
        retired=tuple(message.retired),
        notes=tuple(Note(note.seat, note.decision, note.text) for note in message.notes),
        answer_micros=tuple(message.answer_micros),
        credit_micros=tuple(message.credit_micros),
    )


def _by_seat(numbers: Sequence[int], players: int) -> tuple[tuple[Card, ...], ...]:
    size = len(numbers) // players
    return tuple(_cards(numbers[seat * size : (seat + 1) * size]) for seat in range(players))


def _fault(message: record_pb2.Fault) -> Fault:
    evidence = Evidence(
        kind=FaultKind(message.kind),
        detail=message.detail,
        overrun=_seconds(message.overrun) if message.HasField("overrun") else None,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        signal=message.signal if message.HasField("signal") else None,
        answer=message.answer,
        stderr=message.stderr,
    )
    return Fault(message.seat, message.decision, evidence, message.retired)


# --- Events ---


def encode_event(number: int, when: datetime, tournament: str, event: Event) -> arena_pb2.TournamentEvent:
    """Return an event as a message, with its number and time."""
    message = arena_pb2.TournamentEvent(number=number, tournament=tournament)
    message.time.FromDatetime(when)
    match event:
        case Started():
            message.started.CopyFrom(
                arena_pb2.TournamentStarted(
                    matches=event.matches,
                    already_played=event.already_played,
                    boards=event.boards,
                    seed_commitment=event.seed_commitment,
                )
            )
        case MatchPlayed():
            message.match_finished.CopyFrom(
                arena_pb2.MatchFinished(
                    match=event.match,
                    played=event.played,
                    matches=event.matches,
                    deals=event.deals,
                    decisions=event.decisions,
                    faults=event.faults,
                )
            )
        case Notice():
            message.notice.text = event.text
        case Finished():
            message.finished.seed = event.seed
    return message


def decode_event(message: arena_pb2.TournamentEvent) -> Event | None:
    """Read an event; None for a kind that this version does not know."""
    match message.WhichOneof("what"):
        case "started":
            started = message.started
            return Started(
                message.tournament,
                started.matches,
                started.already_played,
                started.boards,
                started.seed_commitment,
            )
        case "match_finished":
            played = message.match_finished
            return MatchPlayed(
                played.match, played.played, played.matches, played.deals, played.decisions, tuple(played.faults)
            )
        case "notice":
            return Notice(message.notice.text)
        case "finished":
            return Finished(message.tournament, message.finished.seed)
        case _:
            return None
