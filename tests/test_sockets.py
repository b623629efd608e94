"""Unix sockets as files: nobody's is taken, and one's own is tidied up."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from arena.errors import BadInput
from arena.sockets import free_socket, owned_socket, socket_path


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


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing/s", "the folder {}/missing is not there; make it, or choose another path"),
        ("missing/too/s", "the folder {}/missing/too is not there; make it, or choose another path"),
        ("file/s", "{}/file is no folder; choose another path"),
        ("file/below/s", "{}/file is no folder; choose another path"),
        ("folder", "there is a folder; name a socket in it, as in unix:{}/folder/arena.sock, or choose another path"),
        ("link", "there is a link that leads nowhere; remove it, or choose another path"),
    ],
)
def test_a_path_that_cannot_work_is_refused_with_its_cause(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises(BadInput) as refused:
        free_socket(tmp_path / name)

    assert str(refused.value) == f"cannot serve at unix:{tmp_path}/{name}: {why.format(tmp_path)}"


def test_a_folder_that_may_not_be_written_to_is_refused_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere

    with pytest.raises(BadInput, match=r"the folder .* may not be written to; choose another path"):
        free_socket(tmp_path / "s")


def test_a_stale_socket_that_can_not_be_removed_is_refused_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    bound(tmp_path / "s").close()
    monkeypatch.setattr(Path, "unlink", refuse)

    with pytest.raises(BadInput, match=r"server that is gone can't be removed \(Operation not permitted\)"):
        free_socket(tmp_path / "s")


def test_an_address_without_a_path_is_refused_as_that() -> None:
    path = socket_path("unix:")
    assert path is not None

    with pytest.raises(BadInput, match="no path of a socket is named; write one, as in unix:/"):
        free_socket(path)


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
