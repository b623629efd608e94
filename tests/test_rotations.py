"""What playing rotation by rotation promises: siblings never meet, nothing played is lost, and the result is the same."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from pathlib import Path

import pytest
from scripted import ScriptedRoster, failing, lowest
from small_tournaments import entries
from test_golden_tournaments import CASES, told

from arena.clock import TimeControl
from arena.errors import Interrupted
from arena.events import MatchPlayed, Notice, Started, TablePlayed
from arena.faults import FaultKind, FaultPolicy
from arena.games import find_game
from arena.match import Match
from arena.report import document_text
from arena.rotations import PassLength, Rotations, VoidMatch
from arena.settings import Entry, Isolation, Settings
from arena.store import Store
from arena.table import TableRules
from arena.tournament import Pace, run_tournament

FOUR = ("ann", "bob", "cid", "dee")
RULES = TableRules(find_game("hearts-classic"), False, TimeControl(), FaultPolicy())

ALONE = """
import fcntl, sys
from arena.sdk import Bot

class Alone(Bot):
    def play(self, view):
        return view.legal[0]

if __name__ == "__main__":
    mine = open(sys.argv[1] + ".lock", "w")
    fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(sys.argv[1] + ".starts", "a") as starts:
        starts.write("started\\n")
    Alone().run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("boards", [6, 104], ids=["one pass", "two passes"])
def test_no_two_instances_of_one_bot_that_play_one_match_live_at_the_same_time(tmp_path: Path, boards: int) -> None:
    (tmp_path / "alone.py").write_text(ALONE)
    names = ("ann", "bob", "cid")
    bots = [Entry(name, command=("python", "alone.py", name), directory=tmp_path) for name in names]
    settings = Settings(game="heartswitch", players=3, boards=boards, seed="alone", isolation=Isolation.NONE)

    async def finish() -> None:
        async with contextlib.aclosing(run_tournament(store, settings, bots)) as events:
            async for _ in events:
                pass

    with Store.open(tmp_path / "arena.db") as store:
        asyncio.run(finish())

        tournament = store.tournament()
        passes = -(-len(store.matches(tournament.id)) // 50)
        assert tournament.finished is not None
        assert store.faults(tournament.id) == []
    for name in names:
        starts = (tmp_path / f"{name}.starts").read_text().splitlines()
        assert len(starts) == 3 * passes


async def test_all_instances_end_between_rotations() -> None:
    roster = ScriptedRoster(dict.fromkeys(FOUR, lowest))
    rotations = Rotations(RULES, roster, bytes(32), tables=64)
    matches = [Match(number, FOUR, 1) for number in (1, 2, 3)]
    seen: list[tuple[int, int]] = []

    async with contextlib.aclosing(rotations.play(matches)) as results:
        async for result in results:
            assert not isinstance(result, VoidMatch)
            seen.append((roster.ended, result.rotation))

    assert Counter(seen) == {(rotation, rotation): 3 for rotation in range(4)}
    assert roster.ended == 4


async def test_tables_that_were_played_before_are_not_played_again() -> None:
    roster = ScriptedRoster(dict.fromkeys(FOUR, lowest))
    rotations = Rotations(RULES, roster, bytes(32), tables=64)

    async with contextlib.aclosing(rotations.play([Match(1, FOUR, 1)], {1: {0, 2}})) as results:
        played = [result.rotation async for result in results if not isinstance(result, VoidMatch)]

    assert played == [1, 3]


async def test_a_void_match_is_told_once_and_not_played_on() -> None:
    roster = ScriptedRoster({**dict.fromkeys(FOUR, lowest), "eve": failing(FaultKind.ARENA)})
    rotations = Rotations(RULES, roster, bytes(32), tables=64)
    matches = [Match(1, FOUR, 1), Match(2, (*FOUR[:3], "eve"), 1)]

    async with contextlib.aclosing(rotations.play(matches)) as results:
        played = [result async for result in results]

    assert [result.match.number for result in played if isinstance(result, VoidMatch)] == [2]
    assert [result.rotation for result in played if not isinstance(result, VoidMatch)] == [0, 1, 2, 3]


async def test_a_stop_loses_no_table_that_was_played(tmp_path: Path) -> None:
    settings = Settings(boards=24, seed="a test")
    bots = entries(("Lowest", "Highest", "Random", "First"))
    stop = asyncio.Event()
    played = 0
    with Store.open(tmp_path / "stopped.db") as store:
        with contextlib.suppress(Interrupted):
            async with contextlib.aclosing(
                run_tournament(store, settings, bots, pace=Pace(tables=1), stop=stop)
            ) as events:
                async for event in events:
                    played += isinstance(event, TablePlayed)
                    if played == 2:
                        stop.set()
        kept = store.partly_played(store.tournament().id)
        async with contextlib.aclosing(run_tournament(store, settings, bots)) as events:
            resumed = [event async for event in events]
        document = document_text(store, None)[1]
    with Store.open(tmp_path / "whole.db") as store:
        async with contextlib.aclosing(run_tournament(store, settings, bots)) as events:
            async for _ in events:
                pass
        assert document_text(store, None)[1] == document

    assert sum(len(match.tables) for match in kept.values()) == played < 4
    first = resumed[0]
    assert isinstance(first, Started)
    assert Notice("goes on after 2 tables of matches that were in play") in resumed
    tables = [event for event in resumed if isinstance(event, TablePlayed)]
    assert len(tables) == 4 * first.matches - played
    assert tables[-1].played == tables[-1].tables == 4 * first.matches
    matches = [event for event in resumed if isinstance(event, MatchPlayed)]
    assert {(event.deals, event.decisions) for event in matches} == {(16, 880)}


def replace_blocks(length: PassLength, blocks: int) -> PassLength:
    length.blocks = blocks
    return length


@pytest.mark.parametrize(
    ("seconds", "starting", "blocks"),
    [(100.0, 0.0, 1), (100.0, 5.0, 1), (100.0, 10.0, 2), (100.0, 95.0, 4)],
    ids=["no start", "few starts", "a tenth", "mostly starts"],
)
def test_passes_grow_until_starts_are_a_small_part(seconds: float, starting: float, blocks: int) -> None:
    length = PassLength()

    length.learn(seconds, starting)

    assert length.blocks == blocks


async def test_a_longer_pass_changes_no_result_and_keeps_nothing_of_disqualified_bots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, bots, expected = CASES["classic, two disqualified"]
    monkeypatch.setattr("arena.tournament.PassLength", lambda: replace_blocks(PassLength(), 5))
    with Store.open(tmp_path / "arena.db") as store:
        async with contextlib.aclosing(run_tournament(store, settings, entries(bots))) as events:
            tables = [event async for event in events if isinstance(event, TablePlayed)]
        tournament = store.tournament().id
        done = len(store.matches(tournament, done=True))

        assert store.partly_played(tournament) == {}

    assert told(tmp_path / "arena.db") == expected
    assert tables[-1].played == tables[-1].tables == 4 * done
