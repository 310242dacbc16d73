# Writes the filter of the system calls that restante.service allows: system_calls.py < names > filter
import errno
import socket
import sys

import seccomp

system_calls = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for name in sys.stdin.read().split():
    try:
        if name != "socket":
            system_calls.add_rule(seccomp.ALLOW, name)
    except (RuntimeError, ValueError):
        pass  # Another architecture has this one.
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    system_calls.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, family))
system_calls.export_bpf(sys.stdout)
