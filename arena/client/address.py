"""Where a server is, and how it is spoken to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arena.sockets import is_local


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is, and how it is spoken to."""

    address: str
    """host:port or unix:/path."""
    token: str = ""
    authority: Path | None = None
    """The certificate of who vouches for the server (PEM); None for those whom this machine trusts."""
    certificate: Path | None = None
    """The caller's own certificate, where the server wants one."""
    key: Path | None = None
    plaintext: bool = False
    """Whether to speak without TLS to another machine."""

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return is_local(self.address)

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken: to other machines, and wherever it is asked for."""
        return self.authority is not None or not (self.local or self.plaintext)
