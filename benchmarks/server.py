"""Many submissions at once: do all get a verdict, and how much slower is the leaderboard to read meanwhile?

    python benchmarks/server.py [SUBMISSIONS]

A server runs in a process of its own, with as many admissions at once as there are cores. A finished tournament is read over and
over by one caller: first while nothing else happens, then while all submissions (100 by default, of 25 owners) are sent at
once and admitted. The 95th percentiles of both are compared.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles

from arena.client import ServerAddress, describe_archive, leaderboard_of_server, list_bots, run_on_server, submit
from arena.competition import Role, State, Version
from arena.store import Store
from arena.tokens import draw_token

ROOT = Path(__file__).parents[1]
OWNERS = 25
IDLE = 10.0
"""Seconds for which an idle server is read."""


def pack(name: str) -> bytes:
    """Return the archive of a bot of this name."""
    files = {
        "bot.yaml": f"name: {name}\ncommand: [python, bot.py]\n".encode(),
        "bot.py": (ROOT / "sample_bots" / "python" / "lowest.py").read_bytes(),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for each, data in files.items():
            info = tarfile.TarInfo(each)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


async def read(server: ServerAddress, until: asyncio.Event, seconds: float = float("inf")) -> list[float]:
    """Read the leaderboard until told to stop, or for so long; return how many seconds each time took."""
    times: list[float] = []
    end = time.monotonic() + seconds
    while not until.is_set() and time.monotonic() < end:
        began = time.monotonic()
        await leaderboard_of_server(server, None)
        times.append(time.monotonic() - began)
        await asyncio.sleep(0.11)  # within the quota of calls a minute
    return times


async def submit_one(server: ServerAddress, folder: Path, number: int) -> Version:
    """Submit one bot and return what was decided."""
    archive = folder / f"{number}.tar.gz"
    archive.write_bytes(pack(f"bot {number}"))
    async with aclosing(submit(server, describe_archive(archive, build=False), archive)) as events:
        async for event in events:
            if isinstance(event, Version):
                return event
    raise AssertionError(f"submission {number} got no verdict")


def percentile(times: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(times, n=20)[-1]


async def measure(folder: Path, count: int) -> None:
    """Start a server, read it idle and under load, and print what came of it."""
    store = folder / "served.db"
    tokens = []
    with Store.open(store) as opened:
        for number in range(OWNERS):
            token, text = draw_token(f"owner {number}", Role.CONTESTANT)
            opened.tokens.add(token)
            tokens.append(text)
        token, organiser = draw_token("organiser", Role.ORGANISER)
        opened.tokens.add(token)
    command = (sys.executable, "-m", "arena", "serve", "--listen", "127.0.0.1:0", "--store", str(store))
    with subprocess.Popen(  # noqa: ASYNC220 - it is done once
        [*command, "--quota", "calls=1000"], stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().split("arena serves at ")[1].split(";")[0]
            server = ServerAddress(address)
            await submit_one(replace(server, token=tokens[0]), folder, count)
            async for _ in run_on_server(replace(server, token=organiser), "", Path("bots.yaml"), {}):
                pass
            idle = await read(server, asyncio.Event(), IDLE)
            done = asyncio.Event()
            reading = asyncio.create_task(read(server, done))
            began = time.monotonic()
            decided = await asyncio.gather(
                *(submit_one(replace(server, token=tokens[number % OWNERS]), folder, number) for number in range(count))
            )
            seconds = time.monotonic() - began
            done.set()
            loaded = await reading
            bots = await list_bots(server)
        finally:
            process.terminate()
    admitted = sum(version.state is State.ADMITTED for version in decided)
    print(
        f"{count} submissions at once: {len(decided)} verdicts, {admitted} admitted, {len(bots) - 1} listed, {seconds:.0f} s"
    )
    for name, times in (("idle", idle), ("meanwhile", loaded)):
        print(
            f"leaderboard, {name}: median {median(times) * 1e3:.1f} ms, 95 % {percentile(times) * 1e3:.1f} ms, {len(times)} reads"
        )
    print(f"95th percentiles: {percentile(loaded) / percentile(idle):.1f} times as slow (at most 5)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="arena-benchmark-") as name:
        asyncio.run(measure(Path(name), int(sys.argv[1]) if len(sys.argv) > 1 else 100))
