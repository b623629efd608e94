"""The arena as a gRPC server: a competition with its bots and tournaments, health and reflection, in plaintext or with TLS.

What calls write into the store they write in threads: where another process holds the database, who only reads waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, cast

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health
from grpc_reflection.v1alpha import reflection

from arena.errors import BadInput
from arena.pem import check_pair, read_pem
from arena.server.competition import Competition, Terms
from arena.server.door import Door
from arena.server.gate import STRANGERS, Exposure, Gate
from arena.server.servicer import ArenaServicer
from arena.server.status import status_of
from arena.sockets import check_path, free_socket, grpc_target, is_local, owned_socket, socket_path
from arena.store import Store
from arena.submission.shelf import Shelf
from arena.v1 import arena_pb2, arena_pb2_grpc

__all__ = ["DRAINING", "ArenaServer", "Terms", "Tls", "status_of"]

SERVICE: Final = arena_pb2.DESCRIPTOR.services_by_name["ArenaService"].full_name
HEALTH: Final = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name

DRAINING: Final = 25.0
"""Seconds that matches in play have to end once the server is to stop."""

GRACE: Final = 30.0
"""Seconds after which the server has stopped."""

_OPTIONS: Final = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.max_metadata_size", 16 << 10),
    ("grpc.max_concurrent_streams", 100),
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.server_handshake_timeout_ms", 10_000),
)
_MOST_CALLS: Final = 2 * STRANGERS


@dataclass(frozen=True, slots=True)
class Tls:
    """The files by which a server proves who it is. They are read again when they change, as certificates are renewed."""

    certificate: Path
    key: Path
    clients: Path | None = None
    """The certificates of those who vouch for callers; None where callers need no certificate."""

    def credentials(self) -> grpc.ServerCredentials:
        """Return what gRPC needs; raise BadInput where a file can't be read or is none of its kind."""
        stamp, first = self._stamp(), self._read()

        def renewed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal stamp
            try:
                now = self._stamp()
                if now == stamp:
                    return None
                stamp, configuration = now, self._read()
            except (OSError, BadInput):
                return None  # half written: the next handshake looks again
            return configuration

        return grpc.dynamic_ssl_server_credentials(
            first,
            cast("Callable[[], grpc.ServerCertificateConfiguration]", renewed),  # None stands for no change
            require_client_authentication=self.clients is not None,
        )

    def _files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.certificate, self.key, self.clients) if path is not None)

    def _stamp(self) -> tuple[int, ...]:
        try:
            return tuple(path.stat().st_mtime_ns for path in self._files())
        except OSError as error:
            raise BadInput(f"{error.filename}: this can't be read: {error.strerror}") from None

    def _read(self) -> grpc.ServerCertificateConfiguration:
        certificate = read_pem(self.certificate, "CERTIFICATE")
        key = read_pem(self.key, "PRIVATE KEY")
        check_pair(self.certificate, self.key)
        clients = None if self.clients is None else read_pem(self.clients, "CERTIFICATE")
        return grpc.ssl_server_certificate_configuration([(key, certificate)], clients)


class ArenaServer:
    """A server that is running."""

    def __init__(self, server: grpc.aio.Server, gate: Gate, competition: Competition, stack: ExitStack) -> None:
        self._server = server
        self._gate = gate
        self._stack = stack
        self._health = health.HealthServicer()
        self.competition = competition
        self.port = 0

    @classmethod
    async def start(
        cls,
        store: str | Path,
        address: str,
        terms: Terms,
        *,
        tls: Tls | None = None,
        private: bool = False,
        files: Path | None = None,
    ) -> Self:
        """Start serving at `host:port` or `unix:/path` (port 0: a free one).

        `files` is the folder for the files of bots, which is beside the store unless that is no file.
        Raises BadInput for an address or a store that can't be had, and BadStore where another server has the store.
        """
        _check_address(address)
        credentials = tls.credentials() if tls is not None else None
        with ExitStack() as stack:
            opened = stack.enter_context(Store.open(store))
            stack.enter_context(opened.serve())
            shelf = Shelf.at(files) if files is not None else Shelf.beside(opened.place)
            competition = Competition(opened, shelf, terms)
            gate = Gate(opened, Exposure(is_local(address), tls is not None, private), terms.quotas)
            server = grpc.aio.server(
                interceptors=(Door(gate, SERVICE),), options=_OPTIONS, maximum_concurrent_rpcs=_MOST_CALLS
            )
            running = cls(server, gate, competition, stack)
            await running._bind(address, credentials)
            await competition.start()
            await server.start()
            stack.enter_context(owned_socket(address))
            running._stack = stack.pop_all()
        return running

    async def close(self, grace: float = GRACE) -> None:
        """Refuse new calls, let matches in play end, tell those who watch, and stop; it takes at most `grace` seconds."""
        self._gate.stopping = True
        await self._health.enter_graceful_shutdown()
        try:
            await self.competition.close(grace)
        finally:
            await self._server.stop(grace=1.0)
            self._stack.close()

    @property
    def access(self) -> str:
        """Who may do what, in a sentence."""
        return self._gate.access

    async def _bind(self, address: str, credentials: grpc.ServerCredentials | None) -> None:
        arena_pb2_grpc.add_ArenaServiceServicer_to_server(ArenaServicer(self.competition, self._gate), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ("", SERVICE):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection((SERVICE, HEALTH, reflection.SERVICE_NAME), self._server)
        path = socket_path(address)
        if path is not None:
            free_socket(path)
        target = grpc_target(address)
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(target)
            else:
                self.port = self._server.add_secure_port(target, credentials)
        except RuntimeError as error:
            await self._server.stop(None)
            text = (
                f"cannot serve at {address}: it is in use, or no address of this machine; choose another with --listen"
            )
            raise BadInput(text) from error


def _check_address(address: str) -> None:
    """Raise BadInput where an address is none."""
    if path := socket_path(address):
        check_path(path)
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise BadInput(f"{address} is no address: write host:port, as in 127.0.0.1:50050, or unix:/path")
