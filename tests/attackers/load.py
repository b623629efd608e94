"""Loads the arena's own modules to reach its state: objects, the supervisor, and a store in the usual places."""

import gc
from pathlib import Path

from attacker import ARGUMENTS, Attacker, run

from arena.store import Store
from arena.tournament import disqualified_bots


class Load(Attacker):
    def attack(self) -> str:
        found = [
            type(each).__name__ for each in gc.get_objects() if type(each).__name__ in ("Tournament", "Roster", "Seed")
        ]
        for place in (*ARGUMENTS, "arena.db", "../arena.db", str(Path.home() / "arena.db"), "/tmp/arena.db"):
            try:
                with Store.open(Path(place), create=False) as store:
                    found += [f"{tournament.seed.key.hex()[:8]}" for tournament in store.tournaments()]
                    found += [str(disqualified_bots(store, tournament)) for tournament in store.tournaments()]
            except Exception:
                continue
        if len(list(Path("/proc").glob("[0-9]*"))) > 10:
            found.append("processes")
        return " ".join(found) or "nothing"


if __name__ == "__main__":
    run(Load)
