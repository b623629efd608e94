"""`arena token`: made once, shown once, listed, revoked, and all of it noted."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.cli import run
from arena.competition import Deed, Role
from arena.errors import Refused
from arena.store import Store
from arena.tokens import check_token, draw_token, token_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arena.db"


def create(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> str:
    """Make a token, and return what was written to stdout."""
    assert run(["token", "create", *arguments, "--store", str(path)]) == 0
    return capsys.readouterr().out


def read_json(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> Any:
    assert run(["token", *arguments, "--json", "--store", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def test_create_prints_the_token_alone_and_tells_the_rest_on_stderr(path: Path) -> None:
    command = [sys.executable, "-m", "arena", "token", "create", "alice", "--store", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text = done.stdout.removesuffix("\n")

    with Store.open(path) as store:
        token = store.tokens.find(token_id(text))
    assert token is not None
    assert check_token(text, token, datetime.now(UTC)).owner == "alice"
    assert token.role is Role.CONTESTANT
    assert token.expires == token.created + timedelta(days=365)
    assert text not in done.stderr
    for part in (token.id, "alice", "ARENA_TOKEN", f"arena token revoke {token.id}"):
        assert part in done.stderr


def test_role_and_lifetime_are_as_asked(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(create(capsys, path, "Ünï", "--role", "organiser", "--expires", "90s", "--json"))

    (listed,) = read_json(capsys, path, "list")
    assert listed == {key: value for key, value in made.items() if key != "token"}
    assert (listed["owner"], listed["role"], listed["state"]) == ("Ünï", "organiser", "valid")
    lifetime = datetime.fromisoformat(listed["expires"]) - datetime.fromisoformat(listed["created"])
    assert lifetime == timedelta(seconds=90)
    assert token_id(made["token"]) == listed["id"]


def test_the_secret_is_shown_once_and_kept_nowhere(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = create(capsys, path, "alice").strip()
    secret = text[15:]

    written = ""
    for arguments in (["list"], ["list", "--json"], ["log"], ["log", "--json"], ["revoke", token_id(text)], ["list"]):
        assert run(["token", *arguments, "--store", str(path)]) == 0
        output = capsys.readouterr()
        written += output.out + output.err
    kept = b"".join(file.read_bytes() for file in path.parent.iterdir())

    assert token_id(text) in written
    assert secret not in written
    assert secret.encode() not in kept
    assert token_id(text).encode() in kept


def test_the_list_shows_owner_role_times_and_state(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long_ago = draw_token("bob", Role.CONTESTANT, timedelta(seconds=-1))[0]
    endless = draw_token("carol", Role.ORGANISER)[0]
    with Store.open(path) as store:
        store.tokens.add(long_ago)
        store.tokens.add(endless)
    create(capsys, path, "a" * 64)
    revoked = token_id(create(capsys, path, "dave").strip())
    assert run(["token", "revoke", revoked, "--store", str(path)]) == 0
    assert capsys.readouterr().out == f"token {revoked} of dave is revoked\n"

    assert run(["token", "list", "--store", str(path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]

    today = f"{long_ago.created:%Y-%m-%d}"
    assert lines[0] == ["id", "owner", "role", "created", "expires", "state"]
    assert [long_ago.id, "bob", "contestant", today, today, "expired"] in lines
    assert [endless.id, "carol", "organiser", today, "never", "valid"] in lines
    assert any(line[:3] == [revoked, "dave", "contestant"] and line[-1] == "revoked" for line in lines)
    assert "a" * 64 in "".join(word for line in lines for word in line if set(word) == {"a"})


def test_a_revoked_token_stays_revoked_from_when_it_was(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = create(capsys, path, "alice").strip()

    first = read_json(capsys, path, "revoke", token_id(text))
    with Store.open(path) as store:
        before = store.tokens.find(first["id"])
    assert read_json(capsys, path, "revoke", token_id(text)) == first
    with Store.open(path) as store:
        token = store.tokens.find(first["id"])

    assert first["state"] == "revoked"
    assert token == before
    with pytest.raises(Refused, match="was revoked"):
        check_token(text, token, datetime.now(UTC))


def test_what_was_done_is_logged_as_done_here(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = token_id(create(capsys, path, "alice", "--role", "organiser").strip())
    assert run(["token", "revoke", made, "--store", str(path)]) == 0
    capsys.readouterr()

    deeds = read_json(capsys, path, "log")

    assert [(deed["who"], deed["deed"], deed["what"], deed["outcome"]) for deed in deeds] == [
        ("local", "token create", f"{made} for alice, organiser", "done"),
        ("local", "token revoke", f"{made} of alice", "done"),
    ]
    assert read_json(capsys, path, "log", "--last", "1") == deeds[1:]


def test_the_log_is_a_line_a_deed_and_safe_to_show(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    time = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    with Store.open(path) as store:
        store.audit.add(Deed(time, "", "", "SubmitBot", "from 192.0.2.1", "BAD_TOKEN"))
        store.audit.add(Deed(time, "eve", "c0ffee00", "SubmitBot", "\x1b[2Jbot\n[red]" + "x" * 100, "done"))

    assert run(["token", "log", "--store", str(path)]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "time (UTC)           who  token     deed       outcome    what",
        "2030-01-02 03:04:05                 SubmitBot  BAD_TOKEN  from 192.0.2.1",
        "2030-01-02 03:04:05  eve  c0ffee00  SubmitBot  done       bot [red]" + "x" * 100,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", ""], "can't be an owner's name"),
        (["create", " alice"], "neither begins nor ends with a space"),
        (["create", "a\x1b[31mb"], "take out U+001B"),
        (["create", "a" * 65], "at most 64 characters"),
        (["create", "local"], "a name that the arena itself has"),
        (["create", "Calendar"], "a name that the arena itself has"),
        (["create", "ALICE"], "there is an owner 'alice' already"),
        (["create", "bob", "--expires", "0d"], "write a number and s, m, h or d"),
        (["create", "bob", "--expires", "soon"], "write a number and s, m, h or d"),
        (["create", "bob", "--role", "king"], "'contestant', 'organiser'"),
        (["revoke", "00000000"], "there is no token '00000000': `arena token list` lists them"),
        (["log", "--last", "0"], "0 is not in the range"),
    ],
    ids=lambda value: " ".join(value)[:40].encode("unicode_escape").decode() if isinstance(value, list) else "",
)
def test_bad_input_is_refused_and_changes_nothing(
    path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    create(capsys, path, "alice")
    with Store.open(path) as store:
        before = store.tokens.all(), store.audit.last(9)

    assert run(["token", *arguments, "--store", str(path)]) == 2
    output = capsys.readouterr()

    assert message in output.err
    assert output.out == ""
    with Store.open(path) as store:
        assert (store.tokens.all(), store.audit.last(9)) == before


@pytest.mark.parametrize("arguments", [["list"], ["log"], ["revoke", "00000000"]], ids=" ".join)
def test_only_create_makes_a_database(path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(["token", *arguments, "--store", str(path)]) == 2

    assert "does not exist" in capsys.readouterr().err
    assert list(path.parent.iterdir()) == []


def test_a_list_without_tokens_says_how_to_make_one(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.open(path).close()

    assert run(["token", "list", "--store", str(path)]) == 0

    assert "`arena token create OWNER`" in capsys.readouterr().err
    assert read_json(capsys, path, "list") == []


@pytest.mark.parametrize("command", ["create", "list", "revoke", "log"])
def test_each_help_has_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run(["token", command, "--help"]) == 0

    assert f"arena token {command}" in capsys.readouterr().out.partition("Example")[2]
