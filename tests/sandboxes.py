"""Whether the sandbox works on this machine, and setups of players with it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest

from arena.players.isolation import Enforcement, enforce
from arena.settings import Isolation, Limits


def _enforced() -> Enforcement:
    with tempfile.TemporaryDirectory(prefix="arena-test-", dir="/tmp") as folder:
        return asyncio.run(enforce(Isolation.AUTO, Limits(memory=300_000_000), Path(folder)))


ENFORCED = _enforced()
needs_sandbox = pytest.mark.skipif(ENFORCED.sandbox is None, reason=f"no sandbox: {ENFORCED.obstacle}")
