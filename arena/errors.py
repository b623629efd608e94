"""The errors that Arena raises on purpose, each with what went wrong, where, and how to mend it.

ArenaError
├── BadInput            something given to Arena is wrong: exit code 2
│   ├── BadCard         a text or a number that is no card (also a ValueError)
│   ├── BadGame         an unknown game, number of players or option
│   ├── BadConfig       a bots.yaml with problems, all of them listed
│   ├── BadStore        a database that cannot be used
│   │   └── DamagedStore    one in which something that was kept cannot be read any more
│   ├── BotUnusable     a bot that cannot be started or reached
│   └── Refused         a call that the server refuses, with the reason for programs
├── IllegalChoice       a choice that the rules refuse (also a ValueError)
├── Malformed           bytes that are not the message they should be
└── Interrupted         play was stopped; it can be resumed: exit code 3
"""

from __future__ import annotations


class ArenaError(Exception):
    """Whatever Arena raises on purpose."""


class BadInput(ArenaError):
    """Something given to Arena is wrong: what, where, and how to mend it."""


class BadCard(BadInput, ValueError):
    """A text or a number that is no card."""


class BadGame(BadInput):
    """An unknown game, a number of players that it cannot have, or an option that it does not know."""


class BadConfig(BadInput):
    """A bots.yaml with problems: `problems` has them all, each as `file:line:column: what, and how to mend it`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class BadStore(BadInput):
    """A database that cannot be opened, read or written as it is."""


class DamagedStore(BadStore):
    """A database in which something that was kept cannot be read any more."""


class BotUnusable(BadInput):
    """A bot that cannot be started or reached."""


class Refused(BadInput):
    """A call that a server refuses: `reason` is for programs, in upper case as in google.rpc.ErrorInfo.

    `retry` says after how many seconds it may be worth to ask again; None where it isn't.
    """

    def __init__(self, reason: str, text: str, *, retry: float | None = None) -> None:
        super().__init__(text)
        self.reason = reason
        self.retry = retry


class IllegalChoice(ArenaError, ValueError):
    """A choice that the rules refuse; the deal is unchanged."""


class Malformed(ArenaError):
    """Bytes that are not the message they should be."""


class Interrupted(ArenaError):
    """Play was stopped before its end; the message says how to resume it."""
