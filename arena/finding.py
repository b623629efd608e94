"""What a step of a check or of an admission found: plain values, to be shown by whoever asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """How a step ended."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    """A competition would book faults, or refuse the bot."""
    WARNING = "warning"
    """It plays, but not as well as it could, or only while all goes well."""
    SKIPPED = "skipped"
    """It does not apply to this bot, or an earlier step failed."""
    INFORMATION = "information"
    """Neither good nor bad."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How a step ended, why, and what mends it."""

    verdict: Verdict
    detail: str
    cure: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What was measured: counts, seconds and bytes."""
    output: str = ""
    """The last lines that the bot, or its build, wrote before it failed; safe to show."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A step with what it found, and how many seconds it took."""

    number: int
    """From 1."""
    step: str
    """Its name, for programs."""
    title: str
    """What it promises of the bot."""
    finding: Finding
    seconds: float


def passed(detail: str, **figures: float) -> Finding:
    """Return the finding of a step that has nothing to complain of."""
    return Finding(Verdict.PASS, detail, figures=figures)


def failed(detail: str, cure: str, output: str = "", /, **figures: float) -> Finding:
    """Return the finding of a step that the bot fails."""
    return Finding(Verdict.FAIL, detail, cure, figures, output)


def warned(detail: str, cure: str, **figures: float) -> Finding:
    """Return the finding of a step that could end better."""
    return Finding(Verdict.WARNING, detail, cure, figures)


def skipped(reason: str) -> Finding:
    """Return the finding of a step that was not made."""
    return Finding(Verdict.SKIPPED, reason)
