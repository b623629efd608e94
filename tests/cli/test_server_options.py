"""Which server a command calls, and with what: options, variables, and what makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from arena.cli.options import server_of, server_options, store_option
from arena.client import ServerAddress
from arena.competition import Role
from arena.errors import BadInput
from arena.tokens import draw_token

_, TOKEN = draw_token("alice", Role.CONTESTANT)
Asked = Callable[..., ServerAddress | None]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """Return what a command makes of its arguments and variables."""

    def ask(*arguments: str, usual: bool = True, **variables: str) -> ServerAddress | None:
        found: list[ServerAddress | None] = []

        @click.command()
        @store_option
        @server_options(usual=usual)
        def command(store: str, **given: object) -> None:
            found.append(server_of(given, usual=usual))

        clean = dict.fromkeys(("ARENA_SERVER", "ARENA_TOKEN", "ARENA_TLS_CA", "ARENA_STORE"))
        done = CliRunner(env={**clean, **variables}).invoke(command, arguments, standalone_mode=False)
        if done.exception:
            raise done.exception
        return found[0]

    return ask


def test_a_server_is_named_by_an_option_or_by_the_variable(asked: Asked) -> None:
    assert asked() is None
    assert asked("--server", "unix:/tmp/arena.sock") == ServerAddress("unix:/tmp/arena.sock")
    assert asked(ARENA_SERVER="arena.example.org:443") == ServerAddress("arena.example.org:443")
    assert asked("--server", "[::1]:50050", ARENA_SERVER="arena.example.org:443") == ServerAddress("[::1]:50050")
    assert asked(usual=False, ARENA_SERVER="arena.example.org:443") is None


def test_a_store_on_the_command_line_wins_over_the_variable(asked: Asked) -> None:
    assert asked("--store", "league.db", ARENA_SERVER="arena.example.org:443") is None
    assert asked(ARENA_STORE="league.db", ARENA_SERVER="a:1") == ServerAddress("a:1")


def test_token_and_authority_come_from_files_or_variables(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\r\n")
    (tmp_path / "marked").write_text(f"\ufeff{TOKEN}\r\n", encoding="utf-8")
    (tmp_path / "ca.pem").write_text("")

    assert asked("--server", "a:1", ARENA_TOKEN=TOKEN) == ServerAddress("a:1", TOKEN)
    assert asked("--server", "a:1", "--token-file", str(tmp_path / "token")) == ServerAddress("a:1", TOKEN)
    assert asked("--server", "a:1", "--token-file", str(tmp_path / "marked")) == ServerAddress("a:1", TOKEN)
    found = asked("--server", "a:1", ARENA_TLS_CA=str(tmp_path / "ca.pem"))
    assert found == ServerAddress("a:1", authority=tmp_path / "ca.pem")
    assert asked(ARENA_TLS_CA=str(tmp_path / "ca.pem")) is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--server", "a:1", "--store", "x.db"], "name two places"),
        (["--plaintext"], "--plaintext is about a server"),
        (["--tls-ca", "/dev/null"], "--tls-ca is about a server"),
        (["--server", "a:1", "--tls-key", "/dev/null"], "go together"),
    ],
)
def test_what_makes_no_sense_together_is_refused(arguments: list[str], told: str, asked: Asked) -> None:
    with pytest.raises(click.UsageError, match=told):
        asked(*arguments)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "a:", ":1", "a:0", "a:99999", "http://127.0.0.1:50050", "unix:", "a b:1", "::1:5", "a:1\n"]
)
def test_what_is_no_address_is_told_as_that(address: str, asked: Asked) -> None:
    with pytest.raises(BadInput, match=r"no address of a server: write host:port"):
        asked("--server", address)


@pytest.mark.parametrize("text", ["täst", "secret", "arena_1_2", "-----BEGIN CERTIFICATE-----\nAAAA"])
def test_what_is_no_token_is_told_with_its_place(text: str, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(text)

    with pytest.raises(BadInput, match="the variable ARENA_TOKEN holds no token"):
        asked("--server", "a:1", ARENA_TOKEN=text)
    with pytest.raises(BadInput, match=r"token holds no token: one reads arena_ID_SECRET"):
        asked("--server", "a:1", "--token-file", str(tmp_path / "token"))
    (tmp_path / "token").write_text("\n")
    with pytest.raises(BadInput, match="holds no token"):
        asked("--server", "a:1", "--token-file", str(tmp_path / "token"))
