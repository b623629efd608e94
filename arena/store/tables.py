"""The tables, as queries name them. What they are made of is in `arena.migrations`, and nowhere else."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa


def _table(name: str, /, **columns: Any) -> sa.TableClause:
    return sa.table(name, *(sa.column(column, kind) for column, kind in columns.items()))


_OF_A_MATCH = {"tournament": sa.Integer, "match": sa.Integer, "table": sa.Integer}
TOURNAMENTS = _table(
    "tournaments",
    key=sa.Integer,
    id=sa.Text,
    fingerprint=sa.Text,
    settings=sa.Text,
    entries=sa.Text,
    versions=sa.Text,
    seed_key=sa.LargeBinary,
    seed_text=sa.Text,
    created=sa.Text,
    finished=sa.Text,
    enforced=sa.Text,
)
MATCHES = _table(
    "matches",
    tournament=sa.Integer,
    number=sa.Integer,
    line_up=sa.Text,
    deals=sa.Integer,
    exchanged=sa.Boolean,
    origin=sa.Text,
    attempt=sa.Integer,
    done=sa.Boolean,
    decisions=sa.Integer,
    seconds=sa.Float,
    finished=sa.Text,
)
RESULTS = _table(
    "results",
    **_OF_A_MATCH,
    deal=sa.Integer,
    bots=sa.Text,
    points=sa.Text,
    places=sa.Text,
    faults=sa.Text,
    deals=sa.Integer,
)
RECORDS = _table("records", **_OF_A_MATCH, deal=sa.Integer, record=sa.LargeBinary)
FAULTS = _table(
    "faults",
    **_OF_A_MATCH,
    position=sa.Integer,
    deal=sa.Integer,
    seat=sa.Integer,
    bot=sa.Text,
    kind=sa.Integer,
    retired=sa.Boolean,
)
TOKENS = _table(
    "tokens",
    id=sa.Text,
    owner=sa.Text,
    role=sa.Text,
    digest=sa.LargeBinary,
    created=sa.Text,
    expires=sa.Text,
    revoked=sa.Text,
)
DEEDS = _table(
    "deeds", key=sa.Integer, time=sa.Text, who=sa.Text, token=sa.Text, deed=sa.Text, what=sa.Text, outcome=sa.Text
)
BOTS = _table(
    "bots", key=sa.Integer, name_key=sa.Text, name=sa.Text, owner=sa.Text, current=sa.Integer, barred=sa.Boolean
)
SUBMISSIONS = _table(
    "submissions",
    key=sa.Integer,
    id=sa.Text,
    owner=sa.Text,
    state=sa.Text,
    created=sa.Text,
    decided=sa.Text,
    build=sa.Boolean,
    size=sa.Integer,
    bot=sa.Integer,
    number=sa.Integer,
    digest=sa.Text,
    program=sa.Text,
)
STEPS = _table(
    "steps",
    submission=sa.Integer,
    position=sa.Integer,
    name=sa.Text,
    verdict=sa.Text,
    detail=sa.Text,
    cure=sa.Text,
    log=sa.Text,
    seconds=sa.Float,
)
RUNS = _table(
    "runs",
    key=sa.Integer,
    request=sa.Text,
    who=sa.Text,
    config=sa.Text,
    config_path=sa.Text,
    overrides=sa.Text,
    incremental=sa.Boolean,
    fresh=sa.Boolean,
    created=sa.Text,
    tournament=sa.Text,
    over=sa.Boolean,
    error=sa.Text,
)
EVENTS = _table("events", tournament=sa.Text, number=sa.Integer, time=sa.Text, event=sa.LargeBinary)
