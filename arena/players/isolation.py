"""Whether bots are confined, found out before a tournament begins by running a trivial program in the sandbox."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arena.errors import BadInput, BotUnusable
from arena.players.process import PATIENCE, Supervisor
from arena.players.sandbox import SOCKET, Sandbox, find_bubblewrap
from arena.settings import Entry, Isolation, Limits
from arena.sockets import private_folder

_PROBE: Final = "import socket, sys, time; socket.socket(socket.AF_UNIX).bind(sys.argv[1]); time.sleep(60)"
_LAST_WORDS: Final = 2.0
_CURES: Final = {
    "disable-userns": "bubblewrap 0.8 or newer is needed: upgrade it",
    "namespace": "user namespaces are not allowed here: docs/operations.md says how to allow them, also in containers",
    "uid map": "user namespaces are restricted here, as on Ubuntu 24.04: docs/operations.md says how to allow them",
    "unshare": "root lacks CAP_SYS_ADMIN here, as in a container: docs/operations.md says what to do",
}
"""What helps, by a part of what is written when the sandbox can't be made."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What keeps the bots of a tournament apart from the machine."""

    sandbox: Sandbox | None
    obstacle: str = ""
    """Why there is no sandbox, though one was wanted, with the cure."""

    def __str__(self) -> str:
        if self.sandbox is None:
            return "Bots ran without a sandbox: they could read and change whatever the arena's user may."
        limits = self.sandbox.limits
        return (
            f"Bots ran in a sandbox{', each as a user of its own' if self.sandbox.root else ''}: no network, no files but"
            f" their own, at most {limits.memory / 1e6:,.0f} MB of memory and {limits.processes} processes an instance."
        )


async def enforce(wanted: Isolation, limits: Limits, folder: Path, hidden: tuple[Path, ...] = ()) -> Enforcement:
    """Return what can be enforced, as wanted; raise BadInput where bubblewrap is asked for and doesn't work.

    `folder` is the tournament's private one; no bot sees what is in the `hidden` files.
    """
    if wanted is Isolation.NONE:
        return Enforcement(None)
    bubblewrap = find_bubblewrap()
    obstacle = _missing() if bubblewrap is None else ""
    if bubblewrap is not None:
        sandbox = Sandbox(bubblewrap, limits, root=os.geteuid() == 0, hidden=hidden)
        obstacle = await _try(sandbox, folder)
        if not obstacle:
            return Enforcement(sandbox)
    if wanted is Isolation.BUBBLEWRAP:
        raise BadInput(f"isolation: bubblewrap is asked for, but the sandbox doesn't work: {obstacle}")
    return Enforcement(None, obstacle)


async def try_isolation(wanted: Isolation, limits: Limits) -> Enforcement:
    """Find out what can be enforced, otherwise as `enforce`."""
    with private_folder() as folder:
        return await enforce(wanted, limits, folder)


def _missing() -> str:
    if sys.platform != "linux":
        return "bubblewrap exists on Linux only"
    return "bubblewrap is not installed: install the package `bubblewrap`, for the program bwrap"


async def _try(sandbox: Sandbox, folder: Path) -> str:
    """Have a trivial program in the sandbox open its socket; return what went wrong, nothing if all went well."""
    from arena.players.launcher import find_socket, make_command  # and with them gRPC, which seldom is needed

    supervisor = Supervisor(folder)
    staging = folder / "probe"
    staging.mkdir()
    try:
        entry = Entry("probe", command=("python", "-I", "-S", "-c", _PROBE, SOCKET), directory=Path("/"))
        command = make_command(entry, f"unix:{SOCKET}")
        process = await supervisor.launch(sandbox.confine(entry, command, staging, number=0))
        try:
            os.close(await find_socket(process, asyncio.get_running_loop().time() + PATIENCE))
        except FileNotFoundError:
            await asyncio.wait({process.ended}, timeout=_LAST_WORDS)
            raise
        finally:
            await process.stop()
    except FileNotFoundError:
        ended = await process.ended
        said = " ".join(ended.output.split())
        cure = next((cure for part, cure in _CURES.items() if part in said), "see docs/operations.md")
        return f"a trivial program in it {ended} ({said or 'it wrote nothing'}); {cure}"
    except (BotUnusable, OSError) as error:
        return str(error)
    finally:
        await supervisor.close()
        staging.rmdir()
    return ""
