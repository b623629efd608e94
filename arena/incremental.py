"""Results that are kept: what an earlier tournament found out about versions that have not changed since.

A new tournament keeps the matches of finished ones that were played under the same conditions, where nothing in the line-up
has changed: neither a bot's files nor how it is run. The latest come first, and only what they don't serve is played. The
seeds of earlier tournaments are known by then, so the new matches have a seed of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from arena.errors import BadInput
from arena.identity import portable_entry
from arena.match import Match
from arena.schedule import make_schedule
from arena.settings import ScheduleKind, Settings, Tournament, game_of

if TYPE_CHECKING:
    from arena.store import Store


def conditions(settings: Settings) -> Settings:
    """Return what has to be the same for results to be kept: all but the seed, how much is played, and how it is scheduled.

    Comparisons and substitutions stay what they are: their matches are made for one question, and serve no other.
    """
    return replace(settings, seed=None, boards=None, schedule=None, gauntlet="", settling=None, fill=False)


def unchanged_bots(earlier: Tournament, tournament: Tournament) -> frozenset[str]:
    """Return the bots whose files, and the way in which they are run, are the same in both."""
    entries = {entry.name: entry for entry in earlier.entries}
    return frozenset(
        entry.name
        for entry in tournament.entries
        if entry.name in entries
        and tournament.versions.get(entry.name) is not None
        and tournament.versions.get(entry.name) == earlier.versions.get(entry.name)
        and portable_entry(entry) == portable_entry(entries[entry.name])
    )


def kept_matches(store: Store, tournament: Tournament) -> tuple[Match, ...]:
    """Return the matches whose results a new tournament can keep, those of the latest tournament first.

    Each has where it was really played as its origin, and is in it once, however many tournaments have it. Raises BadInput
    for a schedule that goes by results, which can't take them from elsewhere, and for a seed that has dealt already.
    """
    settings = tournament.settings
    if settings.schedule in (ScheduleKind.GAUNTLET, ScheduleKind.ADAPTIVE):
        raise BadInput(
            f"a schedule of kind {settings.schedule} keeps no results: leave --incremental out, or --schedule"
        )
    kept: dict[tuple[str, int], Match] = {}
    for earlier in _comparable(store, settings):
        same = unchanged_bots(earlier, tournament)
        if len(same) < 2:
            continue
        if earlier.seed.key == tournament.seed.key:
            raise BadInput(
                f"the deals of this seed were played in tournament {earlier.id}: choose another one, or none, to keep results"
            )
        for match in store.matches(earlier.id, done=True):
            if same.issuperset(match.line_up):
                origin = match.origin or (earlier.id, match.number)
                kept.setdefault(origin, replace(match, origin=origin))
    return tuple(kept.values())


def _comparable(store: Store, settings: Settings) -> list[Tournament]:
    """Return the finished tournaments that were played under the same conditions, the latest first."""
    wanted = conditions(settings)
    return [
        earlier
        for earlier in reversed(store.tournaments())
        if earlier.finished is not None and conditions(earlier.settings) == wanted
    ]


def completed_schedule(tournament: Tournament, kept: Sequence[Match]) -> tuple[Match, ...]:
    """Return the schedule of a tournament that keeps matches: those of them that serve, and what has to be played."""
    names = [entry.name for entry in tournament.entries]
    settings = tournament.settings
    return make_schedule(settings, game_of(settings), names, tournament.seed.key, kept)


def kept_notice(schedule: Sequence[Match]) -> str:
    """Say how much of a schedule is kept, if anything, and whether unchanged bots play more than that among themselves."""
    kept = [match.origin[0] for match in schedule if match.origin]
    where = ", ".join(dict.fromkeys(kept))
    known = {name for match in schedule if match.origin for name in match.line_up}
    besides = sum(match.origin is None and known.issuperset(match.line_up) for match in schedule)
    lacking = f"; {besides} of the others are between bots that are unchanged, for boards that they lack" * bool(
        besides
    )
    return f"{len(kept)} of {len(schedule)} matches are kept from tournament {where}{lacking}"


def nothing_kept_notice(store: Store, tournament: Tournament) -> str:
    """Say why nothing is kept in a tournament."""
    lead = "no results could be kept: no"
    latest = next(iter(_comparable(store, tournament.settings)), None)
    if latest is None:
        return f"{lead} finished tournament was played under these conditions"
    same = unchanged_bots(latest, tournament)
    changed = [entry.name for entry in latest.entries if entry.name not in same]
    if changed:
        why = f"is between unchanged bots alone (changed, gone or of unknown version: {', '.join(changed)})"
    else:
        why = "fits into this schedule"
    return f"{lead} match of tournament {latest.id}, the latest under these conditions, {why}"
