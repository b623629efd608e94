"""A whole competition over real sockets: submissions, refusals, tournaments, a new version, and what is kept."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hostile_archives import HOSTILE
from sandboxes import needs_sandbox
from servers import TERMS, Running, archive_of, python_bot, serving, submitted
from submitted_bots import LOWEST, keep_admitted

from arena.client import (
    NumberedEvent,
    ServerAddress,
    leaderboard_of_server,
    list_bots,
    list_versions,
    run_on_server,
    watch,
    withdraw,
)
from arena.competition import AdmissionStep, Role, State, Version
from arena.errors import BadInput, Refused
from arena.events import Event, Finished, MatchPlayed, Notice
from arena.finding import Verdict
from arena.server.calendar import Calendar
from arena.server.limits import Quotas
from arena.submission.archive import Bounds
from arena.verdict import stored_plan
from arena.verify import verify_tournament

OWNERS = {"ada": Role.CONTESTANT, "bob": Role.CONTESTANT, "carol": Role.ORGANISER}
LARGE = replace(TERMS, admission=replace(TERMS.admission, bounds=Bounds()), admissions=2)

pytestmark = [needs_sandbox, pytest.mark.timeout(600)]


async def play(server: ServerAddress, *, boards: int = 24, **how: bool) -> list[Event]:
    overrides = {"boards": str(boards)}
    return [event async for event in run_on_server(server, "", Path("bots.yaml"), overrides, **how)]


def failing(steps: Mapping[str, AdmissionStep]) -> str:
    """Return which step failed; it has to say the cause and the cure."""
    (step,) = [step for step in steps.values() if step.verdict is Verdict.FAIL]
    assert step.detail
    assert step.cure or ": " in step.detail
    return step.name


async def submit_folder(folder: Path, running: Running, owner: str) -> dict[str, object]:
    """Submit a folder by the command, as its author would, and return what it says."""
    server = running.of(owner)
    environment = {**os.environ, "ARENA_TOKEN": server.token}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "arena", "submit", str(folder), "--json"),
        *("--server", server.address, "--tls-ca", str(server.authority)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode in (0, 1), errors.decode()
    values = json.loads(output)
    assert isinstance(values, dict)
    return values


def new_bot(language: str, folder: Path) -> Path:
    """Make a new bot in a language, with what its build needs; skip the test where its tools are missing."""
    for tool in {"go": ("go",), "node": ("node", "npm")}.get(language, ()):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    made: Sequence[str] = (sys.executable, "-m", "arena", "new-bot", language, str(folder))
    subprocess.run(made, check=True, capture_output=True)
    return folder


@pytest.mark.slow
async def test_a_competition_from_the_first_submission_to_the_last_leaderboard(tmp_path: Path) -> None:
    async with serving(tmp_path, LARGE, tls=True, owners=OWNERS) as running:
        ada, bob, carol = running.of("ada"), running.of("bob"), running.of("carol")
        folders = {language: new_bot(language, tmp_path / f"{language}-bot") for language in ("python", "go", "node")}
        said = await asyncio.gather(
            submit_folder(folders["python"], running, "ada"),
            submit_folder(folders["go"], running, "ada"),
            submit_folder(folders["node"], running, "bob"),
        )
        assert [(each["bot"], each["version"], each["state"]) for each in said] == [
            ("python-bot", 1, "admitted"),
            ("go-bot", 1, "admitted"),
            ("node-bot", 1, "admitted"),
        ]
        version, steps = await submitted(bob, python_bot("careful-bob", "careful"), tmp_path)
        assert version.state is State.ADMITTED
        assert list(steps) == ["unpack", "build", "check", "play"]

        broken = archive_of({"bot.yaml": "name: broken\ncommand: [./bot]\nbuild: [sh, -c, 'echo oh no; exit 3']\n"})
        refused, steps = await submitted(bob, broken, tmp_path)
        assert (refused.state, failing(steps)) == (State.REFUSED, "build")
        assert "oh no" in steps["build"].log
        silent = archive_of(
            {"bot.yaml": "name: silent\ncommand: [python, bot.py]\n", "bot.py": "raise SystemExit(3)\n"}
        )
        refused, steps = await submitted(bob, silent, tmp_path)
        assert (refused.state, failing(steps)) == (State.REFUSED, "check")
        taken, steps = await submitted(bob, python_bot("Python-Bot"), tmp_path)
        assert (taken.state, failing(steps)) == (State.REFUSED, "unpack")
        assert "another owner" in steps["unpack"].detail
        assert sorted(bot.name for bot in await list_bots(running.address)) == [
            *("careful-bob", "go-bot", "node-bot", "python-bot"),
        ]

        events = await play(carol)
        assert isinstance(events[-1], Finished)
        watched = [event async for event in watch(running.address, "", 1)]
        assert [event.event for event in watched] == events
        assert [event.number for event in watched] == list(range(1, len(events) + 1))
        assert [event async for event in watch(running.address, "", 4)] == watched[3:]
        board = json.loads((await leaderboard_of_server(running.address, None))[0])
        assert {row["bot"] for row in board["standings"]} == {"python-bot", "go-bot", "node-bot", "careful-bob"}
        assert all(row["faults"] == 0 for row in board["standings"])

        second, _ = await submitted(bob, python_bot("careful-bob", "counting"), tmp_path)
        assert second.number == 2
        events = await play(carol, incremental=True)
        assert sum(isinstance(event, MatchPlayed) for event in events) == 6  # bob's bot is in every line-up

        third, _ = await submitted(ada, python_bot("fifth", "random_bot"), tmp_path)
        assert third.state is State.ADMITTED
        events = await play(carol, incremental=True)
        assert any(isinstance(event, Notice) and "matches are kept from tournament" in event.text for event in events)
        newest = running.kept.tournament()
        by_number = {match.number: match for match in running.kept.matches(newest.id)}
        played = [by_number[event.match] for event in events if isinstance(event, MatchPlayed)]
        assert played
        assert all("fifth" in match.line_up for match in played)
        verified = verify_tournament(
            running.kept, newest, plan_of=lambda tournament: stored_plan(running.kept, tournament)
        )
        assert verified.kept == len(by_number) - len(played)

        assert (await withdraw(bob, "careful-bob", 1)).current == 1
        assert (await withdraw(bob, "node-bot", 0)).current == 0
        playing = {bot.name: bot.current for bot in await list_bots(running.address) if bot.current}
        assert playing == {"python-bot": 1, "go-bot": 1, "careful-bob": 1, "fifth": 1}
        again, steps = await submitted(bob, python_bot("careful-bob", "counting"), tmp_path)
        assert again.number == 2
        assert "check" not in steps
        assert [version.number for version, _ in (await list_versions(bob, "careful-bob"))[1]] == [1, 2]


@pytest.mark.slow
async def test_every_hostile_archive_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    terms = replace(LARGE, quotas=replace(LARGE.quotas, submissions=1000, calls=10_000))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.txt").write_text("precious")

    async with serving(tmp_path, terms, owners=OWNERS) as running:
        for kind, hostile in HOSTILE.items():
            try:
                version, steps = await submitted(running.of("ada"), hostile.make(), tmp_path)
            except Refused as refused:
                assert refused.reason in ("BAD_ARCHIVE", "TOO_LARGE"), kind
                continue
            assert (version.state, failing(steps)) == (State.REFUSED, "unpack"), kind
            assert str(tmp_path) not in "".join(step.detail + step.cure + step.log for step in steps.values()), kind
        assert await list_bots(running.address) == []
        shelf = running.server.competition.shelf
        assert {path.name for path in shelf.root.rglob("*")} == {".gitignore", "incoming", "staging"}

    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("precious.txt", "precious")]


@pytest.mark.slow
async def test_many_submissions_at_once_all_get_a_verdict(tmp_path: Path) -> None:
    owners = {f"owner {number}": Role.CONTESTANT for number in range(8)}
    async with serving(tmp_path, replace(LARGE, admissions=2), owners=owners) as running:
        names = [(owner, f"bot {number} of {owner}") for owner in owners for number in range(3)]

        decided: list[tuple[Version, Mapping[str, AdmissionStep]]] = await asyncio.gather(
            *(submitted(running.of(owner), python_bot(name), tmp_path) for owner, name in names)
        )

        assert {version.state for version, _ in decided} == {State.ADMITTED}
        assert [bot.name for bot in await list_bots(running.address)] == sorted(name for _, name in names)
        assert running.kept.submissions.waiting() == []


@pytest.mark.slow
async def test_a_bot_is_admitted_and_its_log_read_by_its_owner(tmp_path: Path) -> None:
    async with serving(tmp_path, owners=OWNERS) as running:
        ada = running.of("ada")
        version, steps = await submitted(ada, python_bot("hers"), tmp_path, submission="e" * 32)
        again, repeated = await submitted(ada, python_bot("hers"), tmp_path, submission="e" * 32)
        other, _ = await submitted(ada, python_bot("hers"), tmp_path)

        assert (version.number, version.state) == (1, State.ADMITTED)
        assert again.submission == other.submission == version.submission
        assert list(repeated) == list(steps) == ["unpack", "build", "check", "play"]
        assert "answers Describe" in steps["check"].log
        assert len(running.kept.submissions.versions("hers")) == 1
        _, ((found, _),) = await list_versions(ada, "hers")
        assert found.digest == version.digest


@pytest.mark.slow
async def test_what_comes_out_of_an_archive_counts_for_its_owner(tmp_path: Path) -> None:
    table = random.Random(1).randbytes(20_000) + bytes(1_500_000)
    archive = archive_of({"bot.yaml": "name: large\ncommand: [python, bot.py]\n", "bot.py": "", "table": table})

    async with serving(tmp_path, replace(LARGE, quotas=Quotas(megabytes=1)), owners=OWNERS) as running:
        version, steps = await submitted(running.of("ada"), archive, tmp_path)

    assert version.state is State.REFUSED
    assert "your bots take 1.5 MB of 1 MB" in steps["unpack"].detail


async def test_the_house_takes_the_seat_of_an_admitted_bot_that_does_not_start_any_more(tmp_path: Path) -> None:
    for name, source in {"mine": LOWEST, "exp": "raise SystemExit('the licence is over')"}.items():
        keep_admitted(tmp_path / "served.db", name, source)

    async with serving(tmp_path, owners=OWNERS) as running:
        events = await play(running.of("carol"), boards=4)
        board = json.loads((await leaderboard_of_server(running.address, None))[0])

    told = "\n".join(event.text for event in events if isinstance(event, Notice))
    assert "plays without exp: bot exp: `python bot.py` exited with code 1" in told
    assert "bots of the house play along: counting, careful, lowest" in told
    assert {row["bot"] for row in board["standings"]} == {"mine", "counting", "careful", "lowest"}


@pytest.mark.slow
async def test_bots_of_the_house_take_empty_seats_and_each_fresh_tournament_has_its_own_deals(tmp_path: Path) -> None:
    async with serving(tmp_path, owners=OWNERS) as running:
        await submitted(running.of("ada"), python_bot("hers"), tmp_path)
        carol = running.of("carol")
        first = await play(carol, boards=4)
        again = await play(carol, boards=4)
        fresh = await play(carol, boards=4, fresh=True)
        board = json.loads((await leaderboard_of_server(running.address, None))[0])

    assert any(isinstance(event, Notice) and "bots of the house" in event.text for event in first)
    assert {row["bot"] for row in board["standings"]} == {"hers", "counting", "careful", "lowest"}
    ends = [events[-1] for events in (first, again, fresh)]
    assert ends[0] == ends[1] != ends[2]
    assert sum(isinstance(event, MatchPlayed) for event in again) == 0


async def test_a_calendar_deals_other_cards_each_time(tmp_path: Path) -> None:
    terms = replace(TERMS, config="seed: known", calendar=Calendar(every=timedelta(hours=1)))

    with pytest.raises(BadInput, match="leave it out"):
        async with serving(tmp_path, terms):
            pass


async def test_the_calendar_plays_once_for_each_time_that_is_due(tmp_path: Path) -> None:
    config = "boards: 4\nbots:\n" + "".join(
        f"  - {{name: {name}, python: 'in_process:Lowest'}}\n" for name in ("a", "b", "c", "d")
    )
    terms = replace(TERMS, config=config, calendar=Calendar(every=timedelta(hours=1)))

    for _ in range(2):
        async with serving(tmp_path, terms) as running:
            async with asyncio.timeout(30):
                while not [each for each in running.kept.tournaments() if each.finished]:
                    await asyncio.sleep(0.05)
            tournaments = running.kept.tournaments()

    assert len(tournaments) == 1
    assert {entry.name for entry in tournaments[0].entries} == {"a", "b", "c", "d"}


@pytest.mark.slow
async def test_a_server_that_stops_says_so_and_goes_on_when_it_starts_again(tmp_path: Path) -> None:
    config = "boards: 2400\nbots:\n" + "".join(
        f"  - {{name: {name}, python: 'in_process:Lowest'}}\n" for name in ("a", "b", "c", "d")
    )
    seen: list[NumberedEvent] = []
    async with serving(tmp_path) as running:

        async def look() -> None:
            async for event in watch(running.address, "", 1):
                seen.append(event)

        running_it = asyncio.create_task(_drain(running.address, config))
        while not running.kept.tournaments():
            await asyncio.sleep(0.05)
        watching = asyncio.create_task(look())
        while sum(isinstance(event.event, MatchPlayed) for event in seen) < 3:
            await asyncio.sleep(0.02)
        await running.server.close(5.0)
        for task in (watching, running_it):
            task.cancel()
        await asyncio.gather(watching, running_it, return_exceptions=True)

    async with serving(tmp_path) as running:
        rest = [event async for event in watch(running.address, "", seen[-1].number + 1)]
        tournament = running.kept.tournament()
        progress = running.kept.progress(tournament.id)

    assert isinstance(rest[-1].event, Finished)
    assert tournament.finished is not None
    assert progress.done == progress.matches
    assert [event.number for event in [*seen, *rest]] == list(range(1, rest[-1].number + 1))
    matches = [event.event.match for event in [*seen, *rest] if isinstance(event.event, MatchPlayed)]
    assert sorted(matches) == list(range(1, progress.matches + 1))


async def _drain(server: ServerAddress, config: str) -> None:
    async for _ in run_on_server(server, config, Path("/bots.yaml"), {}):
        pass
