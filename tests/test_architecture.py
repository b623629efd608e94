"""What the sources may import and use: the levels of docs/architecture.md, and a few things that are nowhere allowed."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from arena import errors

ROOT = Path(__file__).parents[1]

LEVELS = (
    *("errors", "difference", "finding", "text", "sockets", "pem", "threads", "document", "likeness", "fields"),
    *("cards", "dealing", "trick", "game", "games"),
    *("decision", "clock", "faults", "record", "simulate", "results", "settings", "contents", "files", "events"),
    *("competition", "v1", "wire", "sdk", "players"),
    *("table", "match", "rotations", "replay", "reasking"),
    *("plan", "schedule", "compare", "adaptive", "identity", "disqualification", "entries", "manifest", "config"),
    "tokens",
    *(
        "migrations",
        "store",
        "competitors",
        "entrants",
        "incremental",
        "ledger",
        "tournament",
        "verify",
        "conformance",
        "submission",
    ),
    *("leaderboard", "verdict", "report", "client", "server", "cli", "__main__"),
)
"""The modules of arena, and leaderboard as a whole, each above all that it may import."""

RULES = ("cards", "trick", "dealing", "game", "games")
IMPURE = {
    "asyncio",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "select",
    "socket",
    "subprocess",
    "sys",
    "threading",
    "time",
}

ALLOWED = {
    "grpc": {"players", "server", "client", "sdk", "v1"},
    "grpc_health": {"players", "server", "sdk"},
    "grpc_reflection": {"server"},
    "pathspec": {"contents", "submission"},
    "confusable_homoglyphs": {"likeness"},
    "google": {"wire", "v1", "client", "server", "players"},
    "sqlalchemy": {"store", "migrations"},
    "alembic": {"store", "migrations"},
    "ruamel": {"document"},
    "numpy": {"leaderboard"},
    "click": {"cli"},
    "rich": {"cli", "leaderboard.signs", "leaderboard.terminal", "leaderboard.matrix"},
}
"""Where each package from elsewhere may be imported."""

STANDALONE = {
    f"arena.players.{name}" for name in ("supervisor", "confinement", "watchdog", "excess", "family", "inside", "relay")
}
"""What runs by itself, on nothing but the standard library."""

LEADERBOARD_MAY_IMPORT = {"arena.results", "arena.text"}


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, and whether it is imported as soon as the importing one is."""

    module: str
    at_once: bool


def sources() -> dict[str, Path]:
    """Return every module of the project with its file, the generated ones apart."""
    found = {}
    for package in ("arena", "leaderboard"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: path for name, path in found.items() if not name.startswith(("arena.v1.", "arena._bundled"))}


SOURCES = sources()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}


@cache
def imports(name: str) -> tuple[Import, ...]:
    """Return all that a module imports, in functions and for type checks too."""
    return tuple(_imports_in(TREES[name], at_once=True))


def _imports_in(tree: ast.AST, *, at_once: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield Import(inner if inner in SOURCES or inner == "arena.v1" else module, at_once)
        else:
            types_only = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports_in(node, at_once=at_once and not types_only and not inside)


def part(module: str) -> str:
    """Return which part of LEVELS a module belongs to; empty for the package arena itself."""
    names = module.split(".")
    return "leaderboard" if names[0] == "leaderboard" else names[1] if len(names) > 1 else ""


def test_every_module_has_its_level() -> None:
    assert {part(name) for name in SOURCES} - {""} <= set(LEVELS)


def test_every_module_is_on_the_map() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    written = {word.split("/")[0] for word in re.findall(r"`([a-z0-9_/]+)`", text)}

    assert {part(name) for name in SOURCES} - written <= {"", "__main__"}


@pytest.mark.parametrize("name", SOURCES)
def test_imports_only_go_downwards(name: str) -> None:
    own = part(name)
    level = LEVELS.index(own) if own else -1
    wrong = [
        one.module
        for one in imports(name)
        if one.module.split(".")[0] in ("arena", "leaderboard")
        and part(one.module) != own
        and part(one.module)
        and LEVELS.index(part(one.module)) > level
    ]

    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        name: {one.module for one in imports(name) if one.at_once and one.module in SOURCES} - {name}
        for name in SOURCES
    }

    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_from_elsewhere_is_used_in_its_place_only(package: str) -> None:
    users = {name for name in SOURCES for one in imports(name) if one.module.split(".")[0] == package}

    assert {name for name in users if not {part(name), name} & ALLOWED[package]} == set()


def test_nothing_else_from_elsewhere_is_imported() -> None:
    known = {"arena", "leaderboard", *ALLOWED, *sys.stdlib_module_names}

    assert {one.module for name in SOURCES for one in imports(name) if one.module.split(".")[0] not in known} == set()


def test_the_rules_are_pure() -> None:
    found = {
        (name, one.module)
        for name in SOURCES
        if part(name) in RULES
        for one in imports(name)
        if one.module.split(".")[0] in IMPURE
    }

    assert found == set()


def test_the_leaderboard_knows_results_only() -> None:
    used = {one.module for name in SOURCES if part(name) == "leaderboard" for one in imports(name)}

    assert {module for module in used if module.split(".")[0] == "arena"} <= LEADERBOARD_MAY_IMPORT


def test_only_the_doors_know_the_leaderboard() -> None:
    users = {part(name) for name in SOURCES for one in imports(name) if one.module.split(".")[0] == "leaderboard"}

    assert users <= {"leaderboard", "report", "verdict", "server", "cli"}


def _forbidden(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (name for name in names if name.split(".")[0] in ("pickle", "marshal", "shelve", "dill", "yaml"))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load"):
                yield called
            if any(keyword.arg == "shell" and ast.unparse(keyword.value) != "False" for keyword in node.keywords):
                yield f"{called}(shell=...)"


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_runs_text_as_code(name: str) -> None:
    assert list(_forbidden(TREES[name])) == []


@pytest.mark.parametrize(
    "text", ["import pickle", "from yaml import load", "eval('1')", "run('x', shell=True)", "os.system('x')"]
)
def test_what_runs_text_as_code_is_seen(text: str) -> None:
    assert list(_forbidden(ast.parse(text)))


def test_only_the_supervisor_forks_and_it_needs_nothing_but_python() -> None:
    forking = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.fork", "os.forkpty", "pty.fork")
    }

    assert forking <= {"arena.players.supervisor"}
    for name in STANDALONE:
        modules = {one.module for one in imports(name)}
        assert {module for module in modules if module.split(".")[0] not in sys.stdlib_module_names} <= STANDALONE


def test_only_the_command_line_prints() -> None:
    printing = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    }

    assert {name for name in printing if part(name) != "cli"} <= {"leaderboard.terminal"}


def test_names_say_what_things_are() -> None:
    vague = {"util", "utils", "helper", "helpers", "manager", "handler", "common", "misc", "engine", "agent"}
    files = {name: set(re.split(r"[._]", name.lower())) for name in SOURCES}
    classes = {
        f"{name}.{node.name}": {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", node.name)}
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }

    assert {name for name, words in (files | classes).items() if words & vague} == set()


def test_the_error_tree_in_the_docstring_is_the_classes() -> None:
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getdoc(errors).splitlines():  # type: ignore[union-attr]
        branch = re.match(r"([│├└─ ]*)([A-Z]\w+)(?: {2,}.*|)$", line)
        if branch:
            depth = len(branch[1]) // 4
            above[depth:] = [branch[2]]
            drawn[branch[2]] = above[depth - 1] if depth else "Exception"
    classes = {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }

    assert drawn == classes


@pytest.mark.slow
def test_committed_stubs_are_those_of_the_protocol(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="needs the dev extra")
    search = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    subprocess.run(
        [sys.executable, ROOT / "proto" / "generate.py", "--into", tmp_path],
        check=True,
        env={**os.environ, "PATH": search},
    )

    def contents(folder: Path) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}

    assert contents(tmp_path / "arena" / "v1") == contents(ROOT / "arena" / "v1")
