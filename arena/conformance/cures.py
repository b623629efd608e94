"""What mends a fault, by what is known of it."""

from __future__ import annotations

import re

from arena.faults import Evidence, FaultKind
from arena.text import clean_line

_ERROR = re.compile(r"error|err_|exception|panic|fatal", re.IGNORECASE)
_READ_ONLY = re.compile(r"read-only file ?system|EROFS", re.IGNORECASE)
_NPM_CODE = re.compile(r"npm (?:error|ERR!) code ")

_MALFORMED = (
    ("the answer is to request", "copy `request_id` from the request into the response"),
    ("choices were asked for", "answer every decision of a request, in their order: choices[i] answers decisions[i]"),
    ("cards were asked for", "choose exactly `count` cards: 1 to play, the others' number only to pass"),
    ("unknown card", "a card is 16 * suit + rank as in card.proto: take cards from `legal` as they are"),
    ("RESOURCE_EXHAUSTED", "keep replies below 4 MiB and uncompressed; of a note 256 bytes are kept"),
    ("UNIMPLEMENTED", "implement Decide of arena.v1.BotService"),
    ("not a DecideResponse", "return an arena.v1.DecideResponse, made with the stubs of proto/arena/v1"),
)

_OTHERS = {
    FaultKind.TIMEOUT: "answer within `decision_time`; look for endless loops, and for calls that wait for something else",
    FaultKind.DISCONNECTED: "keep the process and its server up: find the error above in the bot",
    FaultKind.MALFORMED: "let no exception leave Decide: the bot's output has where it comes from",
    FaultKind.ILLEGAL: "choose `count` different cards, all of them from `legal`",
    FaultKind.STARTUP: "run the bot's command by hand with ARENA_BOT_ADDRESS=127.0.0.1:50051 to see what stops it",
    FaultKind.ARENA: "free what the arena lacks to start bots, or report it",
}


def cure_of_writing(output: str) -> str:
    """Return where a bot may write that wrote where it may not, by its output; empty where it didn't."""
    if not _READ_ONLY.search(output):
        return ""
    return "write into the folder that TMPDIR names (/tmp in a competition): the bot's own can't be written to there"


def cure_of(evidence: Evidence) -> str:
    """Return what the author is to do about a fault."""
    if cure := cure_of_writing(evidence.stderr):
        return cure
    if evidence.kind is FaultKind.MALFORMED:
        for sign, cure in _MALFORMED:
            if sign in evidence.detail:
                return cure
    return _OTHERS[evidence.kind]


def tell(evidence: Evidence) -> str:
    """Say in a line what happened, with what the bot wrote of it."""
    return f"{evidence.kind}: {with_output(evidence.detail, evidence.stderr)}"


def with_output(detail: str, output: str) -> str:
    """Add the line of a bot's output that says most to what happened: the last that names an error, or else the last.

    Of npm's errors it is the first: advice follows, and where the log is.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    npm = [line for line in lines if _NPM_CODE.match(line)]
    telling = npm[:1] or [line for line in lines if _ERROR.search(line)] or lines
    wrote = f"; it wrote: {clean_line(telling[-1], 160)}" if lines else ""
    return clean_line(detail.removesuffix("; the last that it wrote:"), 1000) + wrote
