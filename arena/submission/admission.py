"""Admission: the steps after which a bot may play. Its files are unpacked, it is built, checked, and plays against itself.

A failed step ends an admission; the later ones are then skipped. What is checked and played with are the files at the place
from which the version will play. What contestants read of it tells nothing about the machine.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from arena.clock import TimeControl
from arena.competition import STEPS, AdmissionStep, Program, Version
from arena.conformance import QUICK, check_bot
from arena.errors import ArenaError, BadConfig, Refused
from arena.finding import Finding, Outcome, Verdict, failed, passed, skipped, warned
from arena.manifest import FILE, load_manifest
from arena.players.base import Setup
from arena.players.isolation import Enforcement, enforce
from arena.settings import Entry, Isolation, Limits
from arena.sockets import private_folder
from arena.submission.archive import Bounds, check_tree, tree_digest, unpack
from arena.submission.building import Allowance, build
from arena.submission.concealment import Concealment
from arena.submission.selfplay import play_itself
from arena.submission.shelf import Shelf
from arena.threads import in_thread

Claim = Callable[[Program, str, int], Awaitable[bool]]
"""Takes program, digest and size of the files; False where nothing more is to be done. Raises Refused."""

_MANIFEST_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Terms:
    """What bots are admitted by."""

    time: TimeControl = field(default_factory=TimeControl)
    isolation: Isolation = Isolation.AUTO
    limits: Limits = field(default_factory=Limits)
    bounds: Bounds = field(default_factory=Bounds)
    build_seconds: float = 600.0
    build_memory: int = 2_000_000_000
    """Bytes, of which half may be files of compilers' caches."""
    private_addresses: bool = False
    """Whether bots may run at addresses that only this machine or its network reaches."""
    step_seconds: float = 900.0
    """How long the check, and the match against itself, may take: a bot that is slow all the time keeps others waiting."""

    def to_json(self) -> dict[str, Any]:
        """Return them as values that JSON has; `from_json` makes the same of them."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make terms of what `to_json` returned."""
        return cls(
            **{
                **values,
                "time": TimeControl(**values["time"]),
                "isolation": Isolation(values["isolation"]),
                "limits": Limits(**values["limits"]),
                "bounds": Bounds(**values["bounds"]),
            }
        )


@dataclass(frozen=True, slots=True)
class StepBegun:
    """A step of an admission that has begun."""

    name: str
    """One of `arena.competition.STEPS`."""
    detail: str = ""


class _Same(Exception):
    """The same content is there already."""


Event = StepBegun | AdmissionStep


async def admit(version: Version, shelf: Shelf, terms: Terms, claim: Claim) -> AsyncGenerator[Event, None]:
    """Make the steps of an admission, and yield each as it begins and as it has ended; use it under `aclosing`.

    `claim` is awaited once it is known what was submitted, and again when it is built. Where it returns False all ends there,
    or once the files of that content are put back, if those that are there are damaged; where it raises Refused, the step
    fails. Raises ArenaError where the arena itself is at fault, so that nothing is known of the bot.
    """
    with shelf.staging() as staging, private_folder() as folder:
        admission = _Admission(version, shelf, terms, claim, staging, folder)
        ended = False
        for name in STEPS:
            if ended:
                yield AdmissionStep(name, Verdict.SKIPPED, "an earlier step failed")
                continue
            if not admission.skips(name):
                yield StepBegun(name, admission.about(name))
            try:
                step = await admission.make(name)
            except _Same:
                return
            except OSError as error:
                raise ArenaError(f"the step {name} of an admission could not be made: {error}") from error
            yield step
            if admission.mended:
                return
            ended = step.verdict is Verdict.FAIL


class _Admission:
    """One admission under way."""

    def __init__(self, version: Version, shelf: Shelf, terms: Terms, claim: Claim, staging: Path, folder: Path) -> None:
        self._version = version
        self._shelf = shelf
        self._terms = terms
        self._claim = claim
        self._staging = staging
        self._folder = folder
        self._program = version.program
        self._digest = ""
        self._tree = staging
        self._own: set[Path] = set()
        """Where its files are, or were."""
        self._damage = ""
        """What is wrong with the files of the same content that is there already: these are put in their place."""
        self.mended = False
        self._remote = version.program is not None and bool(version.program.address)

    def skips(self, name: str) -> bool:
        """Return whether a step does not apply."""
        return (self._remote and name == "unpack") or (name == "build" and not self._words)

    def about(self, name: str) -> str:
        """Say what a step is about to do."""
        programs = {"check": "arena check, quick", "play": "a match against itself", "build": " ".join(self._words)}
        return self._conceal.line(programs.get(name, ""), 200)

    async def make(self, name: str) -> AdmissionStep:
        """Make a step; raise _Same where nothing more is to be done."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        steps = {"unpack": self._unpack, "build": self._build, "check": self._check, "play": self._play}
        try:
            async with asyncio.timeout(self._terms.step_seconds if name in ("check", "play") else None) as limit:
                finding, log = await steps[name]()
        except TimeoutError:
            if not limit.expired():
                raise
            finding, log = failed(f"it was not over within {self._terms.step_seconds:g} s", "answer faster"), ""
        return AdmissionStep(
            name,
            finding.verdict,
            self._conceal.line(finding.detail),
            self._conceal.line(finding.cure),
            self._conceal.log(log),
            round(loop.time() - began, 3),
        )

    @property
    def _words(self) -> tuple[str, ...]:
        return self._program.build if self._program else ()

    @property
    def _conceal(self) -> Concealment:
        return Concealment(self._own, {self._staging: "staging", self._shelf.root: "shelf", self._folder: "run"})

    @property
    def _entry(self) -> Entry:
        assert self._program is not None
        return self._program.entry(self._tree, public_only=not self._terms.private_addresses)

    # --- The steps ---

    async def _unpack(self) -> tuple[Finding, str]:
        try:
            if self._remote:
                assert self._program is not None
                await self._take(self._program, "", 0)
                return skipped(f"it runs at {self._program.address}"), ""
            return await self._unpack_archive(), ""
        except Refused as refusal:
            return failed(str(refusal), ""), ""
        except BadConfig as error:
            return failed(error.problems[0], f"mend {FILE} and submit again"), "\n".join(error.problems)

    async def _unpack_archive(self) -> Finding:
        archive = self._shelf.incoming(self._version.submission)
        if not archive.is_file():
            return failed("its archive is not there any more", "submit it again")
        bounds = self._terms.bounds
        (into := self._staging / "unpacked").mkdir(mode=0o755)
        self._own = {into}
        self._tree = await in_thread(lambda: unpack(archive, into, bounds))
        self._own.add(self._tree)
        program = await in_thread(lambda: _read_program(self._tree, build=self._version.build))
        self._digest = await in_thread(lambda: tree_digest(self._tree, program.build))
        size = await in_thread(lambda: check_tree(self._tree, bounds))
        await self._take(program, self._digest, size)
        if not program.build:
            await self._adopt()
        put_back = f"; the files that were there are damaged ({self._damage}), and are put back" if self._damage else ""
        return passed(f"{program.name}: {size:,} bytes{put_back}")

    async def _take(self, program: Program, digest: str, size: int) -> None:
        if not self._damage and not await self._claim(program, digest, size):
            self._damage = await in_thread(lambda: self._shelf.damage(digest)) if digest else ""
            if not self._damage:
                raise _Same
        self._program = program

    async def _adopt(self) -> None:
        tree, digest = self._tree, self._digest
        self._tree = await in_thread(lambda: self._shelf.adopt(tree, digest))
        self._own.add(self._tree)
        self.mended = bool(self._damage)

    async def _build(self) -> tuple[Finding, str]:
        if not self._words:
            return skipped("nothing is to be built"), ""
        terms = self._terms
        allowance = Allowance(terms.build_seconds, terms.build_memory, terms.bounds)
        enforcement = await self._enforce()
        finding, log = await build(self._tree, self._words, allowance, enforcement, terms.isolation, self._folder)
        if finding.verdict is Verdict.FAIL:
            return finding, log
        assert self._program is not None
        size = await in_thread(lambda: check_tree(self._tree, terms.bounds))
        try:
            await self._take(self._program, self._digest, size)
        except Refused as refusal:
            return failed(str(refusal), ""), log
        await self._adopt()
        return finding, log

    async def _check(self) -> tuple[Finding, str]:
        assert self._program is not None
        checking = check_bot(
            self._entry,
            self._terms.time,
            games=self._program.games,
            isolation=self._terms.isolation,
            limits=self._terms.limits,
            effort=QUICK,
        )
        async with aclosing(checking) as found:
            outcomes = [outcome async for outcome in found if outcome.step != "build"]
        finding = _summary(outcomes)
        if finding.verdict is not Verdict.FAIL and self._entry.launched:
            enforcement = await self._enforce()
            if enforcement.sandbox is None:
                detail = f"{finding.detail}; without a sandbox{enforcement.obstacle and ': '}{enforcement.obstacle}"
                cure = "let only bots that you trust play here, or install bubblewrap"
                finding = replace(finding, verdict=Verdict.WARNING, detail=detail, cure=finding.cure or cure)
        return finding, "\n".join(line for outcome in outcomes for line in _lines(outcome))

    async def _play(self) -> tuple[Finding, str]:
        assert self._program is not None
        sandbox = (await self._enforce()).sandbox if self._entry.launched else None
        (folder := self._folder / "play").mkdir()
        at_once = asyncio.Semaphore(os.cpu_count() or 1)
        setup = Setup(self._terms.time, folder, at_once, sandbox=sandbox)
        return await play_itself(self._entry, self._program.games, setup)

    async def _enforce(self) -> Enforcement:
        (folder := self._folder / "probes").mkdir(exist_ok=True)
        return await enforce(self._terms.isolation, self._terms.limits, folder)


def _read_program(tree: Path, *, build: bool) -> Program:
    """Read the manifest of an unpacked bot; raise BadConfig, or Refused, where there is none that can be read."""
    path = tree / FILE
    if not path.is_file():
        raise Refused(
            "BAD_ARCHIVE", f"there is no {FILE} in it: write one, with `name` and `command`, and submit again"
        )
    if path.stat().st_size > _MANIFEST_BYTES:
        raise Refused("BAD_ARCHIVE", f"{FILE} is larger than {_MANIFEST_BYTES:,} bytes: say less in it")
    program = load_manifest(tree).program
    return program if build else replace(program, build=())


def _summary(outcomes: list[Outcome]) -> Finding:
    for verdict in (Verdict.FAIL, Verdict.WARNING):
        for outcome in outcomes:
            if outcome.finding.verdict is verdict:
                make = failed if verdict is Verdict.FAIL else warned
                return make(f"{outcome.title}: {outcome.finding.detail}", outcome.finding.cure)
    counts = Counter(outcome.finding.verdict for outcome in outcomes)
    others = {"skipped": counts[Verdict.SKIPPED], "for information": counts[Verdict.INFORMATION]}
    told = "".join(f", {count} {what}" for what, count in others.items() if count)
    return passed(f"{counts[Verdict.PASS]} of {len(outcomes)} steps passed{told}, none failed")


def _lines(outcome: Outcome) -> list[str]:
    finding = outcome.finding
    line = f"{outcome.number:2} {finding.verdict:11} {outcome.title}: {' '.join(finding.detail.split())}"
    cure = [f"   cure: {finding.cure}"] if finding.cure else []
    output = [f"      {written}" for written in finding.output.splitlines()]
    return [line, *cure, *(["   it wrote:"] if output else []), *output]
