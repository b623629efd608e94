"""Bots, versions and the steps of an admission.

What a message doesn't say of a version stays empty: its program stays on the server.
"""

from __future__ import annotations

from datetime import UTC
from typing import Final

from arena.competition import AdmissionStep, ListedBot, ListedTournament, Program, State, Version
from arena.finding import Verdict
from arena.text import clean_line
from arena.v1 import arena_pb2
from arena.wire.parts import duration_message, seconds_of

_VERDICTS: Final = {
    Verdict.PASS: arena_pb2.ADMISSION_VERDICT_PASSED,
    Verdict.FAIL: arena_pb2.ADMISSION_VERDICT_FAILED,
    Verdict.WARNING: arena_pb2.ADMISSION_VERDICT_WARNING,
    Verdict.SKIPPED: arena_pb2.ADMISSION_VERDICT_SKIPPED,
}
_STATES: Final = {
    State.WAITING: arena_pb2.VERSION_STATE_WAITING,
    State.ADMITTED: arena_pb2.VERSION_STATE_ADMITTED,
    State.REFUSED: arena_pb2.VERSION_STATE_REFUSED,
}
_VERDICT_OF: Final = {number: verdict for verdict, number in _VERDICTS.items()}
_STATE_OF: Final = {number: state for state, number in _STATES.items()}


def encode_step(step: AdmissionStep, *, with_log: bool) -> arena_pb2.AdmissionStep:
    """Return a step as a message; its log is for the owner only."""
    return arena_pb2.AdmissionStep(
        name=step.name,
        verdict=_VERDICTS.get(step.verdict, arena_pb2.ADMISSION_VERDICT_PASSED),
        detail=step.detail,
        cure=step.cure,
        log=step.log if with_log else "",
        duration=duration_message(step.seconds),
    )


def decode_step(message: arena_pb2.AdmissionStep) -> AdmissionStep:
    """Read a step; a verdict that this version does not know is information."""
    verdict = _VERDICT_OF.get(message.verdict, Verdict.INFORMATION)
    return AdmissionStep(message.name, verdict, message.detail, message.cure, message.log, seconds_of(message.duration))


def encode_version(version: Version, steps: list[AdmissionStep], *, with_logs: bool) -> arena_pb2.Version:
    """Return a version with the steps of its admission as a message."""
    message = arena_pb2.Version(
        submission=version.submission,
        bot=version.program.name if version.program else "",
        number=version.number,
        state=_STATES[version.state],
        digest=version.digest,
        size=version.size,
        steps=[encode_step(step, with_log=with_logs) for step in steps],
    )
    message.create_time.FromDatetime(version.created)
    return message


def decode_version(message: arena_pb2.Version, owner: str) -> tuple[Version, list[AdmissionStep]]:
    """Read a version of a bot of this owner, with the steps of its admission."""
    version = Version(
        submission=message.submission,
        owner=owner,
        state=_STATE_OF.get(message.state, State.WAITING),
        created=message.create_time.ToDatetime(UTC),
        size=message.size,
        number=message.number,
        digest=message.digest,
        program=Program(message.bot) if message.bot else None,
    )
    return version, [decode_step(step) for step in message.steps]


def encode_bot(bot: ListedBot) -> arena_pb2.Bot:
    """Return a bot as a message."""
    return arena_pb2.Bot(
        name=bot.name,
        owner=bot.owner,
        author=bot.author,
        games=bot.games,
        current=bot.current,
        versions=bot.versions,
        barred=bot.barred,
    )


def decode_bot(message: arena_pb2.Bot) -> ListedBot:
    """Read a bot."""
    return ListedBot(
        clean_line(message.name),
        clean_line(message.owner),
        clean_line(message.author),
        tuple(clean_line(game, 64) for game in message.games),
        message.current,
        message.versions,
        barred=message.barred,
    )


def encode_tournament(tournament: ListedTournament) -> arena_pb2.Tournament:
    """Return a tournament as a message."""
    message = arena_pb2.Tournament(
        id=tournament.id,
        game=tournament.game,
        players=tournament.players,
        matches=tournament.matches,
        played=tournament.played,
        finished=tournament.finished,
        bots=tournament.bots,
    )
    message.create_time.FromDatetime(tournament.created)
    return message


def decode_tournament(message: arena_pb2.Tournament) -> ListedTournament:
    """Read a tournament."""
    return ListedTournament(
        clean_line(message.id, 64),
        clean_line(message.game, 64),
        message.players,
        message.create_time.ToDatetime(UTC),
        message.matches,
        message.played,
        message.finished,
        tuple(map(clean_line, message.bots)),
    )
