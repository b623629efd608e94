"""What a tournament promises: the same result however it is played, and nothing lost when it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from in_process import Lowest
from stored_matches import new_tournament

from arena.clock import TimeControl
from arena.competitors import House
from arena.errors import ArenaError, BadInput, BadStore, BotUnusable, Interrupted
from arena.events import Event, Finished, MatchPlayed, Notice, Started, TablePlayed
from arena.games import find_game
from arena.match import Match, RotationResult
from arena.plan import Plan, Played, Step
from arena.report import document_text, result_notes, stored_document
from arena.rotations import Rotations
from arena.schedule import imbalance
from arena.sdk import create_server
from arena.settings import Entry, Isolation, Settings, Tournament
from arena.store import Store
from arena.store.rows import StoredFault
from arena.table import Void
from arena.tournament import Pace, disqualified_bots, fixed_plan, run_tournament

FOUR = ("Lowest", "Highest", "Random", "Lowest")
SETTINGS = Settings(boards=24, seed="a test")


def entries(*kinds: str) -> tuple[Entry, ...]:
    return tuple(Entry(f"{kind} {number}", python=f"in_process:{kind}") for number, kind in enumerate(kinds))


async def play(
    store: Store,
    *,
    bots: Sequence[Entry] = entries(*FOUR),
    settings: Settings = SETTINGS,
    tables: int = 8,
    stop_after: int | None = None,
    fresh: bool = False,
    resume: str | None = None,
    skip_broken: bool = False,
    plan_of: Callable[[Tournament], Plan] = fixed_plan,
    house: House | None = None,
    told: list[Event] | None = None,
) -> list[Event]:
    events = [] if told is None else told
    stop = asyncio.Event()
    playing = run_tournament(
        store,
        settings,
        bots,
        plan_of=plan_of,
        pace=Pace(tables=tables),
        stop=stop,
        fresh=fresh,
        resume=resume,
        skip_broken=skip_broken,
        house=house,
    )
    async with contextlib.aclosing(playing):
        async for event in playing:
            events.append(event)
            if stop_after is not None and sum(isinstance(each, MatchPlayed) for each in events) >= stop_after:
                stop.set()
    return events


def notices(events: Sequence[Event]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Notice))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "arena.db")


async def document(path: Path, *, tables: int = 8, settings: Settings = SETTINGS) -> str:
    with Store.open(path) as store:
        await play(store, tables=tables, settings=settings)
        return document_text(store, None)[1]


async def test_events_tell_how_a_tournament_goes(store: Store) -> None:
    events = await play(store)

    first, *matches, last = events
    assert isinstance(first, Started)
    assert (first.matches, first.already_played, first.boards) == (6, 0, 24)
    assert [event.played for event in matches if isinstance(event, MatchPlayed)] == [1, 2, 3, 4, 5, 6]
    assert isinstance(last, Finished)
    assert store.tournament().seed.commitment == first.seed_commitment
    assert store.tournament().seed.key.hex() == last.seed


@pytest.mark.slow
async def test_two_runs_are_byte_equal(tmp_path: Path) -> None:
    assert await document(tmp_path / "one.db") == await document(tmp_path / "two.db")


async def test_one_table_at_a_time_equals_many(tmp_path: Path) -> None:
    assert await document(tmp_path / "one.db", tables=1) == await document(tmp_path / "many.db", tables=64)


@pytest.mark.slow
async def test_another_seed_gives_other_deals(tmp_path: Path) -> None:
    other = await document(tmp_path / "two.db", settings=replace(SETTINGS, seed="another"))

    assert await document(tmp_path / "one.db") != other


@pytest.mark.few(1)
@pytest.mark.parametrize("stop_after", [0, 1, 3])
async def test_stopped_and_resumed_equals_uninterrupted(tmp_path: Path, stop_after: int) -> None:
    with Store.open(tmp_path / "stopped.db") as store:
        with pytest.raises(Interrupted, match="of 6 matches; the same command plays the rest"):
            await play(store, tables=1, stop_after=stop_after)
        events = await play(store)
        resumed = document_text(store, None)[1]

    assert isinstance(events[0], Started)
    assert events[0].already_played >= stop_after
    assert sum(isinstance(event, MatchPlayed) for event in events) == 6 - events[0].already_played
    assert resumed == await document(tmp_path / "whole.db")


@pytest.mark.parametrize(
    ("time", "notes"),
    [
        (TimeControl(), []),
        (TimeControl(startup=5.0), []),
        (TimeControl(decision=0.25), ["Time: 0.25 s a decision, and 10 s more a table."]),
        (TimeControl(bank=0.0), ["Time: 1 s a decision, and 0 s more a table."]),
    ],
    ids=["the usual", "a time to start", "another decision time", "another bank"],
)
def test_the_document_tells_the_time_and_a_note_what_is_not_usual(
    store: Store, time: TimeControl, notes: list[str]
) -> None:
    tournament = replace(new_tournament(), settings=Settings(time=time), finished=datetime.now(UTC))
    store.add_tournament(tournament, ())

    document = stored_document(store, tournament)

    assert document["time"] == {"decision": time.decision, "bank": time.bank}
    assert [note for note in result_notes(store, tournament) if note.startswith("Time")] == notes


async def test_how_even_the_schedule_is_is_told_before_play(store: Store) -> None:
    events = await play(store)

    assert events[1] == Notice(str(imbalance(store.matches(store.tournament().id), find_game("hearts-classic"))))


def three_steps(_tournament: Tournament) -> Plan:
    """A plan of three steps of a match each, whose deals depend on what was played before."""

    class Growing:
        def begin(self) -> Sequence[Match]:
            return (Match(1, tuple(entry.name for entry in entries(*FOUR)), 1),)

        def go_on(self, played: Played) -> Step:
            number = len(played.matches)
            line_up = played.matches[-1].line_up
            points = [result.points for result in played.results]
            match = Match(number + 1, (*line_up[1:], line_up[0]), 1 + points[-1][0] % 3)
            return Step((match,), f"{len(points)} results") if number < 3 else Step(note="enough")

    return Growing()


async def test_a_schedule_grows_by_results_until_its_plan_ends(store: Store) -> None:
    events = await play(store, plan_of=three_steps)

    tournament = store.tournament()
    assert [match.number for match in store.matches(tournament.id, done=True)] == [1, 2, 3]
    assert [event.matches for event in events if isinstance(event, MatchPlayed)] == [1, 2, 3]
    assert notices(events).endswith("enough")
    assert isinstance(events[-1], Finished)


@pytest.mark.few(1)
@pytest.mark.parametrize("stop_after", [1, 2])
async def test_a_growing_schedule_stopped_and_resumed_equals_uninterrupted(tmp_path: Path, stop_after: int) -> None:
    with Store.open(tmp_path / "whole.db") as store:
        await play(store, plan_of=three_steps)
        whole = document_text(store, None)[1]
    with Store.open(tmp_path / "stopped.db") as store:
        with pytest.raises(Interrupted):
            await play(store, plan_of=three_steps, tables=1, stop_after=stop_after)
        await play(store, plan_of=three_steps)

        assert document_text(store, None)[1] == whole


async def test_a_paused_tournament_is_not_over(store: Store) -> None:
    class Pausing:
        def begin(self) -> Sequence[Match]:
            return (Match(1, tuple(entry.name for entry in entries(*FOUR)), 1),)

        def go_on(self, played: Played) -> Step:
            return Step(note=f"spent after {played.boards} boards", paused=True)

    events = await play(store, plan_of=lambda _tournament: Pausing())

    assert events[-1] == Notice("spent after 1 boards")
    assert store.tournament().finished is None


async def test_a_finished_tournament_is_not_played_again_and_told_while_another_is_played(store: Store) -> None:
    await play(store)

    with store.coordinate():
        events = await play(store)

    assert [type(event) for event in events] == [Started, Finished]
    assert len(store.tournaments()) == 1


async def test_fresh_plays_it_again_on_new_deals(store: Store) -> None:
    settings = replace(SETTINGS, seed=None)
    await play(store, settings=settings)

    await play(store, settings=settings, fresh=True)

    one, two = store.tournaments()
    assert two.id == f"{one.id}-2"
    assert one.seed != two.seed


async def test_a_changed_bot_starts_a_new_tournament_and_says_so(store: Store) -> None:
    with pytest.raises(Interrupted):
        await play(store, stop_after=1, tables=1)
    changed = [*entries(*FOUR)[:3], Entry("Lowest 3", python="in_process:Highest")]

    events = await play(store, bots=changed)

    old, new = store.tournaments()
    assert old.finished is None
    assert new.finished is not None
    assert f"--resume {old.id}" in notices(events)


@pytest.mark.slow
async def test_the_one_left_behind_can_be_resumed(store: Store) -> None:
    with pytest.raises(Interrupted):
        await play(store, stop_after=1, tables=1)
    old = store.tournament().id
    changed = [*entries(*FOUR)[:3], Entry("Lowest 3", python="in_process:Highest")]

    events = await play(store, bots=changed, resume=old)

    assert store.tournament(old).finished is not None
    assert "not those it began with" in notices(events)


async def test_a_tournament_cannot_be_resumed_without_its_bots(store: Store) -> None:
    with pytest.raises(Interrupted):
        await play(store, stop_after=1, tables=1)
    renamed = [*entries(*FOUR)[:3], Entry("somebody else", python="in_process:Lowest")]

    with pytest.raises(BadInput, match="without Lowest 3"):
        await play(store, bots=renamed, resume=store.tournament().id)


@pytest.mark.slow
async def test_a_resumed_tournament_keeps_its_own_settings(tmp_path: Path) -> None:
    with Store.open(tmp_path / "stopped.db") as store:
        with pytest.raises(Interrupted):
            await play(store, stop_after=1, tables=1)
        await play(store, settings=replace(SETTINGS, players=3, game="heartswitch"), resume=store.tournament().id)
        resumed = document_text(store, None)[1]

    assert resumed == await document(tmp_path / "whole.db")


async def test_a_bot_at_one_address_may_not_hold_two_seats(store: Store) -> None:
    server, port = await create_server(Lowest(), "127.0.0.1:0")
    bots = [Entry("afar", address=f"127.0.0.1:{port}"), *entries("Highest")]
    settings = replace(SETTINGS, game="heartswitch", partners=True)

    with pytest.raises(BadInput, match=r"bot afar .* several seats"):
        await play(store, bots=bots, settings=settings)

    await server.stop(None)
    assert store.tournaments() == []


async def test_a_bot_that_does_not_start_is_reported_before_play(store: Store) -> None:
    with pytest.raises(BotUnusable, match=r"(?s)Broken 4.*no licence.*--skip-broken"):
        await play(store, bots=entries(*FOUR, "Broken"))

    assert store.tournaments() == []


async def test_what_fails_for_all_bots_alike_is_told_once(store: Store, tmp_path: Path) -> None:
    bots = [Entry(f"bot {number}", command=("python", "bot.py"), directory=tmp_path) for number in range(4)]
    logs = tmp_path / "logs"
    logs.touch()
    playing = run_tournament(store, Settings(isolation=Isolation.NONE), bots, pace=Pace(bot_logs=logs))

    with pytest.raises(BotUnusable) as refused:
        await anext(playing)

    assert str(refused.value).splitlines() == [
        f"no logs of bots can be kept in {logs}: File exists; name another folder",
        "mend this, or play without with --skip-broken",
    ]


async def test_broken_bots_can_be_skipped(store: Store) -> None:
    events = await play(store, bots=entries(*FOUR, "Broken"), skip_broken=True)

    assert "plays without Broken 4" in notices(events)
    assert [entry.name for entry in store.tournament().entries] == [entry.name for entry in entries(*FOUR)]


@pytest.mark.parametrize("broken", [0, 1, 2])
async def test_the_house_takes_the_seats_of_bots_that_can_not_play(store: Store, broken: int) -> None:
    house = House(tuple(Entry(f"house {kind}", python=f"in_process:{kind}") for kind in ("Broken", "Random", "Lowest")))
    bots = (*entries("Lowest", "Highest", "Random", "Lowest")[broken:], *entries(*("Broken",) * broken))

    events = await play(store, bots=bots, skip_broken=True, house=house)

    names = [entry.name for entry in store.tournament().entries]
    assert names == [each.name for each in bots[: 4 - broken]] + ["house Random", "house Lowest"][:broken]
    for number in range(broken):
        assert f"plays without Broken {number}: " in notices(events)
    assert ("plays without house Broken of the house: " in notices(events)) is (broken > 0)
    assert ("bots of the house play along: " in notices(events)) is (broken > 0)


async def test_the_house_does_not_play_by_itself_where_no_bot_can(store: Store) -> None:
    told: list[Event] = []
    house = House(entries(*FOUR))

    with pytest.raises(BotUnusable, match="no bot can play"):
        await play(store, bots=entries("Broken", "Broken"), skip_broken=True, house=house, told=told)

    assert "plays without Broken 1: " in notices(told)
    assert store.tournaments() == []


async def test_one_that_is_resumed_has_those_of_the_house_with_which_it_began(store: Store) -> None:
    house = House(tuple(Entry(f"house {kind}", python=f"in_process:{kind}") for kind in ("Random", "Lowest")))
    with pytest.raises(Interrupted):
        await play(store, bots=entries("Lowest", "Highest", "Random"), house=house, stop_after=1, tables=1)

    events = await play(store, bots=entries("Lowest", "Highest", "Random"), house=house, resume=store.tournament().id)

    assert isinstance(events[-1], Finished)
    assert [entry.name for entry in store.tournament().entries][3:] == ["house Random"]


async def test_what_explains_an_error_is_told_before_it(store: Store) -> None:
    told: list[Event] = []

    with pytest.raises(BadInput, match="needs 4 bots, and there are 3"):
        await play(store, bots=entries("Lowest", "Highest", "Random", "Broken"), skip_broken=True, told=told)

    assert "plays without Broken 3: " in notices(told)
    assert "no licence" in notices(told)


async def test_too_few_bots_is_an_error_that_says_what_to_do(store: Store) -> None:
    with pytest.raises(BadInput, match="--fill"):
        await play(store, bots=entries("Lowest", "Highest", "Random"))


async def test_a_second_coordinator_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as one, Store.open(path) as two, one.coordinate(), pytest.raises(BadStore, match="plays"):
        await play(two)


async def test_a_void_match_is_played_again_and_only_then_counts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_play = Rotations.play_table
    voided: list[int] = []

    async def play_late(self: Rotations, match: Match, rotation: int, attempt: int = 0) -> RotationResult:
        if match.number in (2, 5) and rotation == 2 and match.number not in voided:
            voided.append(match.number)
            raise Void("the supervisor was killed")
        return await really_play(self, match, rotation, attempt)

    monkeypatch.setattr(Rotations, "play_table", play_late)
    events = await play(store)
    disturbed = list(store.results(store.tournament().id))
    monkeypatch.undo()
    with Store.open(tmp_path / "calm.db") as calm:
        await play(calm)
        undisturbed = list(calm.results(calm.tournament().id))

    assert sorted(voided) == [2, 5]
    assert "match 2 is void and played again: the supervisor was killed" in notices(events)
    assert {old.board[0] for old, new in zip(undisturbed, disturbed, strict=True) if old != new} == {2, 5}
    assert "Dealt anew after a fault of the arena itself: match 2, 5." in document_text(store, None)[1]


async def test_a_match_that_is_void_again_and_again_ends_the_tournament(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_play(self: Rotations, match: Match, rotation: int, attempt: int = 0) -> RotationResult:
        raise Void("no supervisor can be started")

    monkeypatch.setattr(Rotations, "play_table", never_play)
    told: list[Event] = []

    with pytest.raises(ArenaError, match="void 3 times through faults of the arena itself"):
        await play(store, told=told)
    assert "match 1 is void and played again: no supervisor can be started" in notices(told)


async def test_faults_are_told_and_counted(store: Store) -> None:
    events = await play(store, bots=entries("Lowest", "Highest", "Random", "Cheat"))

    played = [event for event in events if isinstance(event, TablePlayed)]
    faults = [fault for event in played for fault in event.faults]
    assert all("Cheat 3: illegal" in fault for fault in faults)
    assert len(faults) == len(store.faults(store.tournament().id)) == 3 * 4 * 6


@pytest.mark.slow
async def test_a_bot_that_is_always_retired_plays_no_more_after_the_first_block(store: Store) -> None:
    settings = replace(SETTINGS, boards=24 * 13, players=3, game="heartswitch")
    bots = entries("Lowest", "Highest", "Random", "Cheat")

    events = await play(store, bots=bots, settings=settings, tables=64)

    tournament = store.tournament()
    done = store.matches(tournament.id, done=True)
    assert disqualified_bots(store, tournament) == {"Cheat 3"}
    assert "Cheat 3 is disqualified" in notices(events)
    assert any("Cheat 3" in match.line_up for match in done if match.number <= 50)
    assert not any("Cheat 3" in match.line_up for match in done if match.number > 50)
    assert any(match.number > 50 for match in done)
    assert tournament.finished is not None


@pytest.mark.slow
async def test_who_is_disqualified_does_not_depend_on_stops(tmp_path: Path) -> None:
    settings = replace(SETTINGS, boards=24 * 13, players=3, game="heartswitch")
    bots = entries("Lowest", "Highest", "Random", "Cheat")

    with Store.open(tmp_path / "stopped.db") as store:
        for stop_after in (30, 30, 10):
            with pytest.raises(Interrupted):
                await play(store, bots=bots, settings=settings, tables=1, stop_after=stop_after)
        events = await play(store, bots=bots, settings=settings)
        stopped = document_text(store, None)[1]
    with Store.open(tmp_path / "whole.db") as store:
        await play(store, bots=bots, settings=settings)
        whole = document_text(store, None)[1]

    assert stopped == whole
    assert "disqualified" not in notices(events)  # that was told when it was decided


@pytest.mark.slow
async def test_faults_are_read_once_however_many_blocks_are_played(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    faults = Store.faults

    def count(self: Store, tournament_id: str, *, in_play: bool = False) -> list[StoredFault]:
        read.append(tournament_id)
        return faults(self, tournament_id, in_play=in_play)

    monkeypatch.setattr(Store, "faults", count)
    settings = replace(SETTINGS, boards=24 * 13, players=3, game="heartswitch")

    await play(store, bots=entries("Lowest", "Highest", "Random", "Cheat"), settings=settings, tables=64)

    assert read == [store.tournament().id]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("game", "players", "partners", "bots"),
    [
        ("hearts-special", 4, False, 4),
        ("heartswitch", 4, True, 2),
        ("heartswitch", 5, False, 5),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                *(("hearts-standard", 4, False, 4), ("heartswitch", 3, False, 3)),
                *(("heartswitch", 6, False, 6), ("heartswitch", 6, True, 3)),
            )
        ),
    ],
)
@pytest.mark.parametrize("format_", ["duplicate", "game"])
async def test_every_game_plays_in_both_formats(
    store: Store, game: str, players: int, partners: bool, bots: int, format_: str
) -> None:
    kinds = ("Lowest", "Random", "Highest", "Lowest", "Random", "Lowest")[:bots]
    values = SETTINGS.to_json() | {
        "game": game,
        "players": players,
        "partners": partners,
        "format": format_,
        "boards": 1,
    }

    events = await play(store, settings=Settings.from_json(values), bots=entries(*kinds), tables=64)

    tournament = store.tournament()
    results = list(store.results(tournament.id))
    assert isinstance(events[-1], Finished)
    assert results
    assert {len(result.bots) for result in results} == {players // 2 if partners else players}
    assert not store.faults(tournament.id)
