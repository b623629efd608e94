"""What Alembic runs: the migrations of `versions`, in the transaction of the connection that `arena.store` gives it."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
