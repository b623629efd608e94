"""Archives: of what strangers send, only what can do no harm is unpacked; the same files are the same bytes and digest."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import socket
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hostile_archives import (
    HOSTILE,
    MANIFEST,
    MEGABYTE,
    PROGRAM,
    Hostile,
    link,
    tar,
    tar_file,
    zip_info,
    zipped,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import BadInput, Refused
from arena.submission.archive import Bounds, check_tree, is_archive, tree_digest, unpack, write_archive

NOBODY = 65534


def unpacked(data: bytes, folder: Path, bounds: Bounds | None = None) -> Path:
    """Unpack an archive of these bytes in a folder."""
    (folder / "archive").write_bytes(data)
    (folder / "unpacked").mkdir()
    return unpack(folder / "archive", folder / "unpacked", bounds)


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all that is in a folder, but for where archives are unpacked."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not name.startswith("unpacked/"):
            found[name] = (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found


# --- What is an archive ---


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (tar(), True),
        (gzip.compress(tar()), True),
        (bz2.compress(tar()), True),
        (lzma.compress(tar()), True),
        (zipped(), True),
        (gzip.compress(tar())[:20], True),
        (b"", False),
        (PROGRAM, False),
        (PROGRAM * 1000, False),
    ],
    ids=["tar", "tar.gz", "tar.bz2", "tar.xz", "zip", "cut short", "empty", "program", "long program"],
)
def test_an_archive_is_known_by_its_beginning(data: bytes, is_one: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)

    assert is_archive(tmp_path / "file") is is_one


# --- What is refused ---


@pytest.mark.few(60)
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused_with_its_cure_and_changes_nothing(hostile: Hostile, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("mine")
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "archive").write_bytes(hostile.make())
    before = everything(tmp_path)
    around = set(Path("/tmp").glob("outside*"))

    with pytest.raises(Refused) as refusal:
        unpack(tmp_path / "archive", tmp_path / "unpacked")

    assert refusal.value.reason == "BAD_ARCHIVE"
    assert hostile.complaint in str(refusal.value)
    assert ": " in str(refusal.value), "it says how to mend it"
    assert str(refusal.value).isprintable()
    assert str(tmp_path) not in str(refusal.value)
    assert everything(tmp_path) == before
    assert set(Path("/tmp").glob("outside*")) == around


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_what_a_hostile_archive_leaves_behind_is_bounded_and_plain(hostile: Hostile, tmp_path: Path) -> None:
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "archive").write_bytes(hostile.make())

    with pytest.raises(Refused):
        unpack(tmp_path / "archive", tmp_path / "unpacked")

    left = [path.lstat() for path in (tmp_path / "unpacked").rglob("*")]
    assert len(left) <= Bounds().files
    assert sum(state.st_size for state in left if stat.S_ISREG(state.st_mode)) <= 2 * MEGABYTE
    assert {stat.S_IFMT(state.st_mode) for state in left} <= {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}


@pytest.mark.parametrize(
    ("bounds", "complaint"),
    [
        (Bounds(archive_bytes=100), "100 are the most"),
        (Bounds(unpacked_bytes=60), "more than 60 bytes"),
        (Bounds(files=2), "more than 2 files"),
        (Bounds(path_bytes=7), "more than 7 bytes"),
        (Bounds(depth=1), "1 folders deep"),
    ],
    ids=["archive", "unpacked", "files", "path", "depth"],
)
@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar", "zip"])
def test_each_bound_holds(pack: Callable[..., bytes], bounds: Bounds, complaint: str, tmp_path: Path) -> None:
    data = tar(tar_file("a/b")) if pack is tar else zipped(("a/b", PROGRAM))

    with pytest.raises(Refused, match=complaint):
        unpacked(data, tmp_path, bounds)


def test_an_archive_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="not unpacked within 0 seconds"):
        unpacked(tar(), tmp_path, Bounds(seconds=0.0))


def test_links_that_lead_a_long_way_round_are_refused_together(tmp_path: Path) -> None:
    links = [link(f"link{number}", "src/../" * 30 + "bot.py") for number in range(20)]
    data = tar(tar_file("src/more.py"), *links)
    (tmp_path / "enough").mkdir()
    tree = unpacked(data, tmp_path / "enough", Bounds(looks=2000))

    with pytest.raises(Refused, match="a long way round"):
        unpacked(data, tmp_path, Bounds(looks=1000))
    with pytest.raises(Refused, match="a long way round"):
        check_tree(tree, Bounds(looks=1000))


def test_a_full_disk_is_not_blamed_on_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)

    with pytest.raises(OSError, match="No space left"):
        unpacked(tar(), tmp_path)


@pytest.mark.slow
@given(st.binary(max_size=4096), st.sampled_from([b"", b"PK\3\4", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0"]))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_refused(data: bytes, head: bytes) -> None:
    with TemporaryDirectory() as folder, pytest.raises(Refused):
        unpacked(head + data, Path(folder))


VARIED = (
    tar(tar_file("x" * 150), link("l", "bot.py")),
    tar(tar_file("é" * 80), form=tarfile.PAX_FORMAT),
    gzip.compress(tar(), mtime=0),
    lzma.compress(tar()),
    bz2.compress(tar()),
    zipped((zip_info("l", 0o120777), b"bot.py")),
)


@pytest.mark.slow
@given(
    st.sampled_from(VARIED),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8),
    st.floats(0.5, 1),
)
@settings(max_examples=600, deadline=None)
def test_an_archive_with_any_bytes_changed_is_a_sound_tree_or_refused(
    whole: bytes, changes: list[tuple[float, int]], kept: float
) -> None:
    data = bytearray(whole)
    for place, value in changes:
        data[int(place * len(data))] = value
    data = data[: int(len(data) * kept)] if kept < 0.6 else data

    with TemporaryDirectory() as folder:
        try:
            tree = unpacked(bytes(data), Path(folder))
        except Refused as refusal:
            assert refusal.reason == "BAD_ARCHIVE"
            assert str(refusal).isprintable()
        else:
            check_tree(tree)
        assert {path.name for path in Path(folder).iterdir()} == {"archive", "unpacked"}


# --- What is unpacked ---


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "from" / "bot"
    (folder / "src" / ("d" * 110)).mkdir(parents=True)
    (folder / "bot.yaml").write_bytes(MANIFEST)
    (folder / "bot.py").write_bytes(PROGRAM)
    (folder / "bot.py").chmod(0o755)
    (folder / "src" / ("d" * 110) / "Grüße.txt").write_text("hello" * 1000)
    (folder / "src" / "empty").touch()
    (folder / "run").symlink_to("bot.py")
    (folder / "src" / "up").symlink_to("../run")
    return folder


FORMS = {
    "tar": ("cf", "gnu"),
    "tar.gz": ("czf", "gnu"),
    "tar.xz": ("cJf", "pax"),
    "tar.bz2": ("cjf", "pax"),
    "pax": ("cf", "pax"),
}


@pytest.mark.parametrize("inside", [True, False], ids=["its folder", "what is in it"])
@pytest.mark.parametrize("form", FORMS)
def test_what_tar_packs_is_unpacked_as_it_was(form: str, inside: bool, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    start, what = (folder.parent, folder.name) if inside else (folder, ".")
    flags, kind = FORMS[form]
    command = ["tar", f"--format={kind}", "-C", str(start), f"-{flags}", str(tmp_path / "packed"), what]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"this tar can't: {done.stderr}")

    tree = unpacked((tmp_path / "packed").read_bytes(), tmp_path)

    assert tree_digest(tree) == tree_digest(folder)
    assert tree.name == (folder.name if inside else "unpacked")
    assert (tree / "src" / "up").read_bytes() == PROGRAM


def zip_of(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
            if path.is_symlink():
                archive.writestr(zip_info(name, mode), str(path.readlink()))
            elif path.is_file():
                archive.writestr(zip_info(name, mode), path.read_bytes())
            else:
                archive.mkdir(name)
    return packed.getvalue()


def test_a_zip_and_a_tar_of_the_same_files_have_one_digest(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)

    assert tree_digest(unpacked(zip_of(folder), tmp_path)) == tree_digest(folder)


def test_the_names_of_an_old_zip_are_read_as_they_were_meant(tmp_path: Path) -> None:
    data = zipped((zip_info("gruesse.txt"), b"hello")).replace(b"gruesse.txt", "grüße.txt".encode())

    assert (unpacked(data, tmp_path) / "grüße.txt").read_text() == "hello"


def test_what_a_mac_puts_beside_the_folder_of_a_zip_is_left_out(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bot/bot.yaml", MANIFEST)
        archive.writestr("__MACOSX/bot/._bot.yaml", b"\0")

    assert unpacked(packed.getvalue(), tmp_path).name == "bot"


def test_a_tar_that_git_made_is_unpacked(tmp_path: Path) -> None:
    header, data = tar_file("pax_global_header", b"52 comment=" + b"a" * 40 + b"\n", type=tarfile.XGLTYPE)

    assert (unpacked(tar((header, data), tar_file("more.py")), tmp_path) / "more.py").read_bytes() == PROGRAM


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_are_our_own(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        tree = unpacked(
            tar(
                tar_file("bin/setuid", mode=0o6755),
                tar_file("bin/secret", mode=0o000),
                tar_file("bin/open", mode=0o1666),
                tar_file("empty", b"", type=tarfile.DIRTYPE, mode=0o1777),
            ),
            tmp_path,
        )
    finally:
        os.umask(before)

    modes = {path.relative_to(tree).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in tree.rglob("*")}
    assert modes == {
        "bot.yaml": 0o644,
        "bot.py": 0o644,
        "bin": 0o755,
        "bin/setuid": 0o755,
        "bin/secret": 0o644,
        "bin/open": 0o644,
        "empty": 0o755,
    }


def test_a_small_file_may_be_packed_as_well_as_can_be(tmp_path: Path) -> None:
    tree = unpacked(gzip.compress(tar(tar_file("zeros", bytes(MEGABYTE - 200)))), tmp_path)

    assert check_tree(tree) == MEGABYTE - 200 + len(MANIFEST) + len(PROGRAM)


# --- Trees ---


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def _socket(folder: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    there = Path.cwd()
    os.chdir(folder)  # for a path that is short enough
    try:
        listener.bind("socket")
    finally:
        os.chdir(there)
        listener.close()


def _deep(folder: Path) -> None:
    for _ in range(40):
        folder /= "a"
    folder.mkdir(parents=True)


def _link(target: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "link").symlink_to(target)


def _setuid(folder: Path) -> None:
    (folder / "program").touch()
    (folder / "program").chmod(0o4755)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_pipe, "'pipe' is a device, a pipe"),
        (_socket, "'socket' is a device, a pipe"),
        (_deep, "32 folders deep"),
        (_link("/etc/passwd"), "the link 'link' leads outside"),
        (_link(".."), "the link 'link' leads outside"),
        (_link("../bot/bot.py"), "the link 'link' leads outside"),
        (_link("nothing"), "or nowhere"),
        (_link("bot.py/../bot.py"), "or nowhere"),
        (_link("src/.."), "leads to a folder that holds it"),
        (_setuid, "'program' would run with"),
        (lambda folder: (folder / "a\nb").touch(), "can't be shown"),
        (lambda folder: (folder / "large").write_bytes(bytes(7000)), "more than 6,000 bytes"),
        (lambda folder: [(folder / f"{number}").touch() for number in range(100)], "more than 100 files"),
    ],
    ids=[
        *("pipe", "socket", "deep", "absolute link", "link to the parent", "link out and back", "dangling link"),
        *("link through a file", "link in a circle", "setuid", "line end", "large", "many"),
    ],
)
def test_a_built_tree_is_held_to_the_same_rules(
    spoil: Callable[[Path], object], complaint: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path)
    bounds = Bounds(unpacked_bytes=6000, files=100)
    assert check_tree(folder, bounds) == 5000 + len(MANIFEST) + len(PROGRAM)

    spoil(folder)

    with pytest.raises(Refused, match=complaint) as refusal:
        check_tree(folder, bounds)
    assert refusal.value.reason == "BAD_ARCHIVE"


def test_a_folder_that_a_build_has_hidden_is_refused() -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        (folder / "hidden").mkdir()
        (folder / "hidden").chmod(0)
        if os.geteuid() == 0:  # from whom nothing is hidden
            folder.chmod(0o755)
            os.chown(folder / "hidden", NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            with pytest.raises(Refused, match="'hidden' can't be read"):
                check_tree(folder)
        finally:
            if os.getuid() == 0:
                os.seteuid(0)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "bot.py").write_bytes(b"other"),
        lambda folder: (folder / "bot.py").chmod(0o644),
        lambda folder: (folder / "bot.py").rename(folder / "run.py"),
        lambda folder: (folder / "more").touch(),
        lambda folder: (folder / "src" / "empty").unlink(),
        lambda folder: [(folder / "run").unlink(), (folder / "run").symlink_to("bot.yaml")],
        lambda folder: [(folder / "run").unlink(), (folder / "run").write_bytes(PROGRAM)],
    ],
    ids=["content", "mode", "name", "more", "less", "target", "file for a link"],
)
def test_the_digest_tells_trees_apart(change: Callable[[Path], object], tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    before = tree_digest(folder)

    change(folder)

    assert tree_digest(folder) != before


def test_the_digest_is_of_names_contents_and_programs_alone(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    before = tree_digest(folder)

    (folder / "nothing in it").mkdir()
    (folder / "bot.yaml").chmod(0o600)
    os.utime(folder / "bot.py", (1, 1))

    assert tree_digest(folder) == before
    assert len(before) == 64


def test_the_digest_tells_how_a_tree_is_built(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    builds: list[tuple[str, ...]] = [(), ("make",), ("make", "all"), ("makeall",)]

    assert len({tree_digest(folder, build) for build in builds}) == len(builds)


# --- Packing ---


def files_of(folder: Path) -> dict[str, Path]:
    return {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file() or path.is_symlink()
    }


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    files = files_of(folder)
    write_archive(files, tmp_path / "first")

    os.utime(folder / "bot.py", (1, 1))
    (folder / "bot.yaml").chmod(0o600)
    write_archive(dict(reversed(files.items())), tmp_path / "second")

    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_what_is_packed_is_unpacked_as_it_was(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    write_archive(files_of(folder), tmp_path / "packed")

    tree = unpacked((tmp_path / "packed").read_bytes(), tmp_path)

    assert tree_digest(tree) == tree_digest(folder)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gone can't be read: No such file"):
        write_archive({"gone": tmp_path / "gone"}, tmp_path / "packed")
