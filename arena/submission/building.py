"""Builds a bot from its source: in the sandbox, without network, with bounds on time, memory, processes and disk.

The bot's folder is writable meanwhile; caches of compilers lie in a folder in memory that is gone afterwards. Where the arena
is root, the build runs as a user of its own, to whom the tree is given, and taken back when nothing of the build runs any
more. What it has made is then looked at as an archive would be.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from secrets import randbelow
from typing import Any, Final

from arena.conformance.cures import with_output
from arena.errors import ArenaError, BotUnusable, Refused
from arena.finding import Finding, failed, passed, warned
from arena.players.family import family
from arena.players.isolation import Enforcement
from arena.players.launcher import ADDRESS_VARIABLE, make_command
from arena.players.process import Command, Exit, Process, Supervisor
from arena.players.sandbox import BUILD_PROCESSES, BUILDERS
from arena.players.supervisor import LOG_BYTES
from arena.settings import Entry, Isolation, Limits
from arena.submission.archive import Bounds, check_tree
from arena.submission.concealment import LOG_BYTES as LOG_SHOWN

FREE_BYTES: Final = 512 << 20
FREE_FILES: Final = 20_000
"""So much of the disk, and so many files on it, are left to others: a build that would take them is ended."""

_LOOK, _REST = 0.2, 0.5
_RESTING = 5  # times as long as a look took are waited until the next one, within these bounds
_MOST_HELD = 30_000  # files open and mapped: compilers have some hundreds, and to look at so many takes 0.5 s
_NO_NETWORK: Final = re.compile(
    r"name resolution|could not resolve|no such host|ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|getaddrinfo"
    r"|network is unreachable|GOPROXY=off|dial tcp|NewConnectionError|failed to (?:fetch|download)"
    r"|no matching distribution found|inconsistent vendoring",
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
            await asyncio.sleep(min(_rest(loop.time() - began), max(0.0, end - loop.time())))
        return f"it was not done within {self._allowance.seconds:g} seconds"

    def _weigh(self, pid: int) -> str:
        disk = os.statvfs(self._tree)
        if disk.f_bavail * disk.f_frsize < FREE_BYTES or (disk.f_files and disk.f_favail < FREE_FILES):
            return "the disk got full"
        if self._log.stat().st_size >= LOG_BYTES:
            return f"it wrote more than {LOG_BYTES:,} bytes of output"
        bounds, used = self._allowance.bounds, 0
        try:
            for files, size in enumerate(chain(_sizes(self._tree), _unlinked(pid, self._tree.stat().st_dev)), 1):
                used += size
                if files > bounds.files:
                    return f"there were more than {bounds.files:,} files in its folder"
                if used > bounds.unpacked_bytes:
                    return f"there were more than {bounds.unpacked_bytes:,} bytes in its folder"
        except OSError as error:
            return f"it can't be told how much is in its folder: {error.strerror}"
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
            cure = "build with less, or submit it built" if ended.suspicion else "run it by hand in the bot's folder"
            if _NO_NETWORK.search(output):
                cure = "there is no network while it is built: submit its dependencies with it (vendored), or built"
            return failed(with_output(f"`{self._shown}` {ended.told()}", ended.output), cure)
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


def _rest(took: float) -> float:
    """Return for how many seconds to wait after a look that took so many."""
    return min(max(_LOOK, _RESTING * took), _REST)


def _sizes(tree: Path) -> Iterator[int]:
    """Yield how much of the disk each thing in a tree takes; raise OSError for a folder that can't be looked into.

    One that the build has shut is opened.
    """
    folders = [str(tree)]
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError):
            if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
                _open_up(folder)
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        state = entry.stat(follow_symlinks=False)
                        yield state.st_blocks * 512
                        if stat.S_ISDIR(state.st_mode):
                            folders.append(entry.path)


def _open_up(folder: str) -> None:
    """Let the arena look into a folder, which the build may put a link in the place of."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(0o700)
    finally:
        os.close(descriptor)


def _unlinked(root: int, device: int) -> Iterator[int]:
    """Yield how much of a disk each file takes that processes have open or mapped, and that has no name any more.

    Raises OSError for one of unknown size, and where there is too much to look at.
    """
    found = set()
    processes = family(root) if root else ()
    held = chain.from_iterable(chain(_open_files(pid), _mapped_files(pid, device)) for pid in processes)
    for number, state in enumerate(held, 1):
        if number > _MOST_HELD:
            raise OSError(errno.EOVERFLOW, "too many files are open or mapped to be counted")
        if state and stat.S_ISREG(state.st_mode) and not state.st_nlink and state.st_dev == device:
            if state.st_ino not in found:
                yield state.st_blocks * 512
            found.add(state.st_ino)


def _open_files(pid: int) -> Iterator[os.stat_result]:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                yield descriptor.stat()


def _mapped_files(pid: int, device: int) -> Iterator[os.stat_result | None]:
    """Yield the state of each file that a process has mapped and somebody has deleted, and None for each other mapping.

    Only privileged users learn it. Raises PermissionError for others, if it is on that device, and OSError for a mapping that
    can't be read.
    """
    with suppress(FileNotFoundError, ProcessLookupError), Path(f"/proc/{pid}/maps").open("rb") as lines:
        for line in lines:
            yield _mapped_file(pid, line, device) if line.endswith(b" (deleted)\n") else None


def _mapped_file(pid: int, line: bytes, device: int) -> os.stat_result | None:
    try:
        place, _, _, numbers, _ = line.split(maxsplit=4)
        start, end = (int(address, 16) for address in place.split(b"-"))
        major, minor = (int(number, 16) for number in numbers.split(b":"))
    except ValueError:
        raise OSError(errno.EINVAL, "what is mapped can't be read") from None
    try:
        return os.stat(f"/proc/{pid}/map_files/{start:x}-{end:x}")  # noqa: PTH116 - faster
    except PermissionError:
        if os.makedev(major, minor) == device:
            raise PermissionError(errno.EPERM, "a file that was deleted is mapped") from None
    except FileNotFoundError:
        pass
    return None


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
