"""Runs one admission in a process of its own: `python -m arena.submission.worker`.

So that reading hostile archives and asking bots never holds up a server, and nothing that goes wrong there can end it. It is
told what to do on its standard input and tells what happens on its standard output (see `arena.submission.pipe`). When its
input closes it ends, with all that it started; also when it is killed, since the supervisor of its bots then ends them.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import threading
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import Any, BinaryIO, Final

from arena.competition import AdmissionStep, Program
from arena.errors import ArenaError, Refused
from arena.submission.admission import admit
from arena.submission.pipe import (
    LINE_BYTES,
    decode,
    decode_order,
    encode,
    encode_claim,
    encode_event,
)

NICENESS: Final = 10

MEMORY: Final = 1 << 30
"""Bytes of memory for unpacking, where no bot runs yet that would have limits of its own."""

GRACE: Final = 15.0
"""Seconds in which all has to end once nobody wants it any more."""


class Worker:
    """One admission, for the process at the other end of two pipes."""

    def __init__(self, reader: asyncio.StreamReader, output: BinaryIO) -> None:
        self._reader = reader
        self._output = output
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def run(self) -> None:
        """Do what is ordered; give up as soon as the input closes."""
        order = await self._read()
        if order is None:
            return
        work = asyncio.create_task(self._work(order))
        listening = asyncio.create_task(self._listen())
        either: set[asyncio.Future[Any]] = {work, listening}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            _end_late(GRACE)
        for task in (work, listening):
            task.cancel()
        await asyncio.gather(work, listening, return_exceptions=True)

    async def _work(self, order: Mapping[str, Any]) -> None:
        try:
            version, shelf, terms = decode_order(order)
            limit = _limit_memory(MEMORY)
            async with aclosing(admit(version, shelf, terms, self._claim)) as events:
                async for event in events:
                    if isinstance(event, AdmissionStep) and event.name == "unpack":
                        _limit_memory(limit)
                    self._tell(encode_event(event))
        except ArenaError as error:
            self._tell({"failed": str(error)[:10_000]})
        except Exception as error:
            self._tell({"failed": f"{type(error).__name__}: {error}"[:10_000]})
            raise
        else:
            self._tell({"done": True})

    async def _claim(self, program: Program, digest: str, size: int) -> bool:
        self._tell(encode_claim(program, digest, size))
        answer = await self._answers.get()
        if "refused" in answer:
            raise Refused(*answer["refused"])
        return bool(answer["claimed"])

    async def _listen(self) -> None:
        while (message := await self._read()) is not None:
            self._answers.put_nowait(message)

    async def _read(self) -> dict[str, Any] | None:
        line = await self._reader.readline()
        return decode(line) if line.endswith(b"\n") else None

    def _tell(self, message: Mapping[str, Any]) -> None:
        self._output.write(encode(message))
        self._output.flush()


def _limit_memory(most: int) -> int:
    """Limit the memory of this process, and of those that it starts from now on; return what the limit was."""
    before, highest = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = most if highest == resource.RLIM_INFINITY else min(most, highest)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, highest))
    return before


def _end_late(seconds: float) -> None:
    """End the process after some seconds, whatever it does then."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()


async def main() -> None:
    """Serve the pipes that are standard input and output; nothing else may be written there."""
    os.nice(NICENESS)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    reader = asyncio.StreamReader(LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with output, suppress(BrokenPipeError):
        await Worker(reader, output).run()


if __name__ == "__main__":
    asyncio.run(main())
