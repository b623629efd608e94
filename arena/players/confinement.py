"""The keeper's part of the sandbox: starts bubblewrap for one bot (see `arena.players.sandbox`, which says with what).

An arena that is root gives each instance a user of its own before bubblewrap begins. That user may not enter every folder
that leads to a bot or to Python, so root first mounts what the bot is to see under /tmp, in a mount namespace that nobody
else sees. The program that runs first inside, `arena.players.inside`, hands out the sandbox's writable folders through the
socket that is its standard input.

Nothing but the standard library is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

START_PATIENCE: Final = 8.0
"""Seconds that bubblewrap and the first program inside have, before a bot itself begins."""

FOLDERS: Final = 3
"""How many folders are handed out: the socket's first."""

_MORE_WILLING_TO_DIE: Final = "500"  # of 1000, where the kernel runs out of memory
_CLONE_NEWNS: Final = 0x20000
_MS_BIND, _MS_MOVE, _MS_REC, _MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


class Confined:
    """One bot in bubblewrap: its process, and what it takes to watch and to end it.

    `wanted` says how: `bubblewrap` its path, `arguments` those of its command line, `files` texts by the path where they are
    to be found inside, `filter` a seccomp program in hexadecimal digits, `user` the number of the user to become or null,
    `binds` what root mounts in `staging`, and `cgroup` the folder of the group to join or null.
    """

    def __init__(self, wanted: dict[str, Any], argv: Sequence[str]) -> None:
        self._wanted = wanted
        self._argv = argv
        self.first: int | None = None
        """A file descriptor of the first process inside: when it ends, everything inside has ended."""
        self.first_pid = 0
        self.folders: list[int] = []
        """The writable folders of the sandbox, the socket's first; none if it never came to be."""

    def start(self, how: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Start it; `how` goes to `subprocess.Popen`. Raise OSError where bubblewrap can't be run."""
        ours, theirs = socket.socketpair()
        information, writing = os.pipe()
        passed = [writing, arguments := _hold("\0".join(self._wanted["arguments"]).encode())]
        head = [self._wanted["bubblewrap"], "--info-fd", str(writing)]
        for path, text in self._wanted["files"].items():
            passed.append(_hold(text.encode()))
            head += ["--ro-bind-data", str(passed[-1]), path]
        if self._wanted["filter"]:
            passed.append(_hold(bytes.fromhex(self._wanted["filter"])))
            head += ["--seccomp", str(passed[-1])]
        head += ["--args", str(arguments), "--"]
        with ours:
            try:
                with theirs:
                    process: subprocess.Popen[bytes] = subprocess.Popen(
                        [*head, *self._argv],
                        stdin=theirs.fileno(),
                        pass_fds=passed,
                        preexec_fn=self._enter,  # noqa: PLW1509 - there is one thread
                        **how,
                    )
            finally:
                for descriptor in passed:
                    os.close(descriptor)
            self._receive(ours)
        self._inform(information)
        return process

    def ask_to_end(self) -> None:
        """Send SIGTERM to the bot, which the first process inside does not pass on."""
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{self.first_pid}/task/{self.first_pid}/children").read_text().split():
                os.kill(int(child), signal.SIGTERM)

    def kill(self) -> None:
        """Kill all that is inside."""
        if self.first is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)

    def leave(self) -> None:
        """Remove what is left outside once nothing runs any more."""
        if self._wanted["cgroup"]:
            with contextlib.suppress(OSError):
                Path(self._wanted["cgroup"]).rmdir()

    def _receive(self, ours: socket.socket) -> None:
        ours.settimeout(START_PATIENCE)
        with contextlib.suppress(OSError):
            self.folders = socket.recv_fds(ours, 1, FOLDERS)[1]

    def _inform(self, information: int) -> None:
        os.set_blocking(information, False)
        with contextlib.suppress(OSError, ValueError):
            self.first_pid = json.loads(os.read(information, 4096))["child-pid"]
            self.first = os.pidfd_open(self.first_pid)
        os.close(information)

    def _enter(self) -> None:
        """Become what the bot is to be, between fork and exec; say why not as the bot's output."""
        try:
            _write("/proc/self/oom_score_adj", _MORE_WILLING_TO_DIE)
            if self._wanted["cgroup"]:
                _write(f"{self._wanted['cgroup']}/cgroup.procs", "0")
            if self._wanted["user"] is not None:
                _stage(self._wanted["staging"], self._wanted["binds"])
                os.setgroups([])
                os.setresgid(*[self._wanted["user"]] * 3)
                os.setresuid(*[self._wanted["user"]] * 3)
        except OSError as error:
            os.write(2, f"the sandbox cannot be made: {error}\n".encode())
            os._exit(1)


def _hold(data: bytes) -> int:
    """Return a file that holds data, to be read from its beginning."""
    descriptor = os.memfd_create("arena")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _stage(staging: str, binds: Sequence[str]) -> None:
    """Mount what is to be seen as /tmp/0, /tmp/1, ..., in a mount namespace of our own."""
    if _libc.unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))
    _mount("none", "/", _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", staging, 0, "mode=755,size=1m")
    for number, source in enumerate(binds):
        target = Path(staging, str(number))
        if Path(source).is_dir():
            target.mkdir()
        else:
            target.touch()
        _mount(source, str(target), _MS_BIND | _MS_REC)
    _mount(staging, "/tmp", _MS_MOVE)  # noqa: S108 - in a namespace of our own


def _mount(source: str, target: str, flags: int, options: str | None = None) -> None:
    kind = b"tmpfs" if source == "tmpfs" else None
    if _libc.mount(os.fsencode(source), os.fsencode(target), kind, flags, options and options.encode()):
        raise OSError(ctypes.get_errno(), f"mounting {source}: {os.strerror(ctypes.get_errno())}")


if sys.platform == "linux":
    _libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
