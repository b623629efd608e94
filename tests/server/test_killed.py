"""A server that is killed at once: in an upload, in an admission, in a match. What is begun again ends as if nothing had been."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import grpc.aio
import pytest
from sandboxes import needs_sandbox
from servers import add_token, described, python_bot, submitted

from arena.client import ServerAddress, leaderboard_of_server, list_bots, run_on_server, watch
from arena.competition import Role, State
from arena.errors import ArenaError
from arena.events import Finished, MatchPlayed
from arena.store import Store
from arena.v1 import arena_pb2, arena_pb2_grpc

pytestmark = [pytest.mark.slow, needs_sandbox, pytest.mark.timeout(300)]


class Served:
    """An `arena serve` of its own process, which can be killed and started again at the same place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.store = folder / "served.db"
        self.address = ServerAddress(f"unix:{folder}/s")

    def start(self) -> None:
        """Start it, and wait until it serves."""
        command = (sys.executable, "-m", "arena", "serve", "--listen", self.address.address, "--store", str(self.store))
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self._folder)
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        assert "arena serves at" in line, line + self._process.stderr.read()

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def stop(self) -> None:
        """End it in good order."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(40)
        assert self._process.stderr is not None
        self._process.stderr.close()


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    server = Served(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes that have to do with a folder, this one apart."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if int(entry.name) != os.getpid():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if str(folder) in words:
                    found.append(words)
    return found


async def test_killed_in_an_upload_nothing_is_left_of_it_and_the_same_submission_is_taken_once(tmp_path: Path) -> None:
    archive = python_bot("hers")
    went = asyncio.Event()

    async def half() -> AsyncIterator[arena_pb2.SubmitBotRequest]:
        yield arena_pb2.SubmitBotRequest(submission=described(archive, submission="a" * 32))
        yield arena_pb2.SubmitBotRequest(piece=archive[:100])
        went.set()
        await asyncio.sleep(60)

    with served(tmp_path) as server:
        token = add_token(server.store, "ada", Role.CONTESTANT)
        async with grpc.aio.insecure_channel(
            server.address.address, [("grpc.default_authority", "localhost")]
        ) as channel:
            call = arena_pb2_grpc.ArenaServiceStub(channel).SubmitBot(
                half(), metadata=(("authorization", f"Bearer {token}"),)
            )
            await call.initial_metadata()
            await went.wait()
            await until(lambda: bool(list((tmp_path / "served.db.bots" / "incoming").iterdir())))
            server.kill()
            call.cancel()
        server.start()
        ada = replace(server.address, token=token)
        assert await list_bots(ada) == []

        version, _ = await submitted(ada, archive, tmp_path, submission="a" * 32)
        again, _ = await submitted(ada, archive, tmp_path, submission="a" * 32)

        assert (version.number, version.state) == (1, State.ADMITTED)
        assert again.submission == version.submission
        with Store.open(server.store) as store:
            assert len(store.submissions.versions("hers")) == 1
        assert list((tmp_path / "served.db.bots" / "incoming").iterdir()) == []


@pytest.mark.parametrize("step", ["unpack", "check", "play"])
async def test_killed_in_an_admission_it_is_admitted_after_the_start(tmp_path: Path, step: str) -> None:
    archive = python_bot("hers")
    with served(tmp_path) as server:
        token = add_token(server.store, "ada", Role.CONTESTANT)
        ada = replace(server.address, token=token)
        submitting = asyncio.create_task(submitted(ada, archive, tmp_path, submission="a" * 32))
        with Store.open(server.store) as store:
            before = {"unpack": 0, "check": 2, "play": 3}[step]
            await until(
                lambda: (
                    store.submissions.find("a" * 32) is not None and len(store.submissions.steps("a" * 32)) >= before
                )
            )
            server.kill()
            version = store.submissions.find("a" * 32)
            assert version is not None
            assert version.state is State.WAITING

            server.start()

            decided, _ = await submitting
            assert (decided.number, decided.state) == (1, State.ADMITTED)
            assert [each.name for each in store.submissions.steps("a" * 32)] == ["unpack", "build", "check", "play"]
            assert [bot.versions for bot in store.submissions.bots()] == [1]
    await until(lambda: processes_of(tmp_path) == [])


async def test_killed_in_a_match_the_tournament_goes_on_and_whoever_watches_too(tmp_path: Path) -> None:
    config = "boards: 480\nbots:\n" + "".join(
        f"  - {{name: {name}, command: [python, {Path(__file__).parents[2]}/sample_bots/python/lowest.py]}}\n"
        for name in ("a", "b", "c", "d")
    )
    with served(tmp_path) as server:

        async def play() -> None:
            async for _ in run_on_server(server.address, config, tmp_path / "bots.yaml", {}):
                pass

        playing = asyncio.create_task(play())
        numbers: list[int] = []
        matches: list[int] = []
        last: list[object] = []

        async def look() -> None:
            async for event in watch(server.address, "", 1):
                numbers.append(event.number)
                matches.extend([event.event.match] if isinstance(event.event, MatchPlayed) else [])
                last[:] = [event.event]

        with Store.open(server.store) as store:
            await until(lambda: bool(store.tournaments()))
            watching = asyncio.create_task(look())
            for played in (5, 20):
                await until(lambda: len(matches) >= played)  # noqa: B023
                server.kill()
                server.start()
            async with asyncio.timeout(120):
                await asyncio.gather(watching, playing)
            tournament = store.tournament()
            progress = store.progress(tournament.id)

        assert isinstance(last[0], Finished)
        assert progress.done == progress.matches
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(matches) == len(set(matches))
        assert '"Not finished' not in (await leaderboard_of_server(server.address, None))[0]
        with pytest.raises(ArenaError):
            await leaderboard_of_server(server.address, "zz")
    await until(lambda: processes_of(tmp_path) == [])
