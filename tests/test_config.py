from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from arena import config, entries
from arena.clock import TimeControl
from arena.config import Config, load_config, parse_config
from arena.document import MAX_BYTES, MAX_VALUES, read_scalar
from arena.errors import BadConfig
from arena.faults import FaultPolicy
from arena.settings import Entry, Format, Isolation, Limits, ScheduleKind, Settings, Settling

BOTS = """
bots:
  - name: first
    command: [python, -m, first]
  - name: second
    address: localhost:50051
"""


def parse(text: str, overrides: Mapping[str, config.Override] | None = None, folder: Path = Path()) -> Config:
    return parse_config(text, folder / "bots.yaml", overrides or {})


def problems(text: str, overrides: Mapping[str, config.Override] | None = None, folder: Path = Path()) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        parse(text, overrides, folder)
    return [problem.removeprefix(f"{folder}/") for problem in caught.value.problems]


def bots(*fields: str) -> str:
    return "bots:\n" + "".join(f"- {{{field}}}\n" for field in fields)


def test_everything_has_a_default_but_the_bots(tmp_path: Path) -> None:
    read = parse(BOTS, folder=tmp_path)

    assert read.settings == Settings()
    assert read.entries == (
        Entry("first", command=("python", "-m", "first"), directory=tmp_path),
        Entry("second", address="localhost:50051", directory=tmp_path),
    )


def test_every_setting_is_read() -> None:
    text = """
game: heartswitch
players: 6
sides: partners
options: {target: 50}
format: game
schedule: balanced
boards: 240
seed: 007
time: {decision: 500ms, bank: 2m, startup: 1.5}
faults: {policy: forfeit, max_faults: 5}
fill: true
independent: true
trust_bots: true
isolation: bubblewrap
limits: {memory: 512 MB, processes: 8}
"""
    assert parse(text + BOTS).settings == Settings(
        game="heartswitch",
        players=6,
        partners=True,
        options={"target": 50},
        format=Format.GAME,
        schedule=ScheduleKind.BALANCED,
        boards=240,
        seed="007",
        time=TimeControl(0.5, 120.0, 1.5),
        faults=FaultPolicy(5, forfeit=True),
        fill=True,
        independent=True,
        trust_bots=True,
        isolation=Isolation.BUBBLEWRAP,
        limits=Limits(512_000_000, 8),
    )


@pytest.mark.parametrize(
    ("text", "overrides", "kind", "gauntlet", "settling"),
    [
        ("gauntlet: second", {}, ScheduleKind.GAUNTLET, "second", None),
        ("schedule: gauntlet\ngauntlet: second", {}, ScheduleKind.GAUNTLET, "second", None),
        ("schedule: adaptive", {}, ScheduleKind.ADAPTIVE, "", Settling(3, 0.15, 20_000)),
        ("until_settled: 1", {}, ScheduleKind.ADAPTIVE, "", Settling(1, 0.15, 20_000)),
        ("budget: 99\ntie_margin: 1", {}, ScheduleKind.ADAPTIVE, "", Settling(3, 1.0, 99)),
        ("schedule: balanced", {"gauntlet": "first"}, ScheduleKind.GAUNTLET, "first", None),
        ("gauntlet: first", {"schedule": "balanced"}, ScheduleKind.BALANCED, "", None),
        ("gauntlet: first", {"until_settled": 2}, ScheduleKind.ADAPTIVE, "", Settling(2, 0.15, 20_000)),
        ("until_settled: 2", {"budget": 50}, ScheduleKind.ADAPTIVE, "", Settling(2, 0.15, 50)),
    ],
)
def test_what_a_kind_of_schedule_needs_asks_for_it_and_the_command_line_wins(
    text: str, overrides: dict[str, config.Override], kind: ScheduleKind, gauntlet: str, settling: Settling | None
) -> None:
    settings = parse(f"{text}\n{BOTS}", overrides).settings

    assert (settings.schedule, settings.gauntlet, settings.settling) == (kind, gauntlet, settling)


def test_every_way_to_reach_a_bot_is_read(tmp_path: Path) -> None:
    (tmp_path / "go").mkdir()
    program = tmp_path / "go" / "bot"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = bots(
        "name: gopher, directory: go, command: [./bot, --level, 3, ''], tcp: true",
        "name: afar, address: 'unix:/run/my bots/a?.sock'",
        "name: six, address: '[::1]:5000'",
        'name: mine, python: "my_package.bots:Mine"',
        "name: 日本語, command: [python3, -c, pass], protocol: grpc",
    )

    assert parse(text, folder=tmp_path).entries == (
        Entry("gopher", ("./bot", "--level", "3", ""), directory=tmp_path / "go", whole_directory=True, tcp=True),
        Entry("afar", address="unix:/run/my bots/a?.sock", directory=tmp_path),
        Entry("six", address="[::1]:5000", directory=tmp_path),
        Entry("mine", python="my_package.bots:Mine", directory=tmp_path),
        Entry("日本語", command=("python3", "-c", "pass"), directory=tmp_path),
    )


def test_hearts_special_is_placed_by_game_unless_the_file_says_otherwise() -> None:
    assert parse(BOTS + "game: hearts-special").settings.format is Format.GAME
    assert parse(BOTS + "game: hearts-special\nformat: duplicate").settings.format is Format.DUPLICATE


def test_options_are_kept_as_the_values_they_mean() -> None:
    options = parse(BOTS + 'options: {moon: OFF, points_on_first_trick: "true", deals: none}').settings.options

    assert options == {"moon": "off", "points_on_first_trick": True, "deals": None}


def test_composed_and_decomposed_names_are_the_same() -> None:
    assert (
        parse(bots("name: 'Ame\\u0301'".replace("'", '"') + ", python: 'a:B'", "name: b, python: 'a:B'"))
        .entries[0]
        .name
        == "Am\u00e9"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("-1.5e3", -1500.0),
        ("1_000", "1_000"),
        ("-.inf", float("-inf")),
        ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"),
    ],
)
def test_words_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    read = read_scalar(text)

    assert (type(read), read) == (type(value), value)


def test_all_problems_are_found_at_once_in_order() -> None:
    text = """game: heartswich
plyers: 4
players: 9
time: {decision: fast}
bots:
  - name: one
    command: run.sh
  - name: ONE
"""
    assert problems(text) == [
        "bots.yaml:1:7: no game is called 'heartswich'; did you mean `heartswitch`?",
        "bots.yaml:2:1: `plyers` is no known key; did you mean `players`?",
        "bots.yaml:3:10: write a whole number from 2 to 6, not '9'",
        "bots.yaml:4:18: write a time such as 1s, 500ms or 2m, not 'fast'",
        "bots.yaml:7:14: write the program and its arguments as a list, such as [run.sh]",
        "bots.yaml:8:5: a bot needs a way to be reached; add one of command, address, python",
        "bots.yaml:8:11: the name 'ONE' is taken by the bot in line 6; choose another one",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: nothing is in here; list at least two bots"),
        ("# only this\n", "1:1: nothing is in here"),
        ("game: hearts-classic\n", "1:1: the bots are missing"),
        ("- a\n- b\n", "1:1: a list stands here; write `bots:` above it"),
        ("hello", "1:1: here keys with values are expected"),
        ("bots: []", "1:7: a tournament needs at least two bots"),
        ("bots: [{name: a, python: 'a:B'}]", "1:7: a tournament needs at least two bots"),
        ("bots: {a: 1}", "1:7: list the bots, each after a dash"),
        ("bots:\n", "1:1: list the bots, each after a dash, not nothing"),
        ("bots:\n\t- a", "2:1: a tab can't stand here; indent with spaces"),
        ("a: b: c", "1:5: a colon with a space can't stand here"),
        ("bots: [", "1:8: this is not YAML"),
        ("bots: &a [*a, *a]", "1:11: aliases such as *a are not taken"),
        ("bots: !!python/object:os.system x", "1:7: tags such as tag:yaml.org,2002:python/object:os.system are not"),
        ("? [a]\n: b", "1:3: a key must be a single word"),
        ("a: 1\n---\nb: 2", "2:1: a second document begins here"),
        ("[" * 100_000, "1:14: this is nested more than 12 deep"),
        ("- " * 10_000, "1:27: this is nested more than 12 deep"),
        pytest.param(
            *("- a\n" * MAX_VALUES, f"{MAX_VALUES}:3: there are more than {MAX_VALUES} values"), marks=pytest.mark.slow
        ),
        ("a" * (MAX_BYTES + 1), "1:1: this is larger than 1 MiB"),
        ('name: "\\0"', "1:7: this text holds an escape that stands for no character"),
        ('name: "\\ud800"', "1:7: this text holds an escape that stands for no character"),
        ('name: "\\UFFFFFFFF"', "1:1: this can't be read as YAML"),
        ("name: \x07", "1:1: this can't be read as YAML"),
    ],
)
def test_a_text_that_is_no_configuration_is_refused_where_it_is_wrong(text: str, problem: str) -> None:
    assert problems(text)[0].startswith(f"bots.yaml:{problem}")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("game: heartswitch\ngame: heartswitch", "2:1: `game` is given twice, first in line 1; keep one of them"),
        ("players: five", "1:10: write a whole number from 2 to 6, not 'five'"),
        ("players: 4.0", "1:10: write a whole number from 2 to 6, not '4.0'"),
        ("players: true", "1:10: write a whole number from 2 to 6, not 'true'"),
        ("players: 5", "1:10: hearts-classic is for 4 players, not 5"),
        ("sides: partners", "1:8: hearts-classic has no partners"),
        ("sides: no", "1:8: write one of single, partners, not 'no'"),
        ("options: 5", "1:10: write the options as keys with values, such as {target: 50}, not '5'"),
        ("options: {targt: 5}", "1:11: `targt` is no known key; did you mean `target`?"),
        ("options: {moon: 14}", "1:17: moon can't be '14'; moon: 13, 26 or off"),
        ("options: {target: 1.5}", "1:19: target can't be '1.5'; target: a whole number from 1"),
        ("options: {target: 50, deals: 4}", "1:10: target means nothing where deals is 4"),
        ("format: games", "1:9: write one of duplicate, game, not 'games'"),
        ("schedule: swiss", "1:11: write one of round-robin, balanced, gauntlet, adaptive, not 'swiss'"),
        ("schedule: gauntlet", "1:11: a gauntlet needs the bot that all others meet; name it with `gauntlet`"),
        ("gauntlet: frist", "1:11: no bot is called 'frist'; did you mean `first`?"),
        ("schedule: balanced\ngauntlet: first", "2:11: `gauntlet` goes with schedule gauntlet only; leave it out"),
        ("gauntlet: first\nbudget: 9", "2:9: `budget` goes with schedule adaptive only; leave it out"),
        ("until_settled: 0", "1:16: write a whole number from 1 to 1000, not '0'"),
        ("tie_margin: -1", "1:13: write a number of points from 0 to 100, not '-1'"),
        ("tie_margin: .inf", "1:13: write a number of points from 0 to 100, not '.inf'"),
        ("budget: many", "1:9: write a whole number from 1 to 1000000, not 'many'"),
        ("isolation: bwrap", "1:12: write one of auto, bubblewrap, none, not 'bwrap'"),
        ("limits: {memory: lots}", "1:18: write an amount of memory such as 512MB or 1GB, not 'lots'"),
        ("limits: {memory: 1MB}", "1:18: an amount of memory is from 32 MB to 10 TB here, not 1MB"),
        ("limits: {processes: 0}", "1:21: write a whole number from 1 to 10000, not '0'"),
        ("boards: 0", "1:9: write a whole number from 1 to 1000000, not '0'"),
        ("seed: [1]", "1:7: write the seed as a text or a number, not a list"),
        ("time: 5", "1:7: here keys with values are expected (decision, bank, startup), not '5'"),
        ("time: {decision: 0}", "1:18: a time is from 0.001 to 86400 seconds here, not 0"),
        ("time: {bank: -1s}", "1:14: write a time such as 1s, 500ms or 2m, not '-1s'"),
        ("time: {bank: .nan}", "1:14: a time is from 0 to 86400 seconds here, not .nan"),
        ("time: {startup: 3000m}", "1:17: a time is from 0.001 to 86400 seconds here, not 3000m"),
        ("faults: {policy: kill}", "1:18: write one of substitute, forfeit, not 'kill'"),
        ("faults: {max_fault: 1}", "1:10: `max_fault` is no known key; did you mean `max_faults`?"),
        ("fill: yes", "1:7: write true or false, not 'yes'"),
        ("xyz: 1", "1:1: `xyz` is no known key; choose one of game, players"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_place(line: str, problem: str) -> None:
    found = problems(line + BOTS)

    assert len(found) == 1
    assert found[0].startswith(f"bots.yaml:{problem}")


@pytest.mark.parametrize(
    ("bot", "problem"),
    [
        ("name: a", "a bot needs a way to be reached"),
        ("python: 'a:B'", "a bot needs a name"),
        ("name: a, python: 'a:B', address: 'x:1'", "a bot is reached in one way; keep `address` or `python`"),
        ("name: '', python: 'a:B'", "write a name, not ''"),
        ("name: ' a', python: 'a:B'", "a name neither begins nor ends with a space"),
        ("name: " + "é" * 65 + ", python: 'a:B'", "a name has at most 64 characters, not 65"),
        ('name: "a\\nb", python: "a:B"', "a name has visible characters only; take out U+000A"),
        ('name: "a\\u202eb", python: "a:B"', "a name has visible characters only; take out U+202E"),
        ("name: X, python: 'a:B'", "the name 'X' is taken by the bot in line 2"),
        ("name: \u0425, python: 'a:B'", "the name '\u0425' looks like 'x' in line 2; choose another one"),
        ("name: a, command: []", "the list names no program"),
        ("name: a, command: [python, ]  , tls: true", "`tls` is not supported yet"),
        ("name: a, command: [python, ~]", "an argument is one text, not nothing"),
        ("name: a, command: [python, [x]]", "an argument is one text, not a list"),
        ("name: a, command: [./missing]", "there is no file "),
        ("name: a, command: [./plain]", "can't be run; make it executable (chmod +x)"),
        ("name: a, command: [plain]", "there is no program 'plain' in PATH; write ./plain"),
        ("name: a, command: [no-such-program]", "there is no program 'no-such-program' in PATH; install it"),
        ("name: a, command: [" + "x" * 5000 + "/y]", "there is no file "),
        ("name: a, command: [python], directory: nowhere", "there is no folder "),
        ("name: a, command: [sh], protocol: stdio", "'stdio' is not supported yet"),
        ("name: a, command: [python], build: [make]", "`build` is not supported yet: build the bot before"),
        ("name: a, address: 'x:1', token_env: T", "`token_env` is not supported yet"),
        ("name: a, address: 'x:1', directory: .", "`directory` goes with `command` only"),
        ("name: a, address: 'http://x:1'", "write an address as host:port or unix:/path"),
        ("name: a, address: 'x:70000'", "write an address as host:port or unix:/path"),
        ("name: a, address: 'unix:/" + "x" * 107 + "'", "the path has 108 bytes, and that of a socket can have 10"),
        ("name: a, address: localhost", "write an address as host:port or unix:/path"),
        ("name: a, python: package.module", "write a class as module:Class"),
        ("name: a, python: '1:2'", "write a class as module:Class"),
        ("name: a, python: 'a:B', colour: red", "`colour` is no known key"),
    ],
)
def test_a_wrong_bot_is_refused_with_its_place(bot: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    found = problems(bots("name: x, python: 'a:B'", bot), folder=tmp_path)[0]

    assert found.startswith("bots.yaml:3:")
    assert problem in found


def test_the_command_line_wins_over_the_file() -> None:
    text = "game: heartswitch\nplayers: 9\ntime: {decision: 1s, bank: 4s}\noptions: {target: 10, deals: 3}\n" + BOTS
    overrides: dict[str, config.Override] = {
        "game": "hearts-classic",
        "players": 4,
        "option": ("moon=26", "deals=none", "target=50"),
        "boards": 12,
        "seed": "0012",
        "format": "game",
        "schedule": "balanced",
        "sides": "single",
        "decision_time": "250ms",
        "startup_time": 5,
        "max_faults": 1,
        "fault_policy": "forfeit",
        "fill": True,
        "independent": True,
        "trust_bots": True,
        "bank": None,
    }

    assert parse(text, overrides).settings == Settings(
        options={"target": 50, "deals": None, "moon": 26},
        format=Format.GAME,
        schedule=ScheduleKind.BALANCED,
        boards=12,
        seed="0012",
        time=TimeControl(0.25, 4.0, 5.0),
        faults=FaultPolicy(1, forfeit=True),
        fill=True,
        independent=True,
        trust_bots=True,
    )


def test_a_wrong_option_of_the_command_line_is_named() -> None:
    overrides = {"decision_time": "soon", "option": ("targt=5", "moon"), "players": "three"}

    assert problems(BOTS, overrides) == [
        "--decision-time: write a time such as 1s, 500ms or 2m, not 'soon'",
        "--option: write an option of the game as name=value, not 'moon'",
        "--players: write a whole number from 2 to 6, not 'three'",
    ]
    assert problems(BOTS, {"option": ("targt=5",)}) == ["--option: `targt` is no known key; did you mean `target`?"]


def test_the_file_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text("bots: 1")

    with pytest.raises(BadConfig, match=r"^my\.yaml:1:7: "):
        load_config(Path("my.yaml"), {})


def test_a_byte_order_mark_and_carriage_returns_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "bots.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + BOTS.replace("\n", "\r\n").encode())

    assert [entry.name for entry in load_config(path, {}).entries] == ["first", "second"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"bots: \0\x01", "this is no text in UTF-8, since it holds NUL bytes"),
        ("bots: é".encode("utf-16"), "this is no text in UTF-8, since it holds NUL bytes"),
        (b"a: 1\nb: \xe9", r"this is no text in UTF-8 \(line 2\); save it as UTF-8"),
        (b"a" * (MAX_BYTES + 1), "this is larger than 1 MiB"),
    ],
    ids=["binary", "utf-16", "latin-1", "huge"],
)
def test_a_file_that_is_no_text_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bots.yaml"
    path.write_bytes(content)

    with pytest.raises(BadConfig, match=f"bots.yaml: {problem}"):
        load_config(path, {})


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="there is no such file"):
        load_config(tmp_path / "none.yaml", {})
    with pytest.raises(BadConfig, match="it is a folder; name the file in it"):
        load_config(tmp_path, {})
    with pytest.raises(BadConfig, match="can't be read"):
        load_config(tmp_path / ("x" * 5000), {})


_WORDS = ["4", "1s", "python", "hearts-classic", "a:B", "%YAML", "---", "...", "<<", "&a", "*a", "\\x", "\\u"]
_FRAGMENTS = st.sampled_from(
    (*config.KEYS, *entries.KEYS, *_WORDS, *"[]{}|>#@`!\t\n'\"", "\n  ", ": ", "- ", ", ", "? ")
)


@examples(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.lists(_FRAGMENTS, max_size=40).map("".join)))
def test_any_text_gives_a_configuration_or_its_problems(text: str) -> None:
    try:
        read = parse(text)
    except BadConfig as error:
        assert all(re.match(r"bots\.yaml:\d+:\d+: .", problem) for problem in error.problems)
    else:
        assert len(read.entries) >= 2


@examples(deadline=None)
@given(st.binary())
def test_any_bytes_give_a_configuration_or_its_problems(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-bots.yaml"
    path.write_bytes(content)

    with pytest.raises(BadConfig):
        load_config(path, {})


_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def schema_accepts(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any]) -> bool:
    """Whether a JSON Schema accepts a value: as much of the standard as bots.schema.json uses."""
    if "$ref" in schema:
        return schema_accepts(root["$defs"][schema["$ref"].rpartition("/")[2]], value, root)
    types = schema.get("type", list(_JSON_TYPES))
    names = [types] if isinstance(types, str) else types
    if not any(
        isinstance(value, _JSON_TYPES[name]) and (not isinstance(value, bool) or name == "boolean") for name in names
    ):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        length = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return length and re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(
            schema_accepts(schema["items"], item, root) for item in value
        )
    return not isinstance(value, dict) or _object_accepted(schema, value, root)


def _object_accepted(schema: Mapping[str, Any], value: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
    fields = all(
        schema_accepts(known[key], field, root) if key in known else other and schema_accepts(other, field, root)
        for key, field in value.items()
    )
    needed = all(key in value for key in schema.get("required", []))
    one = sum(all(key in value for key in way["required"]) for way in schema.get("oneOf", [{"required": []}])) == 1
    together = all(
        key not in value or all(other in value for other in others)
        for key, others in schema.get("dependentRequired", {}).items()
    )
    return bool(fields and needed and one and together)


SCHEMA = json.loads((Path(config.__file__).parent / "bots.schema.json").read_text())


def test_the_schema_knows_the_keys_that_are_read() -> None:
    properties = SCHEMA["properties"]

    assert set(properties) == set(config.KEYS)
    assert set(properties["time"]["properties"]) == set(config.TIME_KEYS)
    assert set(properties["faults"]["properties"]) == set(config.FAULT_KEYS)
    assert set(properties["limits"]["properties"]) == set(config.LIMIT_KEYS)
    assert set(SCHEMA["$defs"]["bot"]["properties"]) == set(entries.KEYS)


def test_the_schema_shows_the_defaults_that_hold() -> None:
    usual = Settings()
    properties = SCHEMA["properties"]

    for key in ("game", "players", "seed", "fill", "independent", "trust_bots", "isolation"):
        assert properties[key]["default"] == getattr(usual, key)
    for key in config.TIME_KEYS:
        assert properties["time"]["properties"][key]["default"] == f"{getattr(usual.time, key):g}s"
    assert properties["faults"]["properties"]["max_faults"]["default"] == usual.faults.max_faults
    assert properties["limits"]["properties"]["memory"]["default"] == f"{usual.limits.memory / 1e9:g}GB"
    assert properties["limits"]["properties"]["processes"]["default"] == usual.limits.processes


def _variations() -> list[Any]:
    bot = {"name": "one", "command": ["python"]}
    base = {"bots": [bot, {"name": "two", "python": "a:B"}]}
    tried: dict[str, list[Any]] = {
        "game": ["heartswitch", 5, ""],
        "players": [4, "four", True, 1, 7],
        "sides": ["single", "double", None],
        "options": [{}, {"target": 5}, {"target": [1]}, [], 3],
        "format": ["game", "duplicate", "none"],
        "schedule": ["round-robin", "balanced", "adaptive", 1],
        "gauntlet": ["one", True, "", None],
        "until_settled": [3, 0, 1001, "3", 2.5],
        "tie_margin": [0, 0.15, 100, -0.1, 100.5, "0.1", True],
        "budget": [1, 10**6, 0, 10**6 + 1, None],
        "boards": [1, None, 0, 10**7, "1"],
        "seed": ["x", 5, None, "", True, []],
        "time": [{}, 5, {"start": 1}],
        "faults": [
            {},
            {"policy": "forfeit"},
            {"policy": "x"},
            {"max_faults": 0},
            {"max_faults": 2},
            {"max_faults": 2.5},
        ],
        "fill": [True, "true", 1],
        "independent": [False, None],
        "trust_bots": [True, "yes"],
        "isolation": ["auto", "none", "bubblewrap", "bwrap"],
        "limits": [
            *({}, [], {"memory": "1GB"}, {"memory": "1.5 TB"}, {"memory": "1 kB"}, {"memory": 32_000_000}),
            *({"memory": 1}, {"memory": True}, {"memory": 10**14}, {"processes": 64}, {"processes": 0}, {"cores": 1}),
        ],
        "bots": [None, [], [bot], {"one": bot}, [bot, 5]],
    }
    times = ("1s", "2.5 m", "2 h", "0s", "0.0ms", "1.", "soon", 1, 0.5, 0, -1, 86401, True, None)
    tried_bots: dict[str, list[Any]] = {
        "name": ["x", 5, "", " x", "x ", "x" * 64, "x" * 65, None, True, ["x"]],
        "command": [["python", 1, True, ""], [], "python", ["python", None], ["python", ["x"]]],
        "directory": [".", "", None, True],
        "tcp": [True, False, 1],
        "protocol": ["grpc", "stdio"],
        "address": ["localhost:1"],
        "python": ["a:B"],
        "build": [["make"]],
        "colour": ["red"],
    }
    tried_afar: dict[str, list[Any]] = {
        "address": ["host:1", "host", "http://host:1", "unix:/a", "unix:a", "[::1]:5", 5, None],
        "tcp": [True],
        "directory": ["."],
        "name": ["afar"],
    }
    tried_python: dict[str, list[Any]] = {"python": ["a.b:C.D", "a", "a:", "1a:B", "a b:C", 5]}
    other = base["bots"][1]
    return [
        base,
        {},
        {"bots": [{"command": ["python"]}, other]},
        {"bots": [{"name": "lost"}, other]},
        *({**base, key: value} for key, values in tried.items() for value in values),
        *({**base, "time": {key: value}} for key in config.TIME_KEYS for value in times),
        *({"bots": [{**bot, key: value}, other]} for key, values in tried_bots.items() for value in values),
        *(
            {"bots": [{"name": "three", "address": "x:1", key: value}, other]}
            for key, values in tried_afar.items()
            for value in values
        ),
        *({"bots": [{"name": "three", key: value}, other]} for key, values in tried_python.items() for value in values),
    ]


@pytest.mark.parametrize("document", _variations(), ids=lambda document: json.dumps(document)[:100])
def test_the_schema_agrees_with_what_is_read(document: Any) -> None:
    try:
        parse(json.dumps(document))
        read = True
    except BadConfig:
        read = False

    assert schema_accepts(SCHEMA, document, SCHEMA) == read


def test_a_missing_script_is_told_with_all_else_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "there.py").touch()
    found = problems(
        bots(
            "name: a, command: [python, there.py]",
            "name: b, command: [python, gone.py], color: red",
            "name: b, command: [python, -u, gone.py, --seed, 1]",
            "name: c, command: [python, -m, gone.py]",
            "name: d, command: [sh, -c, gone.py]",
        ),
        folder=tmp_path,
    )

    told = f"there is no file {tmp_path}/gone.py; write it or build it first, or correct the path"
    assert [problem for problem in found if "gone.py" in problem] == [
        f"bots.yaml:3:31: {told}",
        f"bots.yaml:4:35: {told}",
    ]
    assert [problem.split(" ")[0] for problem in found] == [
        "bots.yaml:3:31:",
        "bots.yaml:3:41:",
        "bots.yaml:4:10:",
        "bots.yaml:4:35:",
    ]


@pytest.mark.parametrize(
    "name", ["bots.yml", "Bots.yaml", "BOTS.YML", "bots.yaml.txt", "bots.yml.txt", "bots.yaml.yaml", "bots .yaml"]
)
def test_a_file_that_is_misnamed_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()

    with pytest.raises(BadConfig, match=rf"no such file.*; '{re.escape(name)}' is there: rename it to bots.yaml$"):
        load_config(tmp_path / "bots.yaml", {})


@pytest.mark.parametrize("name", ["robots.yaml", "bots.txt", "bot.yaml", "bots.yaml~"])
def test_a_file_of_another_name_is_not_taken_for_it(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()

    with pytest.raises(BadConfig, match=r"correct the path, or write one$"):
        load_config(tmp_path / "bots.yaml", {})
