from __future__ import annotations

import json

import pytest

from arena.cli import run
from arena.games import find_game, game_names


def test_all_games_are_listed_with_players_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["games"]) == 0

    text = capsys.readouterr().out
    assert all(f" {name} " in text for name in game_names())
    assert " heartswitch      3, 4, 5, 6  4, 6           as `arena games heartswitch` tells" in text
    assert "Options of heartswitch: target, deals." in text


def test_how_the_hearts_differ_is_told_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")

    assert run(["games"]) == 0

    text = capsys.readouterr().out
    rules = {line.split()[0]: line for line in text.splitlines() if line.startswith(" hearts-")}
    assert "as hearts-classic, but: Once a total is 100 or more" in rules["hearts-special"]
    assert "while two share the lowest" in rules["hearts-special"]
    assert "On the first trick hearts and the queen of spades may not be played" in rules["hearts-standard"]
    assert "the others 26 each." in rules["hearts-standard"]
    assert "passes 3" not in text  # what is alike
    assert text.count("queen_breaks_hearts") == 1


def test_a_game_is_told_with_its_rules_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["games", "hearts-special"]) == 0

    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("hearts-special for 4 players")
    assert find_game("hearts-special").summary in text
    assert "moon 13 13, 26, off" in text
    assert "target 100 1 or more" in text
    assert "cards_passed 3 1 to 13" in text


def test_rules_are_told_for_the_players_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["games", "heartswitch", "--players", "6"]) == 0
    assert "6 players get 10 of 60 cards" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heart"], "no game is called 'heart': choose one of hearts-classic"),
        (["hearts-classic", "--players", "3"], "hearts-classic is for 4 players, not 3"),
        (["hearts-classic", "--players", "9"], "9 is not in the range 2<=x<=6"),
        (["--players", "4"], "--players goes with the NAME of a game"),
    ],
    ids=["unknown", "players", "range", "no name"],
)
def test_what_is_no_game_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["games", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_json_has_every_option_with_its_default_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["games", "heartswitch", "--json"]) == 0

    game = json.loads(capsys.readouterr().out)
    assert game.pop("rules") == find_game("heartswitch").summary
    assert game == {
        "name": "heartswitch",
        "players": [3, 4, 5, 6],
        "players_with_partners": [4, 6],
        "options": [
            {
                "name": "target",
                "default": 70,
                "choices": [],
                "range": [1, 2**32 - 1],
                "meaning": "the total that ends the game",
            },
            {
                "name": "deals",
                "default": None,
                "choices": [None],
                "range": [1, 2**32 - 1],
                "meaning": "how many deals are played instead",
            },
        ],
    }
