"""Misbehaving bots in whole tournaments: the fault is theirs, the others' results stand, and nothing is left.

The other bots play in the arena's process. What they score must equal what they score beside a bot in this process that
plays the substitute wherever the misbehaving one fails.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from arena.clock import TimeControl
from arena.errors import BotUnusable
from arena.events import Finished, MatchPlayed
from arena.faults import Fault, FaultKind, FaultPolicy
from arena.report import document_text
from arena.settings import Entry, Settings
from arena.store import Store
from arena.tournament import Pace, run_tournament

BOTS = Path(__file__).parent / "players" / "bots"
SETTINGS = Settings(
    game="heartswitch",
    players=3,
    boards=4,
    seed="rogues",
    time=TimeControl(decision=3.0, bank=2.0, startup=60.0),
    faults=FaultPolicy(max_faults=3),
)
HURRIED = replace(SETTINGS, time=TimeControl(decision=0.3, bank=0.2, startup=60.0))

Way = Sequence[str]


def rogue(way: Way, number: int = 0) -> Entry:
    script = "rogue.py" if way[0] in ROGUE_WAYS else "misbehaving.py"
    return Entry(f"rogue {number}", command=("python", script, *way), directory=BOTS, whole_directory=True)


def local(name: str, kind: str) -> Entry:
    return Entry(name, python=f"in_process:{kind}")


OTHERS = (local("x", "Highest"), local("y", "Random"))
ROGUE_WAYS = {
    "no-cards",
    "same-card-thrice",
    "not-held",
    "already-played",
    "unspecified",
    "long-note",
    "hang",
    "crash-on-seat-2",
    "drain-the-bank",
    "too-many-choices",
    "renaming",
    "hang-up",
    "drip",
}


async def play(
    path: Path, bots: Sequence[Entry], settings: Settings = SETTINGS
) -> tuple[list[Fault], dict[str, dict[str, int]]]:
    """Play a tournament; return all faults, and by table and deal what each bot scored."""
    with Store.open(path) as store:
        playing = run_tournament(store, settings, bots, pace=Pace(tables=8))
        async with contextlib.aclosing(playing):
            events = [event async for event in playing]
        assert isinstance(events[-1], Finished)
        tournament = store.tournament()
        matches = store.matches(tournament.id)
        records = [(match.number, *each) for match in matches for each in store.records(tournament.id, match.number)]
        assert sum(isinstance(event, MatchPlayed) for event in events) == len(matches)
        assert document_text(store, None)
    faults = [fault for _, _, record in records for fault in record.faults]
    scores = {
        f"match {match}, table {table}, deal {record.number}": dict(zip(record.bots, record.scores, strict=True))
        for match, table, record in records
    }
    return faults, scores


AT_13 = "FirstSubstitutesAt13"
NEVER = "First"
ALWAYS = "Lowest"


def case(way: str, kind: FaultKind | None, detail: str = "", *, slow: bool = True) -> ParameterSet:
    return pytest.param(way.split(), kind, detail, id=way, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("way", "kind", "detail"),
    [
        case("short", FaultKind.MALFORMED, "0 came"),
        case("too-many-choices", FaultKind.MALFORMED, "2 came"),
        case("no-cards", FaultKind.MALFORMED, "0 came"),
        case("too-many-cards", FaultKind.MALFORMED, "2 came"),
        case("unspecified", FaultKind.MALFORMED, "unknown card", slow=False),
        case("unknown-card", FaultKind.MALFORMED, "unknown card"),
        case("wrong-id", FaultKind.MALFORMED, "the answer is to request"),
        case("huge", FaultKind.MALFORMED, "RESOURCE_EXHAUSTED"),
        case("same-card-thrice", FaultKind.MALFORMED, "1 cards were asked for, 3 came"),
        case("not-held", FaultKind.ILLEGAL, "does not hold", slow=False),
        case("already-played", FaultKind.ILLEGAL, "does not hold"),
        case("hang", FaultKind.TIMEOUT, "no answer within"),
        case("crash 7", FaultKind.DISCONNECTED, "exited with code 7", slow=False),
        case("crash SIGSEGV", FaultKind.DISCONNECTED, "signal 11"),
        case("crash SIGABRT", FaultKind.DISCONNECTED, "signal 6"),
        case("status UNAVAILABLE", FaultKind.DISCONNECTED, "UNAVAILABLE"),
        case("hang-up", FaultKind.DISCONNECTED, "UNAVAILABLE"),
        case("long-note", None),
        case("renaming", None),
        case("late", None),
        case("flood", None, slow=False),
        case("hush", None),
        case("ignore-signals", None),
        case("slow-to-learn", None),
        case("drain-the-bank", None),
    ],
)
async def test_a_fault_is_the_bots_own_and_the_others_score_as_if_the_substitute_played(
    tmp_path: Path, way: Way, kind: FaultKind | None, detail: str
) -> None:
    settings = HURRIED if way[0] in ("hang", "drain-the-bank") else SETTINGS

    faults, scores = await play(tmp_path / "rogue.db", [rogue(way), *OTHERS], settings)
    _, honest = await play(tmp_path / "honest.db", [local("rogue 0", AT_13 if kind else NEVER), *OTHERS])

    assert scores == honest
    assert {fault.evidence.kind for fault in faults} == ({kind} if kind else set())
    assert all(detail in fault.evidence.detail for fault in faults)
    assert len(faults) == (len(scores) // 2 if kind else 0)


@pytest.mark.slow
async def test_a_bot_that_hangs_from_the_first_decision_on_is_retired(tmp_path: Path) -> None:
    faults, scores = await play(tmp_path / "rogue.db", [rogue(["hang", "all"]), *OTHERS], HURRIED)
    _, honest = await play(tmp_path / "honest.db", [local("rogue 0", ALWAYS), *OTHERS])

    assert scores == honest
    assert len(faults) == 3 * len(scores) // 2
    assert all(fault.evidence.overrun is not None and fault.evidence.overrun >= 0 for fault in faults)


@pytest.mark.slow
async def test_a_bot_that_crashes_in_one_rotation_keeps_its_results_in_the_others(tmp_path: Path) -> None:
    faults, scores = await play(tmp_path / "rogue.db", [rogue(["crash-on-seat-2"]), *OTHERS])

    assert {(fault.seat, fault.decision) for fault in faults} == {(2, 13)}
    assert len(faults) == len(scores) // 6


@pytest.mark.slow
async def test_a_table_of_misbehaving_bots_is_played_to_the_end(tmp_path: Path) -> None:
    ways: list[Way] = [["crash", "1"], ["hang"], ["not-held", "all"]]

    faults, _ = await play(tmp_path / "rogue.db", [rogue(way, number) for number, way in enumerate(ways)], HURRIED)

    assert {fault.evidence.kind for fault in faults} == {FaultKind.DISCONNECTED, FaultKind.TIMEOUT, FaultKind.ILLEGAL}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("way", "reason"),
    [
        (["exit"], "no model file"),
        pytest.param(["sleep"], "did not answer Describe", marks=pytest.mark.slow, id="sleep"),
        (["mute"], "did not answer Describe"),
        (["stranger"], r"serves, but not arena\.v1\.BotService"),
        (["garbled"], "Describe"),
        pytest.param(["drip"], "did not answer Describe", marks=pytest.mark.slow, id="drip"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
async def test_a_bot_that_never_serves_is_reported_before_play(tmp_path: Path, way: Way, reason: str) -> None:
    quick = replace(SETTINGS, time=TimeControl(startup=1.5))

    with pytest.raises(BotUnusable, match=reason):
        await play(tmp_path / "rogue.db", [rogue(way), *OTHERS], quick)


@pytest.mark.slow
async def test_the_arenas_memory_stays_bounded(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    await play(tmp_path / "rogue.db", [rogue(["huge"], 0), rogue(["flood"], 1), rogue(["bomb"], 2)])

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200 * 1024, f"grew by {grown} KiB in process {os.getpid()}"
