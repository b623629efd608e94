"""What kept the bots of a tournament apart from the machine."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Keep it with each tournament, as a JSON list of sentences; of those so far nothing is known."""
    op.add_column("tournaments", sa.Column("enforced", sa.Text, nullable=False, server_default="[]"))
