"""Keeps watch over the processes of bots: a program of its own, run as `python -I -S supervisor.py FOLDER FD`.

The arena can't do this itself: it may be killed at any moment, and a process with gRPC's threads must not fork. So it starts
one supervisor, in a session of its own, and holds the other end of the socket FD. For each file descriptor that comes over
that socket the supervisor forks a keeper, and the keeper talks to the arena through it, in JSON lines: it starts one bot,
drains what the bot writes, reports its end, and kills it with all that it started. A keeper is the reaper of its bot's
orphans, so that none of them can slip out of its sight, and returns only when none is left. When the arena's end of a socket
closes, for whatever reason, everything behind it is killed; when the supervisor's own closes without a farewell, FOLDER is
removed too.

Nothing but the standard library is imported, for a start within milliseconds. On Linux processes are found in /proc; on
other systems only a bot's own process group can be killed.

From the arena: one `{"argv", "env", "directory", "sandbox", "log"}`, then `{"stop": SECONDS}` (SIGTERM, then SIGKILL after
so long) and `{"tail": true}`. To the arena: `{"started": {"pid", "folder"}}` or `{"failed": TEXT}`, then `{"tail": TEXT}`,
`{"dropping": BOOL}`, and `{"ended": {"exit_code", "signal", "tail", "reason", "suspicion"}}`; the closing of the socket says
that nothing is left. `sandbox` is null, or what `arena.players.confinement` takes, with what is `allowed` as
`arena.players.excess` takes it; then `pid` is that of the first process inside, and `folder` leads to the socket's folder in
there. `log` is null, or the file that the output is added to.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))  # where `arena` is, which -I and -S leave out

from arena.players.confinement import Confined
from arena.players.excess import suspect
from arena.players.family import descendants
from arena.players.watchdog import Watchdog

FAREWELL: Final = b"."
"""Sent by the arena before it closes the supervisor's socket on purpose: then FOLDER is left to its owner."""

NEW_KEEPER: Final = b"+"
"""Sent along with a keeper's socket."""

TAIL_BYTES: Final = 16 * 1024
DROPPING_RATE: Final = 1 << 20
"""Bytes a second of output above which the arena is told that output is being dropped."""

LOG_BYTES: Final = 16 << 20
"""Bytes beyond which nothing more is added to a log."""

_CHUNK: Final = 1 << 16
_CODES: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")  # what a terminal might obey
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_POLL: Final = 0.02  # seconds; the end of a child is told at once
_PATIENCE: Final = 5.0
_SIGNALLED: Final = 128  # bubblewrap's exit code for a program that a signal ended, plus the signal


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _libc.prctl(option, value, 0, 0, 0)


_libc = ctypes.CDLL(None)


class Signals:
    """Turns the signals of children, and requests to end, into readable bytes on a socket."""

    def __init__(self) -> None:
        self.socket, self._writer = socket.socketpair()
        self.socket.setblocking(False)
        self._writer.setblocking(False)
        self.end_asked = False
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        # Handlers, not SIG_IGN: what is ignored would stay ignored in the bots.
        signal.signal(signal.SIGCHLD, self._nothing)
        signal.signal(signal.SIGINT, self._nothing)
        signal.signal(signal.SIGHUP, self._nothing)
        signal.signal(signal.SIGTERM, self._end)

    def wait(self, seconds: float) -> None:
        """Wait for a signal, no longer than so many seconds, and forget those that have come."""
        select.select([self.socket], [], [], seconds)
        self.clear()

    def clear(self) -> None:
        """Forget the signals that have come."""
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(4096):
                pass

    def _nothing(self, _number: int, _frame: FrameType | None) -> None:
        pass

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.end_asked = True


def reap() -> Iterator[tuple[int, int]]:
    """Yield process id and wait status of every child that has ended; raise ChildProcessError if there is no child."""
    while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
        yield ended


def kill(pids: Collection[int]) -> None:
    """Kill processes at once."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_group(leader: int, number: int) -> None:
    """Send a signal to a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


class Output:
    """What a bot writes: the last of it is kept, the rest only counted, and added to a log where one is wanted."""

    def __init__(self, pipe: int, log: str | None = None) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._tail = b""
        self._second = time.monotonic()
        self._bytes = 0
        self.dropping = False

    @property
    def text(self) -> str:
        """The last of the output, as it is."""
        return self._tail.decode(errors="replace")

    def read(self) -> bool:
        """Read once what there is; return False at the end of the output."""
        try:
            data = os.read(self.pipe, _CHUNK)
        except BlockingIOError:
            return True
        if self._log is not None and data:
            self._add_to_log(self._log, data)
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        self._bytes += len(data)
        return bool(data)

    def _add_to_log(self, log: int, data: bytes) -> None:
        try:
            if os.fstat(log).st_size < LOG_BYTES:
                os.write(log, _CODES.sub(b"", data))
        except OSError:  # such as a full disk: a log is not worth a match
            self._log = None

    def read_rest(self) -> None:
        """Read what a pipe may still hold, and no more: somebody may go on writing."""
        for _ in range(32):
            if not self.read():
                return

    def rate_changed(self) -> bool:
        """Return whether output has begun, or ceased, to come faster than anybody could want it."""
        now = time.monotonic()
        fast = self._bytes > DROPPING_RATE
        if now - self._second < 1 and not (fast and not self.dropping):
            return False
        changed = fast is not self.dropping
        self.dropping = fast
        self._second, self._bytes = now, 0
        return changed


class Keeper:
    """Starts one bot and stays until nothing of it is left."""

    def __init__(self, arena: socket.socket) -> None:
        self._arena = arena
        self._signals = Signals()
        self._received = b""
        self._status: int | None = None
        self._kill_at = float("inf")
        self._confined: Confined | None = None
        self._allowed: dict[str, Any] = {}
        self._watchdog: Watchdog | None = None
        self._look_at = float("inf")
        self._reason = ""

    def run(self) -> None:
        """Do all of a keeper's work."""
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        while b"\n" not in self._received:
            if not self._receive():
                return
        request, _, self._received = self._received.partition(b"\n")
        try:
            self._start(json.loads(request))
        except OSError as error:
            self._send({"failed": error.strerror or str(error)})
            return
        self._send({"started": self._started()})
        self._watch()
        ended_by_itself = self._status is not None
        if ended_by_itself:
            self._report_end()
        self._kill_all()
        if not ended_by_itself:
            self._report_end()
        if self._confined:
            self._confined.leave()

    def _start(self, request: dict[str, Any]) -> None:
        reading, writing = os.pipe()
        how: dict[str, Any] = {
            "env": request["env"],
            "cwd": request["directory"],
            "stdout": writing,
            "stderr": writing,
            "start_new_session": True,
        }
        # The process is kept, because on its own end it would reap the bot.
        if request["sandbox"] is None:
            self._process = subprocess.Popen(
                request["argv"],
                stdin=subprocess.DEVNULL,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - there is one thread
                **how,
            )
        else:
            self._allowed = request["sandbox"]["allowed"]
            self._confined = Confined(request["sandbox"], request["argv"])
            self._process = self._confined.start(how)
            if self._confined.first is not None:
                most = self._allowed["memory"], self._allowed["names"]["memory"], request["sandbox"]["most_files"]
                self._watchdog = Watchdog(self._confined.first_pid, self._confined.folders, *most)
                self._look_at = time.monotonic() + self._watchdog.pause
        os.close(writing)
        self._bot = self._process.pid
        self._output = Output(reading, request["log"])

    def _started(self) -> dict[str, Any]:
        if self._confined is None:
            return {"pid": self._bot, "folder": ""}
        folder = next((f"/proc/{os.getpid()}/fd/{folder}" for folder in self._confined.folders), "")
        return {"pid": self._confined.first_pid, "folder": folder}

    def _watch(self) -> None:
        """Serve until the bot has ended or is to be killed."""
        self._obey()
        with selectors.DefaultSelector() as selector:
            selector.register(self._arena, selectors.EVENT_READ, self._hear)
            selector.register(self._signals.socket, selectors.EVENT_READ, self._reap)
            selector.register(self._output.pipe, selectors.EVENT_READ, lambda: self._drain(selector))
            while self._status is None and not self._signals.end_asked and time.monotonic() < self._kill_at:
                until = min(self._kill_at, self._look_at)
                patience = min(until - time.monotonic(), 1.0 if self._output.dropping else float("inf"))
                for key, _ in selector.select(None if patience == float("inf") else max(0.0, patience)):
                    serve: Callable[[], None] = key.data
                    serve()
                if self._output.rate_changed():
                    self._send({"dropping": self._output.dropping})
                self._look()

    def _look(self) -> None:
        """Look whether the bot uses too much, if it is time for that; it is killed then."""
        now = time.monotonic()
        if self._watchdog is not None and now >= self._look_at:
            self._reason = self._watchdog.look()
            self._look_at = now + self._watchdog.pause
            if self._reason:
                self._kill_at = 0.0

    def _drain(self, selector: selectors.BaseSelector) -> None:
        if not self._output.read():
            selector.unregister(self._output.pipe)

    def _receive(self) -> bool:
        try:
            data = self._arena.recv(_CHUNK)
        except ConnectionError:
            data = b""
        self._received += data
        return bool(data)

    def _hear(self) -> None:
        if self._receive():
            self._obey()
        else:
            self._kill_at = 0.0

    def _obey(self) -> None:
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            wish = json.loads(line)
            if "stop" in wish:
                if self._confined:
                    self._confined.ask_to_end()
                else:
                    kill_group(self._bot, signal.SIGTERM)
                self._kill_at = time.monotonic() + wish["stop"]
            else:
                self._send({"tail": self._output.text})

    def _reap(self) -> None:
        self._signals.clear()
        with contextlib.suppress(ChildProcessError):
            for pid, status in reap():
                if pid == self._bot:
                    self._status = status

    def _kill_all(self) -> None:
        """Kill the bot and all that it started; return when nothing is left."""
        if self._confined:
            self._confined.kill()
        kill_group(self._bot, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                for pid, status in reap():
                    if pid == self._bot:
                        self._status = status
                kill(descendants(os.getpid()))
                self._signals.wait(_POLL)

    def _report_end(self) -> None:
        self._output.read_rest()
        code = os.waitstatus_to_exitcode(self._status or 0)
        if self._confined and code > _SIGNALLED:
            code = _SIGNALLED - code
        self._send(
            {
                "ended": {
                    "exit_code": code if code >= 0 else None,
                    "signal": -code if code < 0 else None,
                    "tail": self._output.text,
                    "reason": self._reason,
                    "suspicion": self._suspicion(code),
                }
            }
        )

    def _suspicion(self, code: int) -> str:
        """Return which limits the bot may have met, if it failed by itself."""
        if not self._allowed or self._reason or not code or self._kill_at != float("inf"):
            return ""
        most = self._watchdog.most if self._watchdog else 0
        return suspect(self._output.text, self._allowed, ended_by=-code if code < 0 else None, most=most)

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._arena.sendall(json.dumps(message).encode() + b"\n")


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Supervisor:
    """Forks keepers, and ends when the arena does."""

    def __init__(self, folder: Path, control: socket.socket) -> None:
        self._folder = folder
        self._control = control
        self._signals = Signals()
        self._keepers: set[int] = set()
        self._farewell = False

    def run(self) -> None:
        """Serve until the arena is gone, then end everything."""
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        arena = os.getppid()
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._signals.socket, selectors.EVENT_READ)
            # Somebody else may hold the arena's end of the socket, so its process is looked after too.
            while os.getppid() == arena and not self._signals.end_asked:
                ready = {key.fileobj for key, _ in selector.select(1.0)}
                if self._signals.socket in ready:
                    self._reap()
                if self._control in ready and not self._serve():
                    break
        self._end()

    def _serve(self) -> bool:
        try:
            wish, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        except ConnectionError:
            return False
        self._farewell |= wish == FAREWELL
        for descriptor in descriptors:
            self._fork(descriptor)
        return bool(wish)

    def _fork(self, descriptor: int) -> None:
        keeper = os.fork()
        if keeper == 0:
            try:
                self._control.close()
                Keeper(socket.socket(fileno=descriptor)).run()
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        os.close(descriptor)
        self._keepers.add(keeper)

    def _reap(self) -> None:
        """Reap keepers; where one was killed, kill what it leaves behind."""
        self._signals.clear()
        killed = False
        with contextlib.suppress(ChildProcessError):
            for pid, status in reap():
                killed |= pid not in self._keepers or status != 0
                self._keepers.discard(pid)
        if killed:
            kill(descendants(os.getpid(), self._keepers))

    def _end(self) -> None:
        for keeper in self._keepers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGTERM)
        patience = time.monotonic() + _PATIENCE
        with contextlib.suppress(ChildProcessError):
            while True:
                self._keepers.difference_update([pid for pid, _ in reap()])
                late = time.monotonic() > patience
                kill(descendants(os.getpid(), () if late else self._keepers))
                self._signals.wait(_POLL)
        if not self._farewell:
            shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    Supervisor(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))).run()
