"""`arena.v1.ArenaService`: each call is let in by the gate and handed to the part of the server that it is about."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import grpc.aio

from arena.competition import AdmissionStep, Bot, Run, State, Version
from arena.config import OVERRIDES
from arena.errors import BadInput, BadStore, Refused
from arena.report import document_text
from arena.server.competition import Competition
from arena.server.gate import Caller, Gate, Right
from arena.server.limits import AtOnce, Rate
from arena.server.tournaments import new_request
from arena.server.uploads import check_size, next_part, put, received
from arena.submission.admission import StepBegun
from arena.submission.running import running_program
from arena.text import clean_line
from arena.threads import write
from arena.v1 import arena_pb2, arena_pb2_grpc
from arena.wire import encode_bot, encode_step, encode_tournament, encode_version

log = logging.getLogger(__name__)

M = TypeVar("M")

Context = grpc.aio.ServicerContext[Any, Any]

_ID: Final = re.compile(r"[0-9a-f]{32}")
_LONGEST: Final = 256  # characters of a name or an id
_PAGE, _LARGEST_PAGE = 100, 1000
_MOST_VERSIONS: Final = 10  # with the logs of four steps each they still fit into one message
_UPLOADS: Final = 32  # received at once, over all owners; more wait
_LARGEST: Final = (1 << 31) - 1  # number that every database takes


class ArenaServicer(arena_pb2_grpc.ArenaServiceServicer):
    """Serves a competition."""

    def __init__(self, competition: Competition, gate: Gate) -> None:
        loop = asyncio.get_running_loop()
        quotas = competition.terms.quotas
        self._competition = competition
        self._gate = gate
        self._store = competition.store
        self._submissions = Rate(quotas.submissions, 3600.0, loop.time)
        self._uploads = AtOnce(quotas.uploads, "so many uploads")
        self._slots = asyncio.Semaphore(_UPLOADS)
        self._keeping = Lock()

    # --- Tournaments ---

    async def RunTournament(  # noqa: N802 - the service's name for it
        self, request: arena_pb2.RunTournamentRequest, context: Context
    ) -> AsyncIterator[arena_pb2.RunTournamentResponse]:
        """Play a tournament after those that were asked for before, and stream its events."""
        async with self._gate.call(context, Right.ORGANISE, "RunTournament") as caller:
            run = self._run(request, caller)
            caller.about = run.request
            self._competition.check(run, trusted=caller.open)
            await self._competition.tournaments.ask(run)
            async with aclosing(self._competition.tournaments.follow_request(run.request)) as events:
                async for event in events:
                    yield arena_pb2.RunTournamentResponse(event=event)

    async def WatchTournament(  # noqa: N802
        self, request: arena_pb2.WatchTournamentRequest, context: Context
    ) -> AsyncIterator[arena_pb2.WatchTournamentResponse]:
        """Stream the events of a tournament that this server plays or has played."""
        async with self._gate.call(context, Right.READ), _finding(request.tournament):
            if request.first_event > _LARGEST:
                raise Refused("BAD_INPUT", f"an event has no number above {_LARGEST}: begin with an earlier one")
            watching = self._competition.tournaments.watch(request.tournament, request.first_event)
            async with aclosing(watching) as events:
                async for event in events:
                    yield arena_pb2.WatchTournamentResponse(event=event)

    async def GetLeaderboard(  # noqa: N802
        self, request: arena_pb2.GetLeaderboardRequest, context: Context
    ) -> arena_pb2.GetLeaderboardResponse:
        """Compute the leaderboard from the store."""
        response = arena_pb2.GetLeaderboardResponse()
        async with self._gate.call(context, Right.READ), _finding(request.tournament):
            found, response.document = await asyncio.to_thread(
                partial(document_text, self._store, request.tournament or None, pairs=request.pairs)
            )
            response.tournament = found.id
            if not request.tournament and (later := self._store.in_play(found)):
                response.in_play.CopyFrom(encode_tournament(later))
        return response

    async def ListTournaments(  # noqa: N802
        self, request: arena_pb2.ListTournamentsRequest, context: Context
    ) -> arena_pb2.ListTournamentsResponse:
        """List the tournaments, the latest first."""
        response = arena_pb2.ListTournamentsResponse()
        async with self._gate.call(context, Right.READ):
            tournaments, response.next_page_token = _page(
                self._store.tournaments()[::-1], request.page_size, request.page_token
            )
            response.tournaments.extend(encode_tournament(self._store.listed(each)) for each in tournaments)
        return response

    # --- Bots ---

    async def SubmitBot(  # noqa: N802
        self, request_iterator: AsyncIterator[arena_pb2.SubmitBotRequest], context: Context
    ) -> AsyncIterator[arena_pb2.SubmitBotResponse]:
        """Take a bot in, and stream what its admission comes to."""
        parts = aiter(request_iterator)
        async with self._gate.call(context, Right.OWN, "SubmitBot", unread=parts) as caller:
            first = await next_part(parts, self._competition.terms.patience.piece)
            if first is None or first.WhichOneof("part") != "submission":
                raise Refused("BAD_INPUT", "the first message of a submission says what is submitted")
            submission = first.submission
            _check_id(submission.id)
            caller.about = submission.id
            known = self._known(submission.id, caller.owner)
            version = known or await self._take_in(submission, parts, caller, context)
            rest = asyncio.create_task(_ignore(parts))  # else a caller that only writes would never come to read
            try:
                async with aclosing(self._admission(version)) as events:
                    async for event in events:
                        yield arena_pb2.SubmitBotResponse(event=event)
            finally:
                rest.cancel()

    async def WatchSubmission(  # noqa: N802
        self, request: arena_pb2.WatchSubmissionRequest, context: Context
    ) -> AsyncIterator[arena_pb2.WatchSubmissionResponse]:
        """Stream what an admission comes to."""
        async with self._gate.call(context, Right.OWN) as caller:
            _check_id(request.submission)
            version = self._store.submissions.find(request.submission)
            if version is None or version.owner != caller.owner:
                raise Refused("NO_SUCH_SUBMISSION", "you have no submission of this id: submit again")
            async with aclosing(self._admission(version)) as events:
                async for event in events:
                    yield arena_pb2.WatchSubmissionResponse(event=event)

    async def ListBots(  # noqa: N802
        self, request: arena_pb2.ListBotsRequest, context: Context
    ) -> arena_pb2.ListBotsResponse:
        """List the bots by name."""
        response = arena_pb2.ListBotsResponse()
        async with self._gate.call(context, Right.READ):
            bots, response.next_page_token = _page(
                self._store.submissions.bots(), request.page_size, request.page_token
            )
            response.bots.extend(encode_bot(bot.listed) for bot in bots)
        return response

    async def ListVersions(  # noqa: N802
        self, request: arena_pb2.ListVersionsRequest, context: Context
    ) -> arena_pb2.ListVersionsResponse:
        """List a bot's versions, oldest first."""
        response = arena_pb2.ListVersionsResponse()
        async with self._gate.call(context, Right.OWN) as caller:
            bot = self._own(request.bot, caller, hopeless=True)
            response.bot.CopyFrom(encode_bot(bot.listed))
            versions, response.next_page_token = _page(
                self._store.submissions.versions(bot.name), request.page_size, request.page_token, _MOST_VERSIONS
            )
            for version in versions:
                steps = self._store.submissions.steps(version.submission)
                response.versions.append(encode_version(version, steps, with_logs=version.owner == caller.owner))
        return response

    async def WithdrawBot(  # noqa: N802
        self, request: arena_pb2.WithdrawBotRequest, context: Context
    ) -> arena_pb2.WithdrawBotResponse:
        """Withdraw a bot, or go back to an earlier version."""
        response = arena_pb2.WithdrawBotResponse()
        async with self._gate.call(context, Right.OWN, "WithdrawBot") as caller:
            caller.about = f"{request.bot}, back to version {request.version}" if request.version else request.bot
            bot = self._own(request.bot, caller)
            if request.version > _LARGEST:
                raise Refused(
                    "NO_SUCH_VERSION", f"{bot.name} has no version {request.version}: `arena bots` lists them"
                )
            who, organiser = caller.owner, caller.organiser
            now = await write(
                partial(self._store.submissions.use, bot.name, request.version, who=who, organiser=organiser)
            )
            response.bot.CopyFrom(encode_bot(now.listed))
        return response

    # --- Inside ---

    def _run(self, request: arena_pb2.RunTournamentRequest, caller: Caller) -> Run:
        if request.request_id:
            _check_id(request.request_id)
        if request.fresh and request.incremental:
            raise Refused("BAD_INPUT", "a tournament is fresh or keeps results, not both: leave one of them out")
        if unknown := request.overrides.keys() - OVERRIDES.keys():
            raise BadInput(
                f"there is no setting {clean_line(min(unknown), 64)}: the settings are {', '.join(OVERRIDES)}"
            )
        return Run(
            request=request.request_id or new_request(),
            who=caller.owner,
            config=request.config,
            config_path=request.config_path if caller.open else "bots.yaml",
            overrides=dict(request.overrides),
            incremental=request.incremental,
            fresh=request.fresh,
            created=datetime.now(UTC),
        )

    def _own(self, name: str, caller: Caller, *, hopeless: bool = False) -> Bot:
        """Return a bot that a caller may see and withdraw; a `hopeless` one is there for its owner and organisers alone."""
        if not _may_be_kept(name):
            raise Refused("NO_SUCH_BOT", "there is no bot of this name: `arena bots` lists them")
        bot = self._store.submissions.bot(name, hopeless=hopeless)
        if not caller.may_see(bot.owner):
            self._store.submissions.bot(name)
            raise Refused("NOT_OWNER", f"{bot.name} is another owner's bot")
        return bot

    async def _take_in(
        self,
        submission: arena_pb2.Submission,
        parts: AsyncIterator[arena_pb2.SubmitBotRequest],
        caller: Caller,
        context: Context,
    ) -> Version:
        """Receive a submission and keep it; it is not lost any more then. Initial metadata says that the pieces may come."""
        kind, limited = submission.WhichOneof("source"), not caller.open
        version = Version(submission.id, caller.owner, State.WAITING, datetime.now(UTC))
        most = self._competition.terms.admission.bounds.archive_bytes
        if kind == "archive":
            check_size(submission.archive, most)
            version = replace(version, build=submission.archive.build, size=submission.archive.size)
        with self._uploads.one(caller.owner):
            if limited:
                self._check_quotas(caller.owner, version.size)
            if kind == "archive":
                self._competition.check_sandbox()
                folder = self._competition.shelf.incoming(submission.id).parent
                patience = self._competition.terms.patience
                async with self._slots:
                    await context.send_initial_metadata(())
                    async with received(parts, submission.archive, folder, most, patience) as part:
                        return await write(partial(self._keep, version, part, limited=limited), then=self._queue)
            if kind == "running":
                bot, private = submission.running, self._competition.terms.admission.private_addresses
                program = await running_program(bot.address, bot.name, bot.games, bot.author, private=private)
                version = replace(version, program=program)
                return await write(partial(self._keep, version, None, limited=limited), then=self._queue)
            raise Refused("BAD_INPUT", "a submission is an archive, or a running bot")

    def _keep(self, version: Version, part: Path | None, *, limited: bool) -> Version:
        """Keep a submission and its archive, as one at a time; return what is there already of this id, unchanged.

        What others have submitted meanwhile counts: raises Refused for another owner's id, and where quotas are used up.
        """
        with self._keeping:
            known = self._known(version.submission, version.owner)
            if known is not None:
                return known
            if limited:
                self._check_usage(version.owner, version.size)
            archive = self._competition.shelf.incoming(version.submission)
            if part is not None:
                put(part, archive)
            try:
                kept = self._store.submissions.receive(replace(version, created=datetime.now(UTC)))
            except Exception:
                archive.unlink(missing_ok=True)
                raise
        named = version.program.name if version.program else "a bot"
        log.info("%s of %s is received (submission %s)", named, version.owner, version.submission)
        return kept

    def _queue(self, kept: Version) -> None:
        if kept.state is State.WAITING:
            self._competition.admissions.add(kept)

    def _known(self, submission: str, owner: str) -> Version | None:
        """Return the submission of this id; raise Refused where it is another owner's."""
        known = self._store.submissions.find(submission)
        if known is not None and known.owner != owner:
            raise Refused("NO_SUCH_SUBMISSION", "choose another id: 32 random hexadecimal digits")
        return known

    def _check_quotas(self, owner: str, size: int) -> None:
        """Count a submission; raise Refused where it is one too many, or there is no room for so many bytes."""
        self._check_usage(owner, size)
        if wait := self._submissions.wait(owner):
            raise self._too_often(wait)
        self._submissions.take(owner)

    def _check_usage(self, owner: str, size: int) -> None:
        quotas, usage = self._competition.terms.quotas, self._store.submissions.usage(owner)
        lately = datetime.now(UTC) - timedelta(hours=1)
        if self._store.submissions.submitted_since(owner, lately) >= quotas.submissions:
            raise self._too_often(60.0)
        if usage.waiting >= quotas.waiting:
            text = f"{usage.waiting} of your submissions are waiting for their admission: wait for their end"
            raise Refused("QUOTA", text, retry=10.0)
        if usage.bytes + size > quotas.megabytes * 1_000_000:
            text = f"your bots take {usage.bytes / 1e6:,.0f} MB of {quotas.megabytes:,} MB: submit smaller ones"
            raise Refused("QUOTA", text)

    def _too_often(self, wait: float) -> Refused:
        allowed = self._competition.terms.quotas.submissions
        return Refused("RATE_LIMIT", f"{allowed} submissions an hour are allowed: submit again later", retry=wait)

    async def _admission(self, version: Version) -> AsyncGenerator[arena_pb2.AdmissionEvent, None]:
        """Yield what a version's admission comes to, for its owner."""
        admissions = self._competition.admissions
        ahead = admissions.add(version) if version.state is State.WAITING else 0
        yield arena_pb2.AdmissionEvent(received=arena_pb2.SubmissionReceived(ahead=ahead))
        async with aclosing(admissions.follow(version.submission)) as events:
            async for event in events:
                yield self._event(event)

    def _event(self, event: StepBegun | AdmissionStep | Version) -> arena_pb2.AdmissionEvent:
        if isinstance(event, StepBegun):
            begun = arena_pb2.AdmissionStepBegun(name=event.name, detail=event.detail)
            return arena_pb2.AdmissionEvent(step_begun=begun)
        if isinstance(event, AdmissionStep):
            return arena_pb2.AdmissionEvent(step=encode_step(event, with_log=True))
        steps = self._store.submissions.steps(event.submission)
        return arena_pb2.AdmissionEvent(decided=encode_version(event, steps, with_logs=True))


def _may_be_kept(text: str) -> bool:
    """Return whether a database can be asked for a name or an id; what is long or has a NUL in it is in none."""
    return len(text) <= _LONGEST and "\0" not in text


def _check_id(text: str) -> None:
    if _ID.fullmatch(text) is None:
        raise Refused("BAD_INPUT", "an id has 32 hexadecimal digits, drawn at random")


def _page(rows: list[M], size: int, token: str, most: int = _LARGEST_PAGE) -> tuple[list[M], str]:
    """Return a page of rows, and the token of the next one; a token is the number of rows before it."""
    if token and not (token.isascii() and token.isdigit() and len(token) < 10):
        raise Refused("BAD_INPUT", "this page token was not given by this server: begin again without one")
    begin = int(token or 0)
    end = begin + min(size or _PAGE, most)
    return rows[begin:end], str(end) if end < len(rows) else ""


@asynccontextmanager
async def _finding(tournament: str) -> AsyncIterator[None]:
    """Say of a tournament that isn't there just that, not where it was looked for."""
    try:
        if not _may_be_kept(tournament):
            raise BadInput("there is no such tournament")
        yield
    except (BadStore, Refused):
        raise
    except BadInput:
        shown = clean_line(tournament, 64)
        text = (
            f"there is no tournament {shown!r} here, or several begin so: `arena leaderboard --list` lists them"
            if shown
            else "no tournament was played here yet"
        )
        raise Refused("NO_SUCH_TOURNAMENT", text) from None


async def _ignore(parts: AsyncIterator[arena_pb2.SubmitBotRequest]) -> None:
    async for _ in parts:
        pass
