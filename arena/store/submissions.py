"""Bots in versions, from their submission to their withdrawal.

A name belongs to whose submission was unpacked first; that is decided in one transaction, as is every other step, so that a
process that is killed between any two of them goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from arena.competition import AdmissionStep, Bot, Program, State, Usage, Version
from arena.errors import Refused
from arena.finding import Verdict
from arena.likeness import name_key, resembled
from arena.store.database import Database
from arena.store.tables import BOTS, STEPS, SUBMISSIONS

_VERSIONS = SUBMISSIONS.c
_LIVING = _VERSIONS.state != State.REFUSED


@dataclass(frozen=True, slots=True)
class Claim:
    """What a submission has turned out to be."""

    version: Version
    same: bool
    """Whether it is a version that was there before: nothing more is to be done then, unless it is waiting."""


class Submissions:
    """The submissions, versions and bots of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- From the submission to the decision ---

    def receive(self, version: Version) -> Version:
        """Keep a submission that waits for its admission; return what is there already of this id, unchanged.

        Raises Refused where the id is another owner's.
        """
        with self._database.writing(alone=True) as connection:
            found = _find(connection, version.submission)
            if found is None:
                connection.execute(sa.insert(SUBMISSIONS).values(_row(version)))
                return version
        if found["owner"] != version.owner:
            raise Refused("NO_SUCH_SUBMISSION", "choose another id: 32 random hexadecimal digits")
        return _version(found)

    def claim(
        self,
        submission: str,
        program: Program,
        digest: str,
        size: int,
        *,
        reserved: Collection[str] = (),
        most_bots: int | None = None,
        most_bytes: int | None = None,
    ) -> Claim:
        """Make a submission a version of the bot that its program names; or find that it is one which was there before.

        An admitted one becomes current, and one that was refused is admitted again under this submission's id.
        `reserved` are names that nobody may have; an owner may have `most_bots` bots of `most_bytes` together.
        Raises Refused where the name is another's or looks like another bot's, an organiser has withdrawn the bot, or there
        are too many. One that has been claimed already only gets the size that it has by now.
        """
        key = name_key(program.name)
        if other := resembled(program.name, reserved):
            what = "is that of" if name_key(other) == key else f"looks like {other},"
            raise Refused("NAME_TAKEN", f"the name {program.name} {what} a bot of the house: choose another one")
        with self._database.writing(alone=True) as connection:
            row = _known(connection, submission)
            if row["bot"] is not None:
                return Claim(_resize(connection, row, size, most_bytes), same=False)
            bot = _claim_name(connection, key, program.name, row["owner"], most_bots)
            same = _same(connection, bot, program, digest)
            if same is not None:
                return _take_over(connection, row, same, bot, size, most_bytes)
            number = _highest(connection, bot) + 1
            values = {"bot": bot, "number": number, "digest": digest, "program": _json(program)}
            connection.execute(sa.update(SUBMISSIONS).where(_VERSIONS.key == row["key"]).values(values))
            return Claim(_resize(connection, {**row, **values}, size, most_bytes), same=False)

    def begin_again(self, submission: str) -> None:
        """Forget the steps of an admission that begins again."""
        with self._database.writing() as connection:
            _forget_steps(connection, _known(connection, submission)["key"])

    def add_step(self, submission: str, step: AdmissionStep) -> None:
        """Keep a step of an admission, after those that are kept already."""
        with self._database.writing(alone=True) as connection:
            key = _known(connection, submission)["key"]
            count = sa.select(sa.func.count()).where(STEPS.c.submission == key)
            position = connection.execute(count).scalar_one()
            row = {name: getattr(step, name) for name in ("name", "detail", "cure", "log", "seconds")}
            row |= {"submission": key, "position": position, "verdict": step.verdict.value}
            connection.execute(sa.insert(STEPS).values(row))

    def decide(self, submission: str, state: State) -> Version:
        """Decide an admission and return the version; a version that is decided already stays as it is.

        An admitted version plays from now on, unless a later one does. A refused one has no number, and a bot without hope
        loses its name.
        """
        with self._database.writing(alone=True) as connection:
            row = _known(connection, submission)
            if row["state"] != State.WAITING:
                return _version(row)
            values = {"state": state.value, "decided": datetime.now(UTC).isoformat()}
            if row["bot"] is not None and state is State.REFUSED:
                values["number"] = -row["key"]  # it gives its number back; two rows of a bot never have the same one
            connection.execute(sa.update(SUBMISSIONS).where(_VERSIONS.key == row["key"]).values(values))
            if row["bot"] is not None and state is State.ADMITTED:
                older = (BOTS.c.key == row["bot"]) & (BOTS.c.current < row["number"]) & ~BOTS.c.barred
                connection.execute(sa.update(BOTS).where(older).values(current=row["number"]))
            return _version({**row, **values})

    # --- What is there ---

    def find(self, submission: str) -> Version | None:
        """Return the submission of this id."""
        with self._database.reading() as connection:
            row = _find(connection, submission)
        return None if row is None else _version(row)

    def waiting(self) -> list[Version]:
        """Return the submissions whose admission has not ended, oldest first."""
        return self._versions(_VERSIONS.state == State.WAITING, _VERSIONS.key)

    def steps(self, submission: str) -> list[AdmissionStep]:
        """Return the steps of an admission so far."""
        c = STEPS.c
        query = sa.select(c.name, c.verdict, c.detail, c.cure, c.log, c.seconds)
        query = query.join(SUBMISSIONS, SUBMISSIONS.c.key == c.submission).where(_VERSIONS.id == submission)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(c.position)).all()
        return [AdmissionStep(name, Verdict(verdict), *rest) for name, verdict, *rest in rows]

    def bots(self, owner: str | None = None) -> list[Bot]:
        """Return the bots that have a version which is admitted or waiting, all of them or an owner's, by name."""
        living = BOTS.c.key.in_(sa.select(_VERSIONS.bot).where(_LIVING & _VERSIONS.bot.is_not(None)))
        with self._database.reading() as connection:
            found = _bots(connection, living if owner is None else living & (BOTS.c.owner == owner))
        return sorted(found, key=lambda bot: bot.name)

    def bot(self, name: str, *, hopeless: bool = False) -> Bot:
        """Return the bot of this name, a `hopeless` one that was only ever refused too; raise Refused where there is none."""
        with self._database.reading() as connection:
            return _bot(connection, _named(connection, name, hopeless=hopeless)["key"])

    def versions(self, name: str) -> list[Version]:
        """Return a bot's versions, oldest first, those of one that was only ever refused too.

        Raises Refused where there is no such bot.
        """
        with self._database.reading() as connection:
            key = _named(connection, name, hopeless=True)["key"]
        return self._versions(_VERSIONS.bot == key, _VERSIONS.created, _VERSIONS.key)

    def playing(self) -> list[Version]:
        """Return what plays: the current version of each bot that has one, by name."""
        return [bot.current for bot in self.bots() if bot.current is not None]

    def use(self, name: str, number: int, *, who: str, organiser: bool) -> Bot:
        """Let an admitted version of a bot play from now on, or none of them for 0; return the bot.

        What an organiser has withdrawn of another owner only an organiser brings back. Raises Refused where it is somebody else
        who tries, where there is no such bot or version, or it is not admitted.
        """
        with self._database.writing(alone=True) as connection:
            row = _named(connection, name)
            if row["barred"] and not organiser:
                raise _barred(row["name"])
            if number:
                query = sa.select(_VERSIONS.state).where((_VERSIONS.bot == row["key"]) & (_VERSIONS.number == number))
                state = connection.execute(query).scalar()
                if state is None:
                    raise Refused("NO_SUCH_VERSION", f"{row['name']} has no version {number}: `arena bots` lists them")
                if state != State.ADMITTED:
                    raise Refused(
                        "NOT_ADMITTED", f"version {number} of {row['name']} is {state}: choose an admitted one"
                    )
            barred = organiser and number == 0 and row["owner"] != who
            connection.execute(sa.update(BOTS).where(BOTS.c.key == row["key"]).values(current=number, barred=barred))
            return _bot(connection, row["key"])

    def usage(self, owner: str) -> Usage:
        """Return what an owner has in the competition."""
        waiting = (_VERSIONS.owner == owner) & (_VERSIONS.state == State.WAITING)
        with self._database.reading() as connection:
            count = connection.execute(sa.select(sa.func.count()).where(waiting)).scalar_one()
            return Usage(_count_bots(connection, owner), _count_bytes(connection, owner), int(count))

    def submitted_since(self, owner: str, time: datetime) -> int:
        """Return how many submissions of an owner came since a time."""
        since = (_VERSIONS.owner == owner) & (_VERSIONS.created >= time.isoformat())
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).where(since)).scalar_one())

    def digests(self) -> set[str]:
        """Return the digests of all versions that are admitted or waiting: what has to be kept on the shelf."""
        with self._database.reading() as connection:
            return set(
                connection.execute(sa.select(_VERSIONS.digest).where(_LIVING & (_VERSIONS.digest != ""))).scalars()
            )

    def _versions(self, which: sa.ColumnElement[bool], *order: sa.ColumnElement[Any]) -> list[Version]:
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(SUBMISSIONS).where(which).order_by(*order)).mappings().all()
        return list(map(_version, rows))


# --- Inside a transaction ---

_AnyRow = Mapping[Any, Any]


def _find(connection: sa.Connection, submission: str) -> _AnyRow | None:
    return connection.execute(sa.select(SUBMISSIONS).where(_VERSIONS.id == submission)).mappings().first()


def _known(connection: sa.Connection, submission: str) -> _AnyRow:
    row = _find(connection, submission)
    if row is None:
        raise Refused("NO_SUCH_SUBMISSION", f"there is no submission {submission}")
    return row


def _named(connection: sa.Connection, name: str, *, hopeless: bool = False) -> _AnyRow:
    """Return the bot of a name; raise Refused where there is none, or it has no hope and that matters."""
    row = connection.execute(sa.select(BOTS).where(BOTS.c.name_key == name_key(name))).mappings().first()
    if row is None or not (hopeless or _hopes(connection, row["key"])):
        raise Refused("NO_SUCH_BOT", "there is no bot of this name: `arena bots` lists them")
    return row


def _hopes(connection: sa.Connection, bot: int) -> bool:
    """Return whether a bot has a version that is admitted or waiting."""
    query = sa.select(_VERSIONS.key).where((_VERSIONS.bot == bot) & _LIVING).limit(1)
    return connection.execute(query).first() is not None


def _barred(name: str) -> Refused:
    return Refused("BARRED", f"an organiser has withdrawn {name}: ask the organiser to bring it back")


def _count_bots(connection: sa.Connection, owner: str) -> int:
    living = sa.select(_VERSIONS.bot).where((_VERSIONS.owner == owner) & _LIVING & _VERSIONS.bot.is_not(None))
    return int(connection.execute(sa.select(sa.func.count()).where(BOTS.c.key.in_(living))).scalar_one())


def _count_bytes(connection: sa.Connection, owner: str) -> int:
    """Return what the contents of an owner's versions take, each counted once, and archives that are not unpacked yet."""
    living = (_VERSIONS.owner == owner) & _LIVING
    contents = sa.select(_VERSIONS.digest, _VERSIONS.size).where(living & (_VERSIONS.digest != "")).distinct()
    packed = sa.select(sa.func.coalesce(sa.func.sum(_VERSIONS.size), 0)).where(living & (_VERSIONS.digest == ""))
    stored = sum(size for _, size in connection.execute(contents).all())
    return int(stored) + int(connection.execute(packed).scalar_one())


def _resize(connection: sa.Connection, row: _AnyRow, size: int, most_bytes: int | None) -> Version:
    """Keep the size of a version; raise Refused where its owner has too much."""
    connection.execute(sa.update(SUBMISSIONS).where(_VERSIONS.key == row["key"]).values(size=size))
    taken = _count_bytes(connection, row["owner"])
    if most_bytes is not None and taken > most_bytes:
        text = f"with it your bots take {taken / 1e6:,.1f} MB of {most_bytes / 1e6:,.0f} MB: submit smaller ones"
        raise Refused("QUOTA", text)
    return _version({**row, "size": size})


def _claim_name(connection: sa.Connection, key: str, name: str, owner: str, most_bots: int | None) -> int:
    """Return the bot of a name, which is the owner's from now on; raise Refused where it is another's."""
    row = connection.execute(sa.select(BOTS).where(BOTS.c.name_key == key)).mappings().first()
    hopes = row is not None and _hopes(connection, row["key"])
    if row is not None and hopes and row["owner"] != owner:
        raise Refused("NAME_TAKEN", f"the name {name} is taken by another owner's bot: choose another one")
    if row is not None and row["barred"]:
        raise _barred(name)
    if not hopes:
        _check_likeness(connection, name, owner)
    if not hopes and most_bots is not None and _count_bots(connection, owner) >= most_bots:
        raise Refused(
            "QUOTA", f"you have {most_bots} bots, as many as are allowed: give this one the name of one of them"
        )
    if row is not None and (hopes or row["owner"] == owner):
        return int(row["key"])
    if row is not None:  # nothing of it was ever admitted: its versions keep their numbers, but give up the name
        connection.execute(sa.update(BOTS).where(BOTS.c.key == row["key"]).values(name_key=f"{key}\n{row['key']}"))
    added = sa.insert(BOTS).values(name_key=key, name=name, owner=owner, current=0, barred=False).returning(BOTS.c.key)
    return int(connection.execute(added).scalar_one())


def _check_likeness(connection: sa.Connection, name: str, owner: str) -> None:
    """Raise Refused where a name that is free could be taken for that of a bot which may play."""
    living = sa.select(_VERSIONS.bot).where(_LIVING & _VERSIONS.bot.is_not(None))
    owners = {bot.name: bot.owner for bot in connection.execute(sa.select(BOTS).where(BOTS.c.key.in_(living)))}
    other = resembled(name, owners)
    if other is not None:
        whose = "another bot of yours" if owners[other] == owner else "another owner's bot"
        raise Refused("NAME_TAKEN", f"the name {name} looks like {other}, {whose}: choose another one")


def _same(connection: sa.Connection, bot: int, program: Program, digest: str) -> _AnyRow | None:
    """Return the version of a bot that has the same content and program."""
    query = sa.select(SUBMISSIONS).where((_VERSIONS.bot == bot) & (_VERSIONS.digest == digest))
    rows = connection.execute(query.order_by(_VERSIONS.number.desc())).mappings().all()
    return next((row for row in rows if json.loads(row["program"]) == program.to_json()), None)


def _take_over(
    connection: sa.Connection, row: _AnyRow, same: _AnyRow, bot: int, size: int, most_bytes: int | None
) -> Claim:
    """Let a version that was there before stand for a submission, which is no version of its own."""
    _forget_steps(connection, row["key"])
    connection.execute(sa.delete(SUBMISSIONS).where(_VERSIONS.key == row["key"]))
    if same["state"] == State.ADMITTED:
        connection.execute(sa.update(BOTS).where(BOTS.c.key == bot).values(current=same["number"]))
    if same["state"] != State.REFUSED:
        return Claim(_version(same), same=True)
    _forget_steps(connection, same["key"])
    again = {
        "id": row["id"],
        "state": State.WAITING.value,
        "decided": None,
        "created": row["created"],
        "build": row["build"],
        "number": _highest(connection, bot) + 1,
    }
    connection.execute(sa.update(SUBMISSIONS).where(_VERSIONS.key == same["key"]).values(again))
    return Claim(_resize(connection, {**same, **again}, size, most_bytes), same=True)


def _highest(connection: sa.Connection, bot: int) -> int:
    query = sa.select(sa.func.coalesce(sa.func.max(_VERSIONS.number), 0)).where(_VERSIONS.bot == bot)
    return max(0, int(connection.execute(query).scalar_one()))


def _forget_steps(connection: sa.Connection, key: int) -> None:
    connection.execute(sa.delete(STEPS).where(STEPS.c.submission == key))


def _bot(connection: sa.Connection, key: int) -> Bot:
    (bot,) = _bots(connection, BOTS.c.key == key)
    return bot


def _bots(connection: sa.Connection, which: sa.ColumnElement[bool]) -> list[Bot]:
    """Return bots with what plays of them, by three queries however many there are."""
    rows = connection.execute(sa.select(BOTS).where(which)).mappings().all()
    plays = (_VERSIONS.bot == BOTS.c.key) & (_VERSIONS.number == BOTS.c.current)
    playing = connection.execute(sa.select(SUBMISSIONS).join(BOTS, plays).where(which)).mappings().all()
    current = {row["bot"]: _version(row) for row in playing}
    counted = sa.select(_VERSIONS.bot, sa.func.count()).join(BOTS, _VERSIONS.bot == BOTS.c.key)
    counts = {
        row[0]: int(row[1])
        for row in connection.execute(counted.where(which, _VERSIONS.number > 0).group_by(_VERSIONS.bot))
    }
    return [
        Bot(row["name"], row["owner"], current.get(row["key"]), counts.get(row["key"], 0), barred=bool(row["barred"]))
        for row in rows
    ]


# --- Rows ---


def _row(version: Version) -> dict[str, Any]:
    return {
        "id": version.submission,
        "owner": version.owner,
        "state": version.state.value,
        "created": version.created.isoformat(),
        "decided": version.decided and version.decided.isoformat(),
        "build": version.build,
        "size": version.size,
        "number": version.number,
        "digest": version.digest,
        "program": None if version.program is None else _json(version.program),
    }


def _version(row: _AnyRow) -> Version:
    return Version(
        submission=row["id"],
        owner=row["owner"],
        state=State(row["state"]),
        created=datetime.fromisoformat(row["created"]),
        build=bool(row["build"]),
        size=row["size"],
        number=max(0, row["number"]),
        digest=row["digest"],
        program=None if row["program"] is None else Program.from_json(json.loads(row["program"])),
        decided=None if row["decided"] is None else datetime.fromisoformat(row["decided"]),
    )


def _json(program: Program) -> str:
    return json.dumps(program.to_json(), ensure_ascii=False)
