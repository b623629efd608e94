"""What is in an archive, whatever its form: nothing that it says of itself is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arena.errors import Refused
from arena.submission.streams import Readable
from arena.submission.tree import refuse, show

MOST_TOLD: Final = 1 << 16
"""Bytes of what is said of a member, and of a link's target."""


@dataclass(frozen=True, slots=True)
class Member:
    """Something in an archive: a folder where there is neither content nor target."""

    name: str
    content: Readable | None = None
    """Can be read until the next member is asked for."""
    program: bool = False
    target: str | None = None
    """Where a link leads."""


def no_file(name: str) -> Refused:
    """Return the refusal of what is neither file nor folder nor link."""
    return refuse(f"{show(name)} is a device, a pipe, or something else that is no file: leave it out")
