"""Between domain values and protobuf: the only bridge. Bytes in, bytes out; whatever is unreadable raises Malformed."""

from __future__ import annotations

from arena.wire.competition import (
    decode_bot,
    decode_step,
    decode_tournament,
    decode_version,
    encode_bot,
    encode_step,
    encode_tournament,
    encode_version,
)
from arena.wire.decisions import (
    MAX_BATCH,
    MAX_NOTE_BYTES,
    decode_description,
    decode_request,
    decode_response,
    decode_results,
    encode_decision,
    encode_describe,
    encode_description,
    encode_request,
    encode_response,
    encode_results,
)
from arena.wire.events import decode_event, encode_event
from arena.wire.records import decode_record, encode_record

__all__ = [
    "MAX_BATCH",
    "MAX_NOTE_BYTES",
    "decode_bot",
    "decode_description",
    "decode_event",
    "decode_record",
    "decode_request",
    "decode_response",
    "decode_results",
    "decode_step",
    "decode_tournament",
    "decode_version",
    "encode_bot",
    "encode_decision",
    "encode_describe",
    "encode_description",
    "encode_event",
    "encode_record",
    "encode_request",
    "encode_response",
    "encode_results",
    "encode_step",
    "encode_tournament",
    "encode_version",
]
