"""`arena submit`: a bot for a competition, packed, sent, and told what its admission comes to."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.options import USUAL_SERVER, files_option, json_option, server_of, server_options, shelf_of, store_option
from arena.cli.output import VERDICT_STYLES, make_console, print_json
from arena.errors import BadInput, Interrupted
from arena.text import clean_line, clean_lines

if TYPE_CHECKING:
    from rich.console import Console

    from arena.client import Begun, Received, ServerAddress
    from arena.competition import AdmissionStep, Program, Version
    from arena.manifest import Manifest
    from arena.store import Store
    from arena.submission.admission import StepBegun, Terms
    from arena.submission.shelf import Shelf
    from arena.v1 import arena_pb2

REFUSED: Final = 1
"""The exit code where the bot is refused."""

_LOG_LINES: Final = 30
"""So many lines of a failed step's log are shown."""

EXAMPLE = """\b
Examples:
  arena submit my-bot/
  arena submit my-bot/ --server arena.example.org:443
  arena submit my-bot.tar.gz
  arena submit --address bots.example.org:50051 --name my-bot --server arena.example.org:443
"""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is submitted: an archive, or a bot at an address."""

    archive: Path | None
    build: bool = False
    address: str = ""
    name: str = ""
    games: tuple[str, ...] = ()
    author: str = ""


@click.command(epilog=EXAMPLE)
@click.argument("bot", required=False, metavar="DIR|ARCHIVE", type=click.Path(exists=True, path_type=Path))
@click.option("--address", metavar="HOST:PORT", help="Submit the bot that serves there, instead of files.")
@click.option("--name", help="Its name, with --address.")
@click.option(
    "--game", "games", multiple=True, metavar="NAME", help="A game that it plays, with --address; may be repeated."
)
@click.option("--author", default="", help="Who wrote it, with --address.")
@click.option("--source", is_flag=True, help="Submit the sources, to be built in the sandbox.")
@store_option
@files_option
@server_options
@json_option
def command(
    bot: Path | None,
    address: str | None,
    name: str | None,
    games: tuple[str, ...],
    author: str,
    source: bool,
    store: str,
    files: Path | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Submit a bot for a competition: to the database here, or to a server.

    DIR has a manifest bot.yaml. Its bot is built there, and everything is packed that its .gitignore does not leave out,
    with the program and what `pack` in the manifest lists. An ARCHIVE (tar, tar.gz, zip) is taken as it is. The bot is then
    unpacked, built if need be, checked, and played against itself. The exit code is 1 where it is refused. ARENA_SERVER names
    the usual server.
    """
    if (bot is None) is (address is None):
        raise click.UsageError("Submit a folder, an archive, or a running bot with --address.")
    if address is not None and not name:
        raise click.UsageError("--address needs the --name that the bot is to have.")
    if bot is not None and (name or games or author):
        raise click.UsageError(
            "--name, --game and --author go with --address; a folder or an archive says them in bot.yaml."
        )
    server = server_of(given, usual=os.environ.get(USUAL_SERVER))
    with tempfile.TemporaryDirectory(prefix="arena-") as scratch:
        wanted = _Wanted(None, address=address or "", name=name or "", games=games, author=author)
        if bot is not None:
            wanted = _package(bot, Path(scratch), source=source)
        telling = _Telling(make_console(), as_json=as_json)
        if server is not None:
            asyncio.run(_submit_there(wanted, server, telling))
        else:
            asyncio.run(_submit_here(wanted, store, files, telling))
    return telling.end()


# --- What is submitted ---


def _package(bot: Path, scratch: Path, *, source: bool) -> _Wanted:
    """Return what a folder or an archive comes to."""
    if not bot.is_dir():
        return _Wanted(bot, build=True)
    from arena.manifest import FILE, load_manifest
    from arena.submission.package import pack

    if not (bot / FILE).is_file():
        raise BadInput(
            f"{bot} has no manifest: write {bot / FILE}, such as `name: my-bot` and `command: [python, bot.py]` in two lines"
        )
    manifest = load_manifest(bot)
    if manifest.build and not source:
        _build(bot, manifest)
    package = pack(bot, manifest, scratch / "bot.tar.gz", source=source)
    click.echo(f"packed {package.files:,} files of {manifest.entry.name}, {_size(package.size)}", err=True)
    return _Wanted(package.archive, build=package.build)


def _build(folder: Path, manifest: Manifest) -> None:
    """Build a bot in its folder; raise BadInput with what was written where that fails."""
    program, *arguments = manifest.build
    found = str(folder / program) if "/" in program else shutil.which(program)
    if program in ("python", "python3"):
        import sys

        found = sys.executable
    shown = " ".join(manifest.build)
    click.echo(f"building: {shown}", err=True)
    if found is None:
        raise BadInput(f"{folder}: there is no program {program!r} to build with; install it, or submit with --source")
    try:
        built = subprocess.run(
            [found, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as error:
        raise BadInput(f"{folder}: `{shown}` can't be run: {error.strerror}") from None
    if built.returncode:
        written = clean_lines(built.stdout.decode(errors="replace"))
        raise BadInput(f"{folder}: `{shown}` exited with code {built.returncode}; mend the build\n{written}")


# --- Where it goes ---


async def _submit_there(wanted: _Wanted, server: ServerAddress, telling: _Telling) -> None:
    from arena.client import describe_archive, submit
    from arena.v1 import arena_pb2

    if wanted.archive is not None:
        submission = describe_archive(wanted.archive, build=wanted.build)
    else:
        running = arena_pb2.RunningBot(
            address=wanted.address, name=wanted.name, games=wanted.games, author=wanted.author
        )
        submission = arena_pb2.Submission(id=token_hex(16), running=running)
    telling.submission = submission.id
    with telling.sending(submission) as progress:
        async with aclosing(submit(server, submission, wanted.archive, progress)) as events:
            await telling.follow(events)


async def _submit_here(wanted: _Wanted, store_url: str, files: Path | None, telling: _Telling) -> None:
    from arena.cli.interrupts import stopping_on_signals
    from arena.competition import LOCAL, State, Version
    from arena.store import Store
    from arena.submission.running import running_program

    with Store.open(store_url) as store:
        shelf = shelf_of(store, files)
        terms = await _terms_here(telling)
        submission = token_hex(16)
        program = None
        if wanted.archive is None:
            program = await running_program(wanted.address, wanted.name, wanted.games, wanted.author, private=True)
        size = wanted.archive.stat().st_size if wanted.archive else 0
        version = Version(
            submission, LOCAL, State.WAITING, datetime.now(UTC), build=wanted.build, size=size, program=program
        )
        left = _left_waiting(store, shelf, wanted.archive, program)
        if left is not None:
            telling.warn(f"goes on with what was submitted at {left.created:%H:%M} UTC")
            version = left
        else:
            if wanted.archive is not None:
                shutil.copyfile(wanted.archive, shelf.incoming(submission))
            store.submissions.receive(version)
        telling.submission = version.submission
        with stopping_on_signals(lambda: click.echo("stopping", err=True)) as stop:
            following = asyncio.create_task(_admit_here(store, version, shelf, terms, telling))
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({following, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if not following.done():
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                raise Interrupted("stopped before the decision; the same command goes on")
            following.result()


async def _admit_here(store: Store, version: Version, shelf: Shelf, terms: Terms, telling: _Telling) -> None:
    """Admit a version; where an earlier one of the same content still waits for its decision, admit that one."""
    from arena.competition import State
    from arena.submission.recording import admit_and_record

    await telling.follow(admit_and_record(store, version, shelf, terms, apart=False))
    earlier = telling.decided
    if earlier is not None and earlier.state is State.WAITING:
        await telling.follow(admit_and_record(store, earlier, shelf, terms, apart=False))


def _left_waiting(store: Store, shelf: Shelf, archive: Path | None, program: Program | None) -> Version | None:
    """Return what an earlier command submitted and did not see decided, if it is the same."""
    from filecmp import cmp

    from arena.competition import LOCAL

    for version in store.submissions.waiting():
        incoming = shelf.incoming(version.submission)
        if version.owner != LOCAL:
            continue
        if archive is None and version.program == program:
            return version
        if archive is not None and incoming.is_file() and cmp(archive, incoming, shallow=False):
            return version
    return None


async def _terms_here(telling: _Telling) -> Terms:
    """Return the terms of one's own bot: in the sandbox where that works, else with a warning."""
    from arena.players.isolation import try_isolation
    from arena.settings import Isolation, Limits
    from arena.submission.admission import Terms

    enforcement = await try_isolation(Isolation.AUTO, Limits())
    if enforcement.sandbox is None:
        telling.warn(f"NO SANDBOX: the bot can read and change whatever you can, since {enforcement.obstacle}")
        return Terms(isolation=Isolation.NONE, private_addresses=True)
    return Terms(isolation=Isolation.BUBBLEWRAP, private_addresses=True)


# --- What is told ---


class _Telling:
    """Shows what an admission comes to: lines as they come, or one JSON document at the end."""

    def __init__(self, console: Console, *, as_json: bool) -> None:
        self._console = console
        self._as_json = as_json
        self._steps: list[AdmissionStep] = []
        self.submission = ""
        """The id under which it was submitted."""
        self.decided: Version | None = None
        """What it has become; an earlier version where that has the same content."""

    def warn(self, text: str) -> None:
        """Say what the submitter should know."""
        click.echo(f"note: {text}", err=True)

    @contextmanager
    def sending(self, submission: arena_pb2.Submission) -> Iterator[Callable[[int], None]]:
        """Show how much is sent."""
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        size = submission.archive.size
        console = Console(stderr=True)
        if not size or not console.is_terminal:
            yield lambda sent: click.echo(f"sent {_size(size)}", err=True) if sent == size else None
            return
        columns = (TextColumn("sending"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("sending", total=size)
            yield lambda sent: progress.update(task, completed=sent)

    async def follow(self, events: AsyncGenerator[Any, None]) -> None:
        """Show events until they end."""
        from arena.competition import AdmissionStep, Version

        async with aclosing(events) as coming:
            async for event in coming:
                if isinstance(event, AdmissionStep):
                    self._steps.append(event)
                    self._show(event)
                elif isinstance(event, Version):
                    self.decided = event
                else:
                    self._tell(event)

    def end(self) -> int:
        """Say what was decided, and return the exit code."""
        from arena.competition import State

        version = self.decided
        if version is None or version.state is State.WAITING:
            raise Interrupted("the admission has not ended: `arena bots` shows what becomes of it")
        admitted = version.state is State.ADMITTED
        same = version.submission != self.submission
        if self._as_json:
            print_json({**_as_values(version, self._steps), "same": same})
        else:
            self._console.print(_summary(version, admitted=admitted, same=same), soft_wrap=True, markup=False)
        return 0 if admitted else REFUSED

    def _tell(self, event: Received | Begun | StepBegun) -> None:
        from arena.client import Received

        if isinstance(event, Received):
            click.echo(f"received; {event.ahead} before it" if event.ahead else "received", err=True)
        else:
            click.echo(f"{event.name}: {event.detail}" if event.detail else event.name, err=True)

    def _show(self, step: AdmissionStep) -> None:
        if self._as_json:
            return
        from rich.text import Text

        line = (
            Text(f"{step.name:6} ")
            .append(f"{step.verdict:8}", VERDICT_STYLES.get(step.verdict, ""))
            .append(f" {clean_line(step.detail, 2000)}")
        )
        self._console.print(line, soft_wrap=True)
        if step.cure:
            self._console.print(f"       cure: {clean_line(step.cure, 2000)}", soft_wrap=True, markup=False)
        if step.verdict == "fail" and step.log:
            self._console.print(_end_of(step.log), soft_wrap=True, markup=False, style="dim")


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


def _as_values(version: Version, steps: list[AdmissionStep]) -> dict[str, Any]:
    return {
        "bot": version.program.name if version.program else None,
        "version": version.number or None,
        "state": version.state.value,
        "submission": version.submission,
        "digest": version.digest or None,
        "steps": [
            {
                "step": step.name,
                "verdict": step.verdict.value,
                "detail": step.detail,
                "cure": step.cure,
                "seconds": step.seconds,
                "log": step.log,
            }
            for step in steps
        ],
    }


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
