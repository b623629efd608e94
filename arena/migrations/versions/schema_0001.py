"""The first schema: tournaments, their matches, and of each match the results, the records of its deals and the faults."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "tournaments",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("fingerprint", sa.Text, nullable=False, index=True),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("entries", sa.Text, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("seed_key", sa.LargeBinary, nullable=False),
        sa.Column("seed_text", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("finished", sa.Text),
    )
    op.create_table(
        "matches",
        _tournament(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("line_up", sa.Text, nullable=False),
        sa.Column("deals", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
        sa.Column("decisions", sa.Integer),
        sa.Column("seconds", sa.Float),
        sa.Column("finished", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "results",
        *_of_a_match("deal"),
        sa.Column("bots", sa.Text, nullable=False),
        sa.Column("points", sa.Text, nullable=False),
        sa.Column("places", sa.Text, nullable=False),
        sa.Column("faults", sa.Text, nullable=False),
        sa.Column("deals", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "records",
        *_of_a_match("deal"),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "faults",
        *_of_a_match("position"),
        sa.Column("deal", sa.Integer, nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("bot", sa.Text, nullable=False),
        sa.Column("kind", sa.Integer, nullable=False),
        sa.Column("retired", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )


def _tournament() -> sa.Column[int]:
    return sa.Column("tournament", sa.Integer, sa.ForeignKey("tournaments.key"), primary_key=True)


def _of_a_match(last: str) -> list[sa.Column[int] | sa.ForeignKeyConstraint]:
    """Return the key of what belongs to a table of a match."""
    return [
        sa.Column("tournament", sa.Integer, primary_key=True),
        sa.Column("match", sa.Integer, primary_key=True),
        sa.Column("table", sa.Integer, primary_key=True),
        sa.Column(last, sa.Integer, primary_key=True),
        sa.ForeignKeyConstraint(["tournament", "match"], ["matches.tournament", "matches.number"]),
    ]
