"""What `arena serve` promises as a process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_to_even_if_nobody_reads_what_it_says(tmp_path: Path, number: signal.Signals) -> None:
    command = (sys.executable, "-m", "arena", "serve", "--listen", "127.0.0.1:0")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    assert "arena serves at 127.0.0.1:" in process.stderr.readline()
    assert "organiser" in process.stderr.readline()
    process.stderr.close()

    process.send_signal(number)

    try:
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
    assert not list(tmp_path.glob("*.lock"))
