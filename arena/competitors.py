"""Who plays when nobody is named: the current versions of the bots that were submitted, and bots of the house.

The bots of the house are the sample bots that come with Arena. They take the seats that are left where fewer bots than a table
has sides were submitted, or can play, so that a contestant's first bot has somebody to play against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import arena
from arena.errors import BadStore
from arena.likeness import resembled
from arena.settings import Entry

if TYPE_CHECKING:
    from arena.store import Store

HOUSE: Final[Mapping[str, str]] = {
    "counting": "counting.py",
    "careful": "careful.py",
    "lowest": "lowest.py",
    "random": "random_bot.py",
}
"""The bots of the house and their files, the strongest first."""


def sample_bots() -> Path:
    """Return the folder of the sample bots."""
    return _bundled("sample_bots")


def protocol_files() -> Path:
    """Return the folder of the protocol's .proto files."""
    return _bundled("proto")


def _bundled(name: str) -> Path:
    """Return a folder that comes with Arena: the installed package's own, or the source tree's."""
    package = Path(arena.__file__).parent
    bundled = package / "_bundled" / name
    return bundled if bundled.is_dir() else package.parent / name


def competitors(
    store: Store,
    folder: Callable[[str], Path],
    game: str,
    notices: list[str],
    named: Sequence[Entry] = (),
    *,
    public_only: bool = False,
) -> list[Entry]:
    """Return the entries of the bots that were submitted and play a game.

    `folder` gives the folder with the files of a digest, or raises BadStore where they are damaged; `named` are the organiser's
    own entries, which keep their names; with `public_only` bots at addresses are dialled only where everybody gets. Notices say
    which versions play, and why a bot doesn't.
    """
    entries, playing = [], []
    taken = [entry.name for entry in named]
    for version in store.submissions.playing():
        program = version.program
        assert program is not None
        if program.games and game not in program.games:
            notices.append(f"plays without {program.name}, which plays {', '.join(program.games)} only")
        elif other := resembled(program.name, taken):
            notices.append(
                f"plays without the {program.name} that was submitted: the organiser has a bot named {other}"
            )
        else:
            try:
                files = folder(version.digest) if version.digest else Path.cwd()
            except BadStore as damage:
                notices.append(f"plays without {program.name}, version {version.number}: {damage}")
                continue
            entries.append(program.entry(files, public_only=public_only))
            playing.append(f"{program.name} (version {version.number})")
    if playing:
        notices.append(f"of the bots that were submitted these play: {', '.join(playing)}")
    return entries


@dataclass(frozen=True, slots=True)
class House:
    """Bots of the house that may play along, the first first."""

    bots: tuple[Entry, ...] = ()
    always: bool = False
    """Whether all of them play, not only as many as seats are left."""
    hint: str = ""
    """What to say besides where some play."""

    @classmethod
    def beside(cls, entries: Sequence[Entry], *, wanted: bool | None = None, hint: str = "") -> Self:
        """Return the house beside some entries, whose names are theirs; all of it plays if it is `wanted`, none where False."""
        taken = [entry.name for entry in entries]
        python = sample_bots() / "python"
        bots = (
            Entry(name, command=("python", str(python / file)), directory=python)
            for name, file in HOUSE.items()
            if not resembled(name, taken)
        )
        return cls(() if wanted is False else tuple(bots), always=bool(wanted), hint=hint)

    def called(self, playing: int, sides: int) -> tuple[Entry, ...]:
        """Return those that play along with so many others, where a table has so many sides."""
        return self.bots if self.always else self.bots[: max(0, sides - playing)]

    def without(self, count: int) -> House:
        """Return the house without its first ones."""
        return replace(self, bots=self.bots[count:])
