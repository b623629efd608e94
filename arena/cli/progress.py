"""How a tournament's events are shown while it is played: live on a terminal, as plain lines elsewhere; always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from arena.events import Event, Finished, MatchPlayed, Notice, Started, TablePlayed
from leaderboard.signs import Signs

FAULTS_SHOWN = 20
"""So many faults are told one by one; of the rest only the number is."""

_EVERY = 2.0  # seconds between plain lines, and between live leaderboards


class _Tally:
    """What has been played since the start, and the faults told so far."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.decisions = 0
        self.faults = 0

    def add(self, event: TablePlayed) -> list[str]:
        """Count a table; return the faults at it that are to be told."""
        told = list(event.faults[: max(0, FAULTS_SHOWN - self.faults)])
        before, self.faults = self.faults, self.faults + len(event.faults)
        if before < FAULTS_SHOWN < self.faults:
            told.append("further faults are counted, not told; `arena show MATCH` has them")
        self.decisions += event.decisions
        return told

    @property
    def rate(self) -> str:
        """Decisions a second so far."""
        seconds = time.monotonic() - self.began
        return f"{self.decisions / seconds:,.0f} decisions/s" if seconds > 0 else ""

    @property
    def fault_count(self) -> str:
        """How many faults there were, in words."""
        return "no faults" if not self.faults else f"{self.faults} fault{'s' if self.faults > 1 else ''}"


def started_lines(event: Started, *, grows: bool) -> list[str]:
    """Say what begins, and the seed's commitment."""
    lines = [f"tournament {event.tournament}: {event.matches} matches, {event.boards} boards{' so far' * grows}"]
    if grows:
        before = f"{event.already_played} of them were played before; --fresh plays again on new deals"
        lines += [before] * bool(event.already_played)
    elif event.already_played == event.matches:
        lines.append("nothing of it is left to play; --fresh plays it again on new deals")
    elif event.already_played:
        lines.append(f"goes on after {event.already_played} of them")
    lines.append(f"seed commitment {event.seed_commitment}")
    return lines


def _encodable(line: str, console: Console) -> str:
    return line.replace("±", Signs(console.encoding).plus_minus)


class PlainDisplay:
    """Lines for logs and pipes: the start, notices and faults, and now and then how far it is."""

    def __init__(self, console: Console, *, grows: bool = False) -> None:
        self._console = console
        self._grows = grows
        self._tally = _Tally()
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        pass

    def show(self, event: Event) -> None:
        """Print what there is to say about an event."""
        match event:
            case Started():
                self._lines(started_lines(event, grows=self._grows))
            case Notice():
                self._lines([f"note: {event.text}"])
            case TablePlayed():
                self._lines([f"fault: {text}" for text in self._tally.add(event)])
                if event.played == event.tables or time.monotonic() - self._last >= _EVERY:
                    self._last = time.monotonic()
                    table_number = f"table {event.played}" + ("" if self._grows else f" of {event.tables}")
                    self._lines([f"{table_number}, {self._tally.rate}, {self._tally.fault_count}"])
            case MatchPlayed():
                pass
            case Finished():
                self._lines([f"seed {event.seed}"])

    def _lines(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(_encodable(line, self._console), markup=False, highlight=False, soft_wrap=True)


class LiveDisplay:
    """A progress bar, with the leaderboard as it stands below it."""

    def __init__(
        self, console: Console, leaderboard: Callable[[], RenderableType | None], *, grows: bool = False
    ) -> None:
        self._console = console
        self._grows = grows
        self._leaderboard = leaderboard
        self._tally = _Tally()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[played]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            expand=True,
        )
        self._task: TaskID | None = None
        self._table: RenderableType | None = None
        self._last = time.monotonic()
        self._live = Live(console=console, transient=True, get_renderable=self._render, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._live.stop()

    def show(self, event: Event) -> None:
        """Move the bar, and print above it what is to stay."""
        match event:
            case Started():
                self._print(started_lines(event, grows=self._grows), "dim")
                self._task = self._progress.add_task(
                    "playing",
                    total=None if self._grows else event.matches,
                    completed=event.already_played,
                    played=self._share(event.already_played, event.matches, "matches"),
                )
            case Notice():
                self._print([f"note: {event.text}"], "")
            case TablePlayed():
                self._print([f"fault: {text}" for text in self._tally.add(event)], "red")
                if self._task is not None:
                    self._progress.update(
                        self._task,
                        total=None if self._grows else event.tables,
                        completed=event.played,
                        description=f"{self._tally.rate}, {self._tally.fault_count}",
                        played=self._share(event.played, event.tables, "tables"),
                    )
            case MatchPlayed():
                if time.monotonic() - self._last >= _EVERY and event.played < event.matches:
                    self._table = self._leaderboard()
                    self._last = time.monotonic()
            case Finished():
                self._print([f"seed {event.seed}"], "dim")

    def _share(self, played: int, of: int, what: str) -> str:
        return f"{played} {what}" if self._grows else f"{played}/{of} {what}"

    def _print(self, lines: list[str], style: str) -> None:
        for line in lines:
            self._console.print(escape(_encodable(line, self._console)), style=style, highlight=False)

    def _render(self) -> RenderableType:
        return self._progress if self._table is None else Group(self._progress, self._table)
