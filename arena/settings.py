"""What a tournament is played with: its settings, and one entry for each bot. Plain values; `arena.config` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from arena.clock import TimeControl
from arena.dealing import Seed
from arena.faults import FaultPolicy
from arena.game import Game, OptionValue
from arena.games import find_game


class Format(StrEnum):
    """What a table plays and what is placed: each deal by itself, or a whole game."""

    DUPLICATE = "duplicate"
    GAME = "game"


class ScheduleKind(StrEnum):
    """How line-ups are made: see `arena.schedule`."""

    ROUND_ROBIN = "round-robin"
    BALANCED = "balanced"
    GAUNTLET = "gauntlet"
    ADAPTIVE = "adaptive"


class Isolation(StrEnum):
    """What keeps launched bots apart from the machine and from each other: see `arena.players.sandbox`."""

    AUTO = "auto"
    """Bubblewrap where it works, else nothing."""
    BUBBLEWRAP = "bubblewrap"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one instance of a bot may use in the sandbox."""

    memory: int = 1_000_000_000
    """Bytes of all its processes together."""
    processes: int = 64
    """Its processes and threads."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One bot of a tournament. Exactly one of command, address and python is set: it says how the bot is reached."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments, run in `directory`."""
    address: str = ""
    """Where a running bot serves: `host:port` or `unix:/path`."""
    python: str = ""
    """`module:Class` of a bot that plays in the arena's own process."""
    directory: Path = field(default_factory=Path)
    """The working directory of the command, absolute; also where its files are looked for."""
    whole_directory: bool = False
    """Whether the entry names its directory, so that all files in it belong to the bot."""
    pack: tuple[str, ...] = ()
    """Patterns of files in that directory that belong to the bot although a .gitignore leaves them out."""
    tcp: bool = False
    """Whether a launched bot serves on a TCP port of the loopback interface instead of a unix socket."""
    public_only: bool = False
    """Whether the bot is dialled only while its address leads to where everybody gets, and not into this network."""

    @property
    def transport(self) -> str:
        """The name of the factory in the entry point group `arena.players` that makes this bot's players."""
        return "command" if self.command else "address" if self.address else "python"

    @property
    def launched(self) -> bool:
        """Whether the arena starts the bot's processes itself, and so can keep its instances apart."""
        return self.transport == "command"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as values that JSON has; `from_json` makes the same entry of them."""
        return {
            **asdict(self),
            "command": list(self.command),
            "pack": list(self.pack),
            "directory": str(self.directory),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make an entry of what `to_json` returned."""
        words = {"command": tuple(values["command"]), "pack": tuple(values.get("pack", ()))}
        return cls(**{**values, **words, "directory": Path(values["directory"])})


@dataclass(frozen=True, slots=True)
class Settling:
    """When a schedule of kind `adaptive` ends: see `arena.adaptive`."""

    top: int = 3
    """The order of so many of the best is to be known."""
    tie_margin: float = 0.15
    """A bot that is surely not weaker than another by more than so many points a deal need not be proved stronger."""
    budget: int = 20_000
    """So many boards are played at most."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The question whether one of two bots is stronger, as `arena compare` asks it: see `leaderboard.sequential`."""

    bot: str
    """The one that is asked for; the other entry is the other one."""
    elo0: float
    elo1: float
    alpha: float
    beta: float


@dataclass(frozen=True, slots=True)
class Substitution:
    """That a tournament plays another one's deals again, with a stand-in for one bot."""

    tournament: str
    """The id of the other one."""
    bot: str
    stand_in: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what a tournament plays, the bots apart."""

    game: str = "hearts-classic"
    players: int = 4
    partners: bool = False
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    format: Format = Format.DUPLICATE
    schedule: ScheduleKind | None = None
    """None: `arena.schedule` decides by the number of line-ups."""
    boards: int | None = None
    """How many boards each bot plays at least; None for the default of `arena.schedule`."""
    gauntlet: str = ""
    """The bot that every line-up contains, in a schedule of that kind."""
    settling: Settling | None = None
    """When the schedule ends, in one of kind `adaptive`."""
    comparison: Comparison | None = None
    """What is asked of two bots, where the matches are those of `arena.compare`."""
    substitution: Substitution | None = None
    """Whose deals are played again; the matches are then those of the other tournament."""
    seed: str | None = None
    """None: 32 random bytes are drawn."""
    time: TimeControl = field(default_factory=TimeControl)
    faults: FaultPolicy = field(default_factory=FaultPolicy)
    fill: bool = False
    """Whether empty seats are filled with copies of bots."""
    independent: bool = False
    """Whether every table has deals of its own."""
    trust_bots: bool = False
    """Whether one instance of a launched bot may play all rotations of a deal."""
    isolation: Isolation = Isolation.AUTO
    limits: Limits = field(default_factory=Limits)

    @property
    def contest(self) -> bool:
        """Whether it is a tournament in its own right: no comparison of two bots, and no other one's deals again."""
        return self.comparison is None and self.substitution is None

    def to_json(self) -> dict[str, Any]:
        """Return the settings as values that JSON has; `from_json` makes the same settings of them."""
        return {
            **{name: getattr(self, name) for name in self.__slots__},
            "options": dict(self.options),
            "time": asdict(self.time),
            "faults": asdict(self.faults),
            "limits": asdict(self.limits),
            **{name: value and asdict(value) for name, value in self._parts()},
        }

    def _parts(self) -> tuple[tuple[str, Settling | Comparison | Substitution | None], ...]:
        return ("settling", self.settling), ("comparison", self.comparison), ("substitution", self.substitution)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make settings of what `to_json` returned."""
        schedule = values["schedule"]
        parts = {"settling": Settling, "comparison": Comparison, "substitution": Substitution}
        return cls(
            **{
                **values,
                "format": Format(values["format"]),
                "schedule": None if schedule is None else ScheduleKind(schedule),
                "time": TimeControl(**values["time"]),
                "faults": FaultPolicy(**values["faults"]),
                "isolation": Isolation(values.get("isolation", Isolation.AUTO)),
                "limits": Limits(**values.get("limits", {})),
                **{name: part(**values[name]) for name, part in parts.items() if values.get(name)},
            }
        )


@dataclass(frozen=True, slots=True)
class Tournament:
    """A tournament as the store knows it, its matches apart."""

    id: str
    """The first 12 digits of the fingerprint; followed by -2, -3, ... where the same is played afresh."""
    fingerprint: str
    """What `arena.identity` makes of the settings, the entries and the bots' files."""
    settings: Settings
    entries: tuple[Entry, ...]
    seed: Seed
    created: datetime
    """In UTC."""
    finished: datetime | None = None
    """When the last match was done; None while there is something left to play."""
    versions: Mapping[str, str | None] = field(default_factory=dict)
    """The version of each bot: a hash of its files, None where the arena has none."""
    enforced: tuple[str, ...] = ()
    """What kept its bots apart from the machine, in sentences: one for each way in which it was played."""


def game_of(settings: Settings) -> Game:
    """Return the game that these settings name."""
    sides = "partners" if settings.partners else "single"
    return find_game(settings.game, players=settings.players, sides=sides, options=settings.options)
