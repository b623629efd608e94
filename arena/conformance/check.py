"""What all steps of one check share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from arena.clock import TimeControl
from arena.conformance.cures import cure_of, tell
from arena.conformance.questions import Question, Questions
from arena.conformance.subject import Reply, Subject
from arena.faults import Failure
from arena.finding import Finding, failed
from arena.game import Game
from arena.settings import Limits


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is asked."""

    decisions: int = 2000
    """One by one, to see that all answers are legal and in time."""
    deals: int = 1000
    """To see whether memory grows."""
    repeated: int = 100
    """Decisions that are asked twice."""


QUICK = Effort(decisions=300, deals=100, repeated=30)


@dataclass(slots=True)
class Check:
    """A check under way."""

    subject: Subject
    time: TimeControl
    effort: Effort
    wanted: tuple[str, ...]
    """The games that whoever asked wants it to play; empty for all that it says it plays."""
    questions: Questions
    limits: Limits
    """What an instance may use in the sandbox."""
    build: tuple[str, ...] = ()
    """What builds the bot; empty where nothing is to be built."""
    games: tuple[tuple[Game, ...], ...] = ()
    """The games that it plays, each with all its variants; known once it has described itself."""
    latencies: list[float] = field(default_factory=list)
    """Seconds that each decision took that was asked alone."""

    refusal: str = ""
    """Why the bot did not start, with what it wrote; empty where it did."""
    lost: str = ""
    """Why the bot does not start again; empty as long as it does."""

    @property
    def variants(self) -> tuple[Game, ...]:
        """Every variant of every game that it plays."""
        return tuple(game for games in self.games for game in games)


class Objection(Exception):
    """What is wrong with an answer: the finding of the step that asked."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


async def ask(subject: Subject, questions: Sequence[Question], what: str = "") -> Reply:
    """Ask questions in one request; raise Objection where there is no answer, or one isn't legal.

    `what` names the request in the finding; without it the question does.
    """
    where = what or str(questions[0])
    try:
        reply = await subject.ask([question.decision for question in questions])
    except Failure as failure:
        raise Objection(failed(f"{where}: {tell(failure.evidence)}", cure_of(failure.evidence))) from None
    object_to_illegal(questions, reply, what)
    return reply


def object_to_illegal(questions: Sequence[Question], reply: Reply, what: str = "") -> None:
    """Raise Objection at the first choice that is not legal."""
    for question, choice in zip(questions, reply.choices, strict=True):
        evidence = question.evidence(choice)
        if evidence is not None:
            where = f"{what}, {question}" if what else str(question)
            raise Objection(failed(f"{where}: {tell(evidence)}", cure_of(evidence)))
