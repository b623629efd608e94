"""Which limits are suspected where something failed that may have met them."""

from __future__ import annotations

import signal

import pytest

from arena.players.excess import suspect

ALLOWED = {
    "memory": 1_000_000_000,
    "processes": 64,
    "file": 67_000_000,
    "open_files": 1024,
    "folders": {"/tmp": 64_000_000},
    "names": {"memory": "limits.memory", "processes": "limits.processes"},
}
MEMORY = "it may have used more than 1,000 MB (limits.memory)"
PROCESSES = "it may have needed more than 64 processes and threads (limits.processes)"
FILE = "it may have written a file of more than 67 MB"
SPACE = "it may have written more than there is room for: /tmp has 64 MB"
OPEN_FILES = "it may have opened more than 1,024 files at once"


@pytest.mark.parametrize(
    ("text", "suspicion"),
    [
        ("INTERNAL: MemoryError: ", MEMORY),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array", MEMORY),
        ("terminate called after throwing an instance of 'std::bad_alloc'", MEMORY),
        ("memory allocation of 2000000000 bytes failed", MEMORY),
        ("fatal error: runtime: cannot allocate memory", MEMORY),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", MEMORY),
        ("java.lang.OutOfMemoryError: Java heap space", MEMORY),
        ("RuntimeError: can't start new thread", PROCESSES),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", PROCESSES),
        ("runtime: failed to create new OS thread (have 60 already; errno=11)", PROCESSES),
        ("OSError: [Errno 27] File too large: '/tmp/x'", FILE),
        ("OSError: [Errno 28] No space left on device", SPACE),
        ("OSError: [Errno 24] Too many open files", OPEN_FILES),
        ("ValueError: no such card", ""),
        ("", ""),
    ],
)
def test_a_refusal_is_recognised_in_the_words_of_each_language(text: str, suspicion: str) -> None:
    assert suspect(text, ALLOWED) == suspicion


@pytest.mark.parametrize(
    ("number", "most", "suspicion"),
    [
        (signal.SIGSEGV, 900_000_000, MEMORY),
        (signal.SIGABRT, 900_000_000, MEMORY),
        (signal.SIGSEGV, 700_000_000, ""),
        (signal.SIGTERM, 900_000_000, ""),
        (signal.SIGXFSZ, 0, FILE),
    ],
)
def test_an_end_without_a_word_is_suspicious_near_the_limit(number: int, most: int, suspicion: str) -> None:
    assert suspect("", ALLOWED, ended_by=number, most=most) == suspicion
