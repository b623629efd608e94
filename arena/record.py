"""The record of a deal: what was dealt, passed and played, by whom, with every fault; enough to play it again and verify it."""

from __future__ import annotations

from dataclasses import dataclass

from arena.cards import Card
from arena.faults import Fault
from arena.game import Game


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that a bot made with a choice."""

    seat: int
    decision: int
    text: str


@dataclass(frozen=True, slots=True)
class DealRecord:
    """One deal as it was played."""

    game: Game
    placed_by_game: bool
    number: int
    bots: tuple[str, ...]
    """The bot at each seat."""
    hands: tuple[tuple[Card, ...], ...]
    """The hands as dealt, by seat, each by card number."""
    passes: tuple[tuple[Card, ...], ...]
    """The cards passed, by seat, each by card number; empty tuples in a deal without passing."""
    plays: tuple[Card, ...]
    """Every card played, in order."""
    scores: tuple[int, ...]
    """Penalty points, by seat."""
    totals: tuple[int, ...]
    """Totals by side, this deal included; all 0 where each deal is placed by itself."""
    faults: tuple[Fault, ...] = ()
    retired: tuple[int, ...] = ()
    """The seats whose players are retired at the end of the deal."""
    notes: tuple[Note, ...] = ()
    answer_micros: tuple[int, ...] = ()
    """How long each answer took, in microseconds, in the order in which the decisions were applied."""
    credit_micros: tuple[int, ...] = ()
    """How much of the time of each answer was not charged, since the arena itself was late, in microseconds."""
