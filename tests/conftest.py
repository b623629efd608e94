"""Checks for every test: what it started is gone when it ends, and it was not skipped where nothing may be."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from arena.players.family import descendants

pytest_plugins = ("player_fixtures", "ready_schema")

PATIENCE = 3.0
"""Seconds that processes have to disappear."""

_PR_SET_CHILD_SUBREAPER = 36


hypothesis.settings.register_profile("ordinary", max_examples=20, deadline=None)
hypothesis.settings.register_profile("all", max_examples=300, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Become the parent of orphans, so that they can be found; try many examples where slow tests are run."""
    hypothesis.settings.load_profile("ordinary" if config.option.markexpr == "not slow" else "all")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make slow what is more than a few."""
    seen: Counter[str] = Counter()
    for item in items:
        few = item.get_closest_marker("few")
        if few is not None and item.get_closest_marker("slow") is None:
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > few.args[0]:
                item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where nothing may be skipped, make a skipped test a failed one."""
    report = yield
    if report.skipped and os.environ.get("ARENA_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though ARENA_NO_SKIPS is set: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fail the test that leaves a process behind."""
    before = set(descendants(os.getpid()))
    yield
    deadline = time.monotonic() + PATIENCE
    while (left := set(descendants(os.getpid())) - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        pytest.fail("still running:\n" + "\n".join(f"  {pid}: {_command(pid)}" for pid in sorted(left)))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "(ended)"
