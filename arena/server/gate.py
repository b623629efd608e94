"""Who calls, and whether they may: tokens, roles, limits, and the audit log.

While no token was ever made and the server can only be reached from this machine, it is open: whoever reaches it is the
organiser `local`. From the first token on, revoked or not, every call needs one, but for reading where the server isn't private.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from typing import Any, Final

import grpc.aio

from arena.competition import LOCAL, Deed, Role, Token
from arena.errors import ArenaError, Refused
from arena.server.limits import AtOnce, Quotas, Rate
from arena.server.status import reason_of, told
from arena.store import Store
from arena.text import clean_line
from arena.threads import write
from arena.tokens import check_token, token_id

Context = grpc.aio.ServicerContext[Any, Any]

STRANGERS: Final = 500
"""Calls at once of all who show no good token; there is room for more, which is for those who do."""

_BEARER: Final = "bearer "
_DONE: Final = "done"
_LEFT: Final = "left"  # by the caller, before the end; what was begun may go on


class Right(Enum):
    """What a call needs."""

    READ = auto()
    """Nothing, unless the server is private."""
    OWN = auto()
    """A token of any role."""
    ORGANISE = auto()
    """An organiser's."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """From where a server can be reached, and how."""

    local: bool
    """Whether only this machine's users can."""
    encrypted: bool = False
    private: bool = False
    """Whether reading needs a token too."""

    @property
    def trusts_tokens(self) -> bool:
        """Whether nobody can overhear a token on its way."""
        return self.local or self.encrypted


@dataclass(slots=True)
class Caller:
    """Who calls."""

    owner: str
    """Empty where nobody is known."""
    role: Role | None = None
    token: str = ""
    """The token's id."""
    open: bool = False
    """Whether it is `local` of a server that is open."""
    about: str = ""
    """What the call is about, for the audit log: to be set by the call."""

    @property
    def organiser(self) -> bool:
        """Whether it may organise."""
        return self.role is Role.ORGANISER

    def may_see(self, owner: str) -> bool:
        """Return whether it may see and withdraw an owner's bots."""
        return self.organiser or (bool(self.owner) and self.owner == owner)


class Gate:
    """Lets calls in."""

    def __init__(self, store: Store, exposure: Exposure, quotas: Quotas) -> None:
        loop = asyncio.get_running_loop()
        self._store = store
        self._exposure = exposure
        self._calls = Rate(quotas.calls, 60.0, loop.time)
        self._refusals = Rate(quotas.refusals, 60.0, loop.time)
        self._at_once = AtOnce(quotas.at_once, "so many calls")
        self._strangers = AtOnce(STRANGERS, "so many calls without a token")
        self._callers: dict[Context, Caller | Refused] = {}
        self.stopping = False
        """Whether new calls are refused."""

    @property
    def access(self) -> str:
        """Who may do what, in a sentence."""
        reading = "reading needs one too" if self._exposure.private else "anyone may read"
        if not self._exposure.trusts_tokens:
            return "without TLS it takes no tokens: anyone may read, and nobody do more; give --tls-cert and --tls-key"
        if self._open:
            return "no token was made yet, so whoever reaches it is the organiser; `arena token create` changes that"
        return f"it takes tokens; {reading}"

    @property
    def _open(self) -> bool:
        return self._exposure.local and not self._store.tokens.any()

    @asynccontextmanager
    async def place(self, context: Context) -> AsyncIterator[None]:
        """Find out who calls, and hold a place for the call while the context lasts: one of its owner's.

        Whoever shows no good token takes one of its address's, and one of those of all strangers.
        """
        address = _address(context)
        async with told(context, in_full=False):
            caller: Caller | Refused
            try:
                caller = self._caller(_authorization(context))
            except Refused as refused:
                caller = refused
            with ExitStack() as stack:
                if isinstance(caller, Refused) or not caller.owner:
                    stack.enter_context(self._at_once.one(address))
                    stack.enter_context(self._strangers.one(""))
                elif not caller.open:
                    stack.enter_context(self._at_once.one(caller.owner))
                self._callers[context] = caller
                stack.callback(self._callers.pop, context)
                yield

    def count(self, context: Context) -> None:
        """Count a call that needs no right; raise Refused where there are too many."""
        caller = self._callers[context]
        if isinstance(caller, Refused):
            self._count(_address(context))
        elif not caller.open:
            self._count(caller.owner or _address(context))

    @asynccontextmanager
    async def call(
        self, context: Context, right: Right, deed: str = "", *, unread: AsyncIterator[Any] | None = None
    ) -> AsyncIterator[Caller]:
        """Let a call in that has its place; whatever goes wrong in it becomes its status.

        `deed` names a call that changes something, for the audit log; how it ended is there too. `unread` is what comes from
        the caller in a stream.
        """
        address = _address(context)
        caller = Caller("")
        async with told(context, in_full=False, unread=unread):
            try:
                found = self._callers[context]
                if isinstance(found, Refused):
                    raise found
                caller = found
                self._check(caller, address, right)
            except Refused as refused:
                await self._note_refusal(caller, address, deed, refused)
                raise
        async with told(context, in_full=caller.open, unread=unread):
            outcome = _LEFT
            try:
                yield caller
                outcome = _DONE
            except ArenaError as error:
                outcome = reason_of(error)
                raise
            finally:
                if deed:
                    await self._note(caller, deed, outcome)

    def _check(self, caller: Caller, address: str, right: Right) -> None:
        """Raise Refused where a caller may not do what it wants."""
        if self.stopping:
            raise Refused("STOPPING", "this server is being stopped: try again in a minute", retry=10.0)
        if not caller.open:
            self._count(caller.owner or address)
        if right is Right.READ and not self._exposure.private:
            return
        if caller.role is None:
            self._refuse_unknown()
        if right is Right.ORGANISE and not caller.organiser:
            raise Refused("NOT_ORGANISER", f"{caller.owner} is a contestant here, and this is for organisers")

    def _refuse_unknown(self) -> None:
        if not self._exposure.trusts_tokens:
            raise Refused(
                "NO_TOKEN", "this server is not encrypted and takes no tokens: all one can do here is to read"
            )
        raise Refused("NO_TOKEN", "this needs a token: ask the organiser for one, and set ARENA_TOKEN to it")

    def _caller(self, authorization: str | None) -> Caller:
        if authorization is None:
            if self._open:
                return Caller(LOCAL, Role.ORGANISER, open=True)
            return Caller("")
        if not self._exposure.trusts_tokens:
            text = (
                "this server is not encrypted, so whoever listened knows your token now: have it revoked, and use TLS"
            )
            raise Refused("TOKEN_OVER_PLAINTEXT", text)
        token = self._read(authorization)
        return Caller(token.owner, token.role, token.id)

    def _read(self, authorization: str) -> Token:
        text = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else ""
        return check_token(text, self._store.tokens.find(token_id(text)), datetime.now(UTC))

    def _count(self, caller: str) -> None:
        if wait := self._calls.wait(caller):
            raise Refused("RATE_LIMIT", f"too many calls: try again in {wait:.0f} s", retry=wait)
        self._calls.take(caller)

    async def _note(self, caller: Caller, deed: str, outcome: str) -> None:
        """Write into the audit log what was done, or why not."""
        about = clean_line(caller.about, 200)
        noted = Deed(datetime.now(UTC), caller.owner, caller.token, deed, about, outcome)
        await write(partial(self._store.audit.add, noted))

    async def _note_refusal(self, caller: Caller, address: str, deed: str, refused: Refused) -> None:
        """Write down who was refused what; of an address with many bad tokens no more, lest the log be flooded."""
        if caller.owner:
            if deed and refused.reason == "NOT_ORGANISER":
                await self._note(caller, deed, refused.reason)
        elif refused.reason in ("BAD_TOKEN", "EXPIRED_TOKEN", "REVOKED_TOKEN", "TOKEN_OVER_PLAINTEXT"):
            if wait := self._refusals.wait(address):
                raise Refused("RATE_LIMIT", "too many bad tokens came from your address: wait a while", retry=wait)
            self._refusals.take(address)
            known = refused.reason in ("EXPIRED_TOKEN", "REVOKED_TOKEN")
            which = f": {str(refused).partition(':')[0]}" if known else ""
            await self._note(Caller("", about=f"from {address}{which}"), deed or "reading", refused.reason)


def _authorization(context: Context) -> str | None:
    values = [value for key, value in context.invocation_metadata() or () if key == "authorization"]
    if not values:
        return None
    if len(values) > 1 or not isinstance(values[0], str):
        return ""
    return values[0]


def _address(context: Context) -> str:
    """Return the address of a caller without its port."""
    kind, _, rest = context.peer().partition(":")
    return rest.rpartition(":")[0] if kind.startswith("ip") else kind
