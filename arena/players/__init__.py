"""Bots as players: one interface, whatever process or machine they run in."""

import os

# gRPC reads these when it is first loaded. Nothing forks here; its fork handlers could only deadlock.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
