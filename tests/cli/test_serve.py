"""What `arena serve` promises as a process."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.cli.log import showing_log


def catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process has a handler of its own for a signal: then it serves."""
    (caught,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_to_even_if_nobody_reads_what_it_says(tmp_path: Path, number: signal.Signals) -> None:
    command = (sys.executable, "-m", "arena", "serve", "--listen", "127.0.0.1:0")
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(command, stderr=writing, cwd=tmp_path)
    os.close(writing)
    while not catches(process.pid, signal.SIGTERM):
        assert process.poll() is None
        time.sleep(0.01)

    process.send_signal(number)

    try:
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
    assert not list(tmp_path.glob("*.lock"))


def test_what_is_logged_is_told_in_clean_lines_after_the_first_ones(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("arena.server.admissions")
    with showing_log() as begin:
        log.info("%s is admitted", "her\x1b[31ms\n\u202e")
        before = capsys.readouterr().err
        begin()
        try:
            raise OSError("no\x1b[31m space")
        except OSError:
            log.exception("that failed")
    log.info("nobody is told this")
    told = capsys.readouterr().err

    assert before == ""
    first, second, *traceback = told.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d hers is admitted", first)
    assert re.fullmatch(r"\d\d:\d\d:\d\d that failed", second)
    assert traceback[-1] == "OSError: no space"
    assert not log.isEnabledFor(logging.INFO)
