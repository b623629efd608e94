"""Who plays when nobody is named: bots that were submitted, by their current versions, and bots of the house."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from arena.competition import Program, State, Version
from arena.competitors import HOUSE, House, competitors, sample_bots
from arena.settings import Entry
from arena.store import Store

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
SHELF = Path("/shelf")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as opened:
        yield opened


def submit(store: Store, program: Program, digest: str = "d", state: State = State.ADMITTED) -> None:
    submission = sha256(f"{program.name} {digest}".encode()).hexdigest()[:32]
    store.submissions.receive(Version(submission, "ada", State.WAITING, NOW))
    store.submissions.claim(submission, program, digest, 1)
    store.submissions.decide(submission, state)


def playing(
    store: Store, game: str = "hearts-classic", named: tuple[Entry, ...] = ()
) -> tuple[dict[str, Entry], list[str]]:
    notices: list[str] = []
    entries = competitors(store, SHELF.joinpath, game, notices, named)
    return {entry.name: entry for entry in entries}, notices


def test_the_current_version_plays_from_its_files(store: Store) -> None:
    submit(store, Program("ann", ("./bot",), tcp=True), "old")
    submit(store, Program("ann", ("./bot", "-x")), "new")

    entries, notices = playing(store)

    assert entries == {
        "ann": Entry("ann", command=("./bot", "-x"), directory=SHELF / "new", whole_directory=True, pack=("*",))
    }
    assert notices == ["of the bots that were submitted these play: ann (version 2)"]


def test_who_is_withdrawn_or_refused_does_not_play(store: Store) -> None:
    submit(store, Program("ann", ("./bot",)), "a")
    submit(store, Program("bob", ("./bot",)), "b", State.REFUSED)
    store.submissions.use("ann", 0, who="ada", organiser=False)

    assert playing(store) == ({}, [])


def test_a_version_that_is_brought_back_plays(store: Store) -> None:
    submit(store, Program("ann", ("./bot",)), "a")
    submit(store, Program("ann", ("./bot",)), "b")
    store.submissions.use("ann", 1, who="ada", organiser=False)

    entries, notices = playing(store)

    assert entries["ann"].directory == SHELF / "a"
    assert "ann (version 1)" in notices[0]


def test_a_bot_at_an_address_has_no_files(store: Store) -> None:
    submit(store, Program("afar", address="bots.example.org:50051"), "")

    entries, _ = playing(store)

    assert entries["afar"].address == "bots.example.org:50051"
    assert not entries["afar"].whole_directory


def test_a_bot_of_another_game_is_left_out_and_it_is_said(store: Store) -> None:
    submit(store, Program("ann", ("./bot",), games=("heartswitch",)), "a")
    submit(store, Program("bob", ("./bot",), games=("hearts-classic", "heartswitch")), "b")
    submit(store, Program("cat", ("./bot",)), "c")

    entries, notices = playing(store)

    assert set(entries) == {"bob", "cat"}
    assert notices[0] == "plays without ann, which plays heartswitch only"


def test_a_name_that_the_organiser_uses_is_the_organisers(store: Store) -> None:
    submit(store, Program("Ann", ("./bot",)), "a")

    entries, notices = playing(store, named=(Entry("ann", command=("./own",)),))

    assert entries == {}
    assert notices == ["plays without the Ann that was submitted: the organiser has a bot named ann"]


def test_bots_of_the_house_are_there_with_their_files() -> None:
    entries = House.beside([]).bots

    assert [entry.name for entry in entries] == list(HOUSE)
    for entry in entries:
        assert Path(entry.command[1]).is_file()
        assert Path(entry.command[1]).is_relative_to(sample_bots())


@pytest.mark.parametrize(
    ("sides", "house", "names"),
    [
        (1, None, []),
        (3, None, ["careful", "lowest"]),
        (6, None, ["careful", "lowest", "random"]),
        (1, True, ["careful", "lowest", "random"]),
        (6, False, []),
    ],
)
def test_the_house_takes_the_seats_that_are_left_under_names_that_are_free(
    sides: int, house: bool | None, names: list[str]
) -> None:
    called = House.beside([Entry("COUNTING")], wanted=house).called(1, sides)

    assert [entry.name for entry in called] == names


def test_a_server_dials_only_public_addresses_of_bots_that_were_submitted(store: Store) -> None:
    submit(store, Program("afar", address="bots.example.org:50051"), "")
    submit(store, Program("mine", ("./bot",)), "b")

    entries = competitors(store, Path, "hearts-classic", [], public_only=True)

    assert {entry.name: entry.public_only for entry in entries} == {"afar": True, "mine": False}
    assert not any(entry.public_only for entry in competitors(store, Path, "hearts-classic", []))
