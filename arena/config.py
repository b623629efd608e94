"""bots.yaml: what a tournament plays and which bots take part, read into `Settings` and entries.

Everything that is wrong is found at once, each with its place and how to mend it. What the command line gives takes the place
of what the file says before anything is checked, so that both are held to the same rules. `arena/bots.schema.json` says the
form of the file to editors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from arena.clock import TimeControl
from arena.document import Node, Place, Problems, Wrong, read_document, read_file, read_scalar
from arena.entries import read_entries
from arena.errors import BadConfig, BadGame
from arena.faults import FaultPolicy
from arena.fields import Fields, describe, one_of, seconds, size, suggest, truth, whole_number, word
from arena.game import Game, Option, OptionValue
from arena.games import SIDES, find_game, game_names
from arena.games.options import describe_values, parse_option
from arena.manifest import FILE, load_manifest
from arena.settings import Entry, Format, Isolation, Limits, ScheduleKind, Settings, Settling

Override = str | int | float | bool | Sequence[str] | None
"""What an option of the command line gives; None where it wasn't given."""

OVERRIDES: Final[Mapping[str, tuple[str, ...]]] = {
    "game": ("game",),
    "players": ("players",),
    "sides": ("sides",),
    "option": ("options",),
    "format": ("format",),
    "schedule": ("schedule",),
    "boards": ("boards",),
    "gauntlet": ("gauntlet",),
    "until_settled": ("until_settled",),
    "tie_margin": ("tie_margin",),
    "budget": ("budget",),
    "seed": ("seed",),
    "decision_time": ("time", "decision"),
    "bank": ("time", "bank"),
    "startup_time": ("time", "startup"),
    "max_faults": ("faults", "max_faults"),
    "fault_policy": ("faults", "policy"),
    "fill": ("fill",),
    "independent": ("independent",),
    "trust_bots": ("trust_bots",),
    "isolation": ("isolation",),
}
"""The options of the command line, as their parameters are named, each with its key in the file."""

KEYS: Final = (
    *("game", "players", "sides", "options", "format", "schedule", "boards", "seed", "time", "faults"),
    *("gauntlet", "until_settled", "tie_margin", "budget", "fill", "independent", "trust_bots"),
    *("isolation", "limits", "bots"),
)
TIME_KEYS: Final = ("decision", "bank", "startup")
FAULT_KEYS: Final = ("policy", "max_faults")
LIMIT_KEYS: Final = ("memory", "processes")

MAX_BOARDS: Final = 1_000_000
MAX_FAULTS: Final = 1_000
MAX_TOP: Final = 1_000
MAX_MARGIN: Final = 100.0
MIN_MEMORY: Final = 32_000_000
MAX_PROCESSES: Final = 10_000

PLACED_BY_GAME: Final = frozenset({"hearts-special"})
"""The games whose rules are about the end of a game: format `game` unless the settings say otherwise."""

_NO_ENTRIES: Final[tuple[Entry, ...]] = ()
_OF_A_SCHEDULE: Final = {
    "gauntlet": ScheduleKind.GAUNTLET,
    "until_settled": ScheduleKind.ADAPTIVE,
    "tie_margin": ScheduleKind.ADAPTIVE,
    "budget": ScheduleKind.ADAPTIVE,
}
"""The keys that go with one kind of schedule, and ask for it where none is given."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a bots.yaml says, with what the command line changes."""

    settings: Settings
    entries: tuple[Entry, ...]


def load_config(path: Path, overrides: Mapping[str, Override], *, bots_needed: bool = True) -> Config:
    """Read a bots.yaml; `overrides` are options of the command line by parameter name, which win over the file.

    `bots_needed` is as for `parse_config`. Raises BadConfig with all problems where anything is wrong, also where the file
    can't be read.
    """
    return parse_config(read_file(path), path, overrides, bots_needed=bots_needed)


def parse_config(text: str, path: Path, overrides: Mapping[str, Override], *, bots_needed: bool = True) -> Config:
    """Read the text of a bots.yaml that stands, or would stand, at `path`: otherwise as `load_config`.

    Where bots aren't needed, because others are to play, the list of them may be missing, and so may everything.
    """
    problems = Problems()
    root = read_document(text, problems)
    if root is None and not problems and not bots_needed:
        root = Node({}, Place(1, 1))
    settings, entries = Settings(), _NO_ENTRIES
    if root is not None:
        folder = path.absolute().parent
        settings, entries = _read_root(_override(root, overrides, problems), folder, problems, bots_needed=bots_needed)
    elif not problems:
        problems.add(Place(1, 1), "nothing is in here; list at least two bots under `bots`")
    if problems:
        raise BadConfig(problems.lines(str(path)))
    return Config(settings, tuple(map(_with_pack, entries)))


def _with_pack(entry: Entry) -> Entry:
    """Return an entry with what the manifest in its directory packs, if it has one; raise BadConfig for what is wrong there."""
    if not entry.whole_directory or not (entry.directory / FILE).is_file():
        return entry
    return replace(entry, pack=load_manifest(entry.directory).entry.pack)


def _override(root: Node, overrides: Mapping[str, Override], problems: Problems) -> Node:
    if not isinstance(root.value, dict):
        return root
    fields = dict(root.value)
    for parameter, given in overrides.items():
        place = Place(option=f"--{parameter.replace('_', '-')}")
        *above, key = OVERRIDES[parameter]
        if isinstance(given, Sequence) and not isinstance(given, str):
            above, values = [key], dict(_split_option(text, place, problems) for text in given)
        else:
            values = {} if given is None else {key: str(given)}
        nodes = {name: Node(read_scalar(text), place, text, place) for name, text in values.items()}
        if not above:
            fields.update(nodes)
        elif nodes:
            parent = fields.get(above[0], Node({}, place))
            if isinstance(parent.value, dict):
                fields[above[0]] = Node(parent.value | nodes, parent.place, key=parent.key)
    return Node(fields, root.place)


def _split_option(text: str, place: Place, problems: Problems) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        problems.add(place, f"write an option of the game as name=value, not {text!r}")
    return name.strip(), value.strip()


def _read_root(
    root: Node, folder: Path, problems: Problems, *, bots_needed: bool
) -> tuple[Settings, tuple[Entry, ...]]:
    if isinstance(root.value, list):
        problems.add(root.place, "a list stands here; write `bots:` above it and indent it")
        return Settings(), _NO_ENTRIES
    fields = Fields(root, problems, KEYS)
    if isinstance(root.value, dict) and "bots" not in fields and bots_needed:
        problems.add(root.place, "the bots are missing; list at least two under `bots`")
    entries = fields.take(
        "bots", lambda node: read_entries(node, folder, problems, least=2 if bots_needed else 0), _NO_ENTRIES
    )
    return _read_settings(fields, [entry.name for entry in entries], problems), entries


def _read_settings(fields: Fields, bots: Sequence[str], problems: Problems) -> Settings:
    game = _read_game(fields, problems)
    no_options: Mapping[str, OptionValue] = {}
    options = fields.take("options", lambda node: _read_options(node, game, problems), no_options)
    usual = Format.GAME if game and game.name in PLACED_BY_GAME else Format.DUPLICATE
    schedule = _read_schedule(fields, problems)
    gauntlet = fields.take("gauntlet", lambda node: _read_gauntlet(node, bots), "")
    if schedule is ScheduleKind.GAUNTLET and "gauntlet" not in fields:
        problems.add(fields.place("schedule"), "a gauntlet needs the bot that all others meet; name it with `gauntlet`")
    settling = _read_settling(fields)
    return Settings(
        game=game.name if game else "",
        players=game.players if game else 0,
        partners=game is not None and game.partners,
        options=options,
        format=fields.take("format", partial(one_of, known={kind.value: kind for kind in Format}), usual),
        schedule=schedule,
        boards=fields.take("boards", _read_boards, None),
        gauntlet=gauntlet if schedule is ScheduleKind.GAUNTLET else "",
        settling=settling if schedule is ScheduleKind.ADAPTIVE else None,
        seed=fields.take("seed", _read_seed, None),
        time=fields.take("time", lambda node: _read_time(node, problems), TimeControl()),
        faults=fields.take("faults", lambda node: _read_faults(node, problems), FaultPolicy()),
        fill=fields.take("fill", truth, False),
        independent=fields.take("independent", truth, False),
        trust_bots=fields.take("trust_bots", truth, False),
        isolation=fields.take(
            "isolation", partial(one_of, known={kind.value: kind for kind in Isolation}), Isolation.AUTO
        ),
        limits=fields.take("limits", lambda node: _read_limits(node, problems), Limits()),
    )


def _read_game(fields: Fields, problems: Problems) -> Game | None:
    name = fields.take("game", _read_game_name, "hearts-classic")
    players = fields.take("players", partial(whole_number, least=2, most=6), 4)
    sides = fields.take("sides", partial(one_of, known=dict(zip(SIDES, SIDES, strict=True))), "single")
    if any(problems.at(fields.place(key)) for key in ("game", "players", "sides") if key in fields):
        return None
    try:
        return find_game(name, players, sides)
    except BadGame as error:
        key = "players" if sides == "single" or not _exists(name, players) else "sides"
        problems.add(fields.place(key), str(error))
        return None


def _read_game_name(node: Node) -> str:
    name = word(node, "the name of a game")
    if name not in game_names():
        raise Wrong(f"no game is called {describe(node)}; {suggest(name, game_names())}")
    return name


def _exists(name: str, players: int) -> bool:
    try:
        find_game(name, players)
    except BadGame:
        return False
    return True


def _read_options(node: Node, game: Game | None, problems: Problems) -> Mapping[str, OptionValue]:
    """Read a game's options; of a game that is wrong itself none can be checked."""
    if not isinstance(node.value, dict):
        raise Wrong(f"write the options as keys with values, such as {{target: 50}}, not {describe(node)}")
    if game is None:
        return {}
    known = {option.name: option for option in game.known_options}
    fields = Fields(node, problems, known)
    given = {
        name: fields.take(name, partial(_read_option, option=known[name]), None) for name in node.value.keys() & known
    }
    if problems:
        return {}
    try:
        complete = find_game(game.name, game.players, SIDES[game.partners], given).options
    except BadGame as error:
        raise Wrong(str(error)) from None
    return {name: complete[name] for name in complete if name in given}


def _read_option(node: Node, option: Option) -> OptionValue:
    value = parse_option(node.value) if isinstance(node.value, str) else node.value
    if isinstance(value, float | dict | list) or not option.allows(value):
        raise Wrong(f"{option.name} can't be {describe(node)}; {describe_values(option)}")
    return value


def _read_schedule(fields: Fields, problems: Problems) -> ScheduleKind | None:
    """Read the kind of schedule: what the command line gives, also by keys that go with one kind, wins over the file."""
    kind = fields.take("schedule", partial(one_of, known={kind.value: kind for kind in ScheduleKind}), None)
    if "schedule" in fields and problems.at(fields.place("schedule")):
        return None
    weight = 1 + bool(fields.place("schedule").option) if "schedule" in fields else 0
    for key, wanted in _OF_A_SCHEDULE.items():
        given = 1 + bool(fields.place(key).option) if key in fields else 0
        if given > weight:
            kind, weight = wanted, given
        elif given and given == weight and kind is not wanted:
            problems.add(fields.place(key), f"`{key}` goes with schedule {wanted} only; leave it out")
    return kind


def _read_gauntlet(node: Node, bots: Sequence[str]) -> str:
    name = word(node, "the name of the bot that all others meet")
    if bots and name not in bots:
        raise Wrong(f"no bot is called {describe(node)}; {suggest(name, bots)}")
    return name


def _read_settling(fields: Fields) -> Settling:
    usual = Settling()
    return Settling(
        top=fields.take("until_settled", partial(whole_number, least=1, most=MAX_TOP), usual.top),
        tie_margin=fields.take("tie_margin", _read_margin, usual.tie_margin),
        budget=fields.take("budget", partial(whole_number, least=1, most=MAX_BOARDS), usual.budget),
    )


def _read_margin(node: Node) -> float:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool) and 0 <= node.value <= MAX_MARGIN:
        return float(node.value)
    raise Wrong(f"write a number of points from 0 to {MAX_MARGIN:g}, not {describe(node)}")


def _read_boards(node: Node) -> int | None:
    return None if node.value is None else whole_number(node, 1, MAX_BOARDS)


def _read_seed(node: Node) -> str | None:
    return None if node.value is None else word(node, "the seed as a text or a number")


def _read_time(node: Node, problems: Problems) -> TimeControl:
    fields, usual = Fields(node, problems, TIME_KEYS), TimeControl()
    return TimeControl(
        decision=fields.take("decision", partial(seconds, least=0.001), usual.decision),
        bank=fields.take("bank", seconds, usual.bank),
        startup=fields.take("startup", partial(seconds, least=0.001), usual.startup),
    )


def _read_limits(node: Node, problems: Problems) -> Limits:
    fields, usual = Fields(node, problems, LIMIT_KEYS), Limits()
    return Limits(
        memory=fields.take("memory", partial(size, least=MIN_MEMORY), usual.memory),
        processes=fields.take("processes", partial(whole_number, least=1, most=MAX_PROCESSES), usual.processes),
    )


def _read_faults(node: Node, problems: Problems) -> FaultPolicy:
    fields, usual = Fields(node, problems, FAULT_KEYS), FaultPolicy()
    return FaultPolicy(
        max_faults=fields.take("max_faults", partial(whole_number, least=1, most=MAX_FAULTS), usual.max_faults),
        forfeit=fields.take("policy", partial(one_of, known={"substitute": False, "forfeit": True}), usual.forfeit),
    )
