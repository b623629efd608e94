"""What a store keeps of a competition: bots in versions, tokens, deeds, requests and events."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from arena.competition import AdmissionStep, Bot, Deed, Program, Role, Run, State, Usage, Version
from arena.errors import BadStore, Refused
from arena.finding import Verdict
from arena.store import Store
from arena.tokens import draw_token, revoke, token_id

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
STEP = AdmissionStep("unpack", Verdict.PASS, "3 files", "", "a log\n", 0.25)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        with Store.open(tmp_path / "arena.db") as opened:
            yield opened
        return
    url = os.environ.get("ARENA_TEST_POSTGRES")
    if not url:
        pytest.skip("ARENA_TEST_POSTGRES names no PostgreSQL database")
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()
    with Store.open(url) as opened:
        yield opened


def submission(number: int) -> str:
    return f"{number:032x}"


def receive(store: Store, number: int, owner: str = "ada") -> str:
    store.submissions.receive(Version(submission(number), owner, State.WAITING, NOW + timedelta(seconds=number)))
    return submission(number)


def admit(
    store: Store, number: int, digest: str, *, name: str = "bot", owner: str = "ada", state: State = State.ADMITTED
) -> Version:
    which = receive(store, number, owner)
    claim = store.submissions.claim(which, Program(name, command=("./bot",)), digest, 100)
    return store.submissions.decide(claim.version.submission, state)


def use(store: Store, name: str, number: int, who: str = "ada", *, organiser: bool = False) -> Bot:
    return store.submissions.use(name, number, who=who, organiser=organiser)


# --- Bots and versions ---


def test_a_submission_becomes_a_version_that_plays(store: Store) -> None:
    which = receive(store, 1)
    assert [version.submission for version in store.submissions.waiting()] == [which]

    program = Program("Ünï", ("./bot", "-x"), True, "", ("make",), ("heartswitch",), "Somebody")
    claim = store.submissions.claim(which, program, "d1", 100)
    store.submissions.add_step(which, STEP)
    store.submissions.add_step(which, replace(STEP, name="check", verdict=Verdict.WARNING, cure="do better"))
    decided = store.submissions.decide(which, State.ADMITTED)

    assert not claim.same
    assert (decided.number, decided.digest, decided.program, decided.size) == (1, "d1", program, 100)
    assert decided.decided is not None
    assert store.submissions.find(which) == decided
    assert [step.name for step in store.submissions.steps(which)] == ["unpack", "check"]
    assert store.submissions.steps(which)[0] == STEP
    assert store.submissions.waiting() == []
    assert store.submissions.playing() == [decided]
    (bot,) = store.submissions.bots()
    assert (bot.name, bot.owner, bot.current, bot.versions) == ("Ünï", "ada", decided, 1)
    assert store.submissions.bot("ÜNÏ") == bot
    assert store.submissions.digests() == {"d1"}


def test_the_same_submission_is_kept_once_and_is_its_owners_alone(store: Store) -> None:
    receive(store, 1)
    admitted = admit(store, 1, "d1")

    again = store.submissions.receive(Version(submission(1), "ada", State.WAITING, NOW))
    with pytest.raises(Refused) as refused:
        receive(store, 1, "bob")

    assert again == admitted
    assert refused.value.reason == "NO_SUCH_SUBMISSION"


def test_the_latest_admitted_version_plays_and_a_refused_one_does_not(store: Store) -> None:
    admit(store, 1, "d1")
    admit(store, 2, "d2")
    admit(store, 3, "d3", state=State.REFUSED)

    assert [version.number for version in store.submissions.versions("bot")] == [1, 2, 0]
    assert [version.digest for version in store.submissions.playing()] == ["d2"]


def test_what_is_refused_uses_up_no_number(store: Store) -> None:
    admit(store, 1, "d1")
    admit(store, 2, "d2", state=State.REFUSED)
    admit(store, 3, "d3", state=State.REFUSED)

    assert admit(store, 4, "d4").number == 2
    assert admit(store, 5, "d2").number == 3  # the refused content, once it is admitted after all
    kept = store.submissions.versions("bot")
    assert [(version.digest, version.number, version.state) for version in kept] == [
        ("d1", 1, State.ADMITTED),
        ("d3", 0, State.REFUSED),
        ("d4", 2, State.ADMITTED),
        ("d2", 3, State.ADMITTED),
    ]


def test_an_earlier_admission_that_ends_later_does_not_take_over(store: Store) -> None:
    first = receive(store, 1)
    store.submissions.claim(first, Program("bot", ("./bot",)), "d1", 1)
    admit(store, 2, "d2")

    store.submissions.decide(first, State.ADMITTED)

    assert [version.digest for version in store.submissions.playing()] == ["d2"]


def test_the_same_content_is_no_new_version_but_plays_again(store: Store) -> None:
    admit(store, 1, "d1")
    admit(store, 2, "d2")

    claim = store.submissions.claim(receive(store, 3), Program("bot", command=("./bot",)), "d1", 100)

    assert claim.same
    assert claim.version.number == 1
    assert store.submissions.find(submission(3)) is None
    assert [version.digest for version in store.submissions.playing()] == ["d1"]
    assert len(store.submissions.versions("bot")) == 2


def test_the_same_files_run_otherwise_are_a_new_version(store: Store) -> None:
    admit(store, 1, "d1")

    claim = store.submissions.claim(receive(store, 2), Program("bot", command=("./bot", "--fast")), "d1", 100)

    assert (claim.same, claim.version.number) == (False, 2)


def test_content_that_was_refused_is_admitted_again_as_the_same_version(store: Store) -> None:
    admit(store, 1, "d1", state=State.REFUSED)

    claim = store.submissions.claim(receive(store, 2), Program("bot", command=("./bot",)), "d1", 100)

    assert claim.same
    assert (claim.version.number, claim.version.state, claim.version.submission) == (1, State.WAITING, submission(2))
    assert store.submissions.decide(submission(2), State.ADMITTED).number == 1
    assert store.submissions.steps(submission(2)) == []


def test_a_name_is_the_owners_who_had_it_first_until_nothing_of_it_is_left(store: Store) -> None:
    admit(store, 1, "d1", name="Bot", owner="ada")

    with pytest.raises(Refused) as refused:
        admit(store, 2, "d2", name="bOT", owner="bob")
    assert refused.value.reason == "NAME_TAKEN"

    admit(store, 3, "d3", name="free", owner="ada", state=State.REFUSED)
    assert admit(store, 4, "d4", name="free", owner="bob").number == 1
    assert store.submissions.bot("free").owner == "bob"
    earlier = store.submissions.find(submission(3))
    assert earlier is not None
    assert earlier.state is State.REFUSED


def test_a_name_that_looks_like_another_bots_is_refused_with_that(store: Store) -> None:
    admit(store, 1, "d1", name="alpha", owner="ada")

    for number, (owner, whose) in enumerate([("bob", "another owner's bot"), ("ada", "another bot of yours")], 2):
        with pytest.raises(Refused, match=f"the name aIpha looks like alpha, {whose}: choose another one") as refused:
            admit(store, number, "d2", name="aIpha", owner=owner)
        assert refused.value.reason == "NAME_TAKEN"
    assert admit(store, 4, "d3", name="alpha", owner="ada").number == 2


def test_names_of_the_house_are_nobodys_and_bots_are_counted(store: Store) -> None:
    which = receive(store, 1)
    with pytest.raises(Refused, match="house"):
        store.submissions.claim(which, Program("Careful"), "d", 1, reserved=["careful"])
    with pytest.raises(Refused, match="looks like careful, a bot of the house"):
        store.submissions.claim(which, Program("сareful"), "d", 1, reserved=["careful"])
    store.submissions.claim(which, Program("one"), "d", 1, most_bots=1)

    with pytest.raises(Refused) as refused:
        store.submissions.claim(receive(store, 2), Program("two"), "e", 1, most_bots=1)
    assert refused.value.reason == "QUOTA"
    assert store.submissions.claim(submission(2), Program("one"), "e", 1, most_bots=1).version.number == 2


def test_what_is_built_counts_and_nobody_gets_more_room_than_allowed(store: Store) -> None:
    program = Program("bot", ("./bot",), build=("make",))
    first, second = receive(store, 1), receive(store, 2)
    store.submissions.claim(first, program, "d1", 4_000_000, most_bytes=10_000_000)

    claim = store.submissions.claim(first, program, "d1", 9_000_000, most_bytes=10_000_000)
    with pytest.raises(Refused, match=r"your bots take 10\.1 MB of 10 MB") as unpacked:
        store.submissions.claim(second, Program("other"), "d2", 1_100_000, most_bytes=10_000_000)
    with pytest.raises(Refused) as built:
        store.submissions.claim(first, program, "d1", 10_000_001, most_bytes=10_000_000)

    assert (claim.same, claim.version.size) == (False, 9_000_000)
    assert [refusal.value.reason for refusal in (unpacked, built)] == ["QUOTA", "QUOTA"]
    assert store.submissions.usage("ada") == Usage(bots=1, bytes=9_000_000, waiting=2)


def test_a_bot_is_withdrawn_and_an_earlier_version_brought_back(store: Store) -> None:
    admit(store, 1, "d1")
    admit(store, 2, "d2")
    store.submissions.claim(receive(store, 3), Program("bot", ("./bot",)), "d3", 1)

    assert use(store, "bot", 0).current is None
    assert store.submissions.playing() == []
    back = use(store, "bot", 1).current
    assert back is not None
    assert back.number == 1
    with pytest.raises(Refused) as missing:
        use(store, "bot", 9)
    with pytest.raises(Refused) as refused:
        use(store, "bot", 3)
    with pytest.raises(Refused) as nobody:
        use(store, "nobody", 0)

    reasons = [each.value.reason for each in (missing, refused, nobody)]
    assert reasons == ["NO_SUCH_VERSION", "NOT_ADMITTED", "NO_SUCH_BOT"]
    assert [version.number for version in store.submissions.playing()] == [1]


def test_what_an_organiser_has_withdrawn_only_an_organiser_brings_back(store: Store) -> None:
    admit(store, 1, "d1")
    late = store.submissions.claim(receive(store, 2), Program("bot", command=("./bot",)), "d2", 100).version

    assert use(store, "bot", 0, "olga", organiser=True).barred
    store.submissions.decide(late.submission, State.ADMITTED)
    assert store.submissions.playing() == []
    with pytest.raises(Refused, match="an organiser has withdrawn bot") as back:
        use(store, "bot", 1)
    with pytest.raises(Refused, match="an organiser has withdrawn bot") as again:
        admit(store, 3, "d1")
    with pytest.raises(Refused, match="an organiser has withdrawn bot"):
        admit(store, 4, "d4")
    assert (back.value.reason, again.value.reason) == ("BARRED", "BARRED")
    assert store.submissions.playing() == []

    assert not use(store, "bot", 1, "olga", organiser=True).barred
    use(store, "bot", 0)
    assert not store.submissions.bot("bot").barred
    assert use(store, "bot", 2).current is not None


def test_an_organisers_own_bot_is_withdrawn_like_anybodys(store: Store) -> None:
    admit(store, 1, "d1", owner="olga")

    assert not use(store, "bot", 0, "olga", organiser=True).barred


def test_a_bot_that_was_only_ever_refused_can_be_looked_at_and_is_nowhere_else(store: Store) -> None:
    admit(store, 1, "d1", state=State.REFUSED)
    store.submissions.add_step(submission(1), STEP)

    bot = store.submissions.bot("bot", hopeless=True)
    assert (bot.owner, bot.current, bot.versions) == ("ada", None, 0)
    assert [version.state for version in store.submissions.versions("bot")] == [State.REFUSED]
    assert store.submissions.bots() == []
    with pytest.raises(Refused, match="no bot of this name"):
        store.submissions.bot("bot")
    with pytest.raises(Refused, match="no bot of this name"):
        use(store, "bot", 1)


def test_an_owners_usage_counts_each_content_once(store: Store) -> None:
    admit(store, 1, "d1")
    admit(store, 2, "d1", name="other")
    admit(store, 3, "d3", state=State.REFUSED)
    receive(store, 4)
    admit(store, 5, "d5", name="third", owner="bob")

    assert store.submissions.usage("ada") == Usage(bots=2, bytes=100, waiting=1)
    store.submissions.claim(submission(4), Program("bot"), "d4", 7)
    assert store.submissions.usage("ada") == Usage(bots=2, bytes=107, waiting=1)
    store.submissions.receive(Version(submission(6), "ada", State.WAITING, NOW, size=1000))
    assert store.submissions.usage("ada") == Usage(bots=2, bytes=1107, waiting=2)
    assert store.submissions.submitted_since("ada", NOW + timedelta(seconds=3)) == 2
    assert [bot.name for bot in store.submissions.bots("bob")] == ["third"]
    assert [(bot.name, bot.versions) for bot in store.submissions.bots()] == [("bot", 2), ("other", 1), ("third", 1)]


def test_of_many_who_want_a_name_at_once_one_gets_it(store: Store) -> None:
    got: list[str] = []
    refused: list[str] = []
    ready = threading.Barrier(6)

    def claim(number: int) -> None:
        which = receive(store, number, f"owner {number}")
        ready.wait()
        try:
            store.submissions.claim(which, Program("wanted"), f"d{number}", 1)
            got.append(which)
        except Refused as error:
            refused.append(error.reason)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 1
    assert refused == ["NAME_TAKEN"] * 5


_CLAIM = """
import sys
from datetime import UTC, datetime
from arena.competition import Program, State, Version
from arena.errors import Refused
from arena.store import Store
owner = sys.argv[2]
with Store.open(sys.argv[1]) as store:
    ids = [f"{owner}{number:031x}" for number in range(20)]
    for which in ids:
        store.submissions.receive(Version(which, owner, State.WAITING, datetime.now(UTC)))
    print("ready", flush=True)
    sys.stdin.readline()
    for number, which in enumerate(ids):
        try:
            store.submissions.claim(which, Program(f"wanted {number}"), owner, 1)
            print("got", flush=True)
        except Refused as error:
            print(error.reason, flush=True)
"""


@pytest.mark.slow
def test_of_many_processes_that_want_a_name_at_once_one_gets_it(store: Store) -> None:
    outcomes = run_at_once(_CLAIM, store, "abc")

    for number, outcome in enumerate(zip(*outcomes, strict=True)):
        assert sorted(outcome) == ["NAME_TAKEN", "NAME_TAKEN", "got"]
        assert store.submissions.bot(f"wanted {number}").owner == "abc"[outcome.index("got")]


def url_of(store: Store) -> str:
    return os.environ["ARENA_TEST_POSTGRES"] if "://" in store.place else store.place


def run_at_once(script: str, store: Store, names: str) -> list[list[str]]:
    """Run a script once for each name, let all go on together once they are ready, and return the lines of each."""
    with ExitStack() as stack:
        running = []
        for name in names:
            command = [sys.executable, "-c", script, url_of(store), name]
            started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            running.append(stack.enter_context(started))
            stack.callback(started.kill)
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [process.communicate()[0].splitlines() for process in running]


_LIFE = """
import sys
from datetime import UTC, datetime
from arena.competition import AdmissionStep, Program, State, Version
from arena.finding import Verdict
from arena.store import Store
with Store.open(sys.argv[1]) as store:
    print("begun", flush=True)
    kept = store.submissions
    for number in range(40):
        which, kind = f"{number:032x}", number % 5
        version = kept.receive(Version(which, "ada", State.WAITING, datetime.now(UTC)))
        if version.state is not State.WAITING:
            continue
        content = {3: number - 1, 4: number - 3}.get(kind, number)
        claim = kept.claim(which, Program("bot"), f"d{content}", 1)
        if claim.version.submission != which:
            continue
        kept.begin_again(which)
        for step in ("unpack", "build", "check", "play"):
            kept.add_step(which, AdmissionStep(step, Verdict.PASS, "well"))
        kept.decide(which, State.REFUSED if kind == 2 else State.ADMITTED)
"""
"""Of five submissions two are new, one is refused, one is what was refused, now admitted, and one is an earlier one again."""


def what_is_there(store: Store) -> list[object]:
    kept = store.submissions
    assert kept.waiting() == []
    rows: list[object] = [
        (each.number, each.submission, each.digest, each.state, [step.name for step in kept.steps(each.submission)])
        for each in kept.versions("bot")
    ]
    current = kept.bot("bot").current
    return [*rows, current and current.number, sorted(kept.digests()), kept.usage("ada")]


@pytest.mark.slow
def test_whoever_is_killed_in_a_life_of_a_submission_goes_on_where_it_was(store: Store, tmp_path: Path) -> None:
    chance = random.Random(20300102)
    undisturbed = tmp_path / "undisturbed.db"
    subprocess.run([sys.executable, "-c", _LIFE, str(undisturbed)], check=True, capture_output=True)
    with Store.open(undisturbed) as other:
        expected = what_is_there(other)

    command = [sys.executable, "-c", _LIFE, url_of(store)]
    killed = 0
    for _ in range(12):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.01, 0.12))
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
    subprocess.run(command, check=True, capture_output=True)

    assert killed > 1
    assert what_is_there(store) == expected
    assert len(store.submissions.versions("bot")) == 24


# --- Tokens and deeds ---


def test_a_token_comes_back_as_it_was_kept(store: Store) -> None:
    assert not store.tokens.any()
    token, text = draw_token("ada", Role.ORGANISER, timedelta(days=30))
    store.tokens.add(token)

    assert store.tokens.find(token_id(text)) == token
    assert store.tokens.all() == [token]
    assert store.tokens.any()


def test_a_token_is_kept_as_it_was_changed(store: Store) -> None:
    tokens = [draw_token(owner, Role.CONTESTANT)[0] for owner in ("ada", "bob")]
    for token in tokens:
        store.tokens.add(token)
    store.tokens.change(revoke(tokens[0], NOW))

    assert store.tokens.find(tokens[0].id) == replace(tokens[0], revoked=NOW)
    assert store.tokens.find(tokens[1].id) == tokens[1]
    assert store.tokens.find("00000000") is None
    assert store.tokens.any()
    with pytest.raises(BadStore, match="has this already"):
        store.tokens.add(tokens[1])


def test_deeds_come_back_in_order(store: Store) -> None:
    deeds = [Deed(NOW, "ada", "c0ffee00", "SubmitBot", f"bot {number}", "done") for number in range(5)]
    for deed in deeds:
        store.audit.add(deed)

    assert store.audit.last(3) == deeds[2:]


# --- Requests and events ---


def test_a_request_is_kept_once_until_it_is_done(store: Store) -> None:
    run = Run("a" * 32, "ada", "game: x", "/b.yaml", {"boards": "4"}, True, NOW)

    assert store.runs.add(run) == run
    assert store.runs.add(replace(run, who="bob")) == run
    store.runs.set_tournament(run.request, "t1")
    assert store.runs.unfinished() == [replace(run, tournament="t1")]
    assert store.runs.last("ada") == replace(run, tournament="t1")
    store.runs.finish(run.request, "it broke")

    assert store.runs.unfinished() == []
    assert store.runs.find(run.request) == replace(run, tournament="t1", over=True, error="it broke")
    assert store.runs.find("b" * 32) is None


def test_events_are_numbered_without_gaps_by_two_writers_too(store: Store) -> None:
    def write() -> None:
        for _ in range(20):
            store.runs.add_event("t", NOW, b"event")

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [number for number, _, _ in store.runs.events("t", 1)] == list(range(1, 41))
    assert store.runs.events("t", 40) == [(40, NOW, b"event")]
    assert store.runs.last_event("t") == 40
    assert store.runs.last_event("other") == 0


_TELL = """
import sys
from datetime import UTC, datetime
from arena.store import Store
with Store.open(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(50):
        print(store.runs.add_event("t", datetime.now(UTC), sys.argv[2].encode()), flush=True)
"""


@pytest.mark.slow
def test_events_of_two_processes_are_numbered_without_gaps(store: Store) -> None:
    told = run_at_once(_TELL, store, "xy")

    events = store.runs.events("t", 1)
    assert [number for number, _, _ in events] == list(range(1, 101))
    assert [[str(number) for number, _, data in events if data == name] for name in (b"x", b"y")] == told


def test_each_tournament_numbers_its_own_events(store: Store) -> None:
    assert [store.runs.add_event(name, NOW, name.encode()) for name in ("s", "t", "s")] == [1, 1, 2]
    assert store.runs.events("s", 2) == [(2, NOW, b"s")]
    assert store.runs.events("s", 1, most=1) == [(1, NOW, b"s")]
    assert store.runs.events("u", 1) == []


def test_of_many_who_send_a_request_again_all_get_the_same(store: Store) -> None:
    got: list[Run] = []
    ready = threading.Barrier(4)

    def add(number: int) -> None:
        ready.wait()
        got.append(store.runs.add(Run("a" * 32, "ada", f"config {number}", "/b.yaml", {}, False, NOW)))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert got == [store.runs.find("a" * 32)] * 4
    assert len(store.runs.unfinished()) == 1


def test_one_server_has_a_store(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path / "arena.db") as store,
        store.serve(),
        store.coordinate(),
        pytest.raises(BadStore, match=r"arena\.db is in use.*serves it"),
        store.serve(),
    ):
        pass
