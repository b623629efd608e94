"""Reads what is not its own: the files that the test names, /proc of everybody, secrets in the home folder and in /etc."""

import os
import re
from pathlib import Path

from attacker import ARGUMENTS, Attacker, run

SECRETS = ("/root", "/home", "/etc/shadow", "/etc/ssh", "/var", "/srv", "/mnt", "/sys", "/boot", "~/.ssh", "~/.netrc")
SECRET = re.compile(rb"secret-[0-9a-f]{8}")


class Read(Attacker):
    def attack(self) -> str:
        found = [place for place in ARGUMENTS if os.path.lexists(place)]
        found += [place for place in SECRETS if self._holds(Path(place).expanduser())]
        processes = [process for process in Path("/proc").iterdir() if process.name.isdigit()]
        if len(processes) > 5:
            found.append(f"{len(processes)} processes")
        for process in processes:
            for name in ("environ", "cmdline", "maps"):
                try:
                    data = (process / name).read_bytes()
                except OSError:
                    continue
                if SECRET.search(data) or (b"pytest" in data and name == "cmdline"):
                    found.append(f"{process.name}/{name}")
        for process in processes:
            for link in ("root", "cwd"):
                if any(os.path.lexists(f"{process}/{link}{place}") for place in ARGUMENTS):
                    found.append(f"{process.name}/{link}")
        return " ".join(found) or "nothing"

    @staticmethod
    def _holds(path: Path) -> bool:
        """Whether there is anything in a folder but the way to Python and to the attackers, which lie there in some tests."""
        try:
            return path.is_file() or not {each.name for each in path.iterdir()} <= {".pyenv", "tmp"}
        except OSError:
            return False


if __name__ == "__main__":
    run(Read)
