"""Tokens: how they are drawn, written and checked. The secret is shown once; only its SHA-256 is kept.

A token reads `arena_ID_SECRET`, with 8 hexadecimal digits of id and 256 random bits of secret. A secret of so many bits can't be
guessed, so a fast hash of it is enough.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Final

from arena.competition import Role, Token
from arena.errors import Refused

_FORM: Final = re.compile(r"arena_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_NOBODY: Final = sha256(b"").digest()


def draw_token(owner: str, role: Role, lifetime: timedelta | None = None) -> tuple[Token, str]:
    """Return a new token, and the text that shows it; the text can't be had again."""
    now = datetime.now(UTC).replace(microsecond=0)
    expires = None if lifetime is None else now + lifetime
    secret = token_urlsafe(32)
    token = Token(token_hex(4), owner, role, sha256(secret.encode()).digest(), now, expires)
    return token, f"arena_{token.id}_{secret}"


def token_id(text: str) -> str:
    """Return the id in a token's text; empty where it is no token."""
    match = _FORM.fullmatch(text)
    return match[1] if match else ""


def check_token(text: str, found: Token | None, now: datetime) -> Token:
    """Return the token that a text shows, `found` being the one of its id; raise Refused if it doesn't.

    The time that this takes does not depend on where the secrets differ. Whether a token has expired is told to its holder alone.
    """
    match = _FORM.fullmatch(text)
    secret = sha256((match[2] if match else "").encode()).digest()
    same = compare_digest(secret, found.digest if found else _NOBODY)
    if not same or found is None or match is None:
        raise Refused("BAD_TOKEN", "this token is not known here: ask the organiser for one")
    if found.revoked is not None:
        raise Refused("REVOKED_TOKEN", f"the token {found.id} was revoked: ask the organiser for a new one")
    if found.expires is not None and found.expires <= now:
        raise Refused("EXPIRED_TOKEN", f"the token {found.id} has expired: ask the organiser for a new one")
    return found


def revoke(token: Token, now: datetime) -> Token:
    """Return a token that is revoked."""
    return token if token.revoked else replace(token, revoked=now)
