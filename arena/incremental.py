"""Results that are kept: what an earlier tournament found out about versions that have not changed since.

A new tournament keeps the matches of the latest finished one that was played under the same conditions, where nothing in the
line-up has changed: neither a bot's files nor how it is run. Only what these matches don't serve is played. The seed of the
earlier tournament is known by then, so the new matches have a seed of their own.
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
    """Return what has to be the same for results to be kept: all but the seed, how much is played, and how it is scheduled."""
    return replace(settings, seed=None, boards=None, schedule=None, fill=False)


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
    """Return the matches whose results a new tournament can keep, each with where it was really played; none if there are none.

    Raises BadInput for a schedule that goes by results, which can't take them from elsewhere.
    """
    settings = tournament.settings
    if settings.schedule in (ScheduleKind.GAUNTLET, ScheduleKind.ADAPTIVE):
        raise BadInput(
            f"a schedule of kind {settings.schedule} keeps no results: leave --incremental out, or --schedule"
        )
    wanted = conditions(settings)
    for earlier in reversed(store.tournaments()):
        if earlier.finished is None or earlier.id == tournament.id or conditions(earlier.settings) != wanted:
            continue
        same = unchanged_bots(earlier, tournament)
        return tuple(
            replace(match, origin=match.origin or (earlier.id, match.number))
            for match in store.matches(earlier.id, done=True)
            if same.issuperset(match.line_up)
        )
    return ()


def completed_schedule(tournament: Tournament, kept: Sequence[Match]) -> tuple[Match, ...]:
    """Return the schedule of a tournament that keeps matches: those of them that serve, and what has to be played."""
    names = [entry.name for entry in tournament.entries]
    settings = tournament.settings
    return make_schedule(settings, game_of(settings), names, tournament.seed.key, kept)


def kept_notice(schedule: Sequence[Match]) -> str:
    """Say how much of a schedule is kept."""
    kept = [match.origin[0] for match in schedule if match.origin]
    if not kept:
        return "no results could be kept: no finished tournament was played under these conditions with bots unchanged since"
    where = ", ".join(dict.fromkeys(kept))
    return f"{len(kept)} of {len(schedule)} matches are kept from tournament {where}"
