"""What makes two tournaments the same: a fingerprint of their settings, their entries and the bots' files.

The same things give the same fingerprint on every machine and in every folder: how a bot's command reads counts, and what is
in its files, but not where they lie. A comment in bots.yaml, the order of the bots and the pace of play count for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from arena.errors import BadInput
from arena.files import bot_files, portable_word
from arena.settings import Entry, Settings


@dataclass(frozen=True, slots=True)
class Identity:
    """What a tournament is made of, as hashes."""

    fingerprint: str
    """SHA-256 in hexadecimal digits."""
    versions: Mapping[str, str | None]
    """By bot: the first 12 digits of the hash of its files, None where the arena has none, as at an address."""


def fingerprint(settings: Settings, entries: Sequence[Entry]) -> Identity:
    """Return the identity of a tournament; raise BadInput where a bot's file cannot be read."""
    hashes = {entry.name: _files_hash(entry) for entry in entries}
    bots = [[portable_entry(entry), hashes[entry.name]] for entry in sorted(entries, key=lambda entry: entry.name)]
    return Identity(
        sha256(_canonical({"settings": settings.to_json(), "bots": bots})).hexdigest(),
        {name: digest and digest[:12] for name, digest in hashes.items()},
    )


def bot_version(entry: Entry) -> str | None:
    """Return a bot's version: a hash of its files in 12 hexadecimal digits, None where the arena has none."""
    digest = _files_hash(entry)
    return digest and digest[:12]


def _files_hash(entry: Entry) -> str | None:
    try:
        contents = {name: _content_hash(path) for name, path in bot_files(entry).items()}
    except OSError as error:
        raise BadInput(f"bot {entry.name}: {error.filename} cannot be read: {error.strerror}") from error
    return sha256(_canonical(contents)).hexdigest() if contents else None


def _content_hash(path: Path) -> str:
    if path.is_file():
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    return f"link to {path.readlink()}"


def portable_entry(entry: Entry) -> dict[str, Any]:
    """Return an entry without what differs from machine to machine: its directory, where Python lies, what may be dialled.

    What `pack` comes to is in the hash of its files.
    """
    values = entry.to_json()
    del values["directory"], values["public_only"], values["pack"]
    values["command"] = [portable_word(word, entry.directory) for word in entry.command]
    return values


def _canonical(value: object) -> bytes:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
