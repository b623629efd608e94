"""Players behind gRPC: one instance of a bot, wherever it runs, asked one request at a time.

Decisions wait in a queue, and what waits while the bot is busy goes together into its next request. Whatever the bot does,
every decision gets an answer or a Failure in bounded time: a request has one absolute deadline; the end of the process ends
the wait at once; a request of several decisions that fails as a whole is asked again one by one, by a fresh instance, so that
only the decisions that fail by themselves are faults; an instance that does nothing but fail is started afresh, however many it
is asked at once; and a bot that must be started again too often is given up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from arena import wire
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import Malformed
from arena.faults import Evidence, Failure, FaultKind
from arena.players.base import Answer, Player, Setup, Transport
from arena.players.channel import CallFailed, Channel
from arena.players.endpoint import Address, Endpoint
from arena.players.instance import Instance
from arena.players.lag import Lag, Watch
from arena.players.telling import FINISH_LIMIT, Telling
from arena.settings import Entry

MAX_FAILED_BATCHES: Final = 3
"""How many requests of several decisions may fail as a whole before an instance is asked one at a time."""

MAX_ERRORS: Final = 3
"""How many answers in a row may be errors, of whatever kind, before a launched instance is started afresh."""

COUNTED: Final = 10
"""A request may take the time of at most so many decisions."""

CREDITED_REPLY: Final = 64 * 1024
"""Bytes of a reply beyond which the arena's own lateness may be the bot's doing."""


class Dialler(Transport):
    """Reaches bots that serve at an address."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lag = Lag()

    def player(self, entry: Entry, instance: str) -> Player:
        """Return a player at the entry's address."""
        return Connection(Address(entry), self._setup, self._lag)

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(eq=False, slots=True)
class _Question:
    """A decision that waits for its answer."""

    decision: Decision
    answer: asyncio.Future[Answer]
    stalled: bool = False
    """Whether it was asked before, while the arena itself stood still for longer than is credited."""

    def fail(self, failure: Failure) -> None:
        if not self.answer.done():
            self.answer.set_exception(Failure(failure.evidence, failure.elapsed, failure.credit))


class _Stalled(Failure):
    """No answer in time, while the arena itself stood still for longer than is credited: it may not be the bot's doing."""


class _Place:
    """A place among the requests in flight."""

    def __init__(self, places: asyncio.Semaphore | None) -> None:
        self._places = places

    def give_back(self) -> None:
        """Let the next request begin."""
        if self._places is not None:
            self._places.release()
            self._places = None


@dataclass(frozen=True, slots=True)
class _Limit:
    """How long a request may take, in seconds."""

    decision: float
    """The time of one decision."""
    allowance: float
    """The time of its decisions together; what comes on top is taken from a bank."""
    total: float

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> _Limit:
        decision = min(each.decision_time for each in decisions)
        allowance = min(len(decisions), COUNTED) * decision
        return cls(decision, allowance, allowance + min(each.bank_left for each in decisions))


@dataclass(frozen=True, slots=True)
class _Time:
    """How long a request took, in seconds."""

    elapsed: float
    """What the bot is charged for."""
    credit: float
    """What it is not charged for: the arena's own lateness."""

    @classmethod
    def of(cls, seconds: float, credit: float) -> _Time:
        credit = min(credit, seconds)
        return cls(seconds - credit, credit)


class Connection(Player):
    """One instance of a bot over gRPC."""

    def __init__(self, endpoint: Endpoint, setup: Setup, lag: Lag) -> None:
        self._instance = Instance(endpoint, setup.time.startup)
        self._setup = setup
        self._lag = lag
        self._telling = Telling(self._instance, setup.warn)
        self._waiting: deque[_Question] = deque()
        self._unanswered: set[_Question] = set()
        self._requests = 0
        self._pace: float | None = None  # seconds a decision, at the slowest lately
        self._max_batch = wire.MAX_BATCH
        self._failed_batches = 0
        self._errors = 0  # in a row
        self._renewed = False
        self._changing = asyncio.Lock()  # held while starting and closing
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    @property
    def _name(self) -> str:
        return self._instance.endpoint.name

    async def start(self) -> Description:
        """Start or reach the bot; what has been given up is refused at once."""
        async with self._changing:
            if self._worker is None:
                await self._instance.open()
                self._worker = asyncio.create_task(self._work())
            return self._instance.description

    async def decide(self, decision: Decision) -> Answer:
        """Queue a decision and wait for its answer."""
        if self._worker is None:
            raise Failure(self._instance.not_started)
        question = _Question(decision, asyncio.get_running_loop().create_future())
        self._waiting.append(question)
        self._unanswered.add(question)
        self._wake.set()
        try:
            return await question.answer
        finally:
            self._unanswered.discard(question)

    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Queue results, to be told before the next request; wait at most a second for that."""
        if self._worker is None or not self._telling.cares or not results:
            return
        told = self._telling.add(results)
        self._wake.set()
        await asyncio.wait({told}, timeout=FINISH_LIMIT)

    async def close(self) -> None:
        """End the instance; whatever is still being asked fails as the arena's own doing."""
        async with self._changing:
            worker, self._worker = self._worker, None
            if worker is not None:
                worker.cancel()
                await asyncio.wait({worker})
            self._fail_all(f"{self._name} was closed while it was being asked")
            await self._instance.put_down(in_peace=True)

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while self._waiting or self._telling:
                    if self._telling:
                        async with self._place():
                            await self._telling.tell()
                    if self._waiting:
                        await self._ask(self._waiting, self._batch())
            except Exception as error:
                self._fail_all(f"{self._name}: {type(error).__name__}: {error}")

    def _fail_all(self, reason: str) -> None:
        """Fail whatever is being asked as the arena's own doing."""
        self._waiting.clear()
        for question in self._unanswered:
            question.fail(Failure(Evidence(FaultKind.ARENA, reason)))
        self._telling.give_up()

    def _batch(self) -> int:
        """Return how many decisions the next request may have.

        More than a request's time is counted for only go to an instance that has shown the pace for it, so that nobody
        is late because others were asked along with it.
        """
        most = min(self._instance.description.max_batch, self._max_batch)
        if self._pace is None or most <= COUNTED:
            return min(most, COUNTED)
        half_the_time = self._setup.time.decision * COUNTED / 2
        return min(most, max(COUNTED, int(half_the_time / max(self._pace, 1e-6))))

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[_Place]:
        """Wait for a place among the requests in flight, if this one works on the arena's processors; it runs then."""
        places = self._setup.parallel if self._instance.endpoint.launched else None
        if places is not None:
            await places.acquire()
        place = _Place(places)
        self._instance.endpoint.thaw()
        try:
            yield place
        finally:
            self._instance.endpoint.freeze()
            place.give_back()

    async def _ask(self, waiting: deque[_Question], most: int) -> None:
        """Ask the first of those that wait in one request, and again one by one if it fails as a whole."""
        try:
            channel = await self._instance.ready()
        except Failure as failure:
            while waiting:
                waiting.popleft().fail(Failure(failure.evidence))
            return
        async with self._place() as place:
            asked = _take(waiting, most)
            failed = await self._failure_of(channel, asked, place) if asked else None
        if failed is None:
            await self._renew_if_unwell("cards that can't be read, or aren't legal")
        elif len(asked) == 1 and not (isinstance(failed, _Stalled) and not asked[0].stalled):
            await self._charge(asked[0], failed)
        else:
            asked[0].stalled |= isinstance(failed, _Stalled)
            await self._put_down(failed)
            if len(asked) > 1:
                self._count_failed_batch(failed)
            again = deque(asked)
            while again:
                await self._ask(again, 1)

    async def _failure_of(self, channel: Channel, asked: Sequence[_Question], place: _Place) -> Failure | None:
        """Send one request; return why it failed as a whole, if it did."""
        try:
            await self._request(channel, asked, place)
        except Failure as failure:
            return failure
        return None

    async def _charge(self, question: _Question, failed: Failure) -> None:
        """Let the only decision of a request fail; the instance ends if it hasn't answered at all, or does nothing but fail."""
        question.fail(failed)
        self._errors += 1
        if failed.evidence.kind is FaultKind.MALFORMED:
            await self._renew_if_unwell(failed.evidence.detail)
        else:
            await self._put_down(failed)

    async def _put_down(self, failed: Failure) -> None:
        """End the instance because of a failure; the next request has it started again."""
        self._instance.lost = failed.evidence
        self._errors = 0
        await self._instance.put_down()

    async def _renew_if_unwell(self, last: str) -> None:
        """End a launched instance that has only failed lately, as far as it may be started again: a fresh one may be well."""
        if self._errors < MAX_ERRORS or not self._instance.endpoint.launched or not self._instance.restarts_left:
            return
        text = f"{self._errors} errors in a row (the last: {last})"
        if not self._renewed:
            self._setup.warn(f"{self._name}: {text}; it is started afresh, now and whenever that happens again")
        self._renewed = True
        await self._put_down(Failure(Evidence(FaultKind.MALFORMED, text)))

    def _count_failed_batch(self, failed: Failure) -> None:
        self._failed_batches += 1
        if self._failed_batches == MAX_FAILED_BATCHES:
            self._max_batch = 1
            self._setup.warn(
                f"{self._name}: {self._failed_batches} requests of several decisions failed as a whole"
                f" (the last: {failed}); it is asked one decision at a time from now on"
            )

    async def _request(self, channel: Channel, asked: Sequence[_Question], place: _Place) -> None:
        """Send one request and hand out the answers; raise Failure if it fails as a whole."""
        decisions = [question.decision for question in asked]
        limit = _Limit.of(decisions)
        self._requests += 1
        request = wire.encode_request(self._requests, limit.total, decisions)
        timer = asyncio.get_running_loop().call_later(limit.allowance, place.give_back)
        try:
            reply, time = await self._exchange(channel, request, limit, len(asked))
        finally:
            timer.cancel()
        try:
            choices = wire.decode_response(reply, self._requests, decisions)
        except Malformed as error:
            output = await self._instance.endpoint.output()
            evidence = Evidence(FaultKind.MALFORMED, str(error), answer=_shorten(reply), stderr=output)
            raise Failure(evidence, time.elapsed / len(asked), time.credit / len(asked)) from None
        self._pace = max(time.elapsed / len(asked), (self._pace or 0.0) / 2)
        await self._hand_out(asked, choices, time)

    async def _exchange(self, channel: Channel, request: bytes, limit: _Limit, count: int) -> tuple[bytes, _Time]:
        """Return the reply to a request and the time it took; raise Failure where there is none in time."""
        loop = asyncio.get_running_loop()
        endpoint = self._instance.endpoint
        with self._lag.watch() as late:
            began = loop.time()
            try:
                reply = await channel.call(
                    "Decide", request, lambda: began + limit.total + self._credit(late, limit), endpoint.ended
                )
                credit = self._credit(late, limit) if len(reply) <= CREDITED_REPLY else 0.0
                time = _Time.of(loop.time() - began, credit)
                if time.elapsed > limit.total:
                    raise TimeoutError
            except (TimeoutError, EOFError, CallFailed) as error:
                time = _Time.of(loop.time() - began, self._credit(late, limit))
                evidence = await self._instance.explain(error, time.elapsed, limit.total)
                stalled = isinstance(error, TimeoutError) and count == 1 and late.seconds > limit.decision
                kind = _Stalled if stalled else Failure
                raise kind(evidence, time.elapsed / count, time.credit / count) from None
        return reply, time

    def _credit(self, late: Watch, limit: _Limit) -> float:
        """Return the arena's own lateness that is not the bot's to pay for, in seconds."""
        return 0.0 if self._instance.endpoint.dropping else min(late.seconds, limit.decision)

    async def _hand_out(self, asked: Sequence[_Question], choices: Sequence[Choice | Malformed], time: _Time) -> None:
        elapsed, credit = time.elapsed / len(asked), time.credit / len(asked)
        for question, choice in zip(asked, choices, strict=True):
            if isinstance(choice, Malformed):
                output = await self._instance.endpoint.output()
                question.fail(Failure(Evidence(FaultKind.MALFORMED, str(choice), stderr=output), elapsed, credit))
                self._errors += 1
                continue
            self._errors = 0 if _is_legal(question.decision, choice) else self._errors + 1
            if not question.answer.done():
                question.answer.set_result(Answer(choice, elapsed, credit))


def _is_legal(decision: Decision, choice: Choice) -> bool:
    return len(set(choice.cards)) == len(choice.cards) == decision.count and set(choice.cards) <= set(decision.legal)


def _take(waiting: deque[_Question], most: int) -> list[_Question]:
    """Take the first questions that somebody still waits for."""
    taken: list[_Question] = []
    while waiting and len(taken) < most:
        question = waiting.popleft()
        if not question.answer.done():
            taken.append(question)
    return taken


def _shorten(reply: bytes) -> str:
    """Return the beginning of a reply, as hexadecimal digits."""
    return f"{len(reply)} bytes: {reply[:32].hex(' ')}{' ...' if len(reply) > 32 else ''}"
