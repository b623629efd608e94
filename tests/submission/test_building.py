"""Builds: in the sandbox or not at all, within their bounds, and nothing of one that misbehaves is left."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sandboxes import ENFORCED, needs_sandbox
from submitted_bots import ROOT, TERMS, admitted, submit

from arena.finding import Finding, Verdict
from arena.players.family import descendants
from arena.players.isolation import Enforcement
from arena.settings import Isolation
from arena.submission import building
from arena.submission.archive import Bounds
from arena.submission.building import Allowance, build
from arena.submission.shelf import Shelf

ALLOWANCE = Allowance(20.0, 500_000_000, Bounds(unpacked_bytes=20 << 20, files=500))
WHOLE = Allowance(300.0, 2_000_000_000, Bounds())
Build = Callable[..., Awaitable[tuple[Finding, str]]]


@pytest.fixture
def private() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="arena-test-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """A bot's folder, which may become too deep for others to remove."""
    (tree := tmp_path / "tree").mkdir()
    yield tree
    subprocess.run(["rm", "-rf", tree], check=True)


@pytest.fixture
def run(tree: Path, private: Path) -> Build:
    """Return what runs a Python program as a build of `tree` in the sandbox."""

    async def run(program: str, allowance: Allowance = ALLOWANCE) -> tuple[Finding, str]:
        (tree / "build.py").write_text(program)
        return await build(tree, ["python", "build.py"], allowance, ENFORCED, Isolation.AUTO, private)

    return run


@needs_sandbox
async def test_a_build_writes_in_its_folder_and_the_arena_owns_what_it_made(run: Build, tree: Path) -> None:
    (tree / "sub").mkdir()

    finding, log = await run(
        "import os, sys\n"
        "open('sub/made', 'w').write('x'); os.chmod('sub/made', 0o4777); os.mkdir('shut'); os.chmod('shut', 0)\n"
        "open('plain', 'w').close(); os.chmod('plain', 0)\n"
        "print('built', os.getcwd()); print('to stderr', file=sys.stderr)\n"
    )

    assert finding.verdict is Verdict.PASS
    assert sorted(line.split()[0] for line in log.splitlines()) == ["built", "to"]
    states = {path.name: path.stat() for path in tree.rglob("*")}
    assert {name: state.st_mode & 0o7777 for name, state in states.items()} == {
        "build.py": 0o644,
        "plain": 0o644,
        "sub": 0o755,
        "made": 0o755,
        "shut": 0o755,
    }
    assert {state.st_uid for state in states.values()} == {os.geteuid()}


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize(
    "program",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "open('/usr/outside', 'w')",
        f"open({str(ROOT / 'pyproject.toml')!r})",
        "import os; os.kill(os.getppid(), 0) if os.getppid() > 2 else 1 / 0",
    ],
    ids=["network", "system", "others' files", "processes"],
)
async def test_a_build_reaches_nothing_but_its_folder(run: Build, program: str) -> None:
    finding, _ = await run(program)

    assert finding.verdict is Verdict.FAIL
    assert "exited with code 1" in finding.detail


@pytest.mark.slow
@needs_sandbox
async def test_what_a_build_writes_beside_its_folder_is_nowhere(run: Build, tree: Path) -> None:
    await run("try: open('../outside', 'w')\nexcept OSError: pass")

    assert list(tree.parent.iterdir()) == [tree]


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
"""
MAPS = """
import mmap, os, time
maps, name = [], {name!r}
for number in range(8):
    with open(name, "w+b") as file:
        file.write(os.urandom(5_000_000))
        file.flush()
        maps.append(mmap.mmap(file.fileno(), 4096))
    os.closerange(3, 100)
    os.unlink(name)
time.sleep(3600)
"""
MISBEHAVING = {
    "sleeps": ("import time; time.sleep(3600)", "not done within 2 seconds"),
    "fills": ("while True: open('full', 'ab').write(b'x' * 1_000_000)", "File too large|bytes in"),
    "fills with files": (
        "import time\nfor n in range(8): open(f'full{n}', 'wb').write(b'x' * 5_000_000)\ntime.sleep(3600)",
        "bytes in its folder",
    ),
    "unlinks": (
        "import os, time\nfiles = []\nfor number in range(8):\n"
        " files.append(open('gone', 'wb')); os.unlink('gone'); files[-1].write(os.urandom(5_000_000)); files[-1].flush()\n"
        "time.sleep(3600)",
        "bytes in its folder",
    ),
    "maps": (MAPS.format(name="gone"), "bytes in its folder|a file that was deleted is mapped"),
    "maps what seems to be elsewhere": (
        MAPS.format(name="gone\r0-1 r p 0:0 5 x"),
        "bytes in its folder|a file that was deleted is mapped",
    ),
    "maps what seems to be nothing": (
        MAPS.format(name="gone\rx"),
        "bytes in its folder|a file that was deleted is mapped",
    ),
    "maps much": (
        "import mmap, os, time\nmaps = [mmap.mmap(-1, 4096) for _ in range(40_000)]\ntime.sleep(3600)",
        "too many files are open or mapped",
    ),
    "long names": (
        "import os, time\nfor _ in range(20): os.mkdir('n' * 250); os.chdir('n' * 250)\ntime.sleep(3600)",
        "how much is in its folder: File name too long",
    ),
    "shuts": (
        "import os, time\nos.mkdir('shut')\n"
        "for n in range(8): open(f'shut/full{n}', 'wb').write(b'x' * 5_000_000)\n"
        "os.chmod('shut', 0o300); time.sleep(3600)",
        "bytes in its folder",
    ),
    "many files": ("import time\nfor n in range(1000): open(f'{n}', 'w')\ntime.sleep(3600)", "more than 500 files"),
    "prints": ("while True: print('x' * 1000)", "bytes of output"),
    "memory": (
        "x = [bytearray(10_000_000) for _ in range(1000)]; input()",
        r"used more than [\d,]+ MB \(the memory of a build\)",
    ),
    "cache": (
        "import os\nos.write(1, b'')\nfor n in range(9):\n open(f'/tmp/{n}', 'wb').write(os.urandom(90_000_000))",
        "No space left|memory",
    ),
    "fork bomb": (
        "import os, time\nwhile True:\n try: os.fork()\n except OSError: time.sleep(0.1)",
        "not done within 2 seconds|memory",
    ),
    "deep": (
        "import os, time\nfor _ in range(400): os.mkdir('d'); os.chdir('d')\ntime.sleep(0.1)",
        "name|deep|folders|path",
    ),
    "very deep": (
        "import os, time\nfor _ in range(5000): os.mkdir('deep'); os.chdir('deep')\ntime.sleep(0.1)",
        "name|deep|folders|path|files",
    ),
    "link": ("import os; os.symlink('/etc/passwd', 'link')", "link"),
    "pipe": ("import os; os.mkfifo('pipe')", "pipe"),
    "socket": ("import socket; socket.socket(socket.AF_UNIX).bind('socket')", "no file"),
    "signal": ("import os; os.kill(os.getpid(), 11)", "signal 11"),
}


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("way", MISBEHAVING)
async def test_a_build_that_misbehaves_fails_and_leaves_nothing(
    run: Build, tree: Path, private: Path, way: str
) -> None:
    program, complaint = MISBEHAVING[way]
    seconds = 2.0 if "2 seconds" in complaint else 30.0

    finding, log = await run(program, Allowance(seconds, 500_000_000, ALLOWANCE.bounds))

    assert finding.verdict is Verdict.FAIL
    assert re.search(complaint, finding.detail), finding.detail
    assert finding.cure
    assert len(log.encode()) < 1 << 20
    assert list((private / "build").glob("*/*")) == []


@pytest.mark.slow
@needs_sandbox
async def test_daemons_end_with_the_build(run: Build) -> None:
    before = set(descendants(os.getpid()))

    finding, _ = await run(DAEMON)

    assert finding.verdict is Verdict.PASS
    assert set(descendants(os.getpid())) <= before


@pytest.mark.slow
@needs_sandbox
async def test_a_build_that_is_cancelled_ends_at_once(run: Build, tree: Path) -> None:
    before = set(descendants(os.getpid()))
    building = asyncio.ensure_future(run("import time; open('begun', 'w'); time.sleep(3600)"))
    while not (tree / "begun").exists():
        await asyncio.sleep(0.02)

    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building

    assert set(descendants(os.getpid())) <= before
    assert {path.stat().st_uid for path in tree.iterdir()} == {os.geteuid()}


@pytest.mark.slow
@needs_sandbox
async def test_a_disk_that_gets_full_ends_the_build(run: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is seen before the folder is looked at, which may take long."""
    monkeypatch.setattr(building, "FREE_BYTES", 1 << 60)

    finding, _ = await run("import time; time.sleep(3600)", replace(ALLOWANCE, bounds=Bounds(files=0)))

    assert "the disk got full" in finding.detail


@pytest.mark.slow
@needs_sandbox
async def test_a_disk_on_which_no_more_files_fit_ends_the_build(run: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "FREE_FILES", 1 << 60)

    finding, _ = await run("import time; time.sleep(3600)")

    assert "the disk got full" in finding.detail


def test_the_next_look_comes_soon_however_long_one_took() -> None:
    assert [building._rest(took) for took in (0.001, 0.06, 60.0)] == [0.2, pytest.approx(0.3), 0.5]


def test_a_mapping_that_cannot_be_read_is_the_fault_of_the_build() -> None:
    with pytest.raises(OSError, match="what is mapped can't be read"):
        building._mapped_file(os.getpid(), b"x (deleted)\n", 0)


async def test_without_a_sandbox_nothing_is_built(tree: Path, private: Path) -> None:
    words = ["python", "-c", "open('made', 'w')"]

    finding, _ = await build(tree, words, ALLOWANCE, Enforcement(None, "no bwrap"), Isolation.AUTO, private)

    assert (finding.verdict, list(tree.iterdir())) == (Verdict.FAIL, [])
    assert "no bwrap" in finding.detail
    assert finding.cure


async def test_ones_own_bot_is_built_without_a_sandbox_if_one_says_so(tree: Path, private: Path) -> None:
    words = ["python", "-c", f"open('made', 'w'){DAEMON}"]

    finding, _ = await build(tree, words, ALLOWANCE, Enforcement(None), Isolation.NONE, private)

    assert (finding.verdict, [path.name for path in tree.iterdir()]) == (Verdict.WARNING, ["made"])


async def test_what_cannot_be_run_is_told(tree: Path, private: Path) -> None:
    finding, _ = await build(tree, ["./make"], ALLOWANCE, Enforcement(None), Isolation.NONE, private)

    assert finding.verdict is Verdict.FAIL
    assert "make does not exist" in finding.detail


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.beside(tmp_path / "arena.db")


@pytest.mark.slow
@needs_sandbox
async def test_a_build_without_network_says_what_helps(shelf: Shelf, tmp_path: Path) -> None:
    program = "import urllib.request; urllib.request.urlopen('http://example.org')"
    files = {"build.py": program, "bot.yaml": "name: x\ncommand: [./bot]\nbuild: [python, build.py]\n"}

    steps = await admitted(submit(shelf, files, tmp_path / "from", build=True), shelf)

    assert [step.verdict for step in steps.values()] == [Verdict.PASS, Verdict.FAIL, *[Verdict.SKIPPED] * 2]
    assert "vendored" in steps["build"].cure
    assert "build.py" in steps["build"].log
    assert str(tmp_path) not in str(steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    "output",
    [
        "npm error code ENOTCACHED",
        "npm error code EAI_AGAIN",
        "npm error network request failed, reason: getaddrinfo packages.example.org",
        "ERROR: No matching distribution found for numpy",
        "[Errno -3] Temporary failure in name resolution",
    ],
)
async def test_tools_that_miss_the_network_are_understood(tree: Path, private: Path, output: str) -> None:
    words = ["python", "-c", f"raise SystemExit({output!r})"]

    finding, _ = await build(tree, words, ALLOWANCE, Enforcement(None), Isolation.NONE, private)

    assert finding.cure.startswith("there is no network while it is built")


@pytest.mark.slow
async def test_a_manifest_that_builds_is_not_obeyed_unless_it_is_wanted(shelf: Shelf, tmp_path: Path) -> None:
    files = {"bot.yaml": "name: x\ncommand: [./bot]\nbuild: [./no-such-program]\n"}

    steps = await admitted(submit(shelf, files, tmp_path / "from"), shelf)

    assert steps["build"].verdict is Verdict.SKIPPED


PYTHON_BUILD = {
    "source.txt": (ROOT / "sample_bots" / "python" / "lowest.py").read_text(),
    "build.py": "import pathlib\nprint('in', pathlib.Path('x').absolute())\n"
    "pathlib.Path('bot.py').write_text(pathlib.Path('source.txt').read_text())\n",
    "bot.yaml": "name: made\ncommand: [python, bot.py]\nbuild: [python, build.py]\n",
}
C_BUILD = {
    "start.c": '#include <unistd.h>\nint main(void) { return execl("PYTHON", "PYTHON", "bot.py", (char *)0); }\n',
    "bot.py": (ROOT / "sample_bots" / "python" / "lowest.py").read_text(),
    "bot.yaml": "name: compiled\ncommand: [./start]\nbuild: [cc, -o, start, start.c]\n",
}


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "c", "node"])
async def test_a_bot_is_built_and_admitted(shelf: Shelf, tmp_path: Path, language: str) -> None:
    import sys

    program = {"python": "python", "c": "cc", "node": "node"}[language]
    if language != "python" and shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    copying = "const fs = require('fs'); fs.writeFileSync('bot.py', fs.readFileSync('source.txt'));"
    files = {
        "python": PYTHON_BUILD,
        "c": {**C_BUILD, "start.c": C_BUILD["start.c"].replace("PYTHON", sys.executable)},
        "node": {
            **PYTHON_BUILD,
            "build.js": copying,
            "bot.yaml": "name: noded\ncommand: [python, bot.py]\nbuild: [node, build.js]\n",
        },
    }[language]

    steps = await admitted(submit(shelf, files, tmp_path / "from", build=True), shelf)

    assert [step.verdict for step in steps.values()] == [Verdict.PASS] * 4, steps
    assert steps["build"].log == ("in x" if language == "python" else "")


@needs_sandbox
@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_go_bot_is_built_from_vendored_modules(shelf: Shelf, tmp_path: Path, private: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go here")
    source = tmp_path / "go"
    shutil.copytree(ROOT / "sample_bots" / "go", source)
    vendoring = await asyncio.create_subprocess_exec(go, "mod", "vendor", cwd=source, stderr=asyncio.subprocess.PIPE)
    _, said = await vendoring.communicate()
    if vendoring.returncode:
        pytest.skip(f"the modules are not to be had: {said.decode()[-200:]}")

    words = ["go", "build", "-mod=vendor", "-o", "bot", "."]
    finding, log = await build(source, words, WHOLE, ENFORCED, TERMS.isolation, private)

    assert finding.verdict is Verdict.PASS, (finding, log)
    assert os.access(source / "bot", os.X_OK)
