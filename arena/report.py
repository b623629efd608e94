"""The leaderboard of a stored tournament: always computed from the store, never kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from arena.clock import TimeControl
from arena.incremental import kept_notice
from arena.settings import Tournament
from arena.tournament import disqualified_bots
from leaderboard.standings import Json, document, make_standings

if TYPE_CHECKING:
    from arena.store import Store


def result_notes(store: Store, tournament: Tournament) -> tuple[str, ...]:
    """Return what one must know of a tournament to judge its result, in sentences."""
    settings, time, usual = tournament.settings, tournament.settings.time, TimeControl()
    notes = []
    if tournament.finished is None:
        progress = store.progress(tournament.id)
        notes.append(f"{unfinished(progress.done, progress.matches).capitalize()}.")
    if (time.decision, time.bank) != (usual.decision, usual.bank):
        notes.append(f"Time: {time.decision:g} s a decision, and {time.bank:g} s more a table.")
    if not tournament.seed.secret:
        notes.append("The seed was chosen by hand, so it is not secret: whoever knows it knows all deals.")
    remembering = [entry.name for entry in tournament.entries if not entry.launched]
    if settings.trust_bots:
        remembering = [entry.name for entry in tournament.entries]
    if remembering and not settings.independent:
        notes.append(f"Could meet deals again and remember them: {', '.join(remembering)} (see --independent).")
    if again := store.attempts(tournament.id):
        notes.append(f"Dealt anew after a fault of the arena itself: match {', '.join(map(str, again))}.")
    schedule = store.matches(tournament.id)
    if any(match.origin for match in schedule):
        notes.append(f"{kept_notice(schedule)}.".capitalize())
    return (*notes, *tournament.enforced)


def unfinished(played: int, matches: int) -> str:
    """Say how far a tournament is that has not ended."""
    if played < matches:
        return f"not finished: {played:,} of {matches:,} matches are played"
    return f"not ended yet, though all {matches:,} matches so far are played: the same command goes on"


def stored_document(store: Store, tournament: Tournament, *, anchor: str | None = None) -> dict[str, Json]:
    """Return the JSON document of a tournament's leaderboard so far; the seed is in it once the tournament is finished.

    Raises `ValueError` for an anchor without results.
    """
    settings = tournament.settings
    out = disqualified_bots(store, tournament)
    bots = [entry.name for entry in tournament.entries]
    return document(
        make_standings(store.results(tournament.id), anchor=anchor, bots=bots, disqualified=out),
        tournament=tournament.id,
        game=settings.game,
        players=settings.players,
        sides="partners" if settings.partners else "single",
        options=settings.options,
        format=settings.format.value,
        time={"decision": settings.time.decision, "bank": settings.time.bank},
        seed_commitment=tournament.seed.commitment,
        seed=tournament.seed.key.hex() if tournament.finished else None,
        notes=result_notes(store, tournament),
    )


def document_text(store: Store, named: str | None) -> tuple[Tournament, str]:
    """Return a tournament and its document as text: by id or its beginning, else the latest result.

    Raises BadInput where there is no such tournament.
    """
    tournament = store.latest_result(contest=True) if named is None else store.tournament(named)
    return tournament, json.dumps(stored_document(store, tournament), indent=2)
