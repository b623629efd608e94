"""The system calls that the sandbox refuses, as a program for the kernel's seccomp filter.

A bot needs none of them to play, and each would be a way around the sandbox: memory that belongs to no process and so is not
counted (memfd, System V shared memory and messages), looks into other processes, kernel keys, and kernel interfaces that are
large and seldom used. Sockets are of the families unix, IPv4, IPv6 and netlink: others, such as those to a virtual machine's
host, don't stop at the network namespace. A refused call fails as if the kernel didn't know it.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REFUSED: Final[Mapping[str, tuple[int, int]]] = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "fanotify_init": (300, 262),
    "io_uring_setup": (425, 425),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "msgget": (68, 186),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "shmget": (29, 194),
    "userfaultfd": (323, 282),
}
"""Refused calls, with their numbers on x86_64 and on aarch64."""

FAMILIES: Final = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""

# Offsets in what a filter is given (struct seccomp_data); the family is the lower half of the first argument.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_OTHER_CONVENTION: Final = 0x40000000  # numbers from here on, on x86_64
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS


@dataclass(frozen=True, slots=True)
class _Architecture:
    audit: int
    """What the kernel calls it."""
    socket: int
    """The number of the system call `socket`."""
    column: int
    """Its place in REFUSED."""


_ARCHITECTURES: Final = {
    "x86_64": _Architecture(0xC000003E, 41, 0),
    "aarch64": _Architecture(0xC00000B7, 198, 1),
}


def make_filter(machine: str | None = None) -> bytes:
    """Return the filter for a kind of processor, this machine's if none is named; empty for one that we don't know."""
    architecture = _ARCHITECTURES.get(machine or platform.machine())
    if architecture is None:
        return b""
    refused = [numbers[architecture.column] for numbers in REFUSED.values()]
    steps: list[tuple[int, int, str, str]] = [
        (_LOAD, _ARCHITECTURE, "", ""),
        (_EQUAL, architecture.audit, "", "refuse"),
        (_LOAD, _NUMBER, "", ""),
        (_AT_LEAST, _OTHER_CONVENTION, "refuse", ""),
        *((_EQUAL, number, "refuse", "") for number in refused),
        (_EQUAL, architecture.socket, "", "allow"),
        (_LOAD, _FIRST_ARGUMENT, "", ""),
        *((_EQUAL, family, "allow", "") for family in FAMILIES),
        (_RETURN, _REFUSE, "", ""),
        (_RETURN, _ALLOW, "", ""),
    ]
    places = {"refuse": len(steps) - 2, "allow": len(steps) - 1}
    return b"".join(
        struct.pack("=HBBI", code, *(places.get(target, here + 1) - here - 1 for target in targets), operand)
        for here, (code, operand, *targets) in enumerate(steps)
    )
