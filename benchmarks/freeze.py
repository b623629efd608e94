"""What does it cost to freeze bots while they aren't being asked, and to confine them? Fast bots, since they pay most.

python benchmarks/freeze.py [BOARDS]
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from arena.players import freezer, launcher
from arena.settings import Entry, Isolation, Settings
from arena.store import Store
from arena.tournament import Pace, run_tournament

BOTS = Path(__file__).parents[1] / "sample_bots" / "python"
ROUNDS = 5


async def play(boards: int, isolation: Isolation, *, freeze: bool) -> tuple[float, float, float]:
    """Play a tournament.

    Return the seconds until play begins, decisions a second from then on, and the processor time of a decision, arena and
    bots together and their start included, in microseconds.
    """
    before = sum(os.times()[:4])
    settings = Settings(boards=boards, seed="freeze", isolation=isolation)
    entries = [Entry(name, command=("python", "lowest.py"), directory=BOTS) for name in "abcd"]
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "arena.db") as store:
        playing = run_tournament(store, settings, entries, pace=Pace(freeze=freeze))
        began = time.perf_counter()
        started = 0.0
        async with contextlib.aclosing(playing) as events:
            async for _ in events:
                started = started or time.perf_counter()
        took = time.perf_counter() - started
        tournament = store.tournament()
        decisions = store.progress(tournament.id).decisions
        spent = sum(os.times()[:4]) - before
        return started - began, decisions / took, 1e6 * spent / decisions


def main() -> None:
    """Measure each way in turn, so that other work on the machine hits all of them alike."""
    boards = int(sys.argv[1]) if sys.argv[1:] else 240
    groups = freezer.find_groups
    ways = {
        "no sandbox": (Isolation.NONE, False, False),
        "sandbox": (Isolation.BUBBLEWRAP, False, False),
        "sandbox, frozen by signals": (Isolation.BUBBLEWRAP, True, False),
        **({"sandbox, frozen as cgroups": (Isolation.BUBBLEWRAP, True, True)} if groups() else {}),
    }
    measured: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, (isolation, freeze, grouped) in ways.items():
            setattr(launcher, "find_groups", groups if grouped else lambda: None)  # noqa: B010 - not the module's own
            measured[way].append(asyncio.run(play(boards, isolation, freeze=freeze)))
    for way, figures in measured.items():
        starts, rates, costs = zip(*figures, strict=True)
        print(
            f"{way}: until play {median(starts):.2f} s, then {median(rates):,.0f} decisions/s (best {max(rates):,.0f});"
            f" processor time of a decision {median(costs):.0f} us (least {min(costs):.0f})"
        )


if __name__ == "__main__":
    main()
