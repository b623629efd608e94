"""`arena submit`: a bot for a competition, packed, sent, and told what its admission comes to."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import tempfile
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

import click

from arena.cli.admission import Telling, size_text
from arena.cli.options import files_option, json_option, server_of, server_options, shelf_of, store_option
from arena.cli.output import make_console, print_note
from arena.errors import BadInput, Interrupted
from arena.text import clean_line, clean_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.client import ServerAddress
    from arena.competition import Program, Version
    from arena.contents import LeftOut
    from arena.manifest import Manifest
    from arena.store import Store
    from arena.submission.admission import Terms
    from arena.submission.shelf import Shelf

_MOST_SHOWN: Final = 6
"""So many rules that leave files out are listed, and of each so many files."""

EXAMPLE = """\b
Examples:
  arena submit my-bot/
  arena submit my-bot/ --server arena.example.org:443
  arena submit my-bot.tar.gz
  arena submit --address bots.example.org:50051 --name my-bot
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
    left_out: tuple[LeftOut, ...] = ()
    """What of its folder was not packed."""


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
@server_options()
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
    unpacked, built if need be, checked, and played against itself. The exit code is 1 where it is refused.
    """
    if (bot is None) is (address is None):
        raise click.UsageError("Submit a folder, an archive, or a running bot with --address.")
    if address is not None and not name:
        raise click.UsageError("--address needs the --name that the bot is to have.")
    if bot is not None and (name or games or author):
        raise click.UsageError(
            "--name, --game and --author go with --address; a folder or an archive says them in bot.yaml."
        )
    server = server_of(given)
    with tempfile.TemporaryDirectory(prefix="arena-") as scratch:
        wanted = _Wanted(None, address=address or "", name=name or "", games=games, author=author)
        if bot is not None:
            wanted = _package(bot, Path(scratch), source=source)
        telling = Telling(make_console(), wanted.left_out, as_json=as_json)
        if server is not None:
            asyncio.run(_submit_there(wanted, server, telling))
        else:
            asyncio.run(_submit_here(wanted, store, files, telling))
    return telling.end()


# --- What is submitted ---


def _package(bot: Path, scratch: Path, *, source: bool) -> _Wanted:
    """Return what a folder or an archive comes to."""
    if not bot.is_dir():
        from arena.submission.archive import is_archive

        if not bot.is_file() or not is_archive(bot):
            raise BadInput(
                f"{bot} is no archive (tar, tar.gz, tar.xz, tar.bz2 or zip); name the bot's folder instead:"
                f" arena submit {shlex.quote(str(bot.parent))}"
            )
        return _Wanted(bot, build=True)
    from arena.document import misnamed
    from arena.manifest import FILE, load_manifest
    from arena.submission.package import pack

    if not (bot / FILE).is_file():
        raise BadInput(
            f"{bot} has no manifest: write {bot / FILE}, such as `name: my-bot` and `command: [python, bot.py]` in two lines"
            f"{misnamed(bot / FILE)}"
        )
    manifest = load_manifest(bot)
    if manifest.build and not source:
        _build(bot, manifest)
    package = pack(bot, manifest, scratch / "bot.tar.gz", source=source)
    click.echo(f"packed {package.files:,} files of {manifest.entry.name}, {size_text(package.size)}", err=True)
    for line in _left_out_lines(package.left_out):
        click.echo(line, err=True)
    return _Wanted(package.archive, build=package.build, left_out=package.left_out)


def _left_out_lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield a line for each of the rules that leave files out, those that leave out most last."""
    names: dict[str, list[str]] = {}
    for one in left_out:
        names.setdefault(one.rule, []).append(one.name)
    for rule, files in sorted(names.items(), key=lambda item: len(item[1]))[:_MOST_SHOWN]:
        more = f" and {len(files) - _MOST_SHOWN:,} more" if len(files) > _MOST_SHOWN else ""
        yield clean_line(f"left out ({rule}): {', '.join(files[:_MOST_SHOWN])}{more}", 400)
    if len(names) > _MOST_SHOWN:
        yield f"left out by {len(names) - _MOST_SHOWN:,} more rules: {len(left_out):,} files and folders in all"


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


async def _submit_there(wanted: _Wanted, server: ServerAddress, telling: Telling) -> None:
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


async def _submit_here(wanted: _Wanted, store_url: str, files: Path | None, telling: Telling) -> None:
    from arena.cli.interrupts import stopping_on_signals
    from arena.competition import LOCAL, State, Version
    from arena.store import Store
    from arena.submission.running import running_program

    with Store.open(store_url) as store:
        shelf = shelf_of(store, files)
        terms = await _terms_here()
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
            print_note(f"goes on with what was submitted at {left.created:%H:%M} UTC")
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


async def _admit_here(store: Store, version: Version, shelf: Shelf, terms: Terms, telling: Telling) -> None:
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


async def _terms_here() -> Terms:
    """Return the terms of one's own bot: in the sandbox where that works, else with a warning."""
    from arena.players.isolation import try_isolation
    from arena.settings import Isolation, Limits
    from arena.submission.admission import Terms

    enforcement = await try_isolation(Isolation.AUTO, Limits())
    if enforcement.sandbox is None:
        print_note(f"NO SANDBOX: the bot can read and change whatever you can, since {enforcement.obstacle}")
        return Terms(isolation=Isolation.NONE, private_addresses=True)
    return Terms(isolation=Isolation.BUBBLEWRAP, private_addresses=True)
