"""Fills what can be written to, up to 200 MB in each place; or with so many empty files where its argument says so."""

import os
from pathlib import Path

from attacker import ARGUMENTS, Attacker, run

PLACES = ("/tmp", "/dev/shm", "/run/arena", "/dev", "/", "/home", "/var/tmp", "/etc", "/proc", "/usr", ".")
MEGABYTE = b"x" * (1 << 20)


class Fill(Attacker):
    def attack(self) -> str:
        if ARGUMENTS == ["files"]:
            for number in range(60_000):
                Path(f"/tmp/{number}").touch()
            return "unhindered"
        return " ".join(f"{place}={written}" for place in PLACES if (written := self._fill(Path(place))))

    @staticmethod
    def _fill(place: Path) -> int:
        """Write in pieces of 50 MB, since a single file is limited; return how many MB it was."""
        written = 0
        try:
            for number in range(4):
                with (place / f"full{number}").open("wb", buffering=0) as file:
                    for _ in range(50):
                        written += file.write(MEGABYTE)
        except OSError:
            pass
        for number in range(4):
            try:
                os.truncate(place / f"full{number}", 0)
            except OSError:
                break
        return -(-written // len(MEGABYTE))


if __name__ == "__main__":
    run(Fill)
