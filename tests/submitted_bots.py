"""Archives of sample bots, and their admission."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from arena.clock import TimeControl
from arena.competition import LOCAL, AdmissionStep, Program, State, Version
from arena.settings import Isolation
from arena.store import Store
from arena.submission.admission import Claim, StepBegun, Terms, admit
from arena.submission.archive import tree_digest, write_archive
from arena.submission.shelf import Shelf

ROOT = Path(__file__).parents[1]
LOWEST = (ROOT / "sample_bots" / "python" / "lowest.py").read_text()
BOTS = ROOT / "tests" / "players" / "bots"
TERMS = Terms(TimeControl(decision=0.5, bank=1.0, startup=10.0), Isolation.AUTO)

PYTHON = {"bot.py": LOWEST, "bot.yaml": "name: plain\ncommand: [python, bot.py]\n"}


def submit(shelf: Shelf, files: Mapping[str, str], folder: Path, *, build: bool = False) -> Version:
    """Put an archive of files onto the shelf, as received; those with a #! can be executed."""
    made = {}
    submission = token_hex(16)
    for name, text in files.items():
        path = folder / submission / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)
        made[name] = path
    write_archive(made, shelf.incoming(submission))
    return Version(submission, "somebody", State.WAITING, datetime.now(UTC), build=build)


class Claims:
    """What was claimed; answers as it is told to."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.made: list[tuple[Program, str, int]] = []

    async def __call__(self, program: Program, digest: str, size: int) -> bool:
        self.made.append((program, digest, size))
        return self.answer


async def admitted(
    version: Version, shelf: Shelf, terms: Terms = TERMS, claim: Claim | None = None
) -> dict[str, AdmissionStep]:
    """Make an admission and return its steps by their names."""
    async with aclosing(admit(version, shelf, terms, claim or Claims())) as events:
        return {event.name: event async for event in events if not isinstance(event, StepBegun)}


def keep_admitted(store: Path, name: str, source: str, games: tuple[str, ...] = ()) -> None:
    """Put a bot in Python into a store and onto the shelf beside it, as its admission does."""
    shelf = Shelf.beside(store.resolve())
    with shelf.staging() as staging:
        (files := staging / "files").mkdir()
        (files / "bot.py").write_text(source)
        digest = tree_digest(files)
        shelf.adopt(files, digest)
    submission = digest[:32]
    with Store.open(store) as opened:
        opened.submissions.receive(Version(submission, LOCAL, State.WAITING, datetime.now(UTC)))
        opened.submissions.claim(submission, Program(name, ("python", "bot.py"), games=games), digest, 1)
        opened.submissions.decide(submission, State.ADMITTED)
