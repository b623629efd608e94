"""Who plays when nobody is named: the current versions of the bots that were submitted, and bots of the house.

The bots of the house are the sample bots that come with Arena. They take the seats that are left where fewer bots than a table
has sides were submitted, so that a contestant's first bot has somebody to play against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import arena
from arena.entries import name_key
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
    """Return the folder of the sample bots: the installed package's own, or the source tree's."""
    package = Path(arena.__file__).parent
    bundled = package / "_bundled" / "sample_bots"
    return bundled if bundled.is_dir() else package.parent / "sample_bots"


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

    `folder` gives the folder with the files of a digest; `named` are the organiser's own entries, which keep their names;
    with `public_only` bots at addresses are dialled only where everybody gets. Notices say which versions play, and why a bot
    doesn't.
    """
    entries, playing = [], []
    taken = {name_key(entry.name) for entry in named}
    for version in store.submissions.playing():
        program = version.program
        assert program is not None
        if program.games and game not in program.games:
            notices.append(f"plays without {program.name}, which plays {', '.join(program.games)} only")
        elif name_key(program.name) in taken:
            notices.append(f"plays without the {program.name} that was submitted: the organiser has a bot of this name")
        else:
            files = folder(version.digest) if version.digest else Path.cwd()
            entries.append(program.entry(files, public_only=public_only))
            playing.append(f"{program.name} (version {version.number})")
    if playing:
        notices.append(f"of the bots that were submitted these play: {', '.join(playing)}")
    return entries


def with_house(
    entries: Sequence[Entry], sides: int, notices: list[str], *, house: bool | None = None, hint: str = ""
) -> list[Entry]:
    """Return the entries with bots of the house, whose names nobody else has.

    These take the seats that are left of so many `sides`; all of them play with `house`, none where that is False. A notice
    names them, with a hint.
    """
    taken = {name_key(entry.name) for entry in entries}
    python = sample_bots() / "python"
    free = [
        Entry(name, command=("python", str(python / file)), directory=python)
        for name, file in HOUSE.items()
        if name not in taken
    ]
    most = {None: max(0, sides - len(entries)), True: len(free), False: 0}[house]
    if added := free[:most]:
        notices.append(f"bots of the house play along: {', '.join(entry.name for entry in added)}{hint}")
    return [*entries, *added]
