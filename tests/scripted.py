"""Players that do what a test says, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arena.decision import Choice, DealResult, Decision, Description
from arena.faults import Evidence, Failure, FaultKind, substitute
from arena.players.base import Answer, Player

Script = Callable[[Decision], Choice]


def lowest(decision: Decision) -> Choice:
    """Choose what the arena would substitute."""
    return Choice(substitute(decision.legal, decision.count))


def highest(decision: Decision) -> Choice:
    """Choose the cards with the highest numbers."""
    return Choice(decision.legal[-decision.count :])


def failing(kind: FaultKind = FaultKind.TIMEOUT, detail: str = "no answer") -> Script:
    """Return a script that never has an answer."""

    def fail(_decision: Decision) -> Choice:
        raise Failure(Evidence(kind, detail), elapsed=0.5)

    return fail


class Scripted(Player):
    """A player that answers by a script; it remembers what it was asked and told."""

    def __init__(self, script: Script = lowest, *, elapsed: float = 0.001) -> None:
        self._script = script
        self._elapsed = elapsed
        self.asked: list[Decision] = []
        self.told: list[DealResult] = []

    async def start(self) -> Description:
        """Be there."""
        return Description("scripted")

    async def decide(self, decision: Decision) -> Answer:
        """Answer by the script."""
        self.asked.append(decision)
        return Answer(self._script(decision), self._elapsed)

    async def finish_deals(self, results: Sequence[DealResult]) -> None:
        """Remember them."""
        self.told.extend(results)

    async def close(self) -> None:
        """Be gone."""
