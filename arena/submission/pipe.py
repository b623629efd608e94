"""What an admission in a process of its own and the process that wants it say to each other: JSON, a message a line.

To the worker: one order `{"version", "shelf", "terms"}`; then for each `{"claim"}` a `{"claimed": BOOL}`, or
`{"refused": [REASON, TEXT]}`. From the worker: `{"begun"}` and `{"step"}` as they come, `{"claim"}`, and at the end `{"done"}`
or `{"failed": TEXT}` where the arena itself is at fault. No line is longer than `LINE_BYTES`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from arena.competition import AdmissionStep, Program, State, Version
from arena.finding import Verdict
from arena.submission.admission import Event, StepBegun, Terms
from arena.submission.shelf import Shelf

LINE_BYTES: Final = 2 << 20
"""A step's log of 64 KiB may take six times as much in JSON."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as its line."""
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Return the message of a line; raise ValueError where it is none."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message


def encode_order(version: Version, shelf: Shelf, terms: Terms) -> dict[str, Any]:
    """Return the order to admit a version."""
    return {
        "version": {
            "submission": version.submission,
            "owner": version.owner,
            "created": version.created.isoformat(),
            "build": version.build,
            "program": version.program and version.program.to_json(),
        },
        "shelf": str(shelf.root),
        "terms": terms.to_json(),
    }


def decode_order(order: Mapping[str, Any]) -> tuple[Version, Shelf, Terms]:
    """Return what is to be admitted, from where, by which terms."""
    values = order["version"]
    version = Version(
        values["submission"],
        values["owner"],
        State.WAITING,
        datetime.fromisoformat(values["created"]),
        build=values["build"],
        program=values["program"] and Program.from_json(values["program"]),
    )
    return version, Shelf.at(Path(order["shelf"])), Terms.from_json(order["terms"])


def encode_event(event: Event) -> dict[str, Any]:
    """Return what happened as a message."""
    return {"begun" if isinstance(event, StepBegun) else "step": asdict(event)}


def decode_event(message: Mapping[str, Any]) -> Event | None:
    """Return what happened; None where the message is about something else. Raises ValueError where it is damaged."""
    try:
        if "begun" in message:
            return StepBegun(**message["begun"])
        if "step" in message:
            values = message["step"]
            return AdmissionStep(**{**values, "verdict": Verdict(values["verdict"])})
    except (TypeError, KeyError) as error:
        raise ValueError(str(error)) from error
    return None


def encode_claim(program: Program, digest: str, size: int) -> dict[str, Any]:
    """Return the question whether a submission may be a version of the bot that its program names."""
    return {"claim": {"program": program.to_json(), "digest": digest, "size": size}}


def decode_claim(claim: Mapping[str, Any]) -> tuple[Program, str, int]:
    """Return what is claimed; raise ValueError where the message is damaged."""
    try:
        return Program.from_json(claim["program"]), str(claim["digest"]), int(claim["size"])
    except (TypeError, KeyError) as error:
        raise ValueError(str(error)) from error
