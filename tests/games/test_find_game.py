"""Finding games by name, and the options that they have."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playthrough import all_tables, table_name

from arena.errors import BadGame
from arena.game import Game, Option, OptionValue
from arena.games import find_game, game_names
from arena.games.options import describe_values, format_option, parse_option

TABLES = list(all_tables())
every_table = pytest.mark.parametrize("game", TABLES, ids=list(map(table_name, TABLES)))
every_name = pytest.mark.parametrize("name", game_names())


def test_the_games_are_these() -> None:
    assert game_names() == ("hearts-classic", "hearts-special", "hearts-standard", "heartswitch")


def test_every_table_that_the_rules_allow_can_be_found() -> None:
    assert [table_name(game) for game in TABLES] == [
        "hearts-classic-4",
        "hearts-special-4",
        "hearts-standard-4",
        "heartswitch-3",
        "heartswitch-4",
        "heartswitch-4-partners",
        "heartswitch-5",
        "heartswitch-6",
        "heartswitch-6-partners",
    ]


@pytest.mark.parametrize("name", ["", "hearts", "Hearts-Classic", "heartswitch ", "hearts-classic2", "arena.games"])
def test_an_unknown_name_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(BadGame, match="choose one of hearts-classic, hearts-special, hearts-standard, heartswitch"):
        find_game(name)


@every_name
def test_unknown_sides_are_refused(name: str) -> None:
    with pytest.raises(BadGame, match="choose one of single, partners"):
        find_game(name, 4, "teams")


@every_name
def test_four_single_players_are_what_is_meant_without_words(name: str) -> None:
    game = find_game(name)

    assert (game.name, game.players, game.partners) == (name, 4, False)


@every_table
def test_all_options_have_their_defaults(game: Game) -> None:
    assert game.options == {option.name: option.default for option in game.known_options}
    assert all(option.allows(option.default) for option in game.known_options)


def test_the_games_of_hearts_differ_in_these_defaults() -> None:
    classic, special, standard = (find_game(name).options for name in game_names()[:3])

    assert special == classic
    assert {**classic, "moon": 26, "points_on_first_trick": False} == standard
    assert classic == {
        "target": 100,
        "deals": None,
        "moon": 13,
        "queen_breaks_hearts": False,
        "points_on_first_trick": True,
        "any_club_leads": False,
        "hearts_before_queen": False,
        "jack_of_diamonds": False,
        "passing": True,
        "cards_passed": 3,
    }


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hearts-classic", {"moon": 27}),
        ("hearts-classic", {"moon": True}),
        ("hearts-classic", {"target": 0}),
        ("hearts-classic", {"target": -5}),
        ("hearts-classic", {"target": 2**32}),
        ("hearts-classic", {"target": None}),
        ("hearts-classic", {"target": True}),
        ("hearts-classic", {"target": "many"}),
        ("hearts-classic", {"passing": 1}),
        ("hearts-classic", {"passing": None}),
        ("hearts-classic", {"cards_passed": 0}),
        ("hearts-classic", {"cards_passed": 14}),
        ("heartswitch", {"deals": 0}),
        ("heartswitch", {"deals": False}),
        ("heartswitch", {"moon": 13}),
        ("heartswitch", {"Target": 70}),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_with_all_that_are_valid(name: str, options: dict[str, OptionValue]) -> None:
    with pytest.raises(BadGame) as refusal:
        find_game(name, options=options)

    assert next(iter(options)) in str(refusal.value).splitlines()[0]
    for option in find_game(name).known_options:
        assert f"\n  {describe_values(option)}" in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "void"),
    [({"deals": 4, "target": 50}, "target"), ({"passing": False, "cards_passed": 4}, "cards_passed")],
    ids=["target", "cards_passed"],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, OptionValue], void: str) -> None:
    with pytest.raises(BadGame, match=f"{void} means nothing where"):
        find_game("hearts-classic", options=options)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(BadGame, match="no option 'colour'; deals cannot be 0; moon cannot be 5"):
        find_game("hearts-classic", options={"deals": 0, "moon": 5, "colour": "red"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("26", 26),
        ("-1", -1),
        ("true", True),
        ("FALSE", False),
        ("none", None),
        (" off ", "off"),
        ("1e3", "1e3"),
        ("²", "²"),
        ("", ""),
        ("-", "-"),
    ],
)
def test_text_is_read_as_the_value_it_says(text: str, value: OptionValue) -> None:
    parsed = parse_option(text)

    assert parsed == value
    assert type(parsed) is type(value)


@given(st.one_of(st.booleans(), st.none(), st.integers(-(10**18), 10**18), st.sampled_from(["off", "red"])))
def test_values_round_trip_through_text(value: Any) -> None:
    assert parse_option(format_option(value)) == value
    assert type(parse_option(format_option(value))) is type(value)


@every_table
def test_a_game_is_found_again_by_its_options_as_text(game: Game) -> None:
    texts = {name: format_option(value) for name, value in game.options.items()}

    again = find_game(game.name, game.players, "partners" if game.partners else "single", texts)

    assert again == game
    assert hash(again) == hash(game)


def test_options_given_as_text_are_values_in_the_game() -> None:
    game = find_game("hearts-standard", options={"moon": "off", "deals": "8", "jack_of_diamonds": "true"})

    assert (game.options["moon"], game.deals, game.options["jack_of_diamonds"]) == ("off", 8, True)
    assert game == find_game("hearts-standard", options={"moon": "off", "deals": 8, "jack_of_diamonds": True})


def test_other_options_make_another_game() -> None:
    assert find_game("hearts-classic", options={"target": 50}) != find_game("hearts-classic")
    assert find_game("heartswitch", 4) != find_game("heartswitch", 4, "partners")
    assert find_game("hearts-classic") != find_game("hearts-special")


def test_what_was_given_is_not_kept() -> None:
    given_options: dict[str, OptionValue] = {"target": 50}
    game = find_game("hearts-classic", options=given_options)

    given_options["target"] = 1

    assert game.target == 50


@every_table
def test_a_game_can_be_sent_to_another_process(game: Game) -> None:
    again = pickle.loads(pickle.dumps(game))

    assert again == game
    assert again.random_deal(1).hands == game.random_deal(1).hands


@every_table
def test_a_summary_tells_how_the_game_ends(game: Game) -> None:
    fixed = find_game(game.name, game.players, "partners" if game.partners else "single", {"deals": 7})

    assert f"a total is {game.target} or more" in game.summary
    assert "After 7 deals the lowest total wins." in fixed.summary
    assert game.summary.count(".") > 6


def test_a_summary_follows_the_options() -> None:
    plain = find_game("hearts-standard").summary
    changes: dict[str, OptionValue] = {
        "moon": "off",
        "queen_breaks_hearts": True,
        "points_on_first_trick": True,
        "any_club_leads": True,
        "hearts_before_queen": True,
        "jack_of_diamonds": True,
        "passing": False,
        "cards_passed": 4,
        "target": 50,
    }
    for option, value in changes.items():
        assert find_game("hearts-standard", options={option: value}).summary != plain


def test_an_option_tells_values_apart_by_type() -> None:
    option = Option("moon", 13, "", choices=(1, "off"), numbers=range(5, 7))

    assert [option.allows(value) for value in (1, True, "off", 5, 6, 7, None, False, "1")] == [
        True,
        False,
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert describe_values(option) == "moon: a whole number from 5 to 6, 1 or off (13 if not given)"
