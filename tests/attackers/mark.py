"""Leaves a mark wherever it can, and looks for marks that another instance of it left: to share what it knows."""

import os
from pathlib import Path

from attacker import Attacker, run

HERE = Path(__file__).parent
PLACES = (HERE, Path("/tmp"), Path("/dev/shm"), Path("/run/arena"), Path("/dev"), Path("/"), Path("/proc/1/cwd"))
NAME = "mark-of-an-attacker"


class Mark(Attacker):
    def attack(self) -> str:
        seen = [str(place) for place in PLACES if (place / NAME).exists()]
        made = 0
        for place in PLACES:
            try:
                (place / NAME).write_text(str(os.getpid()))
                made += 1
            except OSError:
                pass
        try:
            os.utime(HERE / "marker")
            (HERE / "marker").chmod(0o600)
            seen.append("its own folder can be changed")
        except OSError:
            pass
        return f"saw {' '.join(seen) or 'nothing'}, made {made}"


if __name__ == "__main__":
    run(Mark)
