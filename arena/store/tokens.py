"""Tokens, as rows. Their secrets are not among them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from arena.competition import Role, Token
from arena.store.database import Database
from arena.store.tables import TOKENS


class Tokens:
    """The tokens of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: Token) -> None:
        """Keep a new token."""
        with self._database.writing() as connection:
            connection.execute(sa.insert(TOKENS).values(_row(token)))

    def change(self, token: Token) -> None:
        """Keep a token as it is now, as when it is revoked."""
        with self._database.writing() as connection:
            connection.execute(sa.update(TOKENS).where(TOKENS.c.id == token.id).values(_row(token)))

    def find(self, token_id: str) -> Token | None:
        """Return the token of this id."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(TOKENS).where(TOKENS.c.id == token_id)).mappings().first()
        return None if row is None else _token(row)

    def all(self) -> list[Token]:
        """Return all tokens, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id)).mappings().all()
        return list(map(_token, rows))

    def any(self) -> bool:
        """Return whether a token was ever made."""
        with self._database.reading() as connection:
            return connection.execute(sa.select(TOKENS.c.id).limit(1)).first() is not None


def _row(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "owner": token.owner,
        "role": token.role.value,
        "digest": token.digest,
        "created": token.created.isoformat(),
        "expires": token.expires and token.expires.isoformat(),
        "revoked": token.revoked and token.revoked.isoformat(),
    }


def _token(row: Mapping[Any, Any]) -> Token:
    expires, revoked = (
        None if row[name] is None else datetime.fromisoformat(row[name]) for name in ("expires", "revoked")
    )
    created = datetime.fromisoformat(row["created"])
    return Token(row["id"], row["owner"], Role(row["role"]), bytes(row["digest"]), created, expires, revoked)
