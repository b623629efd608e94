"""Builds a bot from its source: in the sandbox, without network, with bounds on time, memory, processes and disk.

The bot's folder is writable meanwhile; caches of compilers lie in a folder in memory that is gone afterwards. Where the arena
is root, the build runs as a user of its own, to whom the tree is given, and taken back when nothing of the build runs any
more. What it has made is then looked at as an archive would be.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import randbelow
from typing import Any, Final

from arena.conformance.cures import with_output
from arena.errors import ArenaError, BotUnusable, Refused
from arena.finding import Finding, failed, passed, warned
from arena.players.isolation import Enforcement
from arena.players.launcher import ADDRESS_VARIABLE, make_command
from arena.players.process import Command, Exit, Process, Supervisor
from arena.players.sandbox import BUILD_PROCESSES, BUILDERS
from arena.players.supervisor import LOG_BYTES
from arena.players.watchdog import family
from arena.settings import Entry, Isolation, Limits
from arena.submission.archive import Bounds, check_tree
from arena.submission.concealment import LOG_BYTES as LOG_SHOWN

FREE_BYTES: Final = 512 << 20
"""So much of the disk is left to others: a build that would take it is ended."""

_LOOK = 0.2
_RESTING = 5  # times as long as a look took are waited until the next one
_NO_NETWORK: Final = re.compile(
    r"name resolution|could not resolve|no such host|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|network is unreachable"
    r"|GOPROXY=off|dial tcp|NewConnectionError|failed to (?:fetch|download)|inconsistent vendoring",
    re.IGNORECASE,
)
_SETTINGS: Final[Mapping[str, str]] = {
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "GOTELEMETRY": "off",
    "CARGO_NET_OFFLINE": "true",
    "npm_config_offline": "true",
    "PIP_NO_INDEX": "1",
}
"""What has tools say at once that there is no network, instead of trying for long."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a build may use."""

    seconds: float
    memory: int
    """Bytes of all its processes and its caches together."""
    bounds: Bounds
    """Of the tree that it makes."""


async def build(
    tree: Path,
    words: Sequence[str],
    allowance: Allowance,
    enforcement: Enforcement,
    isolation: Isolation,
    folder: Path,
) -> tuple[Finding, str]:
    """Run the command that builds the bot in `tree`; return what was found, and the last of what it wrote.

    `folder` is a private one for what is needed meanwhile. Nothing of the build is left running, whatever happens. Raises
    ArenaError where the arena itself is at fault.
    """
    if enforcement.sandbox is None and isolation is not Isolation.NONE:
        return failed(
            f"it is built in the sandbox only, which doesn't work here: {enforcement.obstacle}",
            "submit the program built, or have the sandbox mended",
        ), ""
    try:
        found = make_command(Entry("to be built", command=tuple(words), directory=tree), "")
    except BotUnusable as unusable:
        return failed(str(unusable), "build with what is installed here, or submit the program built"), ""
    building = _Building(tree, words, allowance, enforcement, folder)
    return await building.run(found)


class _Building:
    """One build."""

    def __init__(
        self, tree: Path, words: Sequence[str], allowance: Allowance, enforcement: Enforcement, folder: Path
    ) -> None:
        self._tree = tree
        self._shown = shlex.join(words)
        self._allowance = allowance
        self._sandbox = enforcement.sandbox
        self._folder = folder / "build"
        self._log = folder / "build.log"

    async def run(self, found: Command) -> tuple[Finding, str]:
        self._folder.mkdir()
        self._log.touch(mode=0o600)
        supervisor = Supervisor(self._folder)
        try:
            finding, output = await self._make(supervisor, self._prepare(found))
        except BotUnusable as unusable:
            return failed(f"`{self._shown}` cannot be run: {unusable}", "mend `build` in bot.yaml"), ""
        except OSError as error:
            raise ArenaError(f"the build could not be made: {error}") from error
        finally:
            await supervisor.close()
            await asyncio.to_thread(_take_back, self._tree)
        return finding, output

    def _prepare(self, found: Command) -> Command:
        environment = {**found.environment, **_SETTINGS}
        environment.pop(ADDRESS_VARIABLE, None)
        command = replace(found, environment=environment)
        if self._sandbox is None:
            return replace(command, log=self._log)
        (staging := self._folder / "mounts").mkdir()
        sandbox = replace(self._sandbox, limits=Limits(self._allowance.memory, BUILD_PROCESSES))
        most = self._allowance.bounds.unpacked_bytes
        confined = sandbox.confine_build(command, self._tree, most, staging, randbelow(BUILDERS))
        assert confined.sandbox is not None
        if confined.sandbox["user"] is not None:
            _give(self._tree, confined.sandbox["user"])
        return replace(confined, log=self._log)

    async def _make(self, supervisor: Supervisor, command: Command) -> tuple[Finding, str]:
        process = await supervisor.launch(command)
        watching = asyncio.create_task(self._watch(process))
        try:
            either: set[asyncio.Future[Any]] = {process.ended, watching}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            excess = watching.result() if watching.done() and not process.ended.done() else ""
        finally:
            watching.cancel()
            await process.stop()
            await asyncio.wait({watching})
        ended = process.ended.result()
        output = self._read(ended)
        return await asyncio.to_thread(self._judge, excess, ended, output), output

    async def _watch(self, process: Process) -> str:
        """Return what the build exceeds, as soon as it does."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._allowance.seconds
        while (began := loop.time()) < end:
            if excess := await asyncio.to_thread(self._weigh, process.pid):
                return excess
            await asyncio.sleep(min(max(_LOOK, _RESTING * (loop.time() - began)), max(0.0, end - loop.time())))
        return f"it was not done within {self._allowance.seconds:g} seconds"

    def _weigh(self, pid: int) -> str:
        bounds = self._allowance.bounds
        used = _unlinked(pid, self._tree.stat().st_dev)
        for files, size in enumerate(_sizes(self._tree), 1):
            used += size
            if files > bounds.files:
                return f"there were more than {bounds.files:,} files in its folder"
            if used > bounds.unpacked_bytes:
                return f"there were more than {bounds.unpacked_bytes:,} bytes in its folder"
        if shutil.disk_usage(self._tree).free < FREE_BYTES:
            return "the disk got full"
        if self._log.stat().st_size >= LOG_BYTES:
            return f"it wrote more than {LOG_BYTES:,} bytes of output"
        return ""

    def _read(self, ended: Exit) -> str:
        with self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - 2 * LOG_SHOWN))
            text = log.read().decode(errors="replace")
        return f"{text}\n[...]\n{ended.output}" if size >= LOG_BYTES else text

    def _judge(self, excess: str, ended: Exit, output: str) -> Finding:
        if excess or ended.reason:
            return failed(f"`{self._shown}` was ended because {excess or ended.reason}", "build with less, or faster")
        if ended.exit_code != 0:
            cure = "run it by hand in the bot's folder"
            if _NO_NETWORK.search(output):
                cure = "there is no network while it is built: submit its dependencies with it (vendored), or built"
            return failed(with_output(f"`{self._shown}` {ended}", ended.output), cure)
        try:
            _take_back(self._tree)
            size = check_tree(self._tree, self._allowance.bounds)
        except Refused as refusal:
            return failed(f"after `{self._shown}`: {refusal}", "let the build leave files in the bot's folder only")
        except OSError as error:
            return failed(f"after `{self._shown}`: its folder can't be read: {error.strerror}", "mend what is built")
        if self._sandbox is None:
            return warned(f"`{self._shown}`: {size:,} bytes; without a sandbox", "install bubblewrap")
        return passed(f"`{self._shown}`: {size:,} bytes")


def _sizes(tree: Path) -> Iterator[int]:
    """Yield how much of the disk each thing in a tree takes; what can't be reached counts as nothing."""
    folders = [str(tree)]
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)


def _unlinked(root: int, device: int) -> int:
    """Return how much of a disk is taken by files that processes have open, and that have no name any more."""
    found: dict[int, int] = {}
    for pid in family(root) if root else ():
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    state = descriptor.stat()
                    if stat.S_ISREG(state.st_mode) and not state.st_nlink and state.st_dev == device:
                        found[state.st_ino] = state.st_blocks * 512
    return sum(found.values())


def _give(tree: Path, user: int) -> None:
    for path in (tree, *tree.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


def _take_back(tree: Path) -> None:
    """Make all of a tree the arena's own again, with modes of its own. Nothing may run that could change it meanwhile."""
    folders = [tree]
    for folder in folders:
        _own(folder, 0o755)
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    _own(Path(entry.path), 0o755 if entry.stat().st_mode & 0o100 else 0o644)
                elif os.geteuid() == 0:
                    os.chown(entry.path, 0, 0, follow_symlinks=False)


def _own(path: Path, mode: int) -> None:
    with suppress(OSError):
        if os.geteuid() == 0:
            os.chown(path, 0, 0, follow_symlinks=False)
        path.chmod(mode)
