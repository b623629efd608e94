"""The sample bots in other languages play exactly as careful.py does, and serve as the protocol asks.

Each is built in the project that `arena new-bot` makes of it, with what its language's tools fetch; where these tools are
missing, it is skipped.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict

import arena.cli
from arena.cli.new_bot import LANGUAGES
from arena.v1 import bot_pb2, bot_pb2_grpc

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_bots"
BATCH = 128


TOOLS = {"go": ("go",), "node": ("node", "npm")}
"""The languages, and the programs that their bots are built and run with."""


def run(line: str, folder: Path) -> None:
    """Run a command line to its success; fail with what it wrote otherwise."""
    done = subprocess.run(shlex.split(line), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{line} in {folder}:\n{done.stdout}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the bots that have been built so far."""
    return {"": tmp_path_factory.mktemp("built")}


def build(language: str, built: dict[str, Path]) -> Path:
    """Return the folder of a new bot in a language, built there; skip the test if its tools are missing."""
    for tool in TOOLS[language]:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    if language not in built:
        folder = built[""] / f"careful-{language}"
        assert arena.cli.run(["new-bot", language, str(folder)]) == 0
        for line in LANGUAGES[language].build:
            run(line, folder)
        built[language] = folder
    return built[language]


@pytest.fixture(params=TOOLS)
def language(request: pytest.FixtureRequest) -> str:
    """Each language."""
    return str(request.param)


@pytest.fixture
def folder(language: str, built: dict[str, Path]) -> Path:
    """The folder where the language's bot has been built."""
    return build(language, built)


@contextmanager
def serving(command: Sequence[str], folder: Path, address: str) -> Iterator[tuple[subprocess.Popen[bytes], Any]]:
    """Start a bot at an address; yield its process and a stub that calls it."""
    environment = {**os.environ, "ARENA_BOT_ADDRESS": address}
    options = [("grpc.default_authority", "localhost"), ("grpc.enable_http_proxy", 0)]
    with (
        subprocess.Popen(command, cwd=folder, env=environment) as process,
        grpc.insecure_channel(address, options) as channel,
    ):
        try:
            yield process, bot_pb2_grpc.BotServiceStub(channel)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def vectors() -> list[tuple[bot_pb2.Decision, list[int]]]:
    """Decisions, with the choices that careful.py makes."""
    lines = gzip.decompress((SAMPLES / "vectors" / "careful.jsonl.gz").read_bytes()).splitlines()
    return [
        (ParseDict(vector["decision"], bot_pb2.Decision()), vector["choice"]["cards"])
        for vector in map(json.loads, lines)
    ]


def test_a_bot_makes_exactly_the_recorded_choices(
    language: str, folder: Path, tmp_path: Path, vectors: list[tuple[bot_pb2.Decision, list[int]]]
) -> None:
    chosen: list[list[int]] = []
    with serving(LANGUAGES[language].command, folder, f"unix:{tmp_path}/s") as (_process, stub):
        described = stub.Describe(bot_pb2.DescribeRequest(), wait_for_ready=True, timeout=30)
        for first in range(0, len(vectors), BATCH):
            request_id = 2**64 - 1 - first
            decisions = [decision for decision, _cards in vectors[first : first + BATCH]]
            reply = stub.Decide(bot_pb2.DecideRequest(request_id=request_id, decisions=decisions), timeout=30)
            assert reply.request_id == request_id
            chosen += [list(choice.cards) for choice in reply.choices]

    assert described.name == f"careful-{language}"
    assert described.max_batch == BATCH
    assert chosen == [cards for _decision, cards in vectors]


def test_a_bot_passes_every_step_of_arena_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = arena.cli.run(["check", str(folder), "--json"])

    steps = json.loads(capsys.readouterr().out)["steps"]
    assert code == 0, steps
    assert [step for step in steps if step["verdict"] == "fail"] == []
    assert [step["verdict"] for step in steps if step["step"] == "unknown"] == ["pass"]


def test_a_bot_that_does_not_care_how_deals_end_says_so(language: str, folder: Path, tmp_path: Path) -> None:
    with serving(LANGUAGES[language].command, folder, f"unix:{tmp_path}/s") as (_process, stub):
        with pytest.raises(grpc.RpcError) as failed:
            stub.FinishDeals(bot_pb2.FinishDealsRequest(), wait_for_ready=True, timeout=30)

        assert failed.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_sigterm_ends_a_bot_and_removes_its_socket(language: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(LANGUAGES[language].command, folder, f"unix:{path}") as (process, stub):
        stub.Describe(bot_pb2.DescribeRequest(), wait_for_ready=True, timeout=30)
        assert path.is_socket()

        process.send_signal(signal.SIGTERM)

        assert process.wait(10) == 0
        assert not path.exists()


def test_without_an_address_a_bot_says_what_to_do(language: str, folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ARENA_BOT_ADDRESS"}
    done = subprocess.run(
        LANGUAGES[language].command, cwd=folder, env=environment, capture_output=True, text=True, timeout=30
    )

    assert done.returncode != 0
    assert "ARENA_BOT_ADDRESS=127.0.0.1:50051" in done.stderr


def test_a_bots_own_tests_pass(language: str, folder: Path) -> None:
    run(LANGUAGES[language].test, folder)


def entry(name: str, command: Sequence[str], folder: Path) -> str:
    """Return a bot as bots.yaml lists it."""
    return (
        f"  - {json.dumps({'name': name, 'command': list(command), 'directory': str(folder), 'tcp': name == 'node'})}\n"
    )


def play(folder: Path, entries: Sequence[str]) -> dict[str, Any]:
    """Play a short tournament of these bots, and return what is written of it."""
    folder.mkdir()
    (folder / "bots.yaml").write_text("game: heartswitch\nboards: 24\nseed: languages\nbots:\n" + "".join(entries))
    command = [sys.executable, "-m", "arena", "tournament", "--bots", "bots.yaml", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written: dict[str, Any] = json.loads(done.stdout)
    return written


def test_a_tournament_ends_as_it_does_among_bots_in_python(built: dict[str, Path]) -> None:
    python = SAMPLES / "python"
    bots = {name: (LANGUAGES[name].command, build(name, built)) for name in TOOLS}
    careful = (("python", "careful.py"), python)
    lowest = entry("lowest", ("python", "lowest.py"), python)

    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
        mixed = play(
            Path(scratch) / "mixed",
            [*(entry(name, *bot) for name, bot in bots.items()), entry("python", *careful), lowest],
        )
        python_only = play(Path(scratch) / "python", [*(entry(name, *careful) for name in (*bots, "python")), lowest])

    assert [row["faults"] for row in mixed["standings"]] == [0, 0, 0, 0]
    assert mixed["standings"] == python_only["standings"]
    assert mixed["standings"][-1]["bot"] == "lowest"


@pytest.mark.parametrize("language", TOOLS)
def test_committed_stubs_are_those_of_the_protocol(language: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="needs the dev extra")
    for tool in TOOLS[language]:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")

    run(shlex.join([sys.executable, "proto/generate.py", "--language", language, "--into", str(tmp_path)]), ROOT)

    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert len(made) == 3
    assert made == {path: (SAMPLES / language / path).read_bytes() for path in made}
