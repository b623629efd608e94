"""`arena submit`: what it asks for, what it says, and what it leaves in the database."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from programs import arena_in
from rich.console import Console
from scripted_server import End, scripted
from submitted_bots import LOWEST

from arena.cli import run
from arena.cli.admission import print_step
from arena.competition import LOCAL, AdmissionStep, Role, State, Version
from arena.finding import Verdict
from arena.manifest import load_manifest
from arena.store import Store
from arena.submission.package import pack
from arena.submission.shelf import Shelf
from arena.tokens import draw_token
from arena.v1 import arena_pb2

_, TOKEN = draw_token("alice", Role.CONTESTANT)
BROKEN = "import sys\nsys.exit('no licence')\n"


def make_bot(folder: Path, program: str = LOWEST, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "bot.yaml").write_text(f"name: mine\ncommand: [python, bot.py]\n{more}")
    (folder / "bot.py").write_text(program)
    return folder


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_STORE", str(path))
    monkeypatch.delenv("ARENA_SERVER", raising=False)
    return path


def versions(store: Path) -> list[tuple[int, State]]:
    with Store.open(store) as opened:
        return [(each.number, each.state) for each in opened.submissions.versions("mine")]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Submit a folder"),
        (["--address", "127.0.0.1:1"], "needs the --name"),
        ([".", "--address", "127.0.0.1:1", "--name", "x"], "Submit a folder"),
        ([".", "--author", "me"], "go with --address"),
        ([".", "--tls-cert", "bot.yaml", "--server", "x:1"], "go together"),
        (["missing"], "does not exist"),
        (["bot.py"], "bot.py is no archive (tar, tar.gz, tar.xz, tar.bz2 or zip); name the bot's folder instead:"),
        (["../bot/bot.py", "--server", "127.0.0.1:1"], "arena submit ../bot\n"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(make_bot(tmp_path / "bot"))

    assert run(["submit", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not store.exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [(["--name", "a\x1b[31mb"], "can't be a bot's name"), (["--name", "x", "--game", "chess"], "no game is called")],
    ids=["name", "game"],
)
def test_a_bot_at_an_address_is_held_to_the_same_rules_as_on_a_server(
    more: list[str], told: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["submit", "--address", "127.0.0.1:1", *more]) == 2
    assert told in capsys.readouterr().err
    with Store.open(store) as opened:
        assert opened.submissions.waiting() == []


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ("name: mine\ncommand: [python]\nautor: me\n", ":3:1: "),
        ("name: [a]\ncommand: [python]\n", ":1:7: "),
        ("name: mine\n", "command"),
    ],
)
def test_a_manifest_is_told_line_and_column(
    manifest: str, told: str, tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_bot(tmp_path / "bot")
    (folder / "bot.yaml").write_text(manifest)

    assert run(["submit", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "bot.yaml" in error
    assert told in error
    assert not store.exists()


def test_a_build_that_fails_shows_what_it_wrote(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_bot(tmp_path / "bot", more="build: [python, -c, \"print('missing bracket'); exit(3)\"]\n")

    assert run(["submit", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "exited with code 3" in error
    assert "missing bracket" in error
    assert not store.exists()


@pytest.mark.slow
def test_a_refused_bot_is_told_step_cause_and_cure(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_bot(tmp_path / "bot", BROKEN)

    assert run(["submit", str(folder), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    steps = {step["step"]: step for step in document["steps"]}
    assert (document["bot"], document["state"], document["same"]) == ("mine", "refused", False)
    assert [step["verdict"] for step in document["steps"]] == ["pass", "skipped", "fail", "skipped"]
    assert "no licence" in steps["check"]["detail"]
    assert steps["check"]["cure"]
    assert run(["bots", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.slow
def test_what_an_earlier_command_left_waiting_is_decided(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, submission = make_bot(tmp_path / "bot", BROKEN), "a" * 32
    pack(folder, load_manifest(folder), Shelf.beside(store).incoming(submission))
    with Store.open(store) as opened:
        opened.submissions.receive(Version(submission, LOCAL, State.WAITING, datetime.now(UTC)))

    assert run(["submit", str(folder)]) == 1

    output = capsys.readouterr()
    assert "goes on with what was submitted" in output.err
    assert "no licence" in output.out
    with Store.open(store) as opened:
        left = opened.submissions.find(submission)
        assert left is not None
        assert left.state is State.REFUSED
        assert opened.submissions.waiting() == []


@pytest.mark.slow
def test_a_bot_is_submitted_changed_withdrawn_and_brought_back(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_bot(tmp_path / "bot")

    assert run(["submit", str(folder)]) == 0
    assert "mine, version 1, is admitted" in capsys.readouterr().out
    assert run(["submit", str(folder)]) == 0
    assert "mine: this is version 1 already" in capsys.readouterr().out
    assert versions(store) == [(1, State.ADMITTED)]
    make_bot(folder, f"{LOWEST}\n# changed\n")
    assert run(["submit", str(folder)]) == 0
    assert versions(store) == [(1, State.ADMITTED), (2, State.ADMITTED)]

    for arguments, version in (([], None), (["--back-to", "1"], 1)):
        assert run(["withdraw", "mine", *arguments]) == 0
        capsys.readouterr()
        assert run(["bots", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["version"] == version
    assert run(["withdraw", "mine", "--back-to", "9"]) == 2
    assert run(["bots", "mine", "--log", "check", "--version", "2"]) == 0
    assert "starts in time" in capsys.readouterr().out


async def test_a_server_is_sent_the_package_and_its_verdict_shown(tmp_path: Path) -> None:
    make_bot(tmp_path / "bot")
    arena = arena_in(tmp_path, ARENA_TOKEN=TOKEN)
    step = arena_pb2.AdmissionStep(
        name="check", verdict=arena_pb2.ADMISSION_VERDICT_FAILED, detail="d\x1b[2J", cure="c"
    )
    refused = arena_pb2.Version(bot="mine", state=arena_pb2.VERSION_STATE_REFUSED)
    answers = [
        arena_pb2.SubmitBotResponse(event=arena_pb2.AdmissionEvent(step=step)),
        arena_pb2.SubmitBotResponse(event=arena_pb2.AdmissionEvent(decided=refused)),
    ]
    async with scripted([End()], answers) as server:
        nobody = await asyncio.to_thread(arena, "submit", "bot", "--server", server.address)
        done = await asyncio.to_thread(arena, "submit", "bot", "--server", server.address)

    assert nobody.returncode == 2
    assert "no arena answers" in nobody.stderr
    assert done.returncode == 1
    assert "cure: c" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert server.tokens == [f"Bearer {TOKEN}"] * 2
    assert len(server.archives[0]) == server.asked[1].archive.size


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_step_wraps_between_words_for_people_and_not_at_all_for_programs(terminal: bool) -> None:
    step = AdmissionStep("check", Verdict.FAIL, "one two three four " * 5, "mend the five \x1b[31m words " * 3)
    console = Console(file=(written := io.StringIO()), force_terminal=terminal, width=40, color_system=None)

    print_step(console, step)

    lines = written.getvalue().splitlines()
    assert "\x1b" not in written.getvalue()
    assert "one two three four one" in " ".join(written.getvalue().split())
    assert lines[0].split()[:2] == ["check", "fail"]
    if terminal:
        assert max(map(len, lines)) <= 40
        assert all(line.startswith(" " * 16) for line in lines[1:])
    else:
        assert len(lines) == 2


@pytest.mark.parametrize("command", ["submit", "check"])
def test_a_misnamed_manifest_is_named(
    command: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "Bot.yml").touch()

    assert run([command, str(tmp_path / "bot")]) == 2
    assert "; 'Bot.yml' is there: rename it to bot.yaml" in capsys.readouterr().err
    assert not store.exists()


@pytest.mark.slow
def test_what_is_left_out_is_listed_by_rule_and_named_where_it_is_missed(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_bot(tmp_path / "bot", f"open('weights.bin')\n{LOWEST}")
    for name in ("weights.bin", *(f"{number}.tmp" for number in range(9))):
        (folder / name).touch()
    (folder / ".gitignore").write_text("*.bin\n*.tmp\n")

    assert run(["submit", str(folder), "--json"]) == 1

    output = capsys.readouterr()
    assert "left out (*.bin in .gitignore): weights.bin\n" in output.err
    assert "left out (*.tmp in .gitignore): 0.tmp, 1.tmp, 2.tmp, 3.tmp, 4.tmp, 5.tmp and 3 more\n" in output.err
    (step,) = [step for step in json.loads(output.out)["steps"] if step["verdict"] == "fail"]
    assert step["cure"].startswith("weights.bin is left out, by *.bin in .gitignore: list it under `pack` in bot.yaml")
    (folder / "bot.yaml").write_text("name: mine\ncommand: [python, bot.py]\npack: [weights.bin]\n")
    assert run(["submit", str(folder)]) == 0
