"""The sandbox: what a launched bot sees and may do, as a command line for bubblewrap and limits.

Inside there are the system's programs and libraries, Python and the packages of the arena's own environment, and the bot's
files, all read-only and at the same places as outside; small private folders in memory for what a bot writes; no network, no
other process, no capability, no way to more. The socket is in one of those folders, and the arena reaches it through a file
descriptor that the keeper holds, so nothing is shared that could fill up or be left behind. What is enforced is written down
in docs/operations.md; how bubblewrap is started is in `arena.players.confinement`.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import arena
from arena.errors import BotUnusable
from arena.files import bot_files, folder_contents
from arena.players.process import Command
from arena.players.system_calls import make_filter
from arena.settings import Entry, Limits

SOCKET_FOLDER: Final = "/run/arena"
SOCKET: Final = f"{SOCKET_FOLDER}/bot.sock"
PORT: Final = 50051
"""Where a bot serves that can do TCP only: the network is its own, so all have the same port."""

WRITABLE: Final[Mapping[str, int]] = {SOCKET_FOLDER: 64 << 10, "/tmp": 64 << 20, "/dev/shm": 16 << 20}  # noqa: S108
"""The folders in which a bot can write, with how many bytes fit in; the socket's first."""

OPEN_FILES: Final = 1024
FILE_BYTES: Final = 64 << 20
MOST_FILES: Final = 20_000
"""Files in one writable folder: also an empty one costs memory."""

BUILD_PROCESSES: Final = 512
BUILD_OPEN_FILES: Final = 4096
BUILD_FILES: Final = 200_000
"""The same for builds, whose compilers keep caches of many small files."""

FIRST_USER: Final = 64000
USERS: Final = 900
"""The numbers of the users that bots of an arena that is root become: nobody else's on the usual systems."""

FIRST_BUILDER: Final = FIRST_USER + USERS
BUILDERS: Final = 99
"""The same of the users that build bots."""

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS: Final = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "nsswitch.conf"),
    *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted", "protocols", "services"),
)
"""What there is of /etc, where it exists."""

_TOOLCHAINS: Final = ("VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "DOTNET_ROOT", "GOROOT")
"""Variables that name folders with programs and libraries."""

_PYTHON: Final = ("pyvenv.cfg", "bin", "lib", "lib64", "include", "share", "conda-meta")
"""What is Python's own in its folder, where people keep other things besides, as in that of a virtual environment."""

_FILES: Final = {
    "/etc/passwd": "bot:x:{user}:{group}:bot:/tmp:/bin/sh\n",
    "/etc/group": "bot:x:{group}:\n",
    "/etc/hosts": "127.0.0.1 localhost bot\n::1 localhost\n",
}
_OF_BOTS: Final = "limits.memory", "limits.processes"
_OF_BUILDS: Final = "the memory of a build", "the processes of a build"
_HOME: Final = "/tmp"  # noqa: S108
_ENVIRONMENT: Final = {"HOME": _HOME, "TMPDIR": _HOME, "USER": "bot", "LOGNAME": "bot", "SHELL": "/bin/sh"}
_DROPPED: Final = ("TMP", "TEMP", "GOCACHE", "GOPATH", "CARGO_HOME", "RUSTUP_HOME")


@dataclass(frozen=True, slots=True)
class _Room:
    """What one process finds in its sandbox."""

    seen: Sequence[Path]
    """What it can read, besides the system."""
    own: Sequence[str]
    """Bubblewrap's arguments for what lies on top of that."""
    writable: Mapping[str, int]
    limits: Mapping[str, int]
    most_files: int
    user: int
    """The number of the user that it becomes where the arena is root."""
    group: Path | None
    names: tuple[str, str]
    """What the limits of memory and of processes are called where they are set."""
    processes: int
    trees: tuple[Path, ...] = ()
    """What it can write on the disk."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How the bots of one tournament are confined."""

    bubblewrap: str
    """The path of the program."""
    limits: Limits
    root: bool
    """Whether the arena is root, so that every instance becomes a user of its own."""
    hidden: tuple[Path, ...] = ()
    """Files of the arena's that are empty for every bot, wherever they lie."""

    def confine(self, entry: Entry, command: Command, staging: Path, number: int, group: Path | None = None) -> Command:
        """Return the command that runs a bot in the sandbox; `staging` is an empty folder, `number` tells instances apart.

        `group` is the cgroup that it is to be in, if any.
        Raises BotUnusable where the bot's user could not read its files.
        """
        seen = list(_merge([*_environment_folders(command), *_bot_paths(entry, command)]))
        self._check_readable(entry.name, seen)
        others = 2 if entry.tcp else 1  # bubblewrap's own process inside, and the relay
        limits = self._limits(self.limits.processes + others, OPEN_FILES, FILE_BYTES)
        relay = f"{SOCKET}:{PORT}" if entry.tcp else ""
        user = FIRST_USER + number % USERS
        own = [*_own_folder(entry), *self._hide(seen), "--remount-ro", "/dev", "--remount-ro", "/"]
        room = _Room(seen, own, WRITABLE, limits, MOST_FILES, user, group, _OF_BOTS, self.limits.processes)
        return self._confine(command, room, staging, relay)

    def confine_build(self, command: Command, tree: Path, file_bytes: int, staging: Path, number: int) -> Command:
        """Return the command that builds a bot in the sandbox: its folder `tree` is writable, no file larger than that.

        Half the memory of the limits is room for caches. Otherwise as `confine`; an arena that is root has to give the tree
        to the user whose number is found under `user` in what comes back.
        """
        program = [Path(command.argv[0])] if not Path(command.argv[0]).is_relative_to(tree) else []
        seen = list(_merge([*_environment_folders(command), *program]))
        self._check_readable("to be built", seen)
        writable = {**WRITABLE, _HOME: self.limits.memory // 2}
        limits = self._limits(self.limits.processes + 1, BUILD_OPEN_FILES, max(file_bytes, writable[_HOME]))
        user = FIRST_BUILDER + number % BUILDERS
        own = ["--bind", f"/tmp/{len(seen)}" if self.root else str(tree), str(tree)]  # noqa: S108
        own += [*self._hide(seen), "--remount-ro", "/dev", "--remount-ro", "/"]
        room = _Room(seen, own, writable, limits, BUILD_FILES, user, None, _OF_BUILDS, self.limits.processes, (tree,))
        return self._confine(command, room, staging, "")

    def _confine(self, command: Command, room: _Room, staging: Path, relay: str) -> Command:
        sources = [f"/tmp/{place}" if self.root else str(path) for place, path in enumerate(room.seen)]  # noqa: S108
        user = room.user if self.root else None
        shown = {"user": user or os.getuid(), "group": user or os.getgid()}
        limits = ",".join(f"{name}={value}" for name, value in room.limits.items())
        python = os.path.realpath(sys.executable)
        first = (python, "-I", "-S", str(Path(__file__).with_name("inside.py")), ":".join(room.writable), limits, relay)
        arguments = [*_arguments(room, sources), *room.own, "--chdir", str(command.directory)]
        return replace(
            command,
            argv=(*first, *command.argv),
            environment=_make_environment(command.environment),
            directory=Path("/"),
            sandbox={
                "bubblewrap": self.bubblewrap,
                "arguments": arguments,
                "files": {path: text.format_map(shown) for path, text in _FILES.items()},
                "filter": make_filter().hex(),
                "user": user,
                "binds": [str(path) for path in (*room.seen, *room.trees)] if self.root else [],
                "staging": str(staging),
                "allowed": {
                    "memory": self.limits.memory,
                    "processes": room.processes,
                    "file": room.limits["RLIMIT_FSIZE"],
                    "open_files": room.limits["RLIMIT_NOFILE"],
                    "folders": dict(room.writable),
                    "names": dict(zip(("memory", "processes"), room.names, strict=True)),
                },
                "most_files": room.most_files,
                "cgroup": room.group and str(room.group),
            },
        )

    def _hide(self, seen: Sequence[Path]) -> Iterator[str]:
        """Yield the arguments that lay nothing over what is hidden, where it would be seen."""
        shown = [path.resolve() for path in (*map(Path, _SYSTEM), *seen)]
        for path in self.hidden:
            if path.is_file() and any(path.resolve().is_relative_to(folder) for folder in shown):
                yield from ("--ro-bind", os.devnull, str(path.absolute()))

    def _limits(self, processes: int, open_files: int, file_bytes: int) -> dict[str, int]:
        return {
            "RLIMIT_NPROC": processes,
            "RLIMIT_DATA": self.limits.memory,
            "RLIMIT_NOFILE": open_files,
            "RLIMIT_FSIZE": file_bytes,
            "RLIMIT_CORE": 0,
        }

    def _check_readable(self, name: str, seen: Sequence[Path]) -> None:
        for path in seen if self.root else ():
            state = path.stat()
            needed = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(state.st_mode) else stat.S_IROTH
            if state.st_mode & needed != needed:
                wanted = "o+rx" if stat.S_ISDIR(state.st_mode) else "o+r"
                raise BotUnusable(
                    f"bot {name}: {path} can't be read in the sandbox, where bots of an arena that is root run as"
                    f" unprivileged users; allow it with chmod {wanted}, or run the arena as an ordinary user"
                )


def _arguments(room: _Room, sources: Sequence[str]) -> Iterator[str]:
    """Yield bubblewrap's arguments: in their order, later ones lie on top of earlier ones."""
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
    yield from ("--cap-drop", "ALL", "--hostname", "bot", "--proc", "/proc", "--dev", "/dev")
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in (*_SETTINGS, *(path.name for path in Path("/etc").glob("java*"))):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for folder, size in room.writable.items():
        yield from ("--size", str(size), "--tmpfs", folder)
    for path, source in zip(room.seen, sources, strict=True):
        yield from ("--ro-bind", source, str(path))


def _own_folder(entry: Entry) -> Iterator[str]:
    """Yield the arguments for the folder of a bot that plays, and for the links of its own that are shown one by one."""
    yield from ("--dir", str(entry.directory.absolute()))
    for path in folder_contents(entry).shown() if entry.whole_directory else ():
        if _is_link(entry, path):
            yield from ("--symlink", str(path.readlink()), str(path.absolute()))


def _is_link(entry: Entry, path: Path) -> bool:
    """Return whether a path is a link in the bot's folder, and not a folder that is itself reached by one."""
    return path != entry.directory and path.is_symlink()


def _environment_folders(command: Command) -> Iterator[Path]:
    """Yield where Python, the arena's packages and other languages' toolchains lie."""
    yield Path(arena.__file__).parent
    for folder in dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix))):
        yield from (folder / name for name in _PYTHON if (folder / name).exists())
    for variable in _TOOLCHAINS:
        folder = Path(command.environment.get(variable) or "/")
        if folder.is_absolute() and folder.is_dir() and not Path.home().is_relative_to(folder):
            names = _PYTHON if (folder / "pyvenv.cfg").exists() else (".",)
            yield from (folder / name for name in names if (folder / name).exists())


def _bot_paths(entry: Entry, command: Command) -> Iterator[Path]:
    """Yield what belongs to the bot: in its directory, if it names one, else the files that its command names; its program."""
    if entry.whole_directory:
        yield from (path.absolute() for path in folder_contents(entry).shown() if not _is_link(entry, path))
    else:
        yield from (path.absolute() for path in bot_files(entry).values())
    yield Path(command.argv[0])


def _merge(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield paths without those that the system's folders or others of them hold; links are kept as what they lead to."""
    system = [Path(path) for path in _SYSTEM]
    distinct = dict.fromkeys(paths)
    for path in distinct:
        holders = [*system, *(other for other in distinct if other != path)]
        if not any(path.is_relative_to(holder) for holder in holders):
            yield path


def _make_environment(outside: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in outside.items() if name not in _DROPPED} | _ENVIRONMENT


def find_bubblewrap() -> str | None:
    """Return the path of bubblewrap's program."""
    return shutil.which("bwrap")
