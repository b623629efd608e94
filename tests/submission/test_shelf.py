"""The shelf: what is on it is whole, nothing is lost by a kill, and what nobody needs goes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.errors import BadInput, BadStore
from arena.submission.shelf import Shelf

ONE, OTHER = "a" * 64, "b" * 64
ID = "0123456789abcdef" * 2

MAKER = """
import sys
from pathlib import Path
from arena.submission.shelf import Shelf
with Shelf.at(Path(sys.argv[1])).staging() as staging:
    (staging / "half").write_text("half")
    print(staging, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.beside(tmp_path / "arena.db")


def put(shelf: Shelf, digest: str, text: str) -> Path:
    with shelf.staging() as staging:
        (tree := staging / "tree").mkdir()
        (tree / "bot.py").write_text(text)
        return shelf.adopt(tree, digest)


def staged(shelf: Shelf) -> list[Path]:
    return list((shelf.root / "staging").iterdir())


def test_it_lies_beside_the_database_for_its_owner_alone(shelf: Shelf, tmp_path: Path) -> None:
    put(shelf, ONE, "x")

    assert shelf.root == tmp_path / "arena.db.bots"
    assert shelf.root.stat().st_mode & 0o777 == 0o700


def test_a_database_elsewhere_needs_a_folder_that_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name one"):
        Shelf.beside("postgresql://db.example.org/arena")

    assert Shelf.at(tmp_path).folder(ONE) == tmp_path / ONE


@pytest.mark.parametrize("wrong", ["", "..", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n", "incoming"])
def test_nothing_but_digests_and_ids_are_places(shelf: Shelf, wrong: str) -> None:
    for place in (shelf.folder, shelf.incoming, shelf.remove, shelf.remove_incoming):
        with pytest.raises(BadInput):
            place(wrong)


def test_what_is_there_is_never_replaced(shelf: Shelf) -> None:
    put(shelf, ONE, "first")

    place = put(shelf, ONE, "second")

    assert place == shelf.folder(ONE)
    assert [path.read_text() for path in place.iterdir()] == ["first"]
    assert staged(shelf) == []


def _cut(place: Path) -> None:
    (place / "bot.py").write_text("")


def _empty(place: Path) -> None:
    (place / "bot.py").unlink()


def _add(place: Path) -> None:
    (place / "numpy.py").touch()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (shutil.rmtree, "they are gone"),
        (_cut, "bot.py was changed"),
        (_empty, "bot.py is gone"),
        (_add, "numpy.py was not there before"),
        (lambda place: (place / "bot.py").chmod(0o755), r"bot.py is a program now \(chmod\)"),
    ],
    ids=["folder gone", "cut short", "file gone", "file added", "mode"],
)
def test_damage_is_named_and_mended_by_the_same_content(
    spoil: Callable[[Path], object], said: str, shelf: Shelf
) -> None:
    place = put(shelf, ONE, "x")
    (place / "__pycache__").mkdir()
    (place / "__pycache__" / "bot.pyc").touch()
    assert shelf.whole(ONE) == place

    spoil(place)

    with pytest.raises(BadStore, match=f"its files are damaged: {said}; to mend it, submit the same files again"):
        shelf.whole(ONE)
    assert put(shelf, ONE, "x") == shelf.whole(ONE)
    assert [path.read_text() for path in place.iterdir()] == ["x"]
    shelf.remove(ONE)
    assert list((shelf.root / "listings").iterdir()) == []


@pytest.mark.parametrize("written", ["", "[]", "{"])
def test_a_listing_that_cannot_be_read_is_damage_too(written: str, shelf: Shelf) -> None:
    put(shelf, ONE, "x")
    (shelf.root / "listings" / ONE).write_text(written)

    assert shelf.damage(ONE) == "nothing tells how they were"
    assert put(shelf, ONE, "x") == shelf.whole(ONE)


def test_files_without_a_listing_get_one_or_give_way_when_they_come_again(shelf: Shelf) -> None:
    place = put(shelf, ONE, "x")
    listing = shelf.root / "listings" / ONE
    for content in ("x", "cut short"):
        listing.unlink()
        next(place.iterdir()).write_text(content)

        put(shelf, ONE, "x")

        assert listing.is_file()
        assert next(place.iterdir()).read_text() == "x"
        assert shelf.damage(ONE) == ""


def test_what_no_version_needs_is_pruned(shelf: Shelf) -> None:
    kept, gone = put(shelf, ONE, "kept"), put(shelf, OTHER, "gone")
    shelf.incoming(ID).write_bytes(b"archive")
    half = shelf.incoming("f" * 32).with_name("f" * 32 + ".0000.part")
    half.write_bytes(b"arch")

    shelf.prune({ONE}, {ID}, young=0.0)

    assert kept.exists()
    assert shelf.incoming(ID).exists()
    assert not gone.exists()
    assert not half.exists()


def test_what_has_just_come_is_spared(shelf: Shelf) -> None:
    place = put(shelf, ONE, "x")
    shelf.incoming(ID).write_bytes(b"archive")

    shelf.prune(set(), set())

    assert place.exists()
    assert shelf.incoming(ID).exists()


def test_archives_stay_where_nobody_says_which_are_needed(shelf: Shelf) -> None:
    shelf.incoming(ID).write_bytes(b"archive")

    shelf.prune(set(), young=0.0)

    assert shelf.incoming(ID).exists()


def test_what_another_process_is_making_is_swept_away_once_it_is_gone(shelf: Shelf) -> None:
    words = [sys.executable, "-c", MAKER, str(shelf.root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        staging = Path(maker.stdout.readline().strip())
        shelf.sweep()
        assert (staging / "half").exists()
        os.kill(maker.pid, signal.SIGKILL)
        maker.wait()
        assert (staging / "half").exists()

        shelf.sweep()

    assert staged(shelf) == []


def test_deep_trees_are_thrown_away_too(shelf: Shelf) -> None:
    with shelf.staging() as staging:
        here = os.open(staging, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("deep", dir_fd=here)
            below = os.open("deep", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)

    assert staged(shelf) == []
