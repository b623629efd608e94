"""Matches of two tables, between which two bots exchange their sides."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Say of each match whether it is one; none was so far."""
    op.add_column("matches", sa.Column("exchanged", sa.Boolean, nullable=False, server_default=sa.false()))
