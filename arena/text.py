"""Strangers' text made safe to show: no control codes, no escape sequences, nothing that turns lines around, bounded."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x1b\\|\x07|$)|[ -/]*[0-~])", re.DOTALL)
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean_line(text: str, most: int = 256) -> str:
    """Return text as one line of at most `most` characters, without control codes, escape sequences and invisible marks.

    >>> clean_line("a\\x1b[31mred\\x1b[0m\\r\\nbot\\u202e")
    'ared bot'
    """
    bounded = _ESCAPE.sub("", text[: 4 * most + 1024])
    words = "".join(" " if c.isspace() else c for c in bounded if c.isspace() or unicodedata.category(c) not in _UNSAFE)
    line = " ".join(words.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def clean_lines(text: str, lines: int = 50, width: int = 500) -> str:
    """Return the last `lines` lines of a text, each cleaned as by `clean_line` with its indentation kept."""
    cleaned = []
    for line in text.splitlines()[-lines:]:
        indent = len(line) - len(line.lstrip(" "))
        cleaned.append(" " * min(indent, 40) + clean_line(line, width))
    return "\n".join(cleaned)


def clip_bytes(text: str, most: int) -> str:
    """Return the longest beginning of a text that fits in `most` bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
