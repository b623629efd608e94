"""What bot authors read is true: the fields and the example of the protocol, and the code of the tutorial."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from arena import wire
from arena.cli import COMMANDS
from arena.decision import Choice
from arena.sdk import Bot
from arena.v1 import bot_pb2

ROOT = Path(__file__).parent.parent
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
AUTHORS = (ROOT / "docs" / "bot-authors.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("message", bot_pb2.DESCRIPTOR.message_types_by_name)
def test_every_field_of_the_protocol_is_told(message: str) -> None:
    fields = [field.name for field in bot_pb2.DESCRIPTOR.message_types_by_name[message].fields]
    told = set(re.findall(r"`(\w+)`", PROTOCOL))

    assert [name for name in fields if name not in told] == []


def test_the_request_and_the_reply_shown_are_real() -> None:
    request, reply = (json.loads(block) for block in blocks(PROTOCOL, "json"))
    packed = (ROOT / "sample_bots" / "vectors" / "careful.jsonl.gz").read_bytes()
    vectors: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(packed).splitlines()]
    (shown,) = request["decisions"]

    assert {"decision": shown, "choice": reply["choices"][0]} in vectors
    assert reply == {"request_id": request["request_id"], "choices": [{"cards": [38], "note": ""}]}
    asked = ParseDict(request, bot_pb2.DecideRequest()).SerializeToString()
    request_id, time_limit, decisions = wire.decode_request(asked)
    answer = ParseDict(reply, bot_pb2.DecideResponse()).SerializeToString()
    assert wire.decode_response(answer, request_id, decisions) == [Choice(decisions[0].legal[1:2])]
    assert time_limit == decisions[0].decision_time + decisions[0].bank_left


@pytest.mark.parametrize("code", blocks(AUTHORS, "python"), ids=["bot", "simulate", "search"])
def test_the_tutorials_code_runs(code: str) -> None:
    names: dict[str, Any] = {}
    exec(code, names)

    bots = [value for value in names.values() if isinstance(value, type) and issubclass(value, Bot)]
    assert all(isinstance(bot(), Bot) for bot in bots if bot is not Bot)


def test_the_tutorial_changes_the_bot_that_is_made() -> None:
    made = (ROOT / "sample_bots" / "templates" / "python" / "bot.py").read_text(encoding="utf-8").splitlines()
    shown = [line for line in blocks(AUTHORS, "python")[0].splitlines() if "# new" not in line]

    assert [line for line in shown if line not in made] == []
    assert len(shown) < len(blocks(AUTHORS, "python")[0].splitlines())


@pytest.mark.parametrize("text", [PROTOCOL, AUTHORS], ids=["protocol", "bot-authors"])
def test_commands_in_the_text_exist(text: str) -> None:
    commands = set(re.findall(r"(?:^ {4,}|`|&& )arena ([a-z-]+)", text, re.MULTILINE))

    assert commands
    assert commands <= set(COMMANDS)
