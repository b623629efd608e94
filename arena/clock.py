"""Time: how long a bot may take, and what is left of it. All times are seconds as `float`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeControl:
    """How long a bot may take: for a decision, in extra time a table (its bank), and to start."""

    decision: float = 1.0
    bank: float = 10.0
    startup: float = 30.0


@dataclass(slots=True)
class Clock:
    """One player's time at one table: what of the bank is left, and how long its last answer took."""

    control: TimeControl
    bank: float
    last_answer: float | None = None

    @classmethod
    def start(cls, control: TimeControl) -> Clock:
        """Return a clock with a full bank."""
        return cls(control, control.bank)

    def charge(self, elapsed: float) -> None:
        """Charge the player for an answer: what exceeds the decision time comes off its bank, which never goes below 0."""
        self.last_answer = elapsed
        self.bank = max(0.0, self.bank - max(0.0, elapsed - self.control.decision))
