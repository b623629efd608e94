"""Runs first in the sandbox, and becomes the bot: `python -I -S inside.py FOLDERS LIMITS RELAY COMMAND...`.

It hands the sandbox's writable FOLDERS (`/tmp:/run/arena`) to the keeper through the socket that is its standard input, sets
the LIMITS that count only in here (`RLIMIT_NPROC=65,...`: a user's processes are counted for each user namespace), starts the
RELAY for a bot that serves by TCP (`/run/arena/bot.sock:50051`, or nothing), and executes COMMAND. As little as possible is
imported, and not the module `socket`, since every bot waits for this at its start: some 8 ms.
"""

from __future__ import annotations

import os
import resource
import sys
from _socket import SCM_RIGHTS, SOL_SOCKET, socket


def main(folders: str, limits: str, relay: str, *command: str) -> None:
    """Prepare, and become the bot."""
    descriptors = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in folders.split(":")]
    keeper = socket(fileno=os.dup(0))
    rights = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors)
    keeper.sendmsg([b"."], [(SOL_SOCKET, SCM_RIGHTS, rights)])
    keeper.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for limit in limits.split(","):
        name, _, value = limit.partition("=")
        _set_limit(getattr(resource, name), int(value))
    if relay:
        program = os.path.join(os.path.dirname(__file__), "relay.py")  # noqa: PTH118, PTH120 - importing pathlib is slow
        words = [sys.executable, "-I", "-S", program, *relay.split(":")]
        os.posix_spawn(sys.executable, words, os.environ)
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


def _set_limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (least, least))


if __name__ == "__main__":
    main(*sys.argv[1:])
