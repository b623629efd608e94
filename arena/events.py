"""What happens while a tournament is played, as values: the command line shows them, the server streams them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Started:
    """Play begins, or goes on."""

    tournament: str
    """Its id."""
    matches: int
    already_played: int
    boards: int
    seed_commitment: str
    """SHA-256 of the seed, in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class TablePlayed:
    """A table of a match was played and stored."""

    match: int
    table: int
    played: int
    """How many of the schedule's tables are played now; fewer than before where those of a disqualified bot were dropped."""
    tables: int
    """How many there are, as far as nobody else is disqualified."""
    decisions: int
    faults: tuple[str, ...] = ()
    """In words, one line each."""


@dataclass(frozen=True, slots=True)
class MatchPlayed:
    """A match is done: all its tables were played and stored."""

    match: int
    played: int
    """How many of the schedule's matches are played now."""
    matches: int
    deals: int
    """How many deals were played in it, over all its tables."""
    decisions: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the organiser should know."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """All matches are played."""

    tournament: str
    """Its id."""
    seed: str
    """The seed, revealed, in hexadecimal digits."""


Event = Started | TablePlayed | MatchPlayed | Notice | Finished
