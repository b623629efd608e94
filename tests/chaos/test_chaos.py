"""The arena is killed with SIGKILL again and again; the result is as if nothing had happened, and nothing is left."""

from __future__ import annotations

import os
import random
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_bots" / "python"
ROGUES = ROOT / "tests" / "players" / "bots"

BOTS = f"""
seed: chaos
time: {{decision: 20s, bank: 60s, startup: 300s}}
bots:
  - {{name: random, command: [python, {SAMPLES}/random_bot.py]}}
  - {{name: careful, command: [python, {SAMPLES}/careful.py]}}
  - {{name: counting, command: [python, {SAMPLES}/counting.py]}}
  - {{name: unreadable, directory: {ROGUES}, command: [python, misbehaving.py, unknown-card]}}
  - {{name: illegal, directory: {ROGUES}, command: [python, rogue.py, not-held]}}
"""


def start(folder: Path, boards: int) -> subprocess.Popen[str]:
    """Start the tournament in a folder: the same command each time."""
    command = ["tournament", "--boards", str(boards), "--tables", "8", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "arena", *command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def result(folder: Path, boards: int) -> tuple[str, str]:
    """Play to the end; return the result and what was said meanwhile."""
    playing = start(folder, boards)
    output, said = playing.communicate(timeout=600)
    assert playing.returncode == 0, said
    return output, said


def read_until(playing: subprocess.Popen[str], text: str) -> str:
    """Read what is said up to a line that has this text."""
    assert playing.stderr is not None
    read = ""
    for line in playing.stderr:
        read += line
        if text in line:
            break
    return read


def kill_at_random(folder: Path, boards: int, dice: random.Random) -> bool:
    """Play and kill the arena at a random moment; return whether it was still playing."""
    playing = start(folder, boards)
    before = read_until(playing, "seed commitment") if dice.random() < 0.75 else ""
    try:
        playing.wait(dice.uniform(0.0, 3.0))
    except subprocess.TimeoutExpired:
        playing.kill()
    _, said = playing.communicate(timeout=30)
    assert playing.returncode in (0, -9), before + said
    return playing.returncode == -9


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for those of sockets."""
    with tempfile.TemporaryDirectory(prefix="c", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("kills", "boards"),
    [
        pytest.param(3, 24, id="short", marks=pytest.mark.slow),
        pytest.param(25, 600, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_killed_again_and_again_the_result_is_the_same(short_path: Path, kills: int, boards: int) -> None:
    number = int(os.environ.get("ARENA_CHAOS_SEED", secrets.randbits(32)))
    sys.stdout.write(f"repeat with ARENA_CHAOS_SEED={number}\n")
    dice = random.Random(number)
    folders = short_path / "disturbed", short_path / "undisturbed"
    for folder in folders:
        (folder / "tmp").mkdir(parents=True)
        (folder / "bots.yaml").write_text(BOTS)

    killed = sum(kill_at_random(folders[0], boards, dice) for _ in range(kills))
    disturbed, _ = result(folders[0], boards)
    undisturbed, _ = result(folders[1], boards)

    assert disturbed == undisturbed, f"repeat with ARENA_CHAOS_SEED={number}"
    assert killed == kills or kills == 3
    assert list((folders[0] / "tmp").iterdir()) == []
