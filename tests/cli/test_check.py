"""What `arena check` promises as a command: which bot it checks, what it prints where, and its exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from arena.cli import run
from arena.conformance import STEPS
from arena.sdk import Bot, Card, Decision, create_server

BOTS = Path(__file__).parent.parent / "players" / "bots"
EXITING = ("python", str(BOTS / "misbehaving.py"), "exit")
QUICK = ("--quick", "--game", "hearts-classic", "--isolation", "none")

SOUND = """\
from arena.sdk import Bot


class Lowest(Bot):
    name = "lowest"

    def play(self, view):
        return view.legal[0]


if __name__ == "__main__":
    Lowest().run()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a sound bot."""
    (tmp_path / "mine.py").write_text(SOUND, encoding="utf-8")
    return tmp_path


def verdicts(text: str) -> dict[str, str]:
    """Return the verdicts of a document, by step."""
    return {step["step"]: step["verdict"] for step in json.loads(text)["steps"]}


def test_a_step_a_line_with_cause_and_cure_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *QUICK, "--", *EXITING]) == 1

    output = capsys.readouterr()
    lines = output.out.splitlines()
    failed = next(line for line in lines if line.startswith(" 2 fail"))
    assert failed.startswith(" 2 fail        starts in time and answers Describe: bot misbehaving: `python ")
    assert failed.endswith("it wrote: no model file")
    cure, *wrote = lines[lines.index(failed) + 1 :][:3]
    assert cure.startswith("   cure: ")
    assert wrote == ["   it wrote:", "      no model file"]
    assert not any("skipped" in line for line in lines)
    assert lines[-1] == (
        f"misbehaving is not ready to compete: it does not start, which the other {len(STEPS) - 1} steps need"
    )
    assert output.err.splitlines()[0] == f"step 1 of {len(STEPS)}: is built"
    assert len(output.err.splitlines()) == len(STEPS)


def test_json_is_all_that_stdout_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *QUICK, "--json", "--", *EXITING]) == 1

    document = json.loads(capsys.readouterr().out)
    assert (document["bot"], document["ready"]) == ("misbehaving", False)
    assert [step["number"] for step in document["steps"]] == list(range(1, len(STEPS) + 1))
    assert set(document["steps"][1]) == {
        *("number", "step", "title", "verdict", "detail", "cure", "output", "figures", "seconds"),
    }
    assert document["steps"][1]["output"] == "no model file"
    assert document["steps"][1]["verdict"] == "fail"


@pytest.mark.slow
def test_a_folder_is_built_and_checked_by_its_manifest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = [sys.executable, "-c", "import shutil; shutil.copy('mine.py', 'built.py')"]
    manifest = {"name": "my-bot", "command": ["python", "built.py"], "build": build, "games": ["hearts-classic"]}
    (folder / "bot.yaml").write_text(json.dumps(manifest), encoding="utf-8")

    assert run(["check", str(folder), "--quick", "--isolation", "none", "--json"]) == 0

    output = capsys.readouterr().out
    assert json.loads(output)["bot"] == "my-bot"
    assert json.loads(output)["ready"] is True
    assert verdicts(output)["build"] == "pass"
    assert "fail" not in verdicts(output).values()
    assert json.loads(output)["steps"][3]["detail"] == "hearts-classic for 4"


@pytest.mark.slow
def test_a_name_in_bots_yaml_is_checked_within_its_limits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bots = folder / "bots.yaml"
    bots.write_text(
        "time: {startup: 1.5s}\nisolation: none\nbots:\n"
        f"  - {{name: Sleepy, command: [python, misbehaving.py, sleep], directory: {BOTS}}}\n"
        '  - {name: classy, python: "mine:Lowest"}\n',
        encoding="utf-8",
    )

    assert run(["check", "sleepy", "--bots", str(bots)]) == 1
    assert "did not answer Describe within 1.5 s" in capsys.readouterr().out
    assert run(["check", "sleepy", "--bots", str(bots), "--startup-time", "700ms"]) == 1
    assert "did not answer Describe within 0.7 s" in capsys.readouterr().out


@pytest.mark.slow
def test_a_class_is_checked_as_the_program_that_it_would_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bots = folder / "bots.yaml"
    entries = ('{name: classy, python: "mine:Lowest"}', '{name: other, python: "mine:Lowest"}')
    bots.write_text("bots:\n" + "".join(f"  - {entry}\n" for entry in entries), encoding="utf-8")

    assert run(["check", "classy", "--bots", str(bots), *QUICK, "--json"]) == 0
    assert verdicts(capsys.readouterr().out)["restart"] in ("pass", "warning")


class Lowest(Bot):
    def play(self, view: Decision) -> Card:
        return view.legal[0]


@contextmanager
def serving() -> Iterator[str]:
    """Serve a bot in a thread of its own, and give its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server, port = asyncio.run_coroutine_threadsafe(create_server(Lowest(), "127.0.0.1:0"), loop).result()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.slow
@pytest.mark.parametrize("option", [[], ["--address"]], ids=["BOT", "--address"])
def test_an_address_is_checked(capsys: pytest.CaptureFixture[str], option: Sequence[str]) -> None:
    with serving() as address:
        assert run(["check", *option, address, *QUICK, "--json"]) == 0

    found = verdicts(capsys.readouterr().out)
    assert found["legal"] == "pass"
    assert {found[step.name] for step in STEPS if step.of_process} == {"skipped"}


@pytest.mark.slow
def test_the_summary_counts_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as address:
        assert run(["check", address, *QUICK]) == 0

    summary = capsys.readouterr().out.splitlines()[-1].partition(": ")[2]
    counts = re.findall(r"(\d+) (?:passed|failed|warnings?|skipped|for information)", summary)
    assert sum(map(int, counts)) == len(STEPS)
    assert "1 for information" in summary


def test_progress_and_table_are_drawn_on_a_terminal() -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "arena", "check", *QUICK, "--", *EXITING]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "140"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while chunk := os.read(master, 65536):
                shown += chunk
    os.close(master)
    text = shown.decode()

    assert process.returncode == 1
    assert "\x1b[1;31mfail" in text
    assert "starts in time and answers Describe" in text
    assert "before step 2 failed, it wrote:" in text
    assert "      no model file" in text
    assert "misbehaving is not ready to compete" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name one bot"),
        (["mine", "--address", "127.0.0.1:1"], "Name one bot"),
        (["--address", "nowhere"], "'nowhere' is no address: write host:port or unix:/path/of/socket"),
        (["--address", "unix:/" + "x" * 107], "the path has 108 bytes, and that of a socket can have 10"),
        (["unix:rel.sock"], "unix: needs an absolute path after it, as in unix:/tmp/bot.sock"),
        (["unix:"], "unix: needs an absolute path after it, as in unix:/tmp/bot.sock"),
        (["--address", "unix:a.sock"], "unix: needs an absolute path after it, as in unix:/tmp/bot.sock"),
        (["nobody"], "'nobody' is no folder, address or program, and there is no bots.yaml"),
        (["."], "has no manifest: write bot.yaml"),
        (["a:1", "--game", "harts"], "No game is called 'harts'"),
        (["a:1", "--bank", "much"], "--bank: write a time such as 1s"),
        (["a:1", "--decision-time", "0"], "--decision-time: a time is from 0.001"),
        (["a:1", "--isolation", "tin"], "'tin' is not one of"),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else None,
)
def test_bad_usage_has_exit_code_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["check", *arguments]) == 2

    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""
    assert "Traceback" not in output.err


def test_a_folder_without_a_manifest_has_its_bot_in_bots_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bots = "".join(f"  - {{name: {name}, command: [python, -m, gone]}}\n" for name in ("other", "My-Bot"))
    for name in ("my-bot", "stranger"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bots.yaml").write_text(f"bots:\n{bots}", encoding="utf-8")

    assert run(["check", str(tmp_path / "my-bot"), *QUICK]) == 1
    assert "My-Bot is not ready" in capsys.readouterr().out
    assert run(["check", str(tmp_path / "stranger"), *QUICK]) == 2
    assert "has no manifest bot.yaml, and 'stranger' is no bot of" in capsys.readouterr().err


def test_a_manifest_that_is_wrong_is_told_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bot.yaml").write_text("name: a\ncommand: python bot.py\n", encoding="utf-8")

    assert run(["check", str(folder)]) == 2
    assert f"{folder / 'bot.yaml'}:2:10: write the program and its arguments as a list" in capsys.readouterr().err
