"""The events of a tournament."""

from __future__ import annotations

from datetime import datetime

from arena.events import Event, Finished, MatchPlayed, Notice, Started, TablePlayed
from arena.v1 import arena_pb2


def encode_event(number: int, when: datetime, tournament: str, event: Event) -> arena_pb2.TournamentEvent:
    """Return an event as a message, with its number and time."""
    message = arena_pb2.TournamentEvent(number=number, tournament=tournament)
    message.time.FromDatetime(when)
    match event:
        case Started():
            message.started.CopyFrom(
                arena_pb2.TournamentStarted(
                    matches=event.matches,
                    already_played=event.already_played,
                    boards=event.boards,
                    seed_commitment=event.seed_commitment,
                )
            )
        case TablePlayed():
            message.table_finished.CopyFrom(
                arena_pb2.TableFinished(
                    match=event.match,
                    table=event.table,
                    played=event.played,
                    tables=event.tables,
                    decisions=event.decisions,
                    faults=event.faults,
                )
            )
        case MatchPlayed():
            message.match_finished.CopyFrom(
                arena_pb2.MatchFinished(
                    match=event.match,
                    played=event.played,
                    matches=event.matches,
                    deals=event.deals,
                    decisions=event.decisions,
                )
            )
        case Notice():
            message.notice.text = event.text
        case Finished():
            message.finished.seed = event.seed
    return message


def decode_event(message: arena_pb2.TournamentEvent) -> Event | None:
    """Read an event; None for a kind that this version does not know."""
    match message.WhichOneof("what"):
        case "started":
            started = message.started
            return Started(
                message.tournament,
                started.matches,
                started.already_played,
                started.boards,
                started.seed_commitment,
            )
        case "table_finished":
            table = message.table_finished
            return TablePlayed(
                table.match, table.table, table.played, table.tables, table.decisions, tuple(table.faults)
            )
        case "match_finished":
            played = message.match_finished
            return MatchPlayed(played.match, played.played, played.matches, played.deals, played.decisions)
        case "notice":
            return Notice(message.notice.text)
        case "finished":
            return Finished(message.tournament, message.finished.seed)
        case _:
            return None
