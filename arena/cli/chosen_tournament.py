"""Which tournament is meant: the one that is named, or else the latest that is finished, with a word on one in play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.output import print_note

if TYPE_CHECKING:
    from arena.competition import ListedTournament
    from arena.settings import Tournament
    from arena.store import Store


def choose_tournament(store: Store, named: str | None, *, contest: bool = False) -> Tournament:
    """Return a tournament by its id or the beginning of it; without one, what `Store.latest_result` returns.

    A later one that is in play is noted on stderr. Raises BadInput where there is none.
    """
    if named is not None:
        return store.tournament(named)
    chosen = store.latest_result(contest=contest)
    if later := store.in_play(chosen):
        print_note(f"this is of tournament {chosen.id}. {in_play_text(later)}")
    return chosen


def in_play_text(tournament: ListedTournament) -> str:
    """Say in a line that a later tournament than the one that is shown is in play.

    It may also be one that was interrupted, and waits to go on.
    """
    progress = f"{tournament.played:,} of {tournament.matches:,} matches"
    return f"Tournament {tournament.id} is in play: {progress} (arena leaderboard {tournament.id})."
