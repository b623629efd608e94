"""What verification promises: it accepts what was played, and finds every change of it at its place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from small_tournaments import KINDS, change_record, execute, play

from arena.difference import Difference, compare_documents
from arena.faults import Evidence, Fault, FaultKind
from arena.games import find_game
from arena.match import Match
from arena.plan import FixedPlan, Played, Step
from arena.record import DealRecord, Note
from arena.report import stored_document
from arena.settings import Format, Settings, Tournament
from arena.store import Store
from arena.tournament import fixed_plan
from arena.verify import Verified, verify_tournament

GAMES = Settings(game="heartswitch", players=3, options={"target": 20}, format=Format.GAME, boards=1, seed="games")
MANY = Settings(game="heartswitch", players=3, boards=312, seed="many")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stores with one tournament each; one bot of "hearts" and "many" plays cards that it does not hold."""
    folder = tmp_path_factory.mktemp("played")
    stores = {name: folder / f"{name}.db" for name in ("hearts", "games", "many", "half", "drawn")}
    play(stores["hearts"])
    play(stores["games"], GAMES, KINDS[:3])
    play(stores["many"], MANY)
    play(stores["half"], stop_after=3)
    play(stores["drawn"], replace(GAMES, format=Format.DUPLICATE, seed=None, options={}), KINDS[:3])
    return stores


@pytest.fixture
def copy(played: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Copies one of those stores."""
    return lambda name: Path(shutil.copy(played[name], tmp_path / "arena.db"))


def verify(path: Path, commitment: str | None = None) -> Verified:
    with Store.open(path, create=False) as store:
        return verify_tournament(store, store.tournament(), commitment=commitment)


def difference(path: Path, commitment: str | None = None) -> Difference:
    with pytest.raises(Difference) as raised:
        verify(path, commitment)
    return raised.value


# --- What was played is verified ---


def test_a_tournament_is_verified_and_counted(played: dict[str, Path]) -> None:
    verified = verify(played["hearts"])

    assert verified == Verified(
        scheduled=6,
        finished=True,
        matches=6,
        deals=96,
        decisions=24 * (3 * 55 + 4),
        faults=24 * 3,
        disqualified=frozenset({"Cheat 3"}),
    )


def test_games_and_disqualifications_are_verified(played: dict[str, Path]) -> None:
    assert verify(played["games"]).finished

    many = verify(played["many"])
    assert many.disqualified == {"Cheat 3"}
    assert 50 < many.matches < many.scheduled


def test_of_an_unfinished_tournament_what_there_is_is_verified(played: dict[str, Path]) -> None:
    half = verify(played["half"])

    assert (half.finished, half.scheduled, half.deals) == (False, 6, 16 * half.matches)
    assert 0 < half.matches < 6


@pytest.mark.few(3)
@pytest.mark.parametrize("format_", list(Format))
@pytest.mark.parametrize(
    ("game", "players", "partners", "independent"),
    [
        ("hearts-special", 4, False, False),
        ("hearts-standard", 4, False, True),
        ("heartswitch", 4, True, False),
        ("heartswitch", 5, False, False),
        ("heartswitch", 6, True, True),
    ],
)
def test_every_game_is_verified_in_both_formats(
    tmp_path: Path, game: str, players: int, partners: bool, independent: bool, format_: Format
) -> None:
    settings = Settings(
        game=game,
        players=players,
        partners=partners,
        options={"target": 20},
        independent=independent,
        format=format_,
        boards=1,
        seed="all",
    )
    kinds = ("Cheat", "Random", "Highest", "Lowest", "Random")[: players // 2 if partners else players]
    play(tmp_path / "arena.db", settings, kinds)

    verified = verify(tmp_path / "arena.db")

    assert verified.finished
    assert verified.faults


def test_a_match_that_was_dealt_anew_is_verified_and_named(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    play(path, stop_after=1)
    with Store.open(path) as store:
        number = store.matches(store.tournament().id, done=False)[0].number
        store.void_match(store.tournament().id, number, dealt_anew=True)
    play(path)

    assert verify(path).dealt_anew == [number]


def test_what_is_played_meanwhile_is_left_for_another_time(
    played: dict[str, Path], copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy("half")
    with Store.open(path) as store:
        number = store.matches(store.tournament().id, done=False)[0].number
    read_attempts = Store.attempts

    def attempts(store: Store, tournament: str) -> dict[int, int]:
        execute(
            path,
            f"ATTACH '{played['hearts']}' AS whole",
            f"UPDATE matches SET done = 1 WHERE number = {number}",
            *(
                f"INSERT INTO {table} SELECT * FROM whole.{table} WHERE match = {number}"
                for table in ("results", "records", "faults")
            ),
        )
        return read_attempts(store, tournament)

    monkeypatch.setattr(Store, "attempts", attempts)

    before = verify(path).matches
    monkeypatch.undo()

    assert verify(path).matches == before + 1


def test_the_commitment_is_that_of_the_seed(played: dict[str, Path]) -> None:
    with Store.open(played["drawn"]) as store:
        commitment = store.tournament().seed.commitment

    assert verify(played["drawn"], commitment=commitment.upper()).finished
    assert difference(played["drawn"], commitment="0" * 64).what == "the SHA-256 of the seed"


# --- Schedules that grow ---


class ByResults:
    """A plan that goes on two matches at a time, with line-ups that depend on the points so far."""

    def __init__(self, tournament: Tournament, lucky: int = 0) -> None:
        self._schedule = fixed_plan(tournament).begin()
        self._lucky = lucky

    def begin(self) -> Sequence[Match]:
        return self._schedule[:2]

    def go_on(self, played: Played) -> Step:
        points = sum(sum(result.points) for result in played.results) + self._lucky
        known = len(played.matches)
        following = self._schedule[known : known + 2]
        return Step(tuple(replace(match, line_up=match.line_up[:: 1 - 2 * (points % 2)]) for match in following))


def test_a_schedule_that_grows_by_results_is_verified_step_by_step(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    play(path, plan_of=ByResults)

    with Store.open(path) as store:
        tournament = store.tournament()
        verified = verify_tournament(store, tournament, plan_of=ByResults)
        with pytest.raises(Difference) as raised:
            verify_tournament(store, tournament, plan_of=lambda tournament: ByResults(tournament, lucky=1))

    assert (verified.matches, verified.scheduled) == (6, 6)
    assert (raised.value.match, raised.value.what) == (3, "the match in the schedule, its line up")


@pytest.mark.slow
def test_a_schedule_that_goes_on_too_far_is_found(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    play(path)

    with Store.open(path) as store, pytest.raises(Difference) as raised:
        tournament = store.tournament()
        verify_tournament(store, tournament, plan_of=lambda _: FixedPlan(fixed_plan(tournament).begin()[:4]))

    assert str(raised.value) == "match 5: the match in the schedule: expected none, found one"


# --- A changed record is found ---


def first_swapped(record: DealRecord) -> DealRecord:
    one, two, *others = record.hands
    hands = ((two[0], *one[1:]), (one[0], *two[1:]), *others)
    return replace(record, hands=tuple(tuple(sorted(hand)) for hand in hands))


def fault_of(seat: int, decision: int, **more: bool) -> Fault:
    return Fault(seat, decision, Evidence(FaultKind.TIMEOUT, "too late"), **more)


def seat_of(record: DealRecord, kind: str) -> int:
    return next(seat for seat, bot in enumerate(record.bots) if bot.startswith(kind))


RECORDS: dict[str, tuple[Callable[[DealRecord], DealRecord], str]] = {
    "a card in two hands": (first_swapped, "the hand of seat 0"),
    "no hands": (lambda record: replace(record, hands=((),) * 4), "the hand of seat 0"),
    "two plays": (
        lambda record: replace(record, plays=(record.plays[1], record.plays[0], *record.plays[2:])),
        "the card that seat",
    ),
    "a play missing": (lambda record: replace(record, plays=record.plays[:-1]), "the number of cards played"),
    "a play too many": (
        lambda record: replace(record, plays=(*record.plays, record.plays[0])),
        "the number of cards played",
    ),
    "a pass of others' cards": (
        lambda record: replace(record, passes=record.passes[1:] + record.passes[:1]),
        "the cards that seat 0 passes",
    ),
    "no passes": (lambda record: replace(record, passes=((),) * 4), "the cards that seat 0 passes"),
    "a score": (lambda record: replace(record, scores=(record.scores[0] + 1, *record.scores[1:])), "the scores"),
    "the totals": (lambda record: replace(record, totals=(0, 1, 0, 0)), "the totals"),
    "the bots": (lambda record: replace(record, bots=record.bots[::-1]), "the bot at seat 0"),
    "a bot's name": (lambda record: replace(record, bots=("Mallory", *record.bots[1:])), "the bot at seat 0"),
    "the game": (lambda record: replace(record, game=find_game("hearts-standard")), "the game"),
    "its options": (
        lambda record: replace(record, game=find_game("hearts-classic", options={"target": 50})),
        "the game",
    ),
    "what is placed": (lambda record: replace(record, placed_by_game=True), "what is placed"),
    "all faults": (lambda record: replace(record, faults=()), "the number of answers"),
    "the first fault": (lambda record: replace(record, faults=record.faults[1:]), "what follows from the fault"),
    "a fault twice": (lambda record: replace(record, faults=record.faults[:1] * 2), "a fault"),
    "a fault of the arena": (
        lambda record: replace(
            record, faults=(replace(record.faults[0], evidence=Evidence(FaultKind.ARENA, "")), *record.faults[1:])
        ),
        "a fault",
    ),
    "whom a fault retires": (
        lambda record: replace(record, faults=(replace(record.faults[0], retired=True), *record.faults[1:])),
        "what follows from the fault",
    ),
    "a fault made up": (
        lambda record: replace(record, faults=(fault_of(seat_of(record, "Highest"), 0), *record.faults)),
        "",
    ),
    "a retired seat": (lambda record: replace(record, retired=(*record.retired, 9)), "the retired seats"),
    "a note after a fault": (
        lambda record: replace(record, notes=(Note(seat_of(record, "Cheat"), 1, "sorry"),)),
        "a note",
    ),
    "times": (lambda record: replace(record, answer_micros=record.answer_micros[1:]), "the number of answers"),
}


@pytest.mark.parametrize("change", RECORDS)
def test_a_changed_record_is_found_at_its_deal(copy: Callable[[str], Path], change: str) -> None:
    path = copy("hearts")
    changed, what = RECORDS[change]
    change_record(path, 2, 3, 1, changed)

    found = difference(path)

    assert (found.match, found.table, found.deal) == (2, 3, 1)
    assert found.what.startswith(what)
    assert found.expected != found.found


def test_a_fault_that_was_none_is_no_substitutes_card(copy: Callable[[str], Path]) -> None:
    path = copy("games")
    change_record(path, 1, 0, 1, lambda record: replace(record, faults=(fault_of(seat_of(record, "Highest"), 0),)))

    found = difference(path)

    assert (found.match, found.table, found.deal) == (1, 0, 1)
    assert "failed its decision 0" in found.what
    assert found.expected.startswith("the substitute")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda record: replace(record, totals=tuple(total + 1 for total in record.totals)), "the totals"),
        (lambda record: replace(record, totals=record.totals[::-1]), "the totals"),
    ],
    ids=["added to", "turned"],
)
def test_changed_totals_of_a_game_are_found(
    copy: Callable[[str], Path], change: Callable[[DealRecord], DealRecord], what: str
) -> None:
    path = copy("games")
    change_record(path, 2, 1, 2, change)

    found = difference(path)

    assert (found.match, found.table, found.deal, found.what) == (2, 1, 2, what)


def test_deals_after_the_end_of_a_game_are_found(copy: Callable[[str], Path]) -> None:
    path = copy("games")
    with Store.open(path) as store:
        last = [record for table, record in store.records(store.tournament().id, 1) if table == 0][-1].number
    change_record(path, 1, 0, last, lambda record: replace(record, number=last + 1), into=last + 1)

    found = difference(path)

    assert str(found) == f"match 1, table 0, deal {last + 1}: the record: expected none, found one"


def test_a_game_without_its_last_deal_is_found(copy: Callable[[str], Path]) -> None:
    path = copy("games")
    execute(path, 'DELETE FROM records WHERE match = 1 AND "table" = 2 AND deal > 1')

    found = difference(path)

    assert (found.match, found.table, found.deal, found.found) == (1, 2, 2, "none")
    assert found.expected == "one, since the game goes on (target not reached)"


# --- Changed rows are found ---

HERE = 'match = 3 AND "table" = 1'

ROWS: dict[str, tuple[str, str, tuple[int | None, int | None, int | None]]] = {
    "a record": (f"DELETE FROM records WHERE {HERE} AND deal = 2", "the record", (3, 1, 2)),
    "the last record": (f"DELETE FROM records WHERE {HERE} AND deal = 4", "the record", (3, 1, 4)),
    "a table": (f"DELETE FROM records WHERE {HERE}", "the record", (3, 1, 1)),
    "a table too many": (
        f"INSERT INTO records SELECT tournament, match, 4, deal, record FROM records WHERE {HERE}",
        "the record",
        (3, 4, 1),
    ),
    "a damaged record": (f"UPDATE records SET record = x'00' WHERE {HERE}", "the records", (3, None, None)),
    "points": (f"UPDATE results SET points = '0,0,0,26' WHERE {HERE} AND deal = 2", "its points", (3, 1, 2)),
    "places": (f"UPDATE results SET places = '0,0,0,3' WHERE {HERE} AND deal = 2", "its places", (3, 1, 2)),
    "faults counted": (f"UPDATE results SET faults = '9,9,9,9' WHERE {HERE} AND deal = 2", "its faults", (3, 1, 2)),
    "bots of a result": (
        f"""UPDATE results SET bots = '["a","b","c","d"]' WHERE {HERE} AND deal = 2""",
        "its bots",
        (3, 1, 2),
    ),
    "deals of a result": (f"UPDATE results SET deals = 2 WHERE {HERE} AND deal = 2", "its deals", (3, 1, 2)),
    "a result": (f"DELETE FROM results WHERE {HERE} AND deal = 2", "the result", (3, 1, 2)),
    "a result too many": (
        'INSERT INTO results SELECT tournament, match, "table", 5, bots, points, places, faults, deals'
        f" FROM results WHERE {HERE} AND deal = 4",
        "the result",
        (3, 1, 5),
    ),
    "a result of no match": ("UPDATE results SET match = 7 WHERE match = 6", "the result", (6, 0, 1)),
    "a result beyond": (
        "INSERT INTO results SELECT tournament, 7, 0, deal, bots, points, places, faults, deals"
        f" FROM results WHERE {HERE}",
        "the results",
        (7, None, None),
    ),
    "unreadable results": ("UPDATE results SET points = 'many' WHERE match = 3", "the results", (None, None, None)),
    "a fault": (f"DELETE FROM faults WHERE {HERE} AND position = 1", "the fault", (3, 1, 1)),
    "all faults": ("DELETE FROM faults", "the fault", (1, 0, 1)),
    "a fault's bot": (f"UPDATE faults SET bot = 'Lowest 0' WHERE {HERE} AND position = 1", "its bot", (3, 1, 1)),
    "a fault's kind": (f"UPDATE faults SET kind = 1 WHERE {HERE} AND position = 1", "its kind", (3, 1, 1)),
    "a retirement": (f"UPDATE faults SET retired = 0 WHERE {HERE} AND position = 2", "its retired", (3, 1, 1)),
    "unreadable faults": ("UPDATE faults SET kind = 99", "the faults", (None, None, None)),
    "a line-up": (
        """UPDATE matches SET line_up = '["Lowest 0","Highest 1","Cheat 3","Lowest 0"]' WHERE number = 3""",
        "its line up",
        (3, None, None),
    ),
    "deals of a match": ("UPDATE matches SET deals = 8 WHERE number = 3", "its deals", (3, None, None)),
    "a match": ("DELETE FROM matches WHERE number = 3", "the match in the schedule", (3, None, None)),
    "a match too many": (
        "INSERT INTO matches (tournament, number, line_up, deals, attempt, done)"
        " SELECT tournament, 7, line_up, deals, 0, 0 FROM matches WHERE number = 3",
        "the match in the schedule",
        (7, None, None),
    ),
    "an attempt": ("UPDATE matches SET attempt = 1 WHERE number = 3", "the hand of seat 0", (3, 0, 1)),
    "decisions": ("UPDATE matches SET decisions = 1 WHERE number = 3", "the number of decisions", (None,) * 3),
    "a match undone": ("UPDATE matches SET done = 0 WHERE number = 3", "the match", (3, None, None)),
    "the seed": (f"UPDATE tournaments SET seed_key = x'{'00' * 32}'", "the seed", (None, None, None)),
    "the seed's text": ("UPDATE tournaments SET seed_text = ''", "the seed", (None, None, None)),
    "a bot's entry": (
        "UPDATE tournaments SET entries = replace(entries, 'Highest 1', 'Zenith 1')",
        "its line up",
        (1, None, None),
    ),
    "a setting": (
        """UPDATE tournaments SET settings = replace(settings, '"max_faults":3', '"max_faults":4')""",
        "what follows from the fault",
        (1, 0, 1),
    ),
    "an impossible setting": (
        """UPDATE tournaments SET settings = replace(settings, '"players":4', '"players":7')""",
        "the settings",
        (None, None, None),
    ),
}


@pytest.mark.parametrize("change", ROWS)
def test_a_changed_row_is_found_at_its_place(copy: Callable[[str], Path], change: str) -> None:
    path = copy("hearts")
    statement, what, place = ROWS[change]
    execute(path, statement)

    found = difference(path)

    assert (found.match, found.table, found.deal) == place
    assert what in found.what
    assert found.expected != found.found


def test_another_seed_than_the_drawn_one_is_found(copy: Callable[[str], Path]) -> None:
    path = copy("drawn")
    execute(path, f"UPDATE tournaments SET seed_key = x'{'5a' * 32}'")

    assert difference(path).match == 1


def test_rows_of_a_match_that_was_not_played_are_found(copy: Callable[[str], Path]) -> None:
    path = copy("many")
    with Store.open(path) as store:
        number = store.matches(store.tournament().id, done=False)[0].number
    columns = '"table", deal, bots, points, places, faults, deals'
    execute(
        path,
        f"INSERT INTO results SELECT tournament, {number}, {columns} FROM results WHERE match = 1",
        f"UPDATE matches SET decisions = 208 WHERE number = {number}",
    )

    found = difference(path)

    assert (found.match, found.what) == (number, "what is kept of a match that was not played")


def test_tables_of_a_match_that_goes_on_are_no_difference(copy: Callable[[str], Path]) -> None:
    path = copy("half")
    done = verify(path).matches
    execute(path, "UPDATE matches SET done = 0 WHERE number = 2")

    assert verify(path).matches == done - 1


def test_launched_bots_are_never_dealt_anew(copy: Callable[[str], Path]) -> None:
    path = copy("hearts")
    with Store.open(path) as store:
        (stored,) = [
            json.dumps([replace(e, python="", command=("./bot",)).to_json() for e in store.tournament().entries])
        ]
    execute(path, f"UPDATE tournaments SET entries = '{stored}'", "UPDATE matches SET attempt = 1 WHERE number = 5")

    found = difference(path)

    assert (found.match, found.what) == (5, "the number of times that it was dealt anew")


def test_a_disqualified_bots_later_match_must_not_be_played(copy: Callable[[str], Path]) -> None:
    path = copy("many")
    with Store.open(path) as store:
        number = next(match.number for match in store.matches(store.tournament().id, done=False))
    execute(path, f"UPDATE matches SET done = 1 WHERE number = {number}")

    found = difference(path)

    assert (found.match, found.expected) == (number, "not played, since Cheat 3 is disqualified")


@pytest.mark.slow
def test_a_match_beyond_an_unfinished_block_must_not_be_played(copy: Callable[[str], Path]) -> None:
    path = copy("many")
    execute(
        path,
        *(f"DELETE FROM {table} WHERE match = 9" for table in ("records", "results", "faults")),
        "UPDATE matches SET done = 0 WHERE number = 9",
        "UPDATE tournaments SET finished = NULL",
    )

    found = difference(path)

    assert found.match is not None
    assert found.match > 50
    assert found.expected == "not played, since an earlier block is unfinished"


# --- Documents ---


def test_a_document_equals_what_the_store_gives(played: dict[str, Path]) -> None:
    with Store.open(played["hearts"]) as store:
        document = stored_document(store, store.tournament())

    compare_documents(json.loads(json.dumps(document)), document)


@pytest.mark.parametrize(
    ("printed", "kept", "what", "expected", "found"),
    [
        ({"a": 1}, {"a": 2}, "`a` in the document", "2", "1"),
        ({"a": [{"b": 1.5}, {"b": 2}]}, {"a": [{"b": 1.5}, {"b": 3}]}, "`a[1].b` in the document", "3", "2"),
        ({"a": [1, 2]}, {"a": [1]}, "`a[1]` in the document", "nothing", "2"),
        ({"a": 1}, {"a": 1, "b": None}, "`b` in the document", "None", "nothing"),
        ({"a": 1, "b": None}, {"a": 1}, "`b` in the document", "nothing", "None"),
        ({"a": {"b": 1}}, {"a": [1]}, "`a` in the document", "[1]", "{'b': 1}"),
    ],
    ids=["a value", "inside", "too long", "missing", "too much", "of another kind"],
)
def test_the_first_difference_of_documents_is_named(
    printed: object, kept: object, what: str, expected: str, found: str
) -> None:
    with pytest.raises(Difference) as raised:
        compare_documents(printed, kept)

    assert (raised.value.what, raised.value.expected, raised.value.found) == (what, expected, found)
