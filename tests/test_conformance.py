"""What `arena check` promises: a sound bot passes, and each way to be unsound fails at its own step, with its cause."""

from __future__ import annotations

import contextlib
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from sandboxes import needs_sandbox

from arena.clock import TimeControl
from arena.conformance import STEPS, Effort, Outcome, Verdict, check_bot
from arena.conformance.cures import cure_of_writing, with_output
from arena.sdk import Bot, Card, Decision, create_server
from arena.settings import Entry, Isolation, Limits

BOTS = Path(__file__).parent / "players" / "bots"
ATTACKERS = Path(__file__).parent / "attackers"
SAMPLES = Path(__file__).parent.parent / "sample_bots" / "python"

LITTLE = Effort(decisions=120, deals=48, repeated=12)
PATIENT = TimeControl(decision=5.0, bank=5.0, startup=30.0)
HURRIED = TimeControl(decision=0.4, bank=0.2, startup=30.0)
GAMES = ("hearts-classic",)

PROGRAMS = {
    "rogue.py": {
        *("no-cards", "same-card-thrice", "not-held", "already-played", "unspecified", "long-note"),
        *("crash-on-seat-2", "drain-the-bank", "too-many-choices", "renaming"),
    },
    "unsound.py": {
        *(
            "other-game",
            "one-game",
            "four-only",
            "eight",
            "one-by-one",
            "sluggish",
            "strict",
            "orderly",
            "one-table",
            "sound",
        ),
        *("impatient", "offended", "fickle", "hoarder", "glutton", "call-home"),
    },
}

Way = Sequence[str]


def program(way: Way) -> Entry:
    script = next((script for script, ways in PROGRAMS.items() if way[0] in ways), "misbehaving.py")
    return Entry(way[0], command=("python", script, *way), directory=BOTS, whole_directory=True)


async def check(
    entry: Entry,
    time: TimeControl = PATIENT,
    *,
    games: Sequence[str] = GAMES,
    build: Sequence[str] = (),
    isolation: Isolation = Isolation.NONE,
    limits: Limits | None = None,
) -> dict[str, Outcome]:
    checking = check_bot(entry, time, games=games, build=build, effort=LITTLE, isolation=isolation, limits=limits)
    async with contextlib.aclosing(checking) as outcomes:
        return {outcome.step: outcome async for outcome in outcomes}


def steps(outcomes: Mapping[str, Outcome], verdict: Verdict) -> list[str]:
    return [name for name, outcome in outcomes.items() if outcome.finding.verdict is verdict]


def case(way: str, step: str, cause: str, *others: str, time: TimeControl = PATIENT, slow: bool = True) -> ParameterSet:
    marks = [pytest.mark.slow] if slow else []
    return pytest.param(way.split(), step, cause, others, time, id=way.replace(" ", "-"), marks=marks)


MISBEHAVING = [
    case("exit", "start", "exited with code 3 before it answered Describe", slow=False),
    case("sleep", "start", "did not answer Describe within 3 s", time=TimeControl(startup=3.0)),
    case("mute", "start", "did not answer Describe within 3 s", time=TimeControl(startup=3.0)),
    case("stranger", "start", "serves, but not arena.v1.BotService"),
    case("garbled", "start", "described itself in a message that cannot be read", slow=False),
    case("short", "legal", "decision 13 at seat 1: malformed: 1 choices were asked for, 0 came", slow=False),
    case("wrong-id", "legal", "malformed: the answer is to request"),
    case("unknown-card", "legal", "malformed: an unknown card among [16]"),
    case("too-many-cards", "legal", "malformed: 1 cards were asked for, 2 came"),
    case("huge", "legal", "RESOURCE_EXHAUSTED"),
    case("bomb", "legal", "RESOURCE_EXHAUSTED"),
    case("hang", "legal", "timeout: no answer within 0.6 s", time=HURRIED),
    case("slow", "legal", "timeout: no answer within 0.15 s", time=TimeControl(decision=0.1, bank=0.05)),
    case("crash 7", "legal", "exited with code 7 while it was being asked; it wrote: table flipped"),
    case("crash SIGSEGV", "legal", "was ended by signal 11"),
    case("status UNAVAILABLE", "legal", "disconnected: an error instead of an answer: UNAVAILABLE: no thanks"),
    case("status INTERNAL", "legal", "malformed: an error instead of an answer: INTERNAL: no thanks"),
    case("status UNIMPLEMENTED", "legal", "malformed: an error instead of an answer: UNIMPLEMENTED"),
    case("slow-to-learn", "finish-deals", "FinishDeals is not done within 1 s"),
    case("flood", "output", "more than 1 MB a second"),
    case("ignore-signals", "stop", "SIGTERM does not end it within 3 s"),
    case("fork", "stop", "has left its session"),
]

ROGUES = [
    case("renaming", "describe", "Describe changes: `name` was"),
    case("no-cards", "legal", "malformed: 1 cards were asked for, 0 came", "describe"),
    case("same-card-thrice", "legal", "malformed: 1 cards were asked for, 3 came", "describe"),
    case("not-held", "legal", "illegal: seat 1 does not hold", "describe", slow=False),
    case("already-played", "legal", "illegal: seat 1 does not hold", "describe"),
    case("unspecified", "legal", "malformed: an unknown card among [0]", "describe"),
    case("too-many-choices", "legal", "malformed: 1 choices were asked for, 2 came", "describe"),
    case("crash-on-seat-2", "legal", "at seat 2: disconnected: the process exited with code 9", "describe"),
]

UNSOUND = [
    case("other-game", "describe", "it plays 'hearts-clasic', which is no game of this arena"),
    case("eight", "batches", "a request of 64 decisions: malformed: 64 choices were asked for, 8 came"),
    case("sluggish", "latency", "the limit is 50 ms", time=TimeControl(decision=0.05, bank=5.0)),
    case("strict", "unknown", "with pass_direction 99: malformed"),
    case("one-table", "two-tables", "with two tables in turn, in hearts-classic for 4, deal 2"),
    case("impatient", "repeated", "I said so already"),
    case("offended", "cancelled", "the question after a cancelled one: malformed"),
    case("hoarder", "memory", "the limit of 1 GB is reached in"),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("way", "step", "cause", "others", "time"), [*MISBEHAVING, *ROGUES, *UNSOUND])
async def test_each_way_to_be_unsound_fails_at_its_step_with_its_cause(
    tmp_path: Path, way: Way, step: str, cause: str, others: Sequence[str], time: TimeControl
) -> None:
    marker = [str(tmp_path / "grandchild")] if way[0] == "fork" else []
    outcomes = await check(program([*way, *marker]), time)

    finding = outcomes[step].finding
    assert set(steps(outcomes, Verdict.FAIL)) - set(others) - AGAIN.get(way[0], set()) == {step}
    assert cause in finding.detail
    assert finding.cure


AGAIN = {
    "flood": {"rest"},
    "impatient": {"same-answers"},
    "offended": {"finish-deals", "same-answers", "restart"},
    "other-game": {"play-games"},
}
"""Ways that later steps meet again."""


@pytest.mark.parametrize(
    ("way", "step", "output"),
    [
        pytest.param("exit", "start", "no model file", id="start"),
        pytest.param("crash 7", "legal", "table flipped", id="ended", marks=pytest.mark.slow),
        pytest.param("other-game", "describe", "", id="nothing", marks=pytest.mark.slow),
    ],
)
async def test_a_step_that_fails_has_what_the_bot_wrote(way: str, step: str, output: str) -> None:
    outcomes = await check(program(way.split()))

    assert outcomes[step].finding.output == output
    assert {outcome.finding.output for outcome in outcomes.values()} <= {"", output}


async def test_a_script_outside_the_bots_folder_is_to_be_named_within_it(tmp_path: Path) -> None:
    entry = Entry("astray", command=("python", "/nowhere/b/bot.py"), directory=tmp_path, whole_directory=True)

    outcomes = await check(entry)

    assert "write /nowhere/b/bot.py as it lies in the bot's folder" in outcomes["start"].finding.cure


@pytest.mark.parametrize(
    ("words", "script", "cure"),
    [
        pytest.param("pythn bot", "", "mend the command", id="no program"),
        pytest.param("./bot", "echo hello\n", "begin the script with #!", id="no interpreter"),
        pytest.param("python bot", "import numpy_not", "put the module into the bot's folder", id="no module"),
    ],
)
async def test_a_bot_that_cannot_start_is_told_what_mends_it(
    tmp_path: Path, words: str, script: str, cure: str
) -> None:
    (tmp_path / "bot").write_text(script)
    (tmp_path / "bot").chmod(0o755)

    outcomes = await check(Entry("broken", command=tuple(words.split()), directory=tmp_path, whole_directory=True))

    assert outcomes["start"].finding.cure.startswith(cure)
    assert "address" not in outcomes["start"].finding.cure


def test_the_first_of_npms_errors_is_told() -> None:
    output = (
        "npm error code ENOTCACHED\n"
        "npm error request to https://packages.example.org/left-pad failed\n"
        "npm error A complete log of this run can be found in: /tmp/1-debug-0.log"
    )

    assert with_output("it failed", output) == "it failed; it wrote: npm error code ENOTCACHED"


@pytest.mark.slow
async def test_a_bot_that_does_not_play_all_games_that_it_says_fails_there() -> None:
    outcomes = await check(program(["one-game"]), games=())

    assert steps(outcomes, Verdict.FAIL) == ["play-games"]
    assert "heartswitch for 4, deal 1, decision 0" in outcomes["play-games"].finding.detail
    assert outcomes["legal"].finding.detail == "step 4 failed"


@pytest.mark.slow
async def test_a_bot_for_four_players_only_fails_with_others() -> None:
    outcomes = await check(program(["four-only"]), games=())

    assert steps(outcomes, Verdict.FAIL)[0] == "play-counts"
    assert outcomes["play-games"].finding.verdict is Verdict.PASS
    assert "heartswitch for 3, deal 1" in outcomes["play-counts"].finding.detail


@pytest.mark.slow
async def test_a_bot_that_does_not_start_again_fails_there(tmp_path: Path) -> None:
    outcomes = await check(program(["start-once", str(tmp_path / "marker")]), HURRIED)

    assert steps(outcomes, Verdict.FAIL) == ["legal", "restart"]
    assert "exited with code 3 before it answered Describe" in outcomes["restart"].finding.detail
    assert "no model file" in outcomes["restart"].finding.detail
    assert "does not start again" in outcomes["stop"].finding.detail


async def test_a_build_that_fails_stops_the_rest() -> None:
    outcomes = await check(program(["sound"]), build=(sys.executable, "-c", "raise SystemExit('no compiler')"))

    assert steps(outcomes, Verdict.FAIL) == ["build"]
    assert "exited with code 1; it wrote: no compiler" in outcomes["build"].finding.detail
    assert outcomes["build"].finding.output == "no compiler"
    assert len(steps(outcomes, Verdict.SKIPPED)) == len(STEPS) - 1


@pytest.mark.parametrize(
    ("way", "step", "cause", "time"),
    [
        pytest.param("long-note", "legal", "one decision's reply has 1,00", PATIENT, id="long-note"),
        pytest.param("slow", "latency", "the bank paid for", TimeControl(decision=0.2, bank=5.0), id="slow"),
        pytest.param("drain-the-bank", "latency", "the bank paid for", HURRIED, id="drain-the-bank"),
        pytest.param("one-by-one", "batches", "it takes one decision a request", PATIENT, id="one-by-one"),
        pytest.param("orderly", "unknown", "with phase 99", PATIENT, id="orderly"),
        pytest.param("sound", "stop", "but leaves its socket's file", PATIENT, id="socket-left"),
    ],
)
@pytest.mark.slow
async def test_what_the_arena_puts_up_with_is_a_warning(way: str, step: str, cause: str, time: TimeControl) -> None:
    outcomes = await check(program([way]), time)

    assert outcomes[step].finding.verdict is Verdict.WARNING
    assert cause in outcomes[step].finding.detail
    assert set(steps(outcomes, Verdict.FAIL)) <= {"describe"}


@pytest.mark.parametrize("way", ["late", "hush", "learning"])
@pytest.mark.slow
async def test_what_is_odd_but_harmless_does_not_fail(tmp_path: Path, way: str) -> None:
    assert steps(await check(program([way, str(tmp_path / "told")])), Verdict.FAIL) == []


@pytest.mark.slow
async def test_random_choices_are_told_and_not_held_against_a_bot() -> None:
    outcomes = await check(program(["fickle"]))

    finding = outcomes["same-answers"].finding
    assert steps(outcomes, Verdict.FAIL) == []
    assert finding.verdict is Verdict.INFORMATION
    assert finding.figures["same"] < finding.figures["asked"]
    assert "`random`" in finding.cure


async def test_a_sound_bot_passes_every_step_in_order() -> None:
    entry = Entry("careful", command=("python", "careful.py"), directory=SAMPLES)

    outcomes = await check(entry)

    assert [(outcome.number, outcome.step) for outcome in outcomes.values()] == [
        (number, step.name) for number, step in enumerate(STEPS, 1)
    ]
    assert steps(outcomes, Verdict.FAIL) == []
    assert steps(outcomes, Verdict.SKIPPED) == ["build", "play-counts", "confined"]
    assert outcomes["same-answers"].finding.figures == {"asked": 12, "same": 12}
    assert outcomes["legal"].finding.figures["decisions"] >= 120
    assert outcomes["memory"].finding.figures["deals"] == 48
    assert 0 < outcomes["latency"].finding.figures["median"] <= outcomes["latency"].finding.figures["worst"]


@pytest.mark.parametrize("name", ["random_bot", "lowest", "careful", "counting"])
@pytest.mark.slow
async def test_every_sample_bot_passes_in_every_game(name: str) -> None:
    entry = Entry(name, command=("python", f"{name}.py"), directory=SAMPLES)

    outcomes = await check(entry, games=(), isolation=Isolation.AUTO)

    assert steps(outcomes, Verdict.FAIL) == []
    assert "9 kinds of tables" in outcomes["legal"].finding.detail


@needs_sandbox
@pytest.mark.slow
async def test_what_exceeds_the_sandbox_is_named() -> None:
    outcomes = await check(program(["glutton"]), isolation=Isolation.BUBBLEWRAP, limits=Limits(memory=300_000_000))

    assert steps(outcomes, Verdict.FAIL) == ["legal", "confined"]
    assert "it used more than 300 MB (limits.memory)" in outcomes["confined"].finding.detail


@needs_sandbox
@pytest.mark.slow
async def test_a_bot_that_needs_the_network_does_not_start_in_the_sandbox() -> None:
    with socket.create_server(("127.0.0.1", 0)) as home:
        entry = program(["call-home", str(home.getsockname()[1])])

        confined = await check(entry, isolation=Isolation.BUBBLEWRAP)
        free = await check(entry)

    assert steps(confined, Verdict.FAIL) == ["start"]
    assert "ConnectionRefusedError" in confined["start"].finding.detail
    assert "--isolation none" in confined["start"].finding.cure
    assert steps(free, Verdict.FAIL) == []


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "script"),
    [("python bot", "print("), ("./bot", "echo hello\n"), ("pythn bot", "")],
    ids=["syntax", "no interpreter", "no program"],
)
async def test_what_would_not_start_anywhere_is_not_to_be_tried_outside(words: str, script: str) -> None:
    with tempfile.TemporaryDirectory(prefix="arena-test-", dir="/tmp") as folder:
        bot = Path(folder, "bot")
        bot.write_text(script)
        bot.chmod(0o755)
        entry = Entry("broken", command=tuple(words.split()), directory=Path(folder), whole_directory=True)

        outcomes = await check(entry, isolation=Isolation.BUBBLEWRAP)

    assert steps(outcomes, Verdict.FAIL) == ["start"]
    assert "--isolation none" not in outcomes["start"].finding.cure


@needs_sandbox
@pytest.mark.slow
async def test_a_bot_that_plays_no_game_has_started_in_the_sandbox() -> None:
    outcomes = await check(program(["other-game"]), games=(), isolation=Isolation.BUBBLEWRAP)

    assert outcomes["start"].finding.verdict is Verdict.PASS
    assert outcomes["confined"].finding.detail == "it has played no game in the sandbox"


@pytest.fixture
def attackers() -> Iterator[Path]:
    """The folder of the attackers, with the marker that lets them loose in the sandbox."""
    folder = Path(tempfile.mkdtemp(prefix="arena-attackers-", dir="/tmp"))
    shutil.copytree(ATTACKERS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "marker").write_text("conformance")
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def check_attacker(folder: Path, way: Way, **options: Any) -> dict[str, Outcome]:
    namespaces = [str(Path(f"/proc/self/ns/{name}").readlink()) for name in ("pid", "net")]
    name, *arguments = way
    command = ("python", f"{name}.py", "conformance", *namespaces, *arguments)
    entry = Entry(name, command=command, directory=folder, whole_directory=True)
    return await check(entry, isolation=Isolation.BUBBLEWRAP, limits=Limits(memory=300_000_000), **options)


ATTACKS = [
    ("fork", "confined", "processes and threads, as many as it may"),
    ("hoard children", "confined", "it used more than 300 MB (limits.memory)"),
    ("fill files", "confined", "it made more than 20,000 files"),
    ("burn", "rest", "of a processor while it was not asked"),
    ("leave_session", "stop", "has left its session: "),
    ("hop", "stop", "has left its session: "),
    ("stay", "stop", "SIGTERM does not end it"),
    ("plant link /run/arena/other", "start", "/run/arena/bot.sock is no socket"),
    ("plant pipe", "start", "/run/arena/bot.sock is no socket"),
    ("plant folder", "start", "/run/arena/bot.sock is no socket"),
    ("plant file", "start", "/run/arena/bot.sock is no socket"),
]


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("way", "step", "cause"), [pytest.param(*attack, id=attack[0]) for attack in ATTACKS])
async def test_an_attack_that_shows_fails_with_its_cause(attackers: Path, way: str, step: str, cause: str) -> None:
    outcomes = await check_attacker(attackers, way.split())

    assert outcomes[step].finding.verdict is Verdict.FAIL
    assert cause in outcomes[step].finding.detail
    assert outcomes[step].finding.cure


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["connect", "crowd", "fill", "guess", "hide_memory", "hoard", "kill", "load", "mark", "read", "trace"],
)
async def test_what_the_sandbox_keeps_from_happening_leaves_a_bot_that_plays(attackers: Path, name: str) -> None:
    assert steps(await check_attacker(attackers, [name]), Verdict.FAIL) == []


class Lowest(Bot):
    name = "lowest"

    def play(self, view: Decision) -> Card:
        return view.legal[0]


async def test_a_bot_at_an_address_is_checked_but_for_its_process() -> None:
    server, port = await create_server(Lowest(), "127.0.0.1:0")
    try:
        outcomes = await check(Entry("afar", address=f"127.0.0.1:{port}"))
    finally:
        await server.stop(None)

    assert steps(outcomes, Verdict.FAIL) == []
    assert set(steps(outcomes, Verdict.SKIPPED)) == {step.name for step in STEPS if step.of_process} | {"play-counts"}
    assert "doesn't start this bot" in outcomes["stop"].finding.detail


async def test_nobody_at_an_address_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    outcomes = await check(Entry("afar", address=f"127.0.0.1:{port}"), TimeControl(startup=0.5))

    assert steps(outcomes, Verdict.FAIL) == ["start"]
    assert "nobody serves there" in outcomes["start"].finding.detail


async def test_a_game_that_is_wanted_must_be_among_those_it_plays() -> None:
    outcomes = await check(program(["four-only"]), games=("hearts-classic",))

    assert steps(outcomes, Verdict.FAIL) == ["describe", "play-games"]
    assert "it is to play hearts-classic, but says that it plays heartswitch" in outcomes["describe"].finding.detail


def test_every_step_has_a_bot_that_fails_it() -> None:
    failed = {parameters.values[1] for parameters in (*MISBEHAVING, *ROGUES, *UNSOUND)}
    elsewhere = {"build", "play-games", "play-counts", "restart", *(step for _, step, _ in ATTACKS)}
    never = {"same-answers"}

    assert failed | elsewhere | never == {step.name for step in STEPS}


WRITING = """
from arena.sdk import Bot


class Diarist(Bot):
    def play(self, view):
        open("diary.txt", "a").close()
        return view.legal[0]


{at_start}
Diarist().run()
"""


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_start", "step"), [("open('diary.txt', 'a')", "start"), ("", "play-games")], ids=["starting", "playing"]
)
async def test_a_bot_that_writes_beside_itself_is_told_where_it_may(at_start: str, step: str) -> None:
    with tempfile.TemporaryDirectory(prefix="arena-test-", dir="/tmp") as folder:
        Path(folder, "bot.py").write_text(WRITING.format(at_start=at_start))
        Path(folder).chmod(0o755)
        entry = Entry("diarist", command=("python", "bot.py"), directory=Path(folder), whole_directory=True)

        outcomes = await check(entry, isolation=Isolation.BUBBLEWRAP)

    assert steps(outcomes, Verdict.FAIL)[0] == step
    assert outcomes[step].finding.cure.startswith("write into the folder that TMPDIR names (/tmp")
    assert "--isolation none" not in outcomes[step].finding.cure


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("OSError: [Errno 30] Read-only file system: 'diary.txt'", True),
        ("Error: EROFS: read-only file system, open '/bot/diary'", True),
        ("open diary.txt: read-only file system", True),
        ("PermissionError: [Errno 13] Permission denied: 'secret'", False),
    ],
    ids=["python", "node", "go", "other"],
)
def test_writing_beside_itself_is_known_in_every_language(output: str, told: bool) -> None:
    assert bool(cure_of_writing(output)) is told
