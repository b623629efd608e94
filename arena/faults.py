"""Faults: decisions that a bot failed, and what the table does about them.

A fault never stops a table. The substitute card is played, the fault is recorded with its evidence, and after `max_faults` of
them the player is retired: it is asked no more, substitutes play on, and it places last in the deals it was retired from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from arena.cards import Card
from arena.errors import ArenaError


class FaultKind(IntEnum):
    """Why a decision was not the bot's own."""

    TIMEOUT = 1
    DISCONNECTED = 2
    MALFORMED = 3
    ILLEGAL = 4
    STARTUP = 5
    ARENA = 6

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a failure: what happened in words, and whatever of the rest there is."""

    kind: FaultKind
    detail: str
    overrun: float | None = None
    """Seconds beyond the limit."""
    exit_code: int | None = None
    signal: int | None = None
    answer: str = ""
    """The offending answer as text, shortened."""
    stderr: str = ""
    """The last lines of the bot's standard error, cleaned of control codes."""


class Failure(ArenaError):
    """What a player raises when it has no answer to a decision; the seconds are as in an answer."""

    def __init__(self, evidence: Evidence, elapsed: float = 0.0, credit: float = 0.0) -> None:
        super().__init__(f"{evidence.kind}: {evidence.detail}")
        self.evidence = evidence
        self.elapsed = elapsed
        self.credit = credit


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed decision: who failed which one, with the evidence, and whether it retired the player."""

    seat: int
    decision: int
    evidence: Evidence
    retired: bool = False


@dataclass(frozen=True, slots=True)
class FaultPolicy:
    """What faults lead to: `max_faults` of them at one table retire the player; with `forfeit` the first one does."""

    max_faults: int = 3
    forfeit: bool = False

    @property
    def allowed(self) -> int:
        """The number of the fault that retires."""
        return 1 if self.forfeit else self.max_faults


def substitute(legal: Sequence[Card], count: int) -> tuple[Card, ...]:
    """Return what is chosen for a player without an answer: the lowest cards, by rank, then suit, magicians last."""
    return tuple(sorted(legal, key=lambda card: (card.is_magician, card & 15, card >> 4))[:count])
