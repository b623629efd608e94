"""A schema that is made once: the ordinary run's new SQLite databases get what the first one's migrations came to.

Migrations take ten times as long as all else that most of these tests do to a database. The gate runs them every time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from arena.store import database


@pytest.fixture(scope="session", autouse=True)
def ready_schema(request: pytest.FixtureRequest) -> Iterator[None]:
    """Migrate the first empty database, and copy its schema to the others."""
    migrate = database._migrate
    made: list[str] = []

    def bring_up(connection: sa.Connection) -> None:
        if connection.dialect.name != "sqlite" or sa.inspect(connection).get_table_names():
            migrate(connection)
        elif made:
            for statement in made:
                connection.exec_driver_sql(statement)
        else:
            migrate(connection)
            made.extend(connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").scalars())
            made.append(f"INSERT INTO alembic_version VALUES ('{database.SCHEMA}')")

    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr == "not slow":
            patch.setattr(database, "_migrate", bring_up)
        yield
