"""The leaderboard of a stored tournament: always computed from the store, never kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from arena.clock import TimeControl
from arena.incremental import kept_notice
from arena.schedule import kind_of, least_boards
from arena.settings import Settings, Tournament, game_of
from arena.tournament import disqualified_bots
from arena.verdict import Verdict, find_verdict
from leaderboard.columns import Columns
from leaderboard.document import Json, document
from leaderboard.standings import make_standings

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


def stored_document(
    store: Store, tournament: Tournament, *, anchor: str | None = None, pairs: bool = True
) -> dict[str, Json]:
    """Return the JSON document of a tournament's leaderboard so far; the seed is in it once the tournament is finished.

    With `pairs` it has what is known of each two bots. Raises `ValueError` for an anchor without results.
    """
    results = Columns.of(store.results(tournament.id))
    standings = make_standings(
        results,
        anchor=anchor,
        bots=[entry.name for entry in tournament.entries],
        disqualified=disqualified_bots(store, tournament),
        pairs=pairs,
    )
    verdict = find_verdict(store, tournament, results)
    notes = result_notes(store, tournament)
    return document(
        standings, _about(store, tournament, verdict), (verdict.text, *notes) if verdict is not None else notes
    )


def _about(store: Store, tournament: Tournament, verdict: Verdict | None) -> dict[str, Json]:
    """Return what was played under which conditions, how far it is, and what it has settled."""
    settings, progress = tournament.settings, store.progress(tournament.id)
    return {
        "tournament": tournament.id,
        "finished": tournament.finished is not None,
        "matches": progress.matches,
        "matches_played": progress.done,
        "game": settings.game,
        "players": settings.players,
        "sides": "partners" if settings.partners else "single",
        "options": full_options(settings),
        "format": settings.format.value,
        "schedule": _schedule(tournament),
        "settled": None if verdict is None else verdict.settled,
        "open": [list(pair) for pair in verdict.open] if verdict else [],
        "ties": [list(pair) for pair in verdict.ties] if verdict else [],
        "max_faults": settings.faults.max_faults,
        "fault_policy": "forfeit" if settings.faults.forfeit else "substitute",
        "independent": settings.independent,
        "trust_bots": settings.trust_bots,
        "time": {"decision": settings.time.decision, "bank": settings.time.bank},
        "seed_commitment": tournament.seed.commitment,
        "seed": tournament.seed.key.hex() if tournament.finished else None,
    }


def full_options(settings: Settings) -> dict[str, Json]:
    """Return all options of a tournament's game, those that weren't given too, by name."""
    return dict(sorted(game_of(settings).options.items()))


def _schedule(tournament: Tournament) -> dict[str, Json]:
    settings, game, settling = tournament.settings, game_of(tournament.settings), tournament.settings.settling
    kind = str(kind_of(settings, game, len(tournament.entries)))
    if not settings.contest:
        kind = "comparison" if settings.comparison else "replay"
    return {
        "kind": kind,
        "boards": least_boards(settings, game) if settings.contest else None,
        "fill": settings.fill,
        "gauntlet": settings.gauntlet or None,
        "until_settled": settling.top if settling else None,
        "tie_margin": settling.tie_margin if settling else None,
        "budget": settling.budget if settling else None,
        "replayed": settings.substitution.tournament if settings.substitution else None,
    }


def document_text(store: Store, named: str | None, *, pairs: bool = True) -> tuple[Tournament, str]:
    """Return a tournament and its document as text: by id or its beginning, else the latest result.

    Raises BadInput where there is no such tournament.
    """
    tournament = store.latest_result(contest=True) if named is None else store.tournament(named)
    return tournament, json.dumps(stored_document(store, tournament, pairs=pairs), separators=(",", ":"))
