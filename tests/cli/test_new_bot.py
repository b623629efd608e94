"""`arena new-bot` makes projects that are complete, named after their folder, and ready to play."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from arena.cli import run
from arena.cli.new_bot import LANGUAGES
from arena.config import load_config
from arena.errors import BadConfig
from arena.files import bot_files
from arena.manifest import load_manifest
from arena.store import Store
from arena.submission.archive import unpack
from arena.submission.package import pack
from arena.submission.shelf import Shelf

ROOT = Path(__file__).parent.parent.parent

every_language = pytest.mark.parametrize("language", LANGUAGES)


def make(language: str, folder: Path) -> Path:
    """Make a project and return its folder."""
    assert run(["new-bot", language, str(folder)]) == 0
    return folder


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@every_language
def test_a_project_has_every_source_of_the_sample_bot(language: str, tmp_path: Path) -> None:
    source = f"sample_bots/{LANGUAGES[language].source}"
    listed = subprocess.run(["git", "ls-files", source], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not listed:
        pytest.skip("needs a git clone")

    made = files_in(make(language, tmp_path / "mine"))

    sources = {name.removeprefix(f"{source}/") for name in listed}
    own = {
        "bots.yaml",
        "bot.yaml",
        "README.md",
        ".gitignore",
        *(name for name in made if name.startswith("opponents/")),
    }
    assert made - own == sources - {"README.md"}


@every_language
def test_a_project_is_named_after_its_folder(language: str, tmp_path: Path) -> None:
    folder = make(language, tmp_path / 'Ünser "Bot" 7')

    texts = {name: (folder / name).read_text(encoding="utf-8") for name in files_in(folder)}
    strategy = texts[LANGUAGES[language].strategy]
    assert 'ame: "Ünser \\"Bot\\" 7"' in strategy or 'name = "Ünser \\"Bot\\" 7"' in strategy
    assert texts["README.md"].startswith('# Ünser "Bot" 7\n')
    assert '  - name: "Ünser \\"Bot\\" 7"\n' in texts["bots.yaml"]
    assert load_manifest(folder).entry.name == 'Ünser "Bot" 7'
    if language == "go":
        assert texts["go.mod"].startswith("module bots/unser-bot-7\n")
        assert 'pb "bots/unser-bot-7/arenav1"' in strategy
    if language == "node":
        assert {json.loads(texts[name])["name"] for name in ("package.json", "package-lock.json")} == {"unser-bot-7"}
    left = {name for name, text in texts.items() if re.search(r"new-bot|bots/careful|\"careful\"", text)}
    assert {name for name in left if not name.startswith("opponents/")} == set()


@every_language
def test_the_next_steps_are_printed_and_in_the_readme(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make(language, tmp_path / "my bot")

    printed = capsys.readouterr().out
    assert f"    cd '{folder}'\n" in printed
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for line in (
        *LANGUAGES[language].build,
        LANGUAGES[language].test,
        "arena check .",
        "arena tournament",
        "arena submit .",
    ):
        assert f"    {line}\n" in printed
        assert f"    {line}\n" in readme
    for text in (printed, readme):
        assert "submit them from the folder above, or name the same one each time, with --store or ARENA_STORE" in text


@every_language
def test_the_configuration_is_good_once_the_bot_is_built(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(language, tmp_path / "mine")
    if language == "go":
        with pytest.raises(BadConfig, match="build the bot first"):
            load_config(folder / "bots.yaml", {})
        (folder / "bot").touch(mode=0o755)
    if language == "node":
        (tmp_path / "node").touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        with pytest.raises(BadConfig, match="write it or build it first"):
            load_config(folder / "bots.yaml", {})
        (folder / "dist").mkdir()
        (folder / "dist" / "bot.js").touch()

    config = load_config(folder / "bots.yaml", {})

    assert [entry.name for entry in config.entries] == ["mine", "counting", "careful", "lowest"]
    assert config.entries[0].command == LANGUAGES[language].command


BUILT = {
    "python": (),
    "go": ("bot",),
    "node": (
        *("dist/bot.js", "node_modules/long/index.js", "node_modules/typescript/lib/tsc.js"),
        *("node_modules/@types/node/index.d.ts", "node_modules/.bin/tsc"),
    ),
}
"""Some of what building leaves in the folder."""

PACKED = {"python": set(), "go": {"bot"}, "node": {"dist/bot.js", "node_modules/long/index.js"}}
"""What of that plays."""


@every_language
def test_what_is_submitted_is_the_sources_and_what_plays(language: str, tmp_path: Path) -> None:
    folder = make(language, tmp_path / "mine")
    sources = files_in(folder)
    for name in (*BUILT[language], "arena.db", "__pycache__/bot.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch(mode=0o755)
    (tmp_path / "unpacked").mkdir()

    package = pack(folder, load_manifest(folder), tmp_path / "packed")

    assert files_in(unpack(package.archive, tmp_path / "unpacked")) == (sources - {"bots.yaml"}) | PACKED[language]


@every_language
def test_the_manifest_has_what_the_readme_says(language: str, tmp_path: Path) -> None:
    recipe = LANGUAGES[language]

    manifest = load_manifest(make(language, tmp_path / "mine"))

    assert manifest.entry.command == recipe.command
    for line in recipe.build:
        assert line in " ".join(manifest.build)
    assert bool(manifest.build) is bool(recipe.build)


@pytest.mark.slow
@pytest.mark.timeout(300)
@every_language
def test_a_project_can_be_submitted_as_it_is_made(language: str, tmp_path: Path) -> None:
    for tool in {"go": ("go",), "node": ("node", "npm")}.get(language, ()):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    folder = make(language, tmp_path / "mine")

    submitted = subprocess.run(
        [sys.executable, "-m", "arena", "submit", ".", "--json"], cwd=folder, capture_output=True, text=True
    )

    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    assert json.loads(submitted.stdout)["state"] == "admitted"


@pytest.mark.parametrize("name", ["careful", "CAREFUL"])
def test_an_opponent_has_another_name_than_the_bot(name: str, tmp_path: Path) -> None:
    folder = make("python", tmp_path / name)

    assert [entry.name for entry in load_config(folder / "bots.yaml", {}).entries] == [
        name,
        "counting",
        "lowest",
        "random",
    ]


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()

    assert (make("python", tmp_path / "mine") / "bot.py").is_file()


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").touch()

    assert run(["new-bot", "python", str(tmp_path)]) == 2

    assert f"{tmp_path} is not empty; choose a new folder" in capsys.readouterr().err
    assert files_in(tmp_path) == {"notes"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "is no folder; choose another name"),
        ("file/inside", "this can't be written"),
        ("x" * 65, "a name has at most 64 characters"),
        ("bell\a", "take out U+0007"),
    ],
    ids=["a file", "in a file", "too long", "unprintable"],
)
def test_a_folder_that_cannot_be_is_refused(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    assert run(["new-bot", "go", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err
    assert files_in(tmp_path) == {"file"}


@pytest.mark.slow
def test_what_is_played_and_submitted_in_a_project_does_not_change_its_bot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(make("python", tmp_path / "vt"))
    capsys.readouterr()
    tournament = ["tournament", "--boards", "1", "--isolation", "none", "--bot-logs", "logs", "--json"]

    assert run(tournament) == 0
    first = capsys.readouterr().out
    Path("result.json").write_text(first)
    Shelf.beside("arena.db").incoming("0" * 32)
    assert run(tournament) == 0

    assert any(Path("logs").iterdir())
    assert json.loads(capsys.readouterr().out)["tournament"] == json.loads(first)["tournament"]
    with Store.open("arena.db") as store:
        assert len(store.tournaments()) == 1
    assert {path.name for path in bot_files(load_config(Path("bots.yaml"), {}).entries[0]).values()} == {
        *(".gitignore", "README.md", "bot.py", "bot.yaml", "test_bot.py"),
        *("careful.py", "counting.py", "lowest.py"),
    }


@pytest.mark.slow
def test_a_project_is_played_once_however_it_is_submitted_and_written_about(tmp_path: Path) -> None:
    folder = make("python", tmp_path / "vt")
    (folder / ".gitignore").unlink()

    def arena(*words: str, into: str | None = None) -> str:
        with (folder / (into or "../output")).open("w") as output:
            done = subprocess.run(
                [sys.executable, "-m", "arena", *words], cwd=folder, stdout=output, stderr=subprocess.PIPE, text=True
            )
        assert done.returncode == 0, done.stderr
        return (folder / (into or "../output")).read_text()

    play = ("tournament", "--boards", "24", "--json")
    first = json.loads(arena(*play))
    arena("submit", ".")
    again = json.loads(arena(*play, "--bot-logs", "logs", into="result.json"))

    assert again["tournament"] == first["tournament"]


@pytest.mark.slow
def test_a_python_project_passes_its_tests_and_plays(tmp_path: Path) -> None:
    folder = make("python", tmp_path / "mine")

    test = [sys.executable, *LANGUAGES["python"].test.split()[1:]]
    tested = subprocess.run(test, cwd=folder, capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    assert "Ran 2 tests" in tested.stderr

    played = subprocess.run(
        [sys.executable, "-m", "arena", "tournament", "--bots", "bots.yaml", "--boards", "24", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert played.returncode == 0, played.stderr
    assert {row["bot"]: row["faults"] for row in json.loads(played.stdout)["standings"]} == {
        "mine": 0,
        "counting": 0,
        "careful": 0,
        "lowest": 0,
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_has_the_sources_of_bots_but_not_what_they_were_built_into(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True)
    if packed.returncode != 0:
        pytest.skip("needs a git clone")
    tree.mkdir()
    subprocess.run(["tar", "-x", "-C", tree], input=packed.stdout, check=True)
    for made in ("node/node_modules/left/index.js", "node/dist/bot.js", "go/bot", "python/__pycache__/careful.pyc"):
        (tree / "sample_bots" / made).parent.mkdir(parents=True, exist_ok=True)
        (tree / "sample_bots" / made).touch()

    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(tree)]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    for language in LANGUAGES:  # python -m looks for arena in the current folder first
        command = [sys.executable, "-m", "arena", "new-bot", language, str(tmp_path / language)]
        subprocess.run(command, check=True, cwd=unpacked, stdout=subprocess.DEVNULL)

    bundled = files_in(unpacked / "arena" / "_bundled" / "sample_bots")
    assert {name for name in bundled if re.search(r"node_modules|dist/|/bot$|\.pyc", name)} == set()
    for language, recipe in LANGUAGES.items():
        assert {f"{recipe.source}/{name}" for name in recipe.files} <= bundled
        assert set(recipe.files) <= files_in(tmp_path / language)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        *((word, "write 'node': that makes a bot in TypeScript") for word in ("typescript", "JS", "javascript")),
        ("golang", "write 'go': that makes a bot in Go"),
        *((word, f"python, go, node (TypeScript), and none in '{word}'") for word in ("rust", "java", "c++")),
        ("rust", "`arena proto DIR` writes the protocol"),
    ],
)
def test_what_there_is_for_other_languages_is_told(
    word: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new-bot", word, str(tmp_path / "bot")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "bot").exists()
