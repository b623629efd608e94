"""Arena as a program: what its commands print, and how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Arena = Callable[..., subprocess.CompletedProcess[str]]
"""Runs `arena` with these arguments; keywords are added to the environment."""


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which bots of `in_process` are found."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent), **more}


def arena_in(folder: Path, **always: str) -> Arena:
    """Return what runs `arena` in a folder."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "arena", *arguments],
            cwd=folder,
            env=environment(**always, **more),
            capture_output=True,
            encoding="utf-8",
            errors="replace" if "PYTHONIOENCODING" in more else "strict",
            timeout=100,
        )

    return run
