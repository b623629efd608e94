"""What an organiser has withdrawn, so that its owner can't bring it back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Note it of each bot, unless a database was made while the fourth schema had it."""
    if "barred" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("bots")}:
        op.add_column("bots", sa.Column("barred", sa.Boolean, nullable=False, server_default=sa.false()))
