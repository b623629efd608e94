"""Players that do what a test says, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from arena.decision import Choice, DealResult, Decision, Description
from arena.faults import Evidence, Failure, FaultKind, substitute
from arena.players.base import Answer, Player
from arena.players.roster import Place, Roster

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


class ScriptedRoster(Roster):
    """A roster of scripted players: one a bot and rotation, made when first seated."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = scripts
        self.players: dict[Place, Scripted] = {}
        self.ended = 0

    @property
    def isolates(self) -> bool:
        """Play rotation by rotation."""
        return True

    def forgets(self, bot: str) -> bool:
        """Meet each deal once."""
        del bot
        return True

    def may_remember(self, bots: Iterable[str]) -> bool:
        """Trust them."""
        del bots
        return False

    @asynccontextmanager
    async def seated(self, places: Sequence[Place]) -> AsyncIterator[tuple[Player, ...]]:
        """Hold the players."""
        for place in places:
            self.players.setdefault(place, Scripted(self._scripts[place.bot]))
        yield tuple(self.players[place] for place in places)

    async def end_instances(self) -> None:
        """Count how often all had to end."""
        self.ended += 1
