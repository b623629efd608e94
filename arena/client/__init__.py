"""The other side of `ArenaService`: what the command line asks of a server.

A token is only sent where nobody can overhear it: over TLS, to this machine, or through a unix socket. A call that breaks off is
made again, with the same id, so that nothing is done twice; watching goes on with the event after the last one seen.
"""

from arena.client.address import ServerAddress
from arena.client.bots import list_bots, list_versions, withdraw
from arena.client.submissions import AdmissionEvent, Begun, Received, describe_archive, submit
from arena.client.tournaments import NumberedEvent, leaderboard_of_server, list_tournaments, run_on_server, watch

__all__ = [
    "AdmissionEvent",
    "Begun",
    "NumberedEvent",
    "Received",
    "ServerAddress",
    "describe_archive",
    "leaderboard_of_server",
    "list_bots",
    "list_tournaments",
    "list_versions",
    "run_on_server",
    "submit",
    "watch",
    "withdraw",
]
