"""Who may play a tournament, and who can: the bots that are entered, and those of the house that stand in for others.

Seats are counted after every bot has been started once, and not before: only then it is known how many are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arena.competitors import House
from arena.errors import BadInput, BotUnusable
from arena.players.isolation import Enforcement, enforce
from arena.players.roster import Roster
from arena.settings import Entry, Settings, game_of

if TYPE_CHECKING:
    from arena.store import Store


@dataclass(frozen=True, slots=True)
class Entrants:
    """Who may play."""

    entries: tuple[Entry, ...]
    house: House
    sides: int
    resumed: bool
    """Whether they play on in a tournament that began with them."""

    @property
    def expected(self) -> tuple[Entry, ...]:
        """Those who play if all can."""
        return *self.entries, *self.house.called(len(self.entries), self.sides)


def find_entrants(
    store: Store, settings: Settings, entries: Sequence[Entry], house: House, resume: str | None
) -> Entrants:
    """Return who may play: in one that is resumed those of the house that played in it, and no others."""
    sides = len(game_of(settings).sides)
    if resume is None:
        return Entrants(tuple(entries), house, sides, resumed=False)
    known = {entry.name for entry in store.tournament(resume).entries}
    own = [entry for entry in house.bots if entry.name in known]
    return Entrants((*entries, *own), House(), sides, resumed=True)


async def enforce_for(
    settings: Settings, entrants: Entrants, folder: Path, hidden: tuple[Path, ...]
) -> Enforcement | None:
    """Return what confines launched bots; None where there are none, or only the house could be, which then stays away."""
    needed = any(entry.launched for entry in entrants.expected)
    if not needed and not entrants.house.bots:
        return None
    try:
        return await enforce(settings.isolation, settings.limits, folder, hidden)
    except BadInput:
        if needed:
            raise
        return None


async def find_able(
    roster: Roster, game: str, entrants: Entrants, house: House, notices: list[str], *, skip_broken: bool
) -> tuple[Entry, ...]:
    """Start every bot once and return those that can play, and as many of the house as seats are left.

    Raises BotUnusable unless those that can't are to be skipped, and where none but the house is left.
    """
    broken = await roster.check(entrants.entries, game)
    if broken and not skip_broken:
        raise BotUnusable("\n".join([*dict.fromkeys(broken.values()), "mend this, or play without with --skip-broken"]))
    without = "substitute cards are played for" if entrants.resumed else "plays without"
    notices.extend(f"{without} {name}: {reason}" for name, reason in broken.items())
    able = [entry for entry in entrants.entries if entry.name not in broken]
    if entrants.entries and not able:
        raise BotUnusable("no bot can play: see the notes")
    joining: list[Entry] = []
    while called := house.called(len(able) + len(joining), entrants.sides):
        house = house.without(len(called))
        broken = await roster.check(called, game)
        notices.extend(f"plays without {name} of the house: {reason}" for name, reason in broken.items())
        joining += [entry for entry in called if entry.name not in broken]
    if joining:
        names = ", ".join(entry.name for entry in joining)
        notices.append(f"bots of the house play along: {names}{house.hint}")
    return *able, *joining
