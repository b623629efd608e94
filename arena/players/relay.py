"""Relays a unix socket to a port of the loopback interface, as `python -I -S relay.py SOCKET PORT`.

The sandbox of a bot has a network of its own, so that the arena can't reach a bot there that serves by TCP only. Nothing but
the standard library is imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from functools import partial

_CHUNK = 1 << 16


async def relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes in both directions until both sides have ended; hang up at once where nobody serves yet."""
    with contextlib.closing(writer), contextlib.suppress(OSError):
        bots_reader, bots_writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(bots_writer):
            await asyncio.gather(_carry(reader, bots_writer), _carry(bots_reader, writer))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def serve(path: str, port: int) -> None:
    """Serve for ever."""
    server = await asyncio.start_unix_server(partial(relay, port), path)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
