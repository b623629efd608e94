from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unicodedata import east_asian_width

import pytest
from rich.console import Console
from stored_matches import new_matches, new_tournament, played_match, save_match

from arena.cards import Card, cards_to_set
from arena.cli import run
from arena.cli.deal_view import DealView, decision_tricks, tricks
from arena.decision import Decision
from arena.faults import Evidence, Fault, FaultKind
from arena.games import find_game
from arena.record import DealRecord, Note
from arena.simulate import simulate
from arena.store import Store


def choose(decision: Decision) -> list[Card]:
    return decision.rng.sample(decision.legal, decision.count)


def play(game: str, players: int, number: int = 1, names: tuple[str, ...] = (), seed: str = "show") -> DealRecord:
    record = simulate(find_game(game, players), [choose] * players, seed=seed, deals=number).records[-1]
    return replace(record, bots=names or tuple(f"bot{seat}" for seat in range(players)))


def draw(record: DealRecord, width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False, markup=False, emoji=False)
    console.print(DealView(console).draw(record, "Deal"))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def columns(line: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in line)


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "arena.db"
    matches = new_matches(2)
    with Store.open(path) as opened, opened.coordinate():
        opened.add_tournament(new_tournament(), matches)
        save_match(opened, "0123456789ab", played_match(matches[0]))
    return str(path)


@pytest.mark.parametrize(("game", "players"), [("hearts-classic", 4), *(("heartswitch", n) for n in (3, 4, 5, 6))])
def test_every_trick_is_shown_with_leader_taker_and_points(game: str, players: int) -> None:
    record = play(game, players)

    played = tricks(record)
    assert len(played) == record.game.hand_size
    assert sorted(card for trick in played for card in trick.cards) == sorted(record.plays)
    assert all(before.taker == after.leader for before, after in pairwise(played))
    costs = [sum(trick.cost for trick in played if trick.taker == seat) for seat in range(players)]
    assert costs == [record.game.pile_points(cards_to_set(pile)) for pile in piles(record)]
    lines = draw(record).splitlines()
    for number, trick in enumerate(played, 1):
        cells = [
            f"{'>' * (seat == trick.leader)}{card}{'*' * (seat == trick.taker)}"
            for seat, card in enumerate(trick.cards)
        ]
        row = next(
            line.split() for line in lines if line.split()[:1] == [str(number)] and line.split()[1:2] == cells[:1]
        )
        assert row == [str(number), *cells, *([f"{trick.cost:+}"] if trick.cost else [])]
    assert any(line.split() == ["points", *map(str, record.scores), str(sum(record.scores))] for line in lines)


def piles(record: DealRecord) -> list[list[Card]]:
    return [
        [card for trick in tricks(record) if trick.taker == seat for card in trick.cards]
        for seat in range(record.game.players)
    ]


def test_a_moon_is_told() -> None:
    deals = (play("heartswitch", 4, seed=f"{number}") for number in range(1000))
    moon = next(deal for deal in deals if sorted(deal.scores) in ([0, 20, 20, 20], [0, 25, 25, 25], [0, 30, 30, 30]))

    assert "a moon was shot; the points taken were" in draw(moon)


def test_hands_are_shown_by_suits_as_dealt() -> None:
    record = play("heartswitch", 6)

    shown = draw(record)

    for seat, hand in enumerate(record.hands):
        line = next(line for line in shown.splitlines() if line.startswith(f" {seat}     bot{seat}"))
        for card in hand:
            assert re.search(str(card) if card.is_magician else rf"{str(card)[1]}\xa0[^CDSHM]*{str(card)[0]}", line)
        assert " ".join(map(str, record.passes[seat])) in line


def test_a_deal_without_passing_shows_none() -> None:
    assert "passed" in draw(play("hearts-classic", 4, 3))
    assert "passed" not in draw(play("hearts-classic", 4, 4))


def test_long_names_that_begin_alike_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = tuple(f"a bot with a name that is long, {number}" for number in range(4))
    record = play("hearts-classic", 4, names=names)
    path, match = str(tmp_path / "arena.db"), new_matches(1, 1)[0]
    with Store.open(path) as opened:
        opened.add_tournament(new_tournament(), [match])
        save_match(opened, "0123456789ab", [replace(played_match(match)[0], records=(record,))])

    assert run(["show", "1", "--store", path]) == 0

    for text in (capsys.readouterr().out, draw(record)):
        assert all(re.search(rf"a bot[^…]*…\w*, {number}\b", text) for number in range(4)), text


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("players", [3, 4, 5, 6])
def test_a_deal_fits_the_console_whatever_the_names(players: int, width: int) -> None:
    names = ("蝶" * 64, "x" * 64, "[bold]\x1b[31mé", "a b", "ß", "-")[:players]

    lines = draw(play("heartswitch", players, names=names), width).splitlines()

    assert max(map(columns, lines)) <= width
    assert any("[bold]" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_decisions_are_found_in_their_tricks() -> None:
    first, fourth, fifth = (decision_tricks(play("hearts-classic", 4, number)) for number in (1, 4, 5))

    assert (first[0], first[1], first[13]) == (0, 1, 13)
    assert (min(fourth.items()), max(fourth.items())) == ((42, 1), (54, 13))
    assert (min(fifth.items()), max(fifth.items())) == ((55, 0), (68, 13))


def test_faults_and_notes_are_told_where_they_happened() -> None:
    evidence = Evidence(
        FaultKind.DISCONNECTED, "the process ended", exit_code=1, answer="9X", stderr="Traceback:\n  \x1b[1mKeyError"
    )
    record = replace(
        play("hearts-classic", 4, 2),
        faults=(Fault(1, 14, Evidence(FaultKind.TIMEOUT, "no answer", overrun=0.25)), Fault(2, 18, evidence, True)),
        notes=(Note(3, 15, "hoping \x1b[31mfor the best"),),
        retired=(2,),
    )

    text = draw(record, 120)

    assert "passing, seat 1 (bot1): timeout: no answer; 0.250 s over the limit" in text
    assert "trick 4, seat 2 (bot2): disconnected: the process ended; exit code 1; answer: 9X" in text
    assert "   | Traceback:" in text
    assert "   |   KeyError" in text
    assert "seat 2 is retired: it is asked no more" in text
    assert "trick 1, seat 3 (bot3): hoping for the best" in text
    row = next(line.split() for line in text.splitlines() if line.startswith(" 4  "))
    assert row[3].endswith("!")


def test_a_traceback_in_a_file_is_as_the_bot_wrote_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [f'  File "/{"folder/" * 20}bot.py", line {number}, in play' for number in range(20)]
    written = ["Traceback (most recent call last):", *calls, "KeyError: 9"]
    fault = Fault(1, 14, Evidence(FaultKind.DISCONNECTED, "the process ended", stderr="\n".join(written)))
    record = replace(play("hearts-classic", 4), faults=(fault,))
    path, match = str(tmp_path / "arena.db"), new_matches(1, 1)[0]
    with Store.open(path) as opened:
        opened.add_tournament(new_tournament(), [match])
        save_match(opened, "0123456789ab", [replace(played_match(match)[0], records=(record,))])

    assert run(["show", "1", "--deal", "1", "--store", path]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "|" in line] == [f"   | {line}" for line in written]


def test_totals_are_shown_where_games_are_placed() -> None:
    record = replace(play("heartswitch", 4), placed_by_game=True, totals=(31, 45, 27, 60))

    assert re.search(r"^ total +31 +45 +27 +60 *$", draw(record), re.MULTILINE)


def test_a_match_is_shown_in_lines(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "1", "--store", store]) == 0

    text = capsys.readouterr().out
    assert "Tournament 0123456789ab, match 1: hearts-classic for 4 players" in text
    assert re.search(r"^ 0 +cautious +gopher +Ünï 蝶 +zed", text, re.MULTILINE)
    assert "table 0, deal 1, seat 2 (Ünï 蝶): timeout" in text
    assert max(map(columns, text.splitlines())) <= 80
    assert "With --table 0 --deal 1 this command" in text


def test_deals_are_chosen_by_table_and_number(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    def headings(*arguments: str) -> list[str]:
        assert run(["show", "1", "--store", store, *arguments]) == 0
        return re.findall(r"^Match .*$", capsys.readouterr().out, re.MULTILINE)

    assert headings("--table", "3", "--deal", "2") == ["Match 1, table 3, deal 2: hearts-classic for 4 players"]
    assert len(headings("--table", "3")) == 2
    assert len(headings("--deal", "1")) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["2"], "match 2 of tournament 0123456789ab is not played yet"),
        (["3"], "tournament 0123456789ab has matches 1 to 2, not 3"),
        (["1", "--table", "4"], "match 1 has tables 0 to 3 with deals 1 to 2 at most"),
        (["1", "--deal", "9"], "match 1 has tables 0 to 3 with deals 1 to 2 at most"),
        (["1", "--tournament", "ff"], "has no tournament 'ff'; it has: 0123456789ab"),
    ],
    ids=["not played", "no match", "no table", "no deal", "no tournament"],
)
def test_what_was_not_played_is_refused(
    arguments: list[str], message: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", *arguments, "--store", store]) == 2
    assert message in capsys.readouterr().err


def test_a_store_that_does_not_exist_is_refused_and_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", "1", "--store", str(tmp_path / "none.db")]) == 2
    assert "none.db does not exist" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def test_json_has_the_whole_record(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "1", "--table", "0", "--deal", "1", "--store", store, "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    record = played_match(new_matches(1)[0])[0].records[0]
    assert (shown["tournament"], shown["match"]) == ("0123456789ab", 1)
    (deal,) = shown["deals"]
    assert [Card(code) for code in deal["plays"]] == list(record.plays)
    assert [[Card(code) for code in hand] for hand in deal["hands"]] == [list(hand) for hand in record.hands]
    assert deal["scores"] == list(record.scores)
    assert deal["faults"][0]["kind"] == "timeout"


@pytest.mark.few(1)
@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["colour", "none"])
def test_a_terminal_shows_suits_in_colour_unless_told_not_to(
    store: str, environment: dict[str, str], coloured: bool
) -> None:
    text = on_a_terminal(["show", "1", "--table", "0", "--deal", "1", "--store", store], environment)

    assert "Q♠" in text
    assert ("\x1b[31m" in text) is coloured


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """Run a command on a terminal of its own and return all that it writes there."""
    terminal, child = pty.openpty()
    usual = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "arena", *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**usual, "TERM": "xterm-256color", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment},
    )
    os.close(child)
    written = b""
    try:
        while data := os.read(terminal, 65536):
            written += data
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(terminal)
    assert process.wait(60) == 0
    return written.decode()
