"""The arena's end of the supervisor: processes of bots, started and ended by it (see `arena.players.supervisor`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.errors import BotUnusable
from arena.players import supervisor
from arena.text import clean_lines

PATIENCE = 10.0
"""Seconds that the supervisor has to do what it does within milliseconds; nothing in the arena waits longer for it."""

_LINE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """What is to be executed: a program by its path with its arguments, the whole environment, and where."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    sandbox: Mapping[str, Any] | None = None
    """How it is to be confined, as `arena.players.confinement` takes it; None if it isn't."""
    log: Path | None = None
    """The file that its output is added to, if any."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: by itself with a code, by a signal, or unknown to us; and the last lines it wrote."""

    exit_code: int | None = None
    signal: int | None = None
    output: str = ""
    reason: str = ""
    """Why the arena ended it, where it used more than it may."""
    suspicion: str = ""
    """Which limits it may have met, where it ended by itself."""

    def told(self, when: str = "") -> str:
        """Say how and when it ended, and which limits it may have met."""
        return f"{self}{when}{f'; {self.suspicion}' if self.suspicion else ''}"

    def __str__(self) -> str:
        if self.reason:
            return f"was ended because {self.reason}"
        if self.exit_code is not None:
            return f"exited with code {self.exit_code}"
        return "ended" if self.signal is None else f"was ended by signal {self.signal}"


class Process:
    """One running process of a bot, with all that it has started."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tails: list[asyncio.Future[str]] = []
        self._listener = asyncio.create_task(self._listen())
        self.pid = 0
        """The process's number; in a sandbox that of the first one inside, and 0 if there never was one."""
        self.folder = ""
        """Where the socket's folder of a sandbox is found."""
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        """Done as soon as the process itself has ended."""
        self.dropping = False
        """Whether it writes faster than anybody could want, so that its output is being dropped."""

    async def start(self, command: Command) -> None:
        """Execute the command; raise BotUnusable if the system refuses, OSError if there is no supervisor."""
        self._send(
            {
                "argv": command.argv,
                "env": dict(command.environment),
                "directory": str(command.directory),
                "sandbox": command.sandbox,
                "log": command.log and str(command.log),
            }
        )
        await asyncio.wait({self._started}, timeout=PATIENCE)
        if not self._started.done():
            raise OSError("the supervisor does not answer")
        if refusal := self._started.result():
            raise BotUnusable(refusal)

    async def output(self) -> str:
        """Return the last lines that the process wrote to its standard output and error, made safe to show."""
        if not self.ended.done():
            tail: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._tails.append(tail)
            self._send({"tail": True})
            either: set[asyncio.Future[Any]] = {tail, self.ended}
            await asyncio.wait(either, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if tail.done():
                return tail.result()
        return self.ended.result().output if self.ended.done() else ""

    async def stop(self, grace: float = 0.0) -> None:
        """End the process and all that it started: SIGTERM, and after `grace` seconds SIGKILL; return when nothing is left.

        A process that the system itself can't end is left to the supervisor.
        """
        self._send({"stop": grace})
        await asyncio.wait({self._listener}, timeout=grace + PATIENCE)
        self._listener.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    def _send(self, message: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def _listen(self) -> None:
        try:
            async for line in self._reader:
                self._hear(json.loads(line))
        except OSError:
            pass  # as good as the end
        finally:
            if not self._started.done():
                self._started.set_exception(OSError("the supervisor was killed"))
            if not self.ended.done():
                self.ended.set_result(Exit())

    def _hear(self, message: dict[str, Any]) -> None:
        match message:
            case {"started": {"pid": int(pid), "folder": str(folder)}}:
                self.pid, self.folder = pid, folder
                self._started.set_result("")
            case {"failed": str(text)}:
                self._started.set_result(text)
            case {"dropping": bool(dropping)}:
                self.dropping = dropping
            case {"tail": str(text)}:
                tail = self._tails.pop(0)
                if not tail.done():
                    tail.set_result(clean_lines(text))
            case {"ended": {"exit_code": exit_code, "signal": number, "tail": str(text), **why}}:
                reason, suspicion = str(why["reason"]), str(why["suspicion"])
                self.ended.set_result(Exit(exit_code, number, clean_lines(text), reason, suspicion))


class Supervisor:
    """The supervisor's process, started when first needed, and again if somebody killed it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    async def launch(self, command: Command) -> Process:
        """Start a process; raise BotUnusable if the system refuses, OSError if it lacks the means to start any."""
        ours, keepers = socket.socketpair()
        try:
            with keepers:
                self._send_keeper(keepers)
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_LINE_LIMIT)
        except BaseException:
            ours.close()
            raise
        process = Process(reader, writer)
        try:
            await process.start(command)
        except BaseException:
            await process.stop()
            raise
        return process

    async def close(self) -> None:
        """End the supervisor, and with it whatever it still holds."""
        if self._program is None or self._control is None:
            return
        with contextlib.suppress(OSError):
            self._control.send(supervisor.FAREWELL)
        self._control.close()
        await asyncio.to_thread(self._wait, self._program)
        self._program = self._control = None

    def _send_keeper(self, keepers: socket.socket) -> None:
        if self._program is not None and self._program.poll() is not None and self._control is not None:
            self._control.close()
            self._program = None
        if self._program is None or self._control is None:
            self._program, self._control = self._start()
        socket.send_fds(self._control, [supervisor.NEW_KEEPER], [keepers.fileno()])

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = ["-I", "-S", supervisor.__file__, str(self._folder), str(theirs.fileno())]
            program = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return program, ours

    @staticmethod
    def _wait(program: subprocess.Popen[bytes]) -> None:
        try:
            program.wait(2 * PATIENCE)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
