"""Servers for tests: competitions with tokens and TLS on a free port, and what bots to submit are made of."""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import trustme

from arena.client import AdmissionEvent, ServerAddress, submit
from arena.clock import TimeControl
from arena.competition import AdmissionStep, Role, Version
from arena.server import ArenaServer, Terms, Tls
from arena.server.limits import Quotas
from arena.server.uploads import Patience
from arena.settings import Isolation, Limits
from arena.store import Store
from arena.submission.admission import Terms as AdmissionTerms
from arena.submission.archive import Bounds
from arena.tokens import draw_token
from arena.tournament import Pace
from arena.v1 import arena_pb2

SAMPLES = Path(__file__).parents[1] / "sample_bots" / "python"

TERMS = Terms(
    pace=Pace(tables=8, grace=1.0),
    quotas=Quotas(),
    patience=Patience(piece=5.0, whole=20.0),
    admission=AdmissionTerms(
        TimeControl(decision=1.0, bank=10.0, startup=20.0),
        Isolation.BUBBLEWRAP,
        Limits(),
        Bounds(archive_bytes=1 << 20),
    ),
)


@dataclass(frozen=True)
class Running:
    """A server that is tested, and its tokens by owner."""

    server: ArenaServer
    address: ServerAddress
    store: Path
    tokens: dict[str, str] = field(default_factory=dict)

    def of(self, owner: str) -> ServerAddress:
        """Return the server as an owner calls it."""
        return replace(self.address, token=self.tokens[owner])

    @property
    def kept(self) -> Store:
        """The server's own store."""
        return self.server.competition.store


def add_token(store: Path, owner: str, role: Role, lifetime: timedelta | None = timedelta(days=1)) -> str:
    """Make a token, and return its text."""
    token, text = draw_token(owner, role, lifetime)
    with Store.open(store) as opened:
        opened.tokens.add(token)
    return text


@asynccontextmanager
async def serving(
    folder: Path,
    terms: Terms = TERMS,
    *,
    tls: bool = False,
    private: bool = False,
    listen: str = "127.0.0.1:0",
    owners: Mapping[str, Role] | None = None,
) -> AsyncIterator[Running]:
    """Serve a competition; without owners it is open."""
    store = folder / "served.db"
    tokens = {owner: add_token(store, owner, role) for owner, role in (owners or {}).items()}
    authority = folder / "authority.pem"
    credentials = make_certificates(folder) if tls else None
    server = await ArenaServer.start(store, listen, terms, tls=credentials, private=private)
    address = ServerAddress(f"127.0.0.1:{server.port}", authority=authority if tls else None)
    try:
        yield Running(server, address, store, tokens)
    finally:
        await server.close(5.0)


def make_certificates(folder: Path) -> Tls:
    """Make a certificate for this machine, and one of who vouches for it, `authority.pem`."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    (folder / "cert.pem").write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    return Tls(folder / "cert.pem", folder / "key.pem")


def archive_of(files: Mapping[str, str | bytes], *, programs: Sequence[str] = ()) -> bytes:
    """Return a tar.gz of these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755 if name in programs else 0o644
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def python_bot(name: str, sample: str = "lowest", version: int = 1) -> bytes:
    """Return the archive of a sample bot in Python under another name."""
    source = (SAMPLES / f"{sample}.py").read_text()
    manifest = f"name: {name}\ncommand: [python, bot.py]\nauthor: Somebody\n"
    return archive_of({"bot.yaml": manifest, "bot.py": f"{source}\n# version {version}\n"})


def described(archive: bytes, *, submission: str = "", build: bool = True, **changed: object) -> arena_pb2.Submission:
    """Return what is said of an archive."""
    values = {"size": len(archive), "sha256": sha256(archive).digest(), "build": build} | changed
    return arena_pb2.Submission(id=submission or token_hex(16), archive=arena_pb2.Archive(**values))  # type: ignore[arg-type]


async def submitted(
    server: ServerAddress, archive: bytes, folder: Path, *, submission: str = "", build: bool = True
) -> tuple[Version, dict[str, AdmissionStep]]:
    """Submit an archive, and return what was decided, and the steps."""
    path = folder / f"{token_hex(4)}.archive"
    path.write_bytes(archive)
    events: list[AdmissionEvent] = []
    async with aclosing(submit(server, described(archive, submission=submission, build=build), path)) as coming:
        async for event in coming:
            events.append(event)
    decided = events[-1]
    assert isinstance(decided, Version)
    return decided, {event.name: event for event in events if isinstance(event, AdmissionStep)}
