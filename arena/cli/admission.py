"""An admission as people see it, line by line while it happens, and as programs do, in JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.output import VERDICT_STYLES, make_error_console, print_json
from arena.contents import LeftOut, cure_of_missing
from arena.errors import Interrupted
from arena.text import clean_line, clean_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from arena.client import Begun, Received
    from arena.competition import AdmissionStep, Version
    from arena.submission.admission import StepBegun
    from arena.v1 import arena_pb2

REFUSED: Final = 1
"""The exit code where the bot is refused."""

_LOG_LINES: Final = 100
"""So many lines of a failed step's log are shown."""


def version_values(version: Version, steps: Sequence[AdmissionStep], *, logs: bool) -> dict[str, Any]:
    """Return a version and the steps of its admission as values that JSON has, the steps' logs if wanted."""
    return {
        "bot": version.program.name if version.program else None,
        "version": version.number or None,
        "state": version.state.value,
        "created": version.created.isoformat(timespec="seconds"),
        "digest": version.digest or None,
        "size": version.size,
        "submission": version.submission,
        "steps": [
            {
                "step": step.name,
                "verdict": step.verdict.value,
                "detail": step.detail,
                "cure": step.cure,
                "seconds": step.seconds,
            }
            | ({"log": step.log} if logs else {})
            for step in steps
        ],
    }


def size_text(size: int) -> str:
    """Return a number of bytes as people write it."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


class Telling:
    """Shows what an admission comes to: lines as they come, or one JSON document at the end."""

    def __init__(self, console: Console, left_out: Sequence[LeftOut] = (), *, as_json: bool) -> None:
        self._left_out = left_out
        self._console = console
        self._as_json = as_json
        self._steps: list[AdmissionStep] = []
        self._status: Status | None = None
        self.submission = ""
        """The id under which it was submitted."""
        self.decided: Version | None = None
        """What it has become; an earlier version where that has the same content."""

    @contextmanager
    def sending(self, submission: arena_pb2.Submission) -> Iterator[Callable[[int], None]]:
        """Show how much is sent."""
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        size = submission.archive.size
        console = make_error_console()
        if not size or not console.is_terminal:
            yield lambda sent: click.echo(f"sent {size_text(size)}", err=True) if sent == size else None
            return
        columns = (TextColumn("sending"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("sending", total=size)
            yield lambda sent: progress.update(task, completed=sent)

    async def follow(self, events: AsyncGenerator[Any, None]) -> None:
        """Show events until they end."""
        from arena.competition import AdmissionStep, Version

        try:
            async with aclosing(events) as coming:
                async for event in coming:
                    if isinstance(event, AdmissionStep):
                        step = self._explained(event)
                        self._steps.append(step)
                        self._show(step)
                    elif isinstance(event, Version):
                        self.decided = event
                    else:
                        self._tell(event)
        finally:
            self._stop_status()

    def _explained(self, step: AdmissionStep) -> AdmissionStep:
        """Return a step with the cure, where it failed for want of a file that was not packed."""
        if step.verdict != "fail":
            return step
        cure = cure_of_missing(self._left_out, f"{step.detail}\n{step.log}")
        return replace(step, cure=cure) if cure else step

    def end(self) -> int:
        """Say what was decided, and return the exit code."""
        from arena.competition import State

        version = self.decided
        if version is None or version.state is State.WAITING:
            raise Interrupted("the admission has not ended: `arena bots` shows what becomes of it")
        admitted = version.state is State.ADMITTED
        same = version.submission != self.submission
        if self._as_json:
            print_json({**version_values(version, self._steps, logs=True), "same": same})
        else:
            self._console.print(_summary(version, admitted=admitted, same=same), soft_wrap=True, markup=False)
        return 0 if admitted else REFUSED

    def _tell(self, event: Received | Begun | StepBegun) -> None:
        """Say what is being done: on a terminal until it is done."""
        from arena.client import Received

        if isinstance(event, Received):
            text = f"received; {event.ahead} before it" if event.ahead else "received"
        else:
            text = f"{event.name}: {event.detail}" if event.detail else event.name
        console = make_error_console()
        self._stop_status()
        if console.is_terminal:
            from rich.text import Text

            self._status = console.status(Text(clean_line(text, console.width - 3)))
            self._status.start()
        else:
            click.echo(text, err=True)

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _show(self, step: AdmissionStep) -> None:
        self._stop_status()
        if self._as_json:
            return
        print_step(self._console, step)
        if step.verdict == "fail" and step.log:
            self._console.print(_end_of(step.log), soft_wrap=True, markup=False, style="dim")


def print_step(console: Console, step: AdmissionStep) -> None:
    """Write a step of an admission, with its cure: on a terminal wrapped between words, else in one line each."""
    from rich.table import Table
    from rich.text import Text

    verdict = Text(f"{step.verdict:8}", VERDICT_STYLES.get(step.verdict, ""))
    detail = clean_line(step.detail, 2000)
    cure = f"cure: {clean_line(step.cure, 2000)}" if step.cure else ""
    if console.is_terminal:
        grid = Table.grid("name", "verdict", "found", padding=(0, 1, 0, 0))
        grid.columns[0].width = 6
        grid.add_row(step.name, verdict, Text(f"{detail}\n{cure}".rstrip()))
        console.print(grid)
        return
    console.print(Text(f"{step.name:6} ").append_text(verdict).append(f" {detail}"), soft_wrap=True)
    if cure:
        console.print(f"       {cure}", soft_wrap=True)


def _end_of(log: str) -> str:
    """Return the last lines of a log."""
    lines = clean_lines(log, lines=10_000).splitlines()
    left_out = (
        [f"       ... {len(lines) - _LOG_LINES:,} lines before; --json has them"] if len(lines) > _LOG_LINES else []
    )
    return "\n".join([*left_out, *(f"       | {line}" for line in lines[-_LOG_LINES:])])


def _summary(version: Version, *, admitted: bool, same: bool) -> str:
    name = clean_line(version.program.name if version.program else "the bot")
    if not admitted:
        return f"{name} is refused"
    if same:
        return f"{name}: this is version {version.number} already, which plays from the next tournament on"
    return f"{name}, version {version.number}, is admitted: it plays from the next tournament on"
