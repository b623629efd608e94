"""Players behind gRPC: one instance of a bot, wherever it runs, asked one request at a time.

Decisions wait in a queue, and what waits while the bot is busy goes together into its next request. Whatever the bot does,
every decision gets an answer or a Failure in bounded time: a request has one absolute deadline; the end of the process ends
the wait at once; a request of several decisions that fails as a whole is asked again one by one, by a fresh instance, so that
only the decisions that fail by themselves are faults; and a bot that must be started again too often is given up.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import grpc

from arena import wire
from arena.decision import Choice, DealResult, Decision, Description
from arena.errors import BotUnusable, Malformed
from arena.faults import Evidence, Failure, FaultKind
from arena.players.base import Answer, Player, Setup, Transport
from arena.players.channel import CallFailed, Channel
from arena.players.lag import Lag
from arena.players.process import Exit
from arena.settings import Entry

MAX_RESTARTS: Final = 20
"""How often an instance is started again."""

MAX_FAILED_STARTS: Final = 3
"""How many starts in a row may fail before an instance is given up."""

RESTART_PAUSE: Final = 0.05
"""Seconds before the first restart; before the n-th, n times as long."""

FINISH_LIMIT: Final = 1.0
"""Seconds that a bot has to take note of results."""

MAX_FAILED_BATCHES: Final = 3
"""How many requests of several decisions may fail as a whole before an instance is asked one at a time."""

_COUNTED: Final = 10
"""A request may take the time of at most so many decisions."""

_CREDITED_REPLY: Final = 64 * 1024
"""Bytes of a reply beyond which the arena's own lateness may be the bot's doing."""

_RETRY: Final = 0.02
_EXIT_PATIENCE: Final = 0.3


class Endpoint(ABC):
    """Where an instance serves, and what can be done about it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What to call the instance in messages."""

    @property
    @abstractmethod
    def launched(self) -> bool:
        """Whether it works on the arena's own processors."""

    @property
    def ended(self) -> asyncio.Future[Exit] | None:
        """Done once nobody is there to answer; None where the arena can't know."""
        return None

    @property
    def dropping(self) -> bool:
        """Whether its output is being dropped because there is too much of it."""
        return False

    @abstractmethod
    async def open(self) -> str:
        """Start it, or find it, and return its gRPC target; raise BotUnusable if that can't be."""

    async def output(self) -> str:
        """Return the last lines that it wrote."""
        return ""

    @abstractmethod
    async def explain(self, reason: str) -> str:
        """Return the message for a bot that could not be used for this reason."""

    @abstractmethod
    async def close(self, *, in_peace: bool) -> None:
        """End it, if the arena started it; without `in_peace` at once."""


class Address(Endpoint):
    """A bot that serves at an address, started by somebody else."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @property
    def name(self) -> str:
        """The bot's name."""
        return self._entry.name

    @property
    def launched(self) -> bool:
        """Whether the arena's own processors do the work: not that it knows."""
        return False

    async def open(self) -> str:
        """Return the address."""
        return self._entry.address

    async def explain(self, reason: str) -> str:
        """Say what could not be reached, and the cure."""
        return f"bot {self._entry.name}: {self._entry.address} {reason}; start the bot there, or mend its address"

    async def close(self, *, in_peace: bool) -> None:
        """Nothing is the arena's to end."""


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

    def fail(self, evidence: Evidence, elapsed: float = 0.0) -> None:
        if not self.answer.done():
            self.answer.set_exception(Failure(evidence, elapsed))


class _Place:
    """A place among the requests in flight."""

    def __init__(self, places: asyncio.Semaphore | None) -> None:
        self._places = places

    def give_back(self) -> None:
        """Let the next request begin."""
        if self._places is not None:
            self._places.release()
            self._places = None


class Connection(Player):
    """One instance of a bot over gRPC."""

    def __init__(self, endpoint: Endpoint, setup: Setup, lag: Lag) -> None:
        self._endpoint = endpoint
        self._setup = setup
        self._lag = lag
        self._channel: Channel | None = None
        self._description: Description | None = None
        self._running = False
        self._starting = asyncio.Lock()
        self._restarts = 0
        self._failed_starts = 0
        self._not_started = Evidence(FaultKind.STARTUP, f"{endpoint.name} was not started")
        self._requests = 0
        self._pace: float | None = None
        self._max_batch = wire.MAX_BATCH
        self._failed_batches = 0
        self._tells = True
        self._failed_tells = 0
        self._results: list[tuple[Sequence[DealResult], asyncio.Future[None]]] = []
        self._waiting: deque[_Question] = deque()
        self._unanswered: set[_Question] = set()
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    # --- What a player does ---

    async def start(self) -> Description:
        """Start or reach the bot; what has been given up is refused at once."""
        async with self._starting:
            if not self._running or self._description is None:
                if self._failed_starts >= MAX_FAILED_STARTS:
                    raise BotUnusable(_as_text(self._not_started))
                self._description = await self._open()
                self._running = True
                self._worker = asyncio.create_task(self._work())
            return self._description

    async def decide(self, decision: Decision) -> Answer:
        """Queue a decision and wait for its answer."""
        if not self._running:
            raise Failure(self._not_started)
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
        if not self._running or not self._tells or not results:
            return
        told = asyncio.get_running_loop().create_future()
        self._results.append((results, told))
        self._wake.set()
        await asyncio.wait({told}, timeout=FINISH_LIMIT)

    async def close(self) -> None:
        """End the instance; whatever is still being asked fails as the arena's own doing."""
        async with self._starting:
            self._running = False
            if self._worker is not None:
                self._worker.cancel()
                with suppress(asyncio.CancelledError):
                    await self._worker
                self._worker = None
            self._fail_all(Evidence(FaultKind.ARENA, f"{self._endpoint.name} was closed while it was being asked"))
            await self._put_down(in_peace=True)

    # --- Starting, and starting again ---

    async def _open(self) -> Description:
        """Start the instance, or reach it; raise BotUnusable if that fails, and remember why."""
        try:
            target = await self._endpoint.open()
            self._channel = Channel(target)
            description = await self._describe(self._channel)
        except BotUnusable as unusable:
            self._failed_starts += 1
            detail, _, output = str(unusable).partition("\n")
            self._not_started = Evidence(FaultKind.STARTUP, detail, stderr=output)
            await self._put_down(in_peace=False)
            raise
        except OSError as error:
            self._not_started = Evidence(FaultKind.ARENA, f"{self._endpoint.name}: the arena cannot start it: {error}")
            await self._put_down(in_peace=False)
            raise BotUnusable(self._not_started.detail) from error
        except BaseException:
            await self._put_down(in_peace=False)
            raise
        self._failed_starts = 0
        return description

    async def _describe(self, channel: Channel) -> Description:
        """Ask until there is an answer; raise BotUnusable when the time to start is over, or there can't be one."""
        loop = asyncio.get_running_loop()
        limit = self._setup.time.startup
        deadline = loop.time() + limit
        last = ""
        ended = self._endpoint.ended
        while loop.time() < deadline:
            if ended is not None and ended.done():
                raise BotUnusable(await self._endpoint.explain(f"{ended.result()} before it answered Describe"))
            try:
                reply = await channel.call("Describe", wire.encode_describe(), lambda: deadline, ended)
                return wire.decode_description(reply)
            except CallFailed as failure:
                if failure.code is grpc.StatusCode.UNIMPLEMENTED:
                    reason = "serves, but not arena.v1.BotService with Describe"
                    raise BotUnusable(await self._endpoint.explain(reason)) from None
                last = " (nobody serves there)" if failure.kind is FaultKind.DISCONNECTED else f" ({failure})"
            except EOFError:
                continue
            except TimeoutError:
                break
            except Malformed as error:
                reason = f"described itself in a message that cannot be read ({error})"
                raise BotUnusable(await self._endpoint.explain(reason)) from None
            await asyncio.sleep(_RETRY)
        raise BotUnusable(await self._endpoint.explain(f"did not answer Describe within {limit:g} s{last}"))

    async def _put_down(self, *, in_peace: bool) -> None:
        """End channel and process; afterwards nothing is open. Goes on to its end though the caller be cancelled."""
        if self._ending is None or self._ending.done():
            self._ending = asyncio.create_task(self._end(in_peace=in_peace))
        await asyncio.shield(self._ending)

    async def _end(self, *, in_peace: bool) -> None:
        channel, self._channel = self._channel, None
        try:
            if channel is not None:
                await channel.close()
        finally:
            await self._endpoint.close(in_peace=in_peace)

    async def _ready(self) -> Channel:
        """Return the channel to a living instance, started again if need be; raise Failure if there is none to be had."""
        ended = self._endpoint.ended
        if self._channel is not None:
            if self._channel.live and not (ended is not None and ended.done()):
                return self._channel
            await self._put_down(in_peace=False)
        if self._restarts >= MAX_RESTARTS or self._failed_starts >= MAX_FAILED_STARTS:
            raise Failure(Evidence(FaultKind.DISCONNECTED, self._given_up()))
        self._restarts += 1
        await asyncio.sleep(RESTART_PAUSE * self._restarts)
        try:
            self._description = await self._open()
        except BotUnusable as unusable:
            raise Failure(self._not_started) from unusable
        assert self._channel is not None
        return self._channel

    def _given_up(self) -> str:
        if self._failed_starts >= MAX_FAILED_STARTS:
            return f"{self._endpoint.name} is given up after {self._failed_starts} failed starts in a row"
        return f"{self._endpoint.name} is given up after {self._restarts} restarts"

    # --- The worker ---

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while self._waiting or self._results:
                    await self._tell()
                    if self._waiting:
                        await self._ask(self._waiting, self._batch())
            except Exception as error:
                self._fail_all(Evidence(FaultKind.ARENA, f"{self._endpoint.name}: {type(error).__name__}: {error}"))

    def _fail_all(self, evidence: Evidence) -> None:
        self._waiting.clear()
        for question in self._unanswered:
            question.fail(evidence)
        for _, told in self._results:
            if not told.done():
                told.set_result(None)
        self._results.clear()

    def _batch(self) -> int:
        """Return how many decisions the next request may have.

        More than a request's time is counted for only go to an instance that has shown the pace for it, so that nobody
        is late because others were asked along with it.
        """
        most = min(self._description.max_batch if self._description else 1, self._max_batch)
        if self._pace is None or most <= _COUNTED:
            return min(most, _COUNTED)
        half_the_time = self._setup.time.decision * _COUNTED / 2
        return min(most, max(_COUNTED, int(half_the_time / max(self._pace, 1e-6))))

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[_Place]:
        """Wait for a place among the requests in flight, if this one works on the arena's processors."""
        places = self._setup.parallel if self._endpoint.launched else None
        if places is not None:
            await places.acquire()
        place = _Place(places)
        try:
            yield place
        finally:
            place.give_back()

    async def _ask(self, waiting: deque[_Question], most: int) -> None:
        """Ask the first of those that wait in one request, and again one by one if it fails as a whole."""
        try:
            channel = await self._ready()
        except Failure as failure:
            while waiting:
                waiting.popleft().fail(failure.evidence)
            return
        async with self._place() as place:
            asked = _take(waiting, most)
            if not asked:
                return
            try:
                await self._exchange(channel, asked, place)
            except Failure as failure:
                failed = failure
            else:
                return
        if len(asked) == 1:
            asked[0].fail(failed.evidence, failed.elapsed)
            if failed.evidence.kind is not FaultKind.MALFORMED:
                await self._put_down(in_peace=False)
            return
        await self._put_down(in_peace=False)
        self._count_failed_batch(failed)
        again = deque(asked)
        while again:
            await self._ask(again, 1)

    def _count_failed_batch(self, failed: Failure) -> None:
        self._failed_batches += 1
        if self._failed_batches == MAX_FAILED_BATCHES:
            self._max_batch = 1
            self._setup.warn(
                f"{self._endpoint.name}: {self._failed_batches} requests of several decisions failed as a whole"
                f" (the last: {failed}); it is asked one decision at a time from now on"
            )

    async def _exchange(self, channel: Channel, asked: Sequence[_Question], place: _Place) -> None:
        """Send one request and hand out the answers; raise Failure if it fails as a whole."""
        loop = asyncio.get_running_loop()
        decisions = [question.decision for question in asked]
        count = len(decisions)
        decision_time = min(decision.decision_time for decision in decisions)
        allowance = min(count, _COUNTED) * decision_time
        limit = allowance + min(decision.bank_left for decision in decisions)
        self._requests += 1
        request = wire.encode_request(self._requests, limit, decisions)
        timer = loop.call_later(allowance, place.give_back)
        try:
            with self._lag.watch() as late:

                def credit() -> float:
                    return 0.0 if self._endpoint.dropping else min(late.seconds, decision_time)

                began = loop.time()
                try:
                    reply = await channel.call(
                        "Decide", request, lambda: began + limit + credit(), self._endpoint.ended
                    )
                except (TimeoutError, EOFError, CallFailed) as error:
                    elapsed = loop.time() - began - credit()
                    raise Failure(await self._evidence(error, elapsed, limit), elapsed / count) from None
                elapsed = loop.time() - began
                elapsed -= credit() if len(reply) <= _CREDITED_REPLY else 0.0
        finally:
            timer.cancel()
        if elapsed > limit:
            raise Failure(await self._evidence(TimeoutError(), elapsed, limit), elapsed / count)
        try:
            choices = wire.decode_response(reply, self._requests, decisions)
        except Malformed as error:
            evidence = Evidence(FaultKind.MALFORMED, str(error), answer=_shorten(reply), stderr=await self._output())
            raise Failure(evidence, elapsed / count) from None
        self._pace = max(elapsed / count, (self._pace or 0.0) / 2)
        await self._hand_out(asked, choices, elapsed / count)

    async def _hand_out(
        self, asked: Sequence[_Question], choices: Sequence[Choice | Malformed], elapsed: float
    ) -> None:
        for question, choice in zip(asked, choices, strict=True):
            if isinstance(choice, Choice):
                if not question.answer.done():
                    question.answer.set_result(Answer(choice, elapsed))
            else:
                evidence = Evidence(FaultKind.MALFORMED, str(choice), answer=str(choice), stderr=await self._output())
                question.fail(evidence, elapsed)

    async def _evidence(self, error: Exception, elapsed: float, limit: float) -> Evidence:
        """Return what is known of a request without a reply."""
        ended = self._endpoint.ended
        if isinstance(error, TimeoutError):
            detail = f"no answer within {limit:.3g} s"
            overrun = max(0.0, elapsed - limit)
            return Evidence(FaultKind.TIMEOUT, detail, overrun=overrun, stderr=await self._output())
        if ended is not None and isinstance(error, CallFailed) and error.kind is FaultKind.DISCONNECTED:
            await asyncio.wait({ended}, timeout=_EXIT_PATIENCE)
        if ended is not None and ended.done():
            how = ended.result()
            detail = f"the process {how} while it was being asked"
            return Evidence(
                FaultKind.DISCONNECTED, detail, exit_code=how.exit_code, signal=how.signal, stderr=how.output
            )
        kind = error.kind if isinstance(error, CallFailed) else FaultKind.DISCONNECTED
        return Evidence(kind, f"an error instead of an answer: {error}", stderr=await self._output())

    async def _output(self) -> str:
        return await self._endpoint.output()

    # --- Results ---

    async def _tell(self) -> None:
        """Tell the bot what results there are, if it lives and cares."""
        told, self._results = self._results, []
        channel = self._channel
        if told and self._tells and channel is not None and channel.live:
            results = [result for batch, _ in told for result in batch]
            async with self._place():
                deadline = asyncio.get_running_loop().time() + FINISH_LIMIT
                try:
                    await channel.call(
                        "FinishDeals", wire.encode_results(results), lambda: deadline, self._endpoint.ended
                    )
                    self._failed_tells = 0
                except (TimeoutError, EOFError, CallFailed) as error:
                    self._count_failed_tell(error)
        for _, done in told:
            if not done.done():
                done.set_result(None)

    def _count_failed_tell(self, error: Exception) -> None:
        if isinstance(error, CallFailed) and error.code is grpc.StatusCode.UNIMPLEMENTED:
            self._tells = False
            return
        self._failed_tells += 1
        if self._failed_tells == 1:
            reason = (
                f"not done within {FINISH_LIMIT:g} s" if isinstance(error, TimeoutError) else str(error) or "it ended"
            )
            self._setup.warn(f"{self._endpoint.name}: FinishDeals failed: {reason}")


def _take(waiting: deque[_Question], most: int) -> list[_Question]:
    """Take the first questions that somebody still waits for."""
    taken: list[_Question] = []
    while waiting and len(taken) < most:
        question = waiting.popleft()
        if not question.answer.done():
            taken.append(question)
    return taken


def _as_text(evidence: Evidence) -> str:
    return f"{evidence.detail}\n{evidence.stderr}" if evidence.stderr else evidence.detail


def _shorten(reply: bytes) -> str:
    """Return the beginning of a reply, as hexadecimal digits."""
    return f"{len(reply)} bytes: {reply[:32].hex(' ')}{' ...' if len(reply) > 32 else ''}"
