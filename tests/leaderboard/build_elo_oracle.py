"""Build the package `elo` 0.1.1, which the tests of live Elo compare with, and install it where this Python finds it.

    python tests/leaderboard/build_elo_oracle.py

Its source distribution can't be built with setuptools 58 or newer, and pip's isolated builds take the newest: so a virtual
environment of its own, thrown away afterwards, builds the wheel with an older one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ORACLE = "elo==0.1.1"


def main() -> None:
    """Build the wheel and install it."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        venv.create(Path(folder) / "builder", with_pip=True)
        builder = str(Path(folder) / "builder" / "bin" / "python")
        _pip(builder, "install", "setuptools<58", "wheel")
        _pip(builder, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), ORACLE)
        _pip(sys.executable, "install", "--no-deps", *(str(wheel) for wheel in wheels.iterdir()))


def _pip(python: str, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


if __name__ == "__main__":
    main()
