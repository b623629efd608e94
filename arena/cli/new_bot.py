"""`arena new-bot`: the project of a new bot, made of the sample bots, which come with Arena."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from arena.competitors import HOUSE, sample_bots
from arena.document import Wrong
from arena.entries import check_name
from arena.errors import BadInput
from arena.likeness import alike


@dataclass(frozen=True, slots=True)
class Language:
    """How a bot in a language is made, built and run; commands are lines for a shell in its folder."""

    title: str
    source: str
    """The folder below sample_bots that its files come from."""
    files: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    """What stands for its name in these files, and what to write there: {name} is a quoted text, {slug} a plain word."""
    strategy: str
    """The file to change."""
    build: tuple[str, ...]
    test: str
    command: tuple[str, ...]
    manifest_build: tuple[str, ...]
    """What builds it as one command, for its manifest."""
    pack: tuple[str, ...]
    """What is submitted with it besides its sources and what its command names, as patterns."""
    ignored: tuple[str, ...]
    """What it makes, besides its sources."""


LANGUAGES: Final[Mapping[str, Language]] = {
    "python": Language(
        title="Python",
        source="templates/python",
        files=("bot.py", "test_bot.py"),
        names=(('name = "new-bot"', "name = {name}"),),
        strategy="bot.py",
        build=(),
        test="python -m unittest",
        command=("python", "bot.py"),
        manifest_build=(),
        pack=(),
        ignored=("__pycache__/",),
    ),
    "go": Language(
        title="Go",
        source="go",
        files=(
            *("bot.go", "bot_test.go", "go.mod", "go.sum"),
            *(f"arenav1/{name}.pb.go" for name in ("bot", "bot_grpc", "card")),
        ),
        names=(("bots/careful", "bots/{slug}"), ('Name: "careful"', "Name: {name}")),
        strategy="bot.go",
        build=("go build -o bot .",),
        test="go test .",
        command=("./bot",),
        manifest_build=("go", "build", "-o", "bot", "."),
        pack=(),
        ignored=("/bot",),
    ),
    "node": Language(
        title="TypeScript",
        source="node",
        files=(
            *(".npmrc", "package.json", "package-lock.json", "tsconfig.json", "src/bot.ts", "src/bot.test.ts"),
            *("src/arena/v1/bot.ts", "src/arena/v1/card.ts", "src/google/protobuf/duration.ts"),
        ),
        names=(('"name": "careful"', '"name": "{slug}"'), ('name: "careful"', "name: {name}")),
        strategy="src/bot.ts",
        build=("npm ci", "npm run build"),
        test="npm test",
        command=("node", "dist/bot.js"),
        manifest_build=("sh", "-c", "(test -d node_modules || npm ci) && npm run build"),
        # Without what only builds it, and the links to that.
        pack=("dist/", "node_modules/", *(f"!node_modules/{name}/" for name in (".bin", "@types", "typescript"))),
        ignored=("node_modules/", "dist/"),
    ),
}


_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("py", "python3"),
    "go": ("golang",),
    "node": ("nodejs", "node.js", "typescript", "ts", "javascript", "js"),
}
"""What else people call a language."""


class _LanguageName(click.Choice[str]):
    """The name of a language; of others it says what there is instead."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = value.casefold()
        if name in LANGUAGES:
            return name
        for known, others in _SPELLINGS.items():
            if name in others:
                self.fail(f"write {known!r}: that makes a bot in {LANGUAGES[known].title}.", param, ctx)
        made = ", ".join(
            key if key == language.title.lower() else f"{key} ({language.title})" for key, language in LANGUAGES.items()
        )
        return self.fail(
            f"there are projects in {made}, and none in {value!r}. A bot in another language is a gRPC server:"
            " `arena proto DIR` writes the protocol to make its stubs of, and `arena check -- PROGRAM` tells what it"
            " still lacks.",
            param,
            ctx,
        )


_ONE_DATABASE: Final = (
    "Without a server, bots meet in one database, and here `arena submit .` makes one for this bot alone:\n"
    "submit them from the folder above, or name the same one each time, with --store or ARENA_STORE."
)


@click.command(
    epilog="""\b
Examples:
  arena new-bot python my-bot
  arena new-bot go ~/bots/gopher"""
)
@click.argument("language", type=_LanguageName(list(LANGUAGES)))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def command(language: str, folder: Path) -> None:
    """Make the project of a new bot in the new folder DIR, and name both alike.

    It has a bot that plays every game, a test, a bots.yaml in which it meets three bots that come with Arena, and a bot.yaml
    by which it is checked and submitted.
    """
    try:
        _make(LANGUAGES[language], folder)
    except OSError as error:
        raise BadInput(f"{error.filename}: this can't be written: {error.strerror}") from None
    click.echo(_next_steps(LANGUAGES[language], folder), nl=False)


def _make(language: Language, folder: Path) -> None:
    """Write the project; raise BadInput if there is something already, or if no bot may have the folder's name."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is no folder; choose another name")
    if folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"{folder} is not empty; choose a new folder")
    name = _bot_name(folder)
    _copy_sources(language, folder, name)
    opponents = _copy_opponents(folder, name)
    _write(folder / "bots.yaml", _configuration(language, name, opponents))
    _write(folder / "bot.yaml", _manifest(language, name))
    _write(folder / "README.md", _readme(language, name))
    _write(folder / ".gitignore", "\n".join((*language.ignored, "/arena.db*", "/result*.json", "/logs/", "")))


def _bot_name(folder: Path) -> str:
    name = unicodedata.normalize("NFC", folder.absolute().resolve().name)
    try:
        return check_name(name)
    except Wrong as error:
        raise BadInput(
            f"the bot is named after its folder, and {name!r} can't be a bot's name: {error.message}"
        ) from None


def _slug(name: str) -> str:
    """Return a name in letters that every language's tools take in the name of a package."""
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "bot"


def _copy_sources(language: Language, folder: Path, name: str) -> None:
    quoted, slug = json.dumps(name, ensure_ascii=False), _slug(name)
    for file in language.files:
        text = (sample_bots() / language.source / file).read_text(encoding="utf-8")
        for old, new in language.names:
            text = text.replace(old, new.format(name=quoted, slug=slug))
        _write(folder / file, text)


def _copy_opponents(folder: Path, name: str) -> list[str]:
    """Copy three sample bots of other names, and return these."""
    chosen = [other for other in HOUSE if not alike(other, name)][:3]
    (folder / "opponents").mkdir(parents=True)
    for other in chosen:
        shutil.copyfile(sample_bots() / "python" / HOUSE[other], folder / "opponents" / HOUSE[other])
    return chosen


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _configuration(language: Language, name: str, opponents: list[str]) -> str:
    others = "".join(f"  - name: {other}\n    command: [python, opponents/{HOUSE[other]}]\n" for other in opponents)
    return (
        "# The new bot among three that come with Arena. Play:  arena tournament\n"
        "game: hearts-classic\n"
        "bots:\n"
        f"  - name: {json.dumps(name, ensure_ascii=False)}\n"
        "    directory: .                 # all that is in here belongs to the bot, in the sandbox too\n"
        f"    command: [{', '.join(language.command)}]\n" + others
    )


def _manifest(language: Language, name: str) -> str:
    lists = {"command": language.command, "build": language.manifest_build, "pack": language.pack}
    lines = "".join(f"{key}: [{', '.join(map(_plain_or_quoted, words))}]\n" for key, words in lists.items() if words)
    return (
        "# What the bot is, for `arena check .` and `arena submit .`\n"
        f"name: {json.dumps(name, ensure_ascii=False)}\n{lines}"
    )


def _plain_or_quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w./-]+", text) else json.dumps(text)


def _readme(language: Language, name: str) -> str:
    lines = "\n".join(
        f"    {line}"
        for line in (*language.build, language.test, "arena check .", "arena tournament", "arena submit .")
    )
    return (
        f"# {name}\n\nA bot in {language.title} for the Arena. Its strategy is in `{language.strategy}`.\n\n"
        f"{'Build, test and play' if language.build else 'Test and play'}, in this folder:\n\n{lines}\n\n"
        "`bots.yaml` has its entry, and three opponents. `arena show` shows what was played.\n"
        "`bot.yaml` says how it is built and run: `arena submit .` submits it, with `--server HOST:PORT` to a competition.\n"
        f"{_ONE_DATABASE}\n"
    )


def _next_steps(language: Language, folder: Path) -> str:
    steps = (
        f"cd {shlex.quote(str(folder))}",
        *language.build,
        "arena check .",
        "arena tournament",
        language.test,
        "arena submit .",
    )
    lines = "".join(f"    {step}\n" for step in steps)
    return (
        f"Made a bot in {language.title} in {folder}. What to do next:\n\n{lines}\n"
        f"The strategy is in {language.strategy}.\n{_ONE_DATABASE}\n"
    )
