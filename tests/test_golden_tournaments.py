"""What tournaments come to is pinned: the same seed and the same bots give the same cards and results in every version."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest
from small_tournaments import play

from arena.settings import Format, ScheduleKind, Settings
from arena.store import Store

FOUR = ("Lowest", "Highest", "Random", "Cheat")
SIX = ("Lowest", "Random", "Highest", "Random", "First", "Lowest")
CLASSIC = Settings(boards=24, seed="golden")
SWITCH = replace(CLASSIC, game="heartswitch", boards=None)

CASES = {
    "classic": (CLASSIC, FOUR, "c01b06b6417ea7054d7d3037bc9b5748c6db5ea92fef42e355273749bebd1b77"),
    "classic, games": (
        replace(CLASSIC, format=Format.GAME, boards=6, options={"target": 40}),
        FOUR,
        "1333d92fa550734d1d52ce3d7d56bf98672a7c9aaf46fa769a22756be8c40e58",
    ),
    "special, games": (
        replace(CLASSIC, game="hearts-special", format=Format.GAME, boards=6),
        FOUR,
        "a23349a48deeaa849c963483dfd5f1441d7fa94f8188bc858f2ff8ac1cbc0db8",
    ),
    "standard, independent": (
        replace(CLASSIC, game="hearts-standard", independent=True),
        FOUR,
        "453f5ac9ca9526c91cd9278935f88705d6fd7b59fb85c6ebca6ffa3a25212649",
    ),
    "switch, three": (
        replace(SWITCH, players=3, boards=12),
        FOUR,
        "ea1a097b0326a207fd7c7a6e179aab5f3ab53b1180f972b015ab81599db47af4",
    ),
    "switch, five": (
        replace(SWITCH, players=5, boards=8),
        SIX,
        "970f5b955a35a28c9f4fbd05cd8e08b5c4167354c8588d0d5a6b7d93773c2c95",
    ),
    "switch, six": (
        replace(SWITCH, players=6, boards=60),
        SIX,
        "69e53323351fb07db832300b044d04a6c36b005b0a48cdc439eaa1e52d9ecd54",
    ),
    "switch, partners": (
        replace(SWITCH, players=4, partners=True, boards=12),
        FOUR,
        "9d61254bc7f998a5fabfa1d90a8cf0bca9593a1f2abc127ddfa142ed1352a77c",
    ),
    "balanced": (
        replace(CLASSIC, schedule=ScheduleKind.BALANCED, boards=48),
        SIX,
        "7d5c910688c83edb7cd7937383956e84ea9b854619bf1820c2de442786861ad0",
    ),
    "gauntlet": (
        replace(CLASSIC, schedule=ScheduleKind.GAUNTLET, gauntlet="Random 1", boards=24),
        SIX[:5],
        "f4fb50ffb3b8f934ae47cffec8fb43f0315eeeeef42bda60653539536cd4d491",
    ),
    "classic, two disqualified": (
        replace(CLASSIC, boards=140),
        (*FOUR, "First", "Cheat", "Random"),
        "37b014d768b583cca8915c38dc47cedf5564aa6d18abc641e2bf82cc8df4b9fa",
    ),
}
"""Settings, bots, and SHA-256 of what `told` says of the tournament."""


def told(path: Path) -> str:
    """Return the hash of all deals, plays and results of a store's tournament, times apart."""
    digest = sha256()
    with Store.open(path) as store:
        tournament = store.tournament().id
        for match in store.matches(tournament, done=True):
            for table, record in store.records(tournament, match.number):
                cards = (record.hands, record.passes, record.plays, record.scores, record.totals)
                digest.update(json.dumps([match.number, table, record.number, record.bots, cards]).encode())
        for result in store.results(tournament):
            digest.update(json.dumps(asdict(result)).encode())
    return digest.hexdigest()


@pytest.mark.few(4)
@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_and_bots_come_to_the_same(tmp_path: Path, case: str) -> None:
    settings, bots, expected = CASES[case]

    play(tmp_path / "arena.db", settings, bots)

    assert told(tmp_path / "arena.db") == expected
