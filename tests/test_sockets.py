"""Unix sockets as files: nobody's is taken, and one's own is tidied up."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from arena.errors import BadInput
from arena.sockets import free_socket, owned_socket


def bound(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    return server


def test_the_socket_of_a_server_that_is_gone_is_removed(tmp_path: Path) -> None:
    bound(tmp_path / "s").close()

    free_socket(tmp_path / "s")

    assert not (tmp_path / "s").exists()


def test_the_socket_of_a_living_server_is_refused_and_left(tmp_path: Path) -> None:
    with bound(tmp_path / "s") as server:
        server.listen()

        with pytest.raises(BadInput, match="another server is listening"):
            free_socket(tmp_path / "s")

        assert (tmp_path / "s").exists()


def test_a_file_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("precious")

    with pytest.raises(BadInput, match="no socket"):
        free_socket(tmp_path / "s")

    assert (tmp_path / "s").read_text() == "precious"


def test_nothing_in_the_way_is_fine(tmp_path: Path) -> None:
    free_socket(tmp_path / "s")


def test_ones_own_socket_is_removed_at_the_end(tmp_path: Path) -> None:
    with bound(tmp_path / "s"), owned_socket(f"unix:{tmp_path}/s"):
        pass

    assert not (tmp_path / "s").exists()


def test_a_socket_that_somebody_else_put_there_meanwhile_is_left(tmp_path: Path) -> None:
    with bound(tmp_path / "s"), owned_socket(f"unix:{tmp_path}/s"):
        (tmp_path / "s").rename(tmp_path / "old")
        bound(tmp_path / "s").close()

    assert (tmp_path / "s").exists()
