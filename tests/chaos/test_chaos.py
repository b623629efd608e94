"""The arena is killed with SIGKILL again and again; the result is as if nothing had happened, and nothing is left."""

from __future__ import annotations

import os
import random
import secrets
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_bots" / "python"
MISBEHAVING = ROOT / "tests" / "players" / "bots" / "misbehaving.py"
ROGUE = MISBEHAVING.with_name("rogue.py")

BOTS = f"""
seed: chaos
time: {{decision: 20s, bank: 60s, startup: 300s}}
bots:
  - {{name: random, command: [python, {SAMPLES}/random_bot.py]}}
  - {{name: careful, command: [python, {SAMPLES}/careful.py]}}
  - {{name: counting, command: [python, {SAMPLES}/counting.py]}}
  - {{name: unreadable, command: [python, {MISBEHAVING}, unknown-card]}}
  - {{name: illegal, command: [python, {ROGUE}, not-held]}}
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


def read_until(playing: subprocess.Popen[str], text: str, seconds: float) -> None:
    """Read what is said up to a line that has this text, for at most so long."""
    assert playing.stderr is not None
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and select.select([playing.stderr], [], [], left)[0]:
        line = playing.stderr.readline()
        if not line or text in line:
            return


def kill_at_random(folder: Path, boards: int, dice: random.Random) -> bool:
    """Play and kill the arena at a random moment; return whether it was still playing."""
    playing = start(folder, boards)
    if dice.random() < 0.75:
        read_until(playing, "seed commitment", 60)
    try:
        playing.wait(dice.uniform(0.0, 3.0))
    except subprocess.TimeoutExpired:
        playing.kill()
    _, said = playing.communicate(timeout=30)
    assert playing.returncode in (0, -9), said
    return playing.returncode == -9


@pytest.mark.parametrize(
    ("kills", "boards"),
    [
        pytest.param(3, 24, id="short"),
        pytest.param(25, 600, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_killed_again_and_again_the_result_is_the_same(tmp_path: Path, kills: int, boards: int) -> None:
    number = int(os.environ.get("ARENA_CHAOS_SEED", secrets.randbits(32)))
    sys.stdout.write(f"repeat with ARENA_CHAOS_SEED={number}\n")
    dice = random.Random(number)
    folders = tmp_path / "disturbed", tmp_path / "undisturbed"
    for folder in folders:
        (folder / "tmp").mkdir(parents=True)
        (folder / "bots.yaml").write_text(BOTS)

    killed = sum(kill_at_random(folders[0], boards, dice) for _ in range(kills))
    disturbed, _ = result(folders[0], boards)
    undisturbed, _ = result(folders[1], boards)

    assert disturbed == undisturbed, f"repeat with ARENA_CHAOS_SEED={number}"
    assert killed == kills or kills == 3
    assert list((folders[0] / "tmp").iterdir()) == []
