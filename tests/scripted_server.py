"""A server that does what a test tells it: answers, refuses with a reason, breaks off; and keeps what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from arena.v1 import arena_pb2, arena_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True)
class End:
    """How a call ends otherwise than well; without a reason, as when the connection breaks."""

    code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    text: str = "gone"
    reason: str = ""
    retry: float = 0.0

    async def tell(self, context: Context) -> None:
        """End a call so."""
        if not self.reason:
            await context.abort(self.code, self.text)
        status = status_pb2.Status(code=self.code.value[0], message=self.text)
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason=self.reason, domain="arena"))
        if self.retry:
            delay = error_details_pb2.RetryInfo()
            delay.retry_delay.FromMilliseconds(round(self.retry * 1000))
            status.details.add().Pack(delay)
        await context.abort(self.code, self.text, (("grpc-status-details-bin", status.SerializeToString()),))


@dataclass
class Script(arena_pb2_grpc.ArenaServiceServicer):
    """Each call takes the next list of answers; an End among them ends it, an event that is never set holds it."""

    answers: list[Sequence[Any]]
    asked: list[Any] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    archives: list[bytes] = field(default_factory=list)
    largest: int = 0
    """The bytes of the largest piece."""
    port: int = 0

    @property
    def address(self) -> str:
        """Where it serves."""
        return f"127.0.0.1:{self.port}"

    async def _answers(self, request: Any, context: Context) -> AsyncIterator[Any]:
        self.asked.append(request)
        self.tokens += [str(value) for key, value in context.invocation_metadata() or () if key == "authorization"]
        for answer in self.answers.pop(0):
            if isinstance(answer, End):
                await answer.tell(context)
            if isinstance(answer, asyncio.Event):
                await answer.wait()
                return
            yield answer

    async def _answer(self, request: Any, context: Context) -> Any:
        return await anext(self._answers(request, context))

    RunTournament = WatchTournament = WatchSubmission = _answers
    GetLeaderboard = ListTournaments = ListBots = ListVersions = WithdrawBot = _answer

    async def SubmitBot(
        self, request_iterator: AsyncIterator[arena_pb2.SubmitBotRequest], context: Context
    ) -> AsyncIterator[arena_pb2.SubmitBotResponse]:
        """Take an archive in, unless the next answer ends the call at once; then answer."""
        first = await anext(request_iterator)
        if not isinstance(self.answers[0][0], End):
            await context.send_initial_metadata(())
            pieces = [part.piece async for part in request_iterator]
            self.archives.append(b"".join(pieces))
            self.largest = max(self.largest, *map(len, pieces))
        async for answer in self._answers(first.submission, context):
            yield answer


@asynccontextmanager
async def scripted(*answers: Sequence[Any], credentials: grpc.ServerCredentials | None = None) -> AsyncIterator[Script]:
    """Serve a script on a free port."""
    script = Script(list(answers))
    server = grpc.aio.server()
    arena_pb2_grpc.add_ArenaServiceServicer_to_server(script, server)
    script.port = (
        server.add_secure_port("127.0.0.1:0", credentials) if credentials else server.add_insecure_port("127.0.0.1:0")
    )
    await server.start()
    try:
        yield script
    finally:
        await server.stop(None)
