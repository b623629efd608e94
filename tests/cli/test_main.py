from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest

from arena import __version__, cli
from arena.errors import ArenaError, BadConfig, BadInput, BotUnusable, IllegalChoice, Interrupted, Malformed

HEAVY = ("sqlalchemy", "alembic", "grpc", "google.protobuf", "numpy", "pydantic", "ruamel", "rich", "asyncio")


def arena(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arena", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=60,
    )


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Runs a command that raises an error, and returns the exit code."""

    def run(error: BaseException, *options: str) -> int:
        @click.command
        def command() -> None:
            raise error

        module = ModuleType("arena.cli.fail")
        module.command = command  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "arena.cli.fail", module)
        monkeypatch.setattr(cli, "COMMANDS", {"fail": "Fail."})
        return cli.run([*options, "fail"])

    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("wrong"), 2),
        (BadConfig(("a:1:1: wrong", "a:2:1: worse")), 2),
        (BotUnusable("wrong"), 2),
        (IllegalChoice("wrong"), 2),
        (Malformed("wrong"), 2),
        (ArenaError("wrong"), 2),
        (click.UsageError("wrong"), 2),
        (click.ClickException("wrong"), 2),
        (Interrupted("wrong"), 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_error_gives_its_message_and_exit_code(
    failing: Callable[[BaseException], int], capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert failing(error) == code

    output, errors = capsys.readouterr()
    assert output == ""
    assert "wrong" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()], ids=["ctrl-c", "abort"])
def test_an_interrupted_command_can_be_resumed(failing: Callable[[BaseException], int], error: BaseException) -> None:
    assert failing(error) == 3


@pytest.mark.parametrize("code", [0, 1, 4])
def test_a_command_chooses_its_exit_code(failing: Callable[[BaseException], int], code: int) -> None:
    assert failing(click.exceptions.Exit(code)) == code


def test_an_unexpected_error_is_an_apology_with_a_log(
    failing: Callable[[BaseException], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(KeyError("odd")) == 70

    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    assert "sorry, this is a fault of Arena itself (KeyError: 'odd')" in errors
    log = Path(re.search(r"report it with (\S+)\.\n", errors)[1])  # type: ignore[index]
    assert "Traceback" in log.read_text()
    log.unlink()


def test_debug_shows_where_an_error_comes_from(failing: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyError("odd"), "--debug") == 70
    assert "Traceback" in capsys.readouterr().err


def test_the_broken_pipe_of_something_else_is_not_hidden(
    failing: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(BrokenPipeError("a bot's"), "--debug") == 70
    assert "a bot's" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--debug",), "Missing command"),
        (("gmes",), "There is no command 'gmes'; did you mean 'games'?"),
        (("xyzzy",), "There is no command 'xyzzy'; choose one of "),
        (("--colour",), "No such option"),
        (("games", "--jso"), "No such option"),
        (("show",), "Missing argument 'MATCH'"),
        (("show", "twelve"), "'MATCH': 'twelve' is no whole number: write one such as 1."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_told_with_exit_code_2(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2

    output, errors = capsys.readouterr()
    assert output == ""
    assert message in errors


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([option]) == 0
    assert capsys.readouterr().out == f"arena, version {__version__}\n"


@pytest.mark.parametrize("arguments", [[], *([name] for name in cli.COMMANDS), ["token", "create"], ["token", "log"]])
def test_help_fits_a_terminal_of_80_columns(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert cli.run([*arguments, "--help"]) == 0

    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([name, "--help"]) == 0

    text = capsys.readouterr().out
    assert f"Usage: arena {name}" in text
    assert re.search(rf"Examples?:\n +arena {name}", text)


@pytest.mark.parametrize("words", [[], ["tournament"], ["token", "create"]], ids=" ".join)
def test_help_is_a_command_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*words, "--help"]) == 0
    wanted = capsys.readouterr().out

    assert cli.run(["help", *words]) == 0
    assert capsys.readouterr().out == wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [(["gmes"], "did you mean 'games'?"), (["games", "x"], "has no commands of its own: leave 'x' out")],
    ids=["unknown", "no group"],
)
def test_help_of_no_command_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["help", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["completion", shell]) == 0
    assert f"_ARENA_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "complete"),
    [
        ("arena t", {"tournament", "token"}),
        ("arena token re", {"revoke"}),
        ("arena tournament --isol", {"--isolation"}),
        ("arena new-bot ", {"python", "go", "node"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_typed_is_completed(typed: str, complete: set[str]) -> None:
    place = len(typed.split()) - (not typed.endswith(" "))
    done = arena(_ARENA_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(place))

    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == complete


@pytest.mark.parametrize("name", ["check", "leaderboard", "fairness", "verify", "watch", "games"])
def test_the_usage_line_marks_what_may_be_left_out(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([name, "--help"]) == 0

    assert re.match(rf"Usage: arena {name} \[OPTIONS\] \[[A-Z]+\]\n", capsys.readouterr().out)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]], ids=["nothing", "long", "short"])
def test_the_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 0

    text = capsys.readouterr().out
    assert re.search(r"Examples:\n +arena new-bot .*\n +arena check .*\n +arena submit .*arena tournament", text)
    assert all(re.search(rf"^  {name} +{cli.COMMANDS[name][:20]}", text, re.MULTILINE) for name in cli.COMMANDS)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("gmes",), ("show", "--help")], ids=" ".join)
def test_help_and_usage_errors_need_no_heavy_import(arguments: tuple[str, ...]) -> None:
    blocked = f"""
import sys
sys.modules.update(dict.fromkeys({HEAVY!r}))
from arena.cli import run
sys.exit(run({list(arguments)!r}))
"""
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, encoding="utf-8")

    assert done.returncode == (2 if arguments == ("gmes",) else 0), done.stderr
    assert "Usage" in done.stdout + done.stderr or __version__ in done.stdout


def test_help_is_there_at_once() -> None:
    def processor_seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        arena("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(processor_seconds() for _ in range(3)) < 0.3


def test_a_reader_that_leaves_early_ends_the_command_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "arena", "games", "--json"], stdout=writing, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "arena", "games"], stdout=full, stderr=subprocess.PIPE, encoding="utf-8", timeout=60
        )

    assert done.returncode == 2
    assert done.stderr == "arena: the output can't be written: No space left on device\n"


def test_a_command_works_without_any_output() -> None:
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m arena games >&- 2>&-"], timeout=60)

    assert done.returncode == 0


def test_a_console_of_another_encoding_gets_what_it_can_show(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arena", "show", "1", "--store", "蝶.db"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        cwd=tmp_path,
        timeout=60,
    )

    assert done.returncode == 2
    assert done.stderr.decode("cp1252").count("/?.db does not exist") == 1


def test_output_without_a_terminal_has_no_control_codes() -> None:
    assert "\x1b" not in arena("games", "heartswitch").stdout


@pytest.mark.parametrize("folder", ["arena", "leaderboard"])
def test_every_style_can_be_read_on_white_and_on_black(folder: str) -> None:
    sources = Path(cli.__file__).parents[2].joinpath(folder).rglob("*.py")
    styled = re.compile(r"""["'](?:bold |dim )?(yellow|cyan|green|white|blue|black)["']""")
    found = {path.name for path in sources if styled.search(path.read_text(encoding="utf-8"))}

    assert found == set()


def test_json_is_all_there_is_on_stdout() -> None:
    done = arena("games", "--json")

    assert done.stderr == ""
    assert [game["name"] for game in json.loads(done.stdout)][:1] == ["hearts-classic"]
