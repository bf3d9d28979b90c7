"""The filter of system calls that a command runs under: a classic BPF program for seccomp(2).

Numbers are those of the kernel's tables (arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h). A filter for one architecture says nothing about another, so
calls of any other are refused.
"""

from __future__ import annotations

import errno
import struct

import msgspec

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_RETURN = 0x06  # BPF_RET | BPF_K
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45  # BPF_JMP | BPF_J… | BPF_K

# Of struct seccomp_data; the low halves of the arguments, on little-endian machines.
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS = (16, 24, 32)

_X32_BIT = 0x40000000
_FAMILIES = (1, 2, 10, 16)  # UNIX, INET, INET6, NETLINK; VSOCK would leave a virtual machine
_NETLINK = 16
_NETLINK_KINDS = (0, 4)  # ROUTE, SOCK_DIAG: what lists addresses and sockets
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; of unshare NEWTIME as well,
# which in clone's flags is part of the signal's number.
_NEW_NAMESPACES = 0x7E020000
_NEW_TIME = 0x80
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: they type into a terminal

_SAME_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "mount_setattr": 442, "open_tree_attr": 467,
}  # fmt: skip
_X86_64 = {
    "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "pivot_root": 155, "mount": 165,
    "umount2": 166, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
    "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "bpf": 321,
    "userfaultfd": 323,
}  # fmt: skip
_AARCH64 = {
    "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41, "unshare": 97, "socket": 198,
    "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
    "perf_event_open": 241, "open_by_handle_at": 265, "setns": 268, "bpf": 280,
    "userfaultfd": 282,
}  # fmt: skip

_UNKNOWN_CALLS = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
_REFUSED_CALLS = (
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "mount",
    "umount2", "pivot_root", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "setns", "open_by_handle_at",
)  # fmt: skip


class _Machine(msgspec.Struct, frozen=True):
    architecture: int  # AUDIT_ARCH_…
    numbers: dict[str, int]
    has_x32: bool = False


_MACHINES = {
    "x86_64": _Machine(0xC000003E, _X86_64 | _SAME_EVERYWHERE, has_x32=True),
    "aarch64": _Machine(0xC00000B7, _AARCH64 | _SAME_EVERYWHERE),
}


def program(machine: str) -> bytes | None:
    """Return the filter as an array of `struct sock_filter`; None for a machine without a table.

    `machine` is what uname(2) says.
    """
    known = _MACHINES.get(machine)
    return None if known is None else b"".join(_lines(known))


def _lines(machine: _Machine) -> list[bytes]:
    numbers = machine.numbers
    lines = [_load(_ARCHITECTURE), *_unless_equal(machine.architecture, errno.ENOSYS)]
    lines.append(_load(_NUMBER))
    if machine.has_x32:
        lines += [_jump(_AT_LEAST, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    for name in _UNKNOWN_CALLS:
        # To a program this is an older kernel: it falls back to what can be filtered.
        lines += [_jump(_EQUAL, numbers[name], 0, 1), _refuse(errno.ENOSYS)]
    for name in _REFUSED_CALLS:
        lines += [_jump(_EQUAL, numbers[name], 0, 1), _refuse(errno.EPERM)]
    lines += _call(numbers["clone"], _any_bit(0, _NEW_NAMESPACES))
    lines += _call(numbers["unshare"], _any_bit(0, _NEW_NAMESPACES | _NEW_TIME))
    lines += _call(numbers["ioctl"], _any_value(1, _TERMINAL_INPUT))
    for name in ("socket", "socketpair"):
        lines += _call(numbers[name], _known_family())
    return [*lines, _allow()]


def _call(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body`, which ends in a decision, for one call and no other."""
    return [_jump(_EQUAL, number, 0, len(body)), *body]


def _any_bit(argument: int, mask: int) -> list[bytes]:
    return [
        _load(_ARGUMENTS[argument]),
        _jump(_ANY_BIT, mask, 0, 1),
        _refuse(errno.EPERM),
        _allow(),
    ]


def _any_value(argument: int, values: tuple[int, ...]) -> list[bytes]:
    lines = [_load(_ARGUMENTS[argument])]
    for value in values:
        lines += [_jump(_EQUAL, value, 0, 1), _refuse(errno.EPERM)]
    return [*lines, _allow()]


def _known_family() -> list[bytes]:
    """Allow sockets of the known families, and of netlink those that only list."""
    lines = [_load(_ARGUMENTS[0])]
    for family in _FAMILIES:
        if family != _NETLINK:
            lines += [_jump(_EQUAL, family, 0, 1), _allow()]
    lines += [_jump(_EQUAL, _NETLINK, 1, 0), _refuse(errno.EAFNOSUPPORT)]
    lines.append(_load(_ARGUMENTS[2]))
    for kind in _NETLINK_KINDS:
        lines += [_jump(_EQUAL, kind, 0, 1), _allow()]
    return [*lines, _refuse(errno.EPROTONOSUPPORT)]


def _unless_equal(value: int, code: int) -> list[bytes]:
    return [_jump(_EQUAL, value, 1, 0), _refuse(code)]


def _load(offset: int) -> bytes:
    return _line(_LOAD, 0, 0, offset)


def _jump(test: int, value: int, if_true: int, if_false: int) -> bytes:
    return _line(test, if_true, if_false, value)


def _allow() -> bytes:
    return _line(_RETURN, 0, 0, _ALLOW)


def _refuse(code: int) -> bytes:
    return _line(_RETURN, 0, 0, _ERRNO | code)


def _line(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
