"""All that a process has started is found, and whether it lives, however the kernel tells it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from arena.players import family as module
from arena.players.family import descendants, family

PARENT = """
import os, time
children = []
for _ in range(2):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild:
            os.write(writing, str(grandchild).encode())
        time.sleep(3600)
    children += [child, int(os.read(reading, 20))]
dead = os.fork()
if dead == 0:
    os._exit(0)
os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
print(*children, dead, flush=True)
time.sleep(3600)
"""

HEADLESS = """
import ctypes, threading, time
def go_on():
    while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.001)
    print("alone", flush=True)
    time.sleep(3600)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).pthread_exit(None)
"""

Started = tuple[int, list[int], int]


@pytest.fixture(params=[True, False], ids=["by lists of children", "by parents"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param and not module.LISTED:
        pytest.skip("this kernel lists no children")
    monkeypatch.setattr(module, "LISTED", request.param)


@pytest.fixture
def started() -> Iterator[Started]:
    """A process, two children with a child each, in this order, and a child that is dead."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        *living, dead = map(int, parent.stdout.readline().split())
        yield parent.pid, living, dead
        for pid in (parent.pid, *living):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("_way")
def test_the_living_below_a_process_are_found_and_the_spared_left_out(started: Started) -> None:
    parent, (first, below_first, second, below_second), dead = started

    assert set(family(parent)) == {parent, first, below_first, second, below_second, dead}
    assert set(descendants(parent)) == {first, below_first, second, below_second}
    assert set(descendants(parent, [first])) == {second, below_second}
    assert descendants(below_second) == []


@pytest.mark.usefixtures("_way")
def test_who_lives_on_in_other_threads_is_not_dead() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", HEADLESS], stdout=subprocess.PIPE) as headless:
        assert headless.stdout is not None
        assert headless.stdout.readline() == b"alone\n"
        assert headless.pid in descendants(os.getpid())
        headless.kill()
