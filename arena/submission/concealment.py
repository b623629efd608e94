"""What contestants read of an admission, made safe to show and without the places of the machine that it ran on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import arena
from arena.text import clean_line, clean_lines, clip_bytes

LOG_BYTES: Final = 64 << 10
"""So much of a step's log is kept, the last of it."""

_LINES, _WIDTH = 2000, 500
_KNOWN: Final = ("/", "/usr", "/usr/local", "/bin", "/tmp", "/opt")  # noqa: S108 - tell nothing


class Concealment:
    """Replaces places by what they are; the bot's own folders by nothing, so that its files have the names it gave them."""

    def __init__(self, own: Collection[Path], places: Mapping[Path, str]) -> None:
        shown = {place: text for path, text in places.items() for place in _spellings(path)} | dict(_machine())
        shown |= {place: "" for folder in own for place in _spellings(folder)}
        self._shown = {place: text for place, text in shown.items() if place not in _KNOWN}
        longest = sorted(self._shown, key=len, reverse=True)
        self._pattern = re.compile(f"({'|'.join(map(re.escape, longest))})(/?)")

    def line(self, text: str, most: int = 1000) -> str:
        """Return a text as one clean line."""
        return clean_line(self._replace(text), most)

    def log(self, text: str) -> str:
        """Return the last of a text in clean lines."""
        lines = clean_lines(self._replace(text[-4 * LOG_BYTES :]), _LINES, _WIDTH)
        while len(lines.encode()) > LOG_BYTES:
            excess = len(lines.encode()) - LOG_BYTES
            lines = lines[max(1, excess // 4) :].partition("\n")[2] or clip_bytes(lines[-_WIDTH:], LOG_BYTES)
        return lines

    def _replace(self, text: str) -> str:
        return self._pattern.sub(self._instead, text)

    def _instead(self, found: re.Match[str]) -> str:
        text = self._shown[found[1]]
        return f"{text}{found[2]}" if text else "" if found[2] else "."


def _spellings(path: Path) -> set[str]:
    return {str(path), str(path.absolute()), os.path.realpath(path)}


def _machine() -> Mapping[str, str]:
    places = {
        Path(sys.prefix): "python",
        Path(sys.base_prefix): "python",
        Path(arena.__file__).parents[1]: "arena",
        Path.home(): "~",
    }
    return {place: text for path, text in places.items() for place in _spellings(path)}
