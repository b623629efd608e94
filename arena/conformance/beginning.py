"""The first steps: the bot starts, and says who it is and what it plays."""

from __future__ import annotations

import asyncio
import re
import shlex
from difflib import get_close_matches
from pathlib import Path

from arena import wire
from arena.conformance.check import Check
from arena.conformance.cures import cure_of_writing, with_output
from arena.conformance.questions import variants
from arena.contents import cure_of_missing
from arena.errors import BotUnusable, Malformed
from arena.files import folder_contents
from arena.finding import Finding, failed, passed, skipped, warned
from arena.games import game_names
from arena.players.channel import CallFailed
from arena.settings import Entry
from arena.text import clean_line
from arena.v1 import bot_pb2

SLOW_START = 0.5
"""The part of the time to start beyond which a bot is warned: the machine of a competition may be slower, or busy."""

LONGEST_BUILD = 600.0
"""Seconds that building may take."""

MAX_NAME = 64

REFUSALS = (
    (
        "not arena.v1.BotService",
        "register the service arena.v1.BotService of proto/arena/v1/bot.proto under this very name",
    ),
    ("cannot be read", "return an arena.v1.DescribeResponse, made with the stubs of proto/arena/v1"),
    ("before it answered", "mend what ends the process: run the command by hand to see it"),
    ("did not answer", "serve at the address in ARENA_BOT_ADDRESS, and load models only as long as the time to start"),
)


CAUSES = (
    (
        "cannot be run: Exec format error",
        "begin the script with #! and its interpreter, or build the program for this machine",
    ),
    (
        "ModuleNotFoundError: No module named",
        "put the module into the bot's folder, or leave it out: only Arena and Python's own library are there",
    ),
)
"""What mends a bot that doesn't start, by what is said of it or what it wrote itself."""


_SILENT = re.compile(r"answer(?:ed)? Describe")
"""What is said of a bot that was started in the sandbox, and did not answer."""

_OWN_FAULT = re.compile(
    r"\b(?:Syntax|Indentation|Tab|Name|Type|Reference|ModuleNotFound)Error: |cannot be run: Exec format error"
)
"""What keeps a bot from starting outside the sandbox as well."""


async def build(check: Check) -> Finding:
    """The command that builds the bot succeeds."""
    if not check.build:
        return skipped("nothing is to be built")
    command = shlex.join(check.build)
    ended = await check.subject.build(check.build, LONGEST_BUILD)
    if ended is None:
        return failed(f"`{command}` is not done within {LONGEST_BUILD / 60:g} minutes", "build faster")
    if ended.exit_code != 0:
        detail = with_output(f"`{command}` {ended}", ended.output)
        return failed(detail, "run it by hand in the bot's folder", ended.output)
    return passed(f"`{command}`")


async def start(check: Check) -> Finding:
    """The bot starts and answers Describe."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        await check.subject.start()
    except BotUnusable as unusable:
        check.refusal = str(unusable)
        reason, _, output = check.refusal.partition("\n")
        cure = _cure(check.subject.entry, reason, output)
        sandboxed = check.subject.enforcement is not None and check.subject.enforcement.sandbox is not None
        unclear = _SILENT.search(check.refusal) and not (_OWN_FAULT.search(check.refusal) or cure_of_writing(output))
        if sandboxed and unclear:
            cure += "; `--isolation none` shows whether it starts outside the sandbox"
        return failed(with_output(reason, output), cure)
    seconds = loop.time() - began
    limit = check.time.startup
    detail = f"{'answers' if check.subject.launched else 'reached'} within {seconds:.2f} s of {limit:g} s"
    if seconds > SLOW_START * limit:
        return warned(detail, "start faster: load less, or load it at the first decision's expense", seconds=seconds)
    return passed(detail, seconds=seconds)


def _cure(entry: Entry, reason: str, output: str) -> str:
    if entry.whole_directory and (cure := cure_of_missing(folder_contents(entry).left_out, output)):
        return cure
    if cure := _cure_of_place(entry, output):
        return cure
    if cure := cure_of_writing(output):
        return cure
    found = [cure for sign, cure in CAUSES if sign in reason or sign in output]
    found += [cure for sign, cure in REFUSALS if sign in reason]
    return found[0] if found else f"mend the {'command' if entry.launched else 'address'}"


def _cure_of_place(entry: Entry, output: str) -> str:
    """Return what is to be done where a bot misses a file that its command names outside its folder; empty where it doesn't."""
    for word in entry.command[1:] if entry.whole_directory else ():
        path = Path(word)
        if path.is_absolute() and word in output and not path.is_relative_to(entry.directory):
            return f"write {word} as it lies in the bot's folder, relative to that: nothing else comes along"
    return ""


async def describe(check: Check) -> Finding:
    """The bot describes itself, twice the same, and plays games that there are."""
    try:
        first, second = [await _description(check) for _ in range(2)]
    except (TimeoutError, EOFError, CallFailed, Malformed) as error:
        return failed(f"a second Describe: {error or 'no answer'}", "answer Describe at any time, as often as it comes")
    games = tuple(first.games) or check.wanted or game_names()
    check.games = tuple(
        found for name in games if (not check.wanted or name in check.wanted) and (found := variants(name))
    )
    return (
        _difference(first, second)
        or _unknown_games(first, check.wanted)
        or _odd_texts(first)
        or passed(_summary(first), max_batch=check.subject.description.max_batch)
    )


async def _description(check: Check) -> bot_pb2.DescribeResponse:
    reply = await check.subject.call("Describe", wire.encode_describe(), check.time.decision + check.time.bank)
    wire.decode_description(reply)
    return bot_pb2.DescribeResponse.FromString(reply)


def _difference(first: bot_pb2.DescribeResponse, second: bot_pb2.DescribeResponse) -> Finding | None:
    for field in bot_pb2.DescribeResponse.DESCRIPTOR.fields:
        one, other = (clean_line(str(getattr(each, field.name)), 60) for each in (first, second))
        if getattr(first, field.name) != getattr(second, field.name):
            return failed(
                f"Describe changes: `{field.name}` was {one}, then {other}", "describe the bot always the same"
            )
    return None


def _unknown_games(description: bot_pb2.DescribeResponse, wanted: tuple[str, ...]) -> Finding | None:
    known = game_names()
    for name in description.games:
        if name not in known:
            near = get_close_matches(name, known, 1)
            cure = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            return failed(f"it says that it plays {clean_line(name, 64)!r}, which is no game of this arena", cure)
    for name in wanted:
        if name not in (description.games or known):
            said = ", ".join(description.games)
            return failed(f"it is to play {name}, but says that it plays {said}", "add it to `games` in Describe")
    return None


def _odd_texts(description: bot_pb2.DescribeResponse) -> Finding | None:
    for field in ("name", "version", "author"):
        text = getattr(description, field)
        if clean_line(text, MAX_NAME) != text:
            shown = clean_line(text, MAX_NAME)
            cure = f"use at most {MAX_NAME} visible characters on one line"
            return warned(f"`{field}` is shown as {shown!r}, not as it is", cure)
    if description.max_batch > wire.MAX_BATCH:
        return warned(f"max_batch is {description.max_batch}; the arena sends at most {wire.MAX_BATCH}", "say so")
    if not description.name:
        return warned("it has no name", "say in Describe what it is called")
    return None


def _summary(description: bot_pb2.DescribeResponse) -> str:
    games = ", ".join(description.games) or "every game"
    return f"{description.name} {description.version}".strip() + f": {games}, max_batch {description.max_batch or 1}"
