"""Traces other processes, and writes into their memory."""

import ctypes
import errno
import os

from attacker import Attacker, run

ATTACH, SEIZE = 16, 0x4206


class Trace(Attacker):
    def attack(self) -> str:
        library = ctypes.CDLL(None, use_errno=True)
        done = []
        for pid in {1, os.getppid()}:
            for how in (ATTACH, SEIZE):
                if library.ptrace(how, pid, 0, 0) == 0:
                    done.append(f"traced {pid}")
                elif ctypes.get_errno() != errno.ENOSYS:
                    done.append(f"refused with {errno.errorcode[ctypes.get_errno()]}")
            if library.syscall(440, -1, 0, 0) >= 0:
                done.append("advised")
        return " ".join(done) or "nothing"


if __name__ == "__main__":
    run(Trace)
