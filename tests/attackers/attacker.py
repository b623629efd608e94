"""What every attacker is built on: it attacks once, only inside the sandbox and within bounds, and plays on.

An attacker is started as `python NAME.py TOKEN PID_NAMESPACE NETWORK_NAMESPACE ...`, with the namespaces of the test. It does
nothing at all unless the file `marker` beside it holds TOKEN, it is in other namespaces than the test, and bubblewrap is the
first process that it sees. What it found goes into the note of the decision that it attacked in.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from arena.faults import substitute
from arena.sdk import Bot, Card, Choice, Decision

ARGUMENTS = sys.argv[4:]
"""What the test wants tried: places, ports and the like."""

LIFETIME = 20
"""Seconds after which every child of an attacker ends by itself."""


def is_inside(token: str, pid_namespace: str, network_namespace: str) -> bool:
    """Return whether this process is in the sandbox that the test made."""
    marker = Path(__file__).with_name("marker")
    return (
        marker.is_file()
        and marker.read_text() == token
        and str(Path("/proc/self/ns/pid").readlink()) != pid_namespace
        and str(Path("/proc/self/ns/net").readlink()) != network_namespace
        and Path("/proc/1/comm").read_text() == "bwrap\n"
    )


class Attacker(Bot):
    """A bot that plays as the arena would substitute, and attacks in its first decision."""

    max_batch = 1
    at_start = False
    """Whether it attacks before it serves instead."""

    def __init__(self) -> None:
        self.attacked = False
        if self.at_start:
            self.attack()

    def attack(self) -> str:
        """Do it, and return what came of it."""
        raise NotImplementedError

    def play(self, view: Decision) -> Choice:
        return self._answer(view)

    def pass_cards(self, view: Decision) -> Choice:
        return self._answer(view)

    def _answer(self, view: Decision) -> Choice:
        cards = self.choose(view)
        if self.attacked or self.at_start:
            return Choice(cards)
        self.attacked = True
        return Choice(cards, self.attack())

    def choose(self, view: Decision) -> tuple[Card, ...]:
        """Return the cards to play or pass."""
        return substitute(view.legal, view.count)


def rest() -> None:
    """Sleep as long as a child may live, and end."""
    time.sleep(LIFETIME)
    os._exit(0)


def run(attacker: type[Attacker]) -> None:
    """Serve, if this is the sandbox."""
    if len(sys.argv) < 4 or not is_inside(*sys.argv[1:4]):
        sys.exit("this is not the sandbox: nothing is done")
    attacker().run()
