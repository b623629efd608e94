"""Bots that the arena starts itself: one process an instance, watched over by the supervisor.

What is executed, with which environment and where, is worked out in one place, `make_command`; `arena.players.sandbox` wraps
that.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from arena.contents import cure_of_missing, make_folder
from arena.errors import BadInput, BotUnusable
from arena.files import folder_contents
from arena.players.base import Player, Setup, Transport
from arena.players.connection import Connection
from arena.players.endpoint import Endpoint, Target
from arena.players.excess import suspect
from arena.players.freezer import Freezer, find_groups, parent_of
from arena.players.lag import Lag
from arena.players.process import Command, Exit, Process, Supervisor
from arena.players.sandbox import PORT, SOCKET, Sandbox
from arena.settings import Entry
from arena.sockets import check_path, grpc_target

ADDRESS_VARIABLE = "ARENA_BOT_ADDRESS"

STOP_GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL where an instance ends in peace."""

_LOOK_AGAIN = 0.005
_SEEN = "; in the sandbox it sees only the files that its command names, unless its entry names their `directory`"
_LONGEST_OUTPUT_SHOWN = 10

_INHERITED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NODE_PATH", "JAVA_HOME", "DOTNET_ROOT", "LD_LIBRARY_PATH"),
        *("GOROOT", "GOPATH", "GOCACHE", "CARGO_HOME", "RUSTUP_HOME"),
    )
)
"""What bots get of the arena's environment, besides LC_*: never a token, and no proxy, which would break local addresses."""

_SET = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONHASHSEED": "0",  # a Python bot that goes through a set of texts repeats itself exactly
    "GRPC_ENABLE_FORK_SUPPORT": "0",
    "GRPC_VERBOSITY": "ERROR",
}


def make_environment(inherited: Mapping[str, str], address: str) -> dict[str, str]:
    """Return a bot's whole environment."""
    kept = {name: value for name, value in inherited.items() if name in _INHERITED or name.startswith("LC_")}
    return kept | _SET | {ADDRESS_VARIABLE: address}


def make_command(entry: Entry, address: str) -> Command:
    """Return what is to be executed for a bot that is to serve at `address`.

    `python` and `python3` are the interpreter that runs the arena; a program with a slash is relative to the bot's
    directory, any other is looked for on the PATH. Raises BotUnusable if the program or the directory is not there.
    """
    environment = make_environment(os.environ, address)
    directory = entry.directory.absolute()
    if not directory.is_dir():
        raise BotUnusable(f"bot {entry.name}: its directory {directory} does not exist")
    program = _find_program(entry, directory, environment)
    if not os.access(program, os.X_OK) or Path(program).is_dir():
        raise BotUnusable(f"bot {entry.name}: {program} is not executable; try chmod +x, or name its interpreter first")
    return Command((program, *entry.command[1:]), environment, directory)


def _find_program(entry: Entry, directory: Path, environment: Mapping[str, str]) -> str:
    word = entry.command[0]
    if word in ("python", "python3"):
        return sys.executable
    if "/" in word:
        if not (directory / word).exists():
            raise BotUnusable(f"bot {entry.name}: {directory / word} does not exist; build it, or mend its command")
        return str(directory / word)
    program = shutil.which(word, path=environment.get("PATH"))
    if program is None:
        raise BotUnusable(f"bot {entry.name}: there is no program {word!r} on the PATH; install it, or give its path")
    return program


class LaunchedBot(Endpoint):
    """One instance of a bot as a process: each start is a new process at a new address."""

    def __init__(self, entry: Entry, instance: str, launcher: Launcher) -> None:
        self._entry = entry
        self._instance = instance
        self._launcher = launcher
        self._process: Process | None = None
        self._folder: Path | None = None
        self._socket: int | None = None
        self._freezer: Freezer | None = None
        self._group: Path | None = None
        self._address = ""
        self._allowed: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """The bot's name with its instance's."""
        return f"{self._entry.name} (instance {self._instance})"

    @property
    def launched(self) -> bool:
        """Whether the arena's own processors do the work: yes."""
        return True

    @property
    def ended(self) -> asyncio.Future[Exit] | None:
        """Done once the process has ended."""
        return self._process.ended if self._process else None

    @property
    def dropping(self) -> bool:
        """Whether the process writes so fast that its output is being dropped."""
        return self._process is not None and self._process.dropping

    def freeze(self) -> None:
        """Let nothing of the instance run, if that is wanted."""
        if self._freezer is not None:
            self._freezer.freeze()

    def thaw(self) -> None:
        """Let the instance run again."""
        if self._freezer is not None:
            self._freezer.thaw()

    async def open(self, deadline: float) -> Target:
        """Start the process and return where it serves, or is to serve."""
        sandbox = self._launcher.sandbox
        if sandbox is not None:
            return await self._open_in(sandbox, deadline)
        if self._entry.tcp:
            self._address = f"127.0.0.1:{_free_port()}"
        else:
            self._folder = self._launcher.make_folder()
            self._address = _address_in(self._folder)
        process = await self._launch(make_command(self._entry, self._address))
        if self._launcher.freezes:
            self._freezer = Freezer(parent_of(process.pid))
        return Target(grpc_target(self._address))

    async def _open_in(self, sandbox: Sandbox, deadline: float) -> Target:
        """Start the process in the sandbox, wait for its socket, and return where that can be dialled."""
        self._address = f"127.0.0.1:{PORT}" if self._entry.tcp else f"unix:{SOCKET}"
        self._folder = self._launcher.make_folder()
        self._group = self._launcher.make_group(self._folder.name)
        command = make_command(self._entry, self._address)
        confined = sandbox.confine(self._entry, command, self._folder, self._launcher.folders, self._group)
        self._allowed = confined.sandbox["allowed"] if confined.sandbox else {}
        process = await self._launch(confined)
        if self._launcher.freezes:
            self._freezer = Freezer(process.pid, self._group)
        try:
            self._socket = await find_socket(process, deadline)
        except FileNotFoundError:
            return Target(f"unix:{process.folder}")  # there is nobody to answer, as the caller will find out
        except OSError as error:
            raise BotUnusable(await self.explain(f"did not open its socket: {error}")) from None
        return Target(f"unix:/proc/self/fd/{self._socket}")

    async def _launch(self, command: Command) -> Process:
        log = self._launcher.log_file(self._entry, self._instance)
        try:
            self._process = await self._launcher.supervisor.launch(replace(command, log=log))
        except BotUnusable as refusal:
            raise BotUnusable(f"bot {self._entry.name}: {command.argv[0]} cannot be run: {refusal}") from refusal
        return self._process

    async def output(self) -> str:
        """Return the last lines of the process's output."""
        return await self._process.output() if self._process else ""

    def suspect(self, text: str) -> str:
        """Return which of the sandbox's limits it may have met."""
        return suspect(text, self._allowed) if self._allowed else ""

    async def explain(self, reason: str) -> str:
        """Say what is known of a start that failed."""
        output = await self.output()
        left_out = folder_contents(self._entry).left_out if self._entry.whole_directory else ()
        missing = cure_of_missing(left_out, output) if self._launcher.sandbox else ""
        shown = "\n".join(f"    {line}" for line in output.splitlines()[-_LONGEST_OUTPUT_SHOWN:])
        return (
            f"bot {self._entry.name}: `{shlex.join(self._entry.command)}` {reason};"
            f" it was to serve arena.v1.BotService at {ADDRESS_VARIABLE}={self._address}"
            + (_SEEN if self._launcher.sandbox and not self._entry.whole_directory else "")
            + (missing and f"; {missing}")
            + (f"; the last that it wrote:\n{shown}" if shown else "; it wrote nothing")
        )

    async def close(self, *, in_peace: bool) -> None:
        """End the process with all that it started, and remove its folder."""
        process, self._process = self._process, None
        folder, self._folder = self._folder, None
        descriptor, self._socket = self._socket, None
        if descriptor is not None:
            os.close(descriptor)
        freezer, self._freezer = self._freezer, None
        if freezer is not None:
            freezer.close()
        group, self._group = self._group, None
        try:
            if process is not None:
                await process.stop(STOP_GRACE if in_peace else 0.0)
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if group is not None:
                with suppress(OSError):  # as a rule its keeper has removed it
                    group.rmdir()


class Launcher(Transport):
    """Starts bots by their command."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lag = Lag()
        self._groups = find_groups() if setup.freeze and setup.sandbox else None
        self.sandbox = setup.sandbox
        self.freezes = setup.freeze
        self.folders = 0
        """How many folders were made."""
        self.supervisor = Supervisor(setup.folder)

    def player(self, entry: Entry, instance: str) -> Player:
        """Return a player that will be a process of its own."""
        return Connection(LaunchedBot(entry, instance, self), self._setup, self._lag)

    async def close(self) -> None:
        """End the supervisor."""
        await self.supervisor.close()

    def log_file(self, entry: Entry, instance: str) -> Path | None:
        """Return the file in which the output of an instance is kept, made if need be; None if it isn't kept.

        Raises BotUnusable where it can't be made.
        """
        logs = self._setup.logs
        if logs is None:
            return None
        readable = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in entry.name)
        log = logs / f"{readable}-{instance}.log"
        try:
            make_folder(logs)
            log.touch()
        except OSError as error:
            raise BotUnusable(
                f"no logs of bots can be kept in {logs}: {error.strerror}; name another folder"
            ) from error
        return log

    def make_folder(self) -> Path:
        """Make a new private folder for one instance."""
        self.folders += 1
        folder = self._setup.folder / token_hex(3)  # not a number, which would tell who started when
        folder.mkdir(mode=0o700, parents=True)
        return folder

    def make_group(self, name: str) -> Path | None:
        """Make a cgroup for one instance, which its keeper removes; None where it is to be, or can be, in none."""
        if self._groups is None:
            return None
        group = self._groups / f"{self._setup.folder.name}-{name}"
        group.mkdir()
        return group


async def find_socket(process: Process, deadline: float) -> int:
    """Wait for the socket of a process in the sandbox, and return a file descriptor by which it can be dialled.

    What is dialled is what was looked at, whatever becomes of its path: a link to somebody else's socket is no socket, also
    if it comes a moment later. Raises FileNotFoundError if nothing is there in time, or the process ends before; OSError if
    something else is there. The way leads through a keeper's part of /proc, which the kernel gives to root once that keeper
    is ending: so "permission denied" may just be the first news of an end.
    """
    path = f"{process.folder}/{Path(SOCKET).name}"
    loop = asyncio.get_running_loop()
    while True:
        try:
            return _open_socket(path)
        except (FileNotFoundError, PermissionError, ProcessLookupError) as error:
            if not process.folder or process.ended.done():
                raise FileNotFoundError(path) from error
            if loop.time() > deadline:
                raise
        await asyncio.sleep(_LOOK_AGAIN)


def _open_socket(path: str) -> int:
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{SOCKET} is no socket")
    return descriptor


def _address_in(folder: Path) -> str:
    """Return where a bot serves in a folder; raise BotUnusable where it can't."""
    path = folder / "bot.sock"
    try:
        check_path(path)
    except BadInput as error:
        raise BotUnusable(f"{error}: set TMPDIR") from error
    return f"unix:{path}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
