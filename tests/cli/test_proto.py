"""`arena proto`: the protocol as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.cli import run

PROTO = Path(__file__).parents[2] / "proto"
FILES = sorted(path.relative_to(PROTO) for path in PROTO.rglob("*.proto"))


def test_all_files_of_the_protocol_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["proto", str(tmp_path / "new" / "proto")]) == 0
    assert run(["proto", str(tmp_path / "new" / "proto")]) == 0  # the same again is no loss

    made = tmp_path / "new" / "proto"
    assert [path.relative_to(made) for path in sorted(made.rglob("*.*"))] == FILES
    assert all((made / name).read_bytes() == (PROTO / name).read_bytes() for name in FILES)
    assert capsys.readouterr().out.splitlines() == 2 * [str(made / name) for name in FILES]


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "arena" / "v1" / "card.proto"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    assert run(["proto", str(tmp_path)]) == 2
    assert f"{mine} is there already, and different" in capsys.readouterr().err
    assert [path.name for path in mine.parent.iterdir()] == ["card.proto"]
    assert mine.read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()

    assert run(["proto", str(tmp_path / "file")]) == 2
    assert "this can't be written: Not a directory" in capsys.readouterr().err
