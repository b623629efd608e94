"""Deals as they are kept."""

from __future__ import annotations

from collections.abc import Sequence

from arena.cards import Card
from arena.faults import Evidence, Fault, FaultKind
from arena.record import DealRecord, Note
from arena.v1 import record_pb2
from arena.wire.parts import (
    card_enums,
    cards_of,
    duration_message,
    game_message,
    game_of_bytes,
    read_message,
    seconds_of,
)


def encode_record(record: DealRecord) -> bytes:
    """Return a DealRecord message, the same bytes for the same record."""
    return record_pb2.DealRecord(
        game=game_message(record.game, record.placed_by_game),
        number=record.number,
        bots=record.bots,
        hands=card_enums(card for hand in record.hands for card in hand),
        passes=card_enums(card for cards in record.passes for card in cards),
        plays=card_enums(record.plays),
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
        overrun=None if evidence.overrun is None else duration_message(evidence.overrun),
        exit_code=evidence.exit_code,
        signal=evidence.signal,
        answer=evidence.answer,
        stderr=evidence.stderr,
        retired=fault.retired,
    )


def decode_record(data: bytes) -> DealRecord:
    """Read a DealRecord message."""
    return read_message(record_pb2.DealRecord, data, _record)


def _record(message: record_pb2.DealRecord) -> DealRecord:
    game, placed_by_game = game_of_bytes(message.game.SerializeToString())
    return DealRecord(
        game=game,
        placed_by_game=placed_by_game,
        number=message.number,
        bots=tuple(message.bots),
        hands=_by_seat(message.hands, game.players),
        passes=_by_seat(message.passes, game.players),
        plays=cards_of(message.plays),
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
    return tuple(cards_of(numbers[seat * size : (seat + 1) * size]) for seat in range(players))


def _fault(message: record_pb2.Fault) -> Fault:
    evidence = Evidence(
        kind=FaultKind(message.kind),
        detail=message.detail,
        overrun=seconds_of(message.overrun) if message.HasField("overrun") else None,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        signal=message.signal if message.HasField("signal") else None,
        answer=message.answer,
        stderr=message.stderr,
    )
    return Fault(message.seat, message.decision, evidence, message.retired)
