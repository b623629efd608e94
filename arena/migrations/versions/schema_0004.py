"""Competitions: tokens, bots in versions with their admission, what a server was asked for, and who did what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create their tables, and note of each match where it was really played."""
    op.add_column("matches", sa.Column("origin", sa.Text))
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("expires", sa.Text),
        sa.Column("revoked", sa.Text),
    )
    op.create_table(
        "deeds",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("deed", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    op.create_table(
        "bots",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("name_key", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False, index=True),
        sa.Column("current", sa.Integer, nullable=False),
    )
    op.create_table(
        "submissions",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("owner", sa.Text, nullable=False, index=True),
        sa.Column("state", sa.Text, nullable=False, index=True),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("decided", sa.Text),
        sa.Column("build", sa.Boolean, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.key")),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("program", sa.Text),
        sa.UniqueConstraint("bot", "number"),
    )
    op.create_table(
        "steps",
        sa.Column("submission", sa.Integer, sa.ForeignKey("submissions.key"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("cure", sa.Text, nullable=False),
        sa.Column("log", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
    )
    op.create_table(
        "runs",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("request", sa.Text, nullable=False, unique=True),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("config_path", sa.Text, nullable=False),
        sa.Column("overrides", sa.Text, nullable=False),
        sa.Column("incremental", sa.Boolean, nullable=False),
        sa.Column("fresh", sa.Boolean, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("tournament", sa.Text, nullable=False),
        sa.Column("over", sa.Boolean, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("tournament", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("event", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
