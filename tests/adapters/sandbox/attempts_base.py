"""What attempts to get out are made with."""

import ctypes
import os
from os import _exit

LIBRARY = ctypes.CDLL(None, use_errno=True)
ATTEMPTS = {}
NUMBERS = {
    "x86_64": {
        "clone": 56, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "open_by_handle_at": 304,
        "name_to_handle_at": 303, "process_vm_readv": 310, "setns": 308, "mount": 165,
        "umount2": 166, "shmget": 29, "pidfd_open": 434,
    },
    "aarch64": {
        "clone": 220, "keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280,
        "perf_event_open": 241, "userfaultfd": 282, "open_by_handle_at": 265,
        "name_to_handle_at": 264, "process_vm_readv": 270, "setns": 268, "mount": 40,
        "umount2": 39, "shmget": 194, "pidfd_open": 434,
    },
}[os.uname().machine]  # fmt: skip
SAME = {"io_uring_setup": 425, "open_tree": 428, "fsopen": 430, "clone3": 435, "mount_setattr": 442}


def attempt(name):
    def keep(function):
        ATTEMPTS[name] = function
        return function

    return keep


def call(name, *arguments):
    number = {**NUMBERS, **SAME}[name]
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBRARY.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def opened(path, flags=os.O_WRONLY):
    os.close(os.open(path, flags | os.O_NONBLOCK))


def some(paths, flags=os.O_WRONLY):
    """Open the first that is there."""
    for path in paths:
        if os.path.exists(path):
            return opened(path, flags)
    raise FileNotFoundError(2, "none of them is there")


def own(function):
    """Call it in a process of its own, which changes itself."""

    def run(w):
        child = os.fork()
        if child == 0:
            code = 0
            try:
                function(w)
            except OSError as error:
                code = error.errno or 255
            _exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise OSError(abs(code), os.strerror(abs(code)))

    return run
