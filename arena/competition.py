"""What a competition keeps besides its tournaments: its bots in versions, their admission, tokens, and who did what.

A submission is one act of submitting; once its package is unpacked it is a version of a bot, numbered from 1 unless it is
refused. A bot belongs to the owner whose submission named it first; what plays is its current version. Without a server the
owner is `LOCAL`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from arena.finding import Verdict
from arena.settings import Entry

LOCAL: Final = "local"
"""The owner of what is submitted without a server."""

STEPS: Final = ("unpack", "build", "check", "play")
"""The steps of an admission, in their order."""


class Role(StrEnum):
    """What a token allows."""

    CONTESTANT = "contestant"
    """To submit bots, and to see and withdraw one's own."""
    ORGANISER = "organiser"
    """That, and to run tournaments, and to see and withdraw everybody's bots; not to read others' logs."""


class State(StrEnum):
    """Where a version stands."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Program:
    """How a version is reached, and what it says of itself: its manifest, or what was said of a running bot."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for a bot at an address."""
    tcp: bool = False
    address: str = ""
    build: tuple[str, ...] = ()
    """What builds it on the server; empty where nothing is to be built."""
    games: tuple[str, ...] = ()
    """The games that it is to play; empty for all that it says it plays."""
    author: str = ""

    def entry(self, folder: Path, *, public_only: bool = False) -> Entry:
        """Return the entry by which it plays, its files being in a folder, or at an address that may have to be public."""
        return Entry(
            self.name,
            command=self.command,
            address=self.address,
            directory=folder,
            whole_directory=bool(self.command),
            pack=("*",) if self.command else (),  # what was packed is the bot's, and what was built of it
            tcp=self.tcp,
            public_only=public_only and bool(self.address),
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as values that JSON has; `from_json` makes the same of them."""
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value for name in self.__slots__
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make a program of what `to_json` returned."""
        lists = {name: tuple(values[name]) for name in ("command", "build", "games")}
        return cls(**{**values, **lists})


@dataclass(frozen=True, slots=True)
class AdmissionStep:
    """A step of an admission that has ended."""

    name: str
    """One of `STEPS`."""
    verdict: Verdict
    detail: str
    cure: str = ""
    log: str = ""
    """What the step's programs wrote, the last 64 KiB of it; for the owner only."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Version:
    """One submission, and what has become of it."""

    submission: str
    """Its id: 32 hexadecimal digits that the submitter drew."""
    owner: str
    state: State
    created: datetime
    """When it was received, in UTC."""
    build: bool = False
    """Whether it is to be built by its manifest's `build`."""
    size: int = 0
    """Bytes of its archive as received; those of its files once unpacked."""
    number: int = 0
    """Among the versions of its bot, from 1; 0 while the bot is not known, and once it is refused."""
    digest: str = ""
    """SHA-256 over its files in hexadecimal digits; empty until unpacked, and for a bot at an address."""
    program: Program | None = None
    """None until unpacked."""
    decided: datetime | None = None


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot of the competition."""

    name: str
    owner: str
    current: Version | None
    """The version that plays; None where the bot is withdrawn, or none is admitted yet."""
    versions: int
    """How many versions there are."""
    barred: bool = False
    """Whether an organiser has withdrawn it, so that its owner can't bring it back."""

    @property
    def listed(self) -> ListedBot:
        """The bot as everybody may see it."""
        program = self.current.program if self.current else None
        return ListedBot(
            self.name,
            self.owner,
            program.author if program else "",
            program.games if program else (),
            self.current.number if self.current else 0,
            self.versions,
            barred=self.barred,
        )


@dataclass(frozen=True, slots=True)
class ListedBot:
    """A bot of a competition, as everybody may see it."""

    name: str
    owner: str
    author: str
    games: tuple[str, ...]
    current: int
    """The number of the version that plays; 0 where none does."""
    versions: int
    barred: bool = False

    @property
    def state(self) -> str:
        """What plays, in words."""
        if self.current:
            return f"version {self.current} of {self.versions}"
        return "nothing: withdrawn by an organiser" if self.barred else "nothing"


@dataclass(frozen=True, slots=True)
class ListedTournament:
    """A tournament, as everybody may see it."""

    id: str
    game: str
    players: int
    created: datetime
    matches: int
    """How many its schedule has so far."""
    played: int
    finished: bool
    bots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """What shows that a caller is an owner; the secret itself is not kept."""

    id: str
    """8 hexadecimal digits, by which it is listed and revoked."""
    owner: str
    role: Role
    digest: bytes = field(repr=False)
    """SHA-256 of the secret."""
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None


@dataclass(frozen=True, slots=True)
class Deed:
    """An entry of the audit log: who did what, and how it ended."""

    time: datetime
    who: str
    """The owner, or empty where nobody is known."""
    token: str
    """The token's id; empty where there was none."""
    deed: str
    """The method, or the command, such as SubmitBot or `token create`; `admission` for what a submission has come to."""
    what: str
    """What it was about: a bot, a submission, a tournament, a token."""
    outcome: str
    """`done`, or what became of it, or the reason for which it was refused."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an owner has in the competition, to be held against the quotas."""

    bots: int
    """Bots that have a version that is admitted or waiting."""
    bytes: int
    """What all versions take together, each content counted once."""
    waiting: int
    """Submissions whose admission has not ended."""


@dataclass(frozen=True, slots=True)
class Run:
    """A tournament that the server was asked for."""

    request: str
    """The id of the request: 32 hexadecimal digits."""
    who: str
    """The owner who asked; `calendar` for the server itself."""
    config: str
    config_path: str
    overrides: Mapping[str, str]
    incremental: bool
    created: datetime
    fresh: bool = False
    """Whether it is played on new deals even if the same was played before."""
    tournament: str = ""
    """The tournament's id, once it is known."""
    over: bool = False
    error: str = ""
    """What ended it before its time; empty where it ended well."""
