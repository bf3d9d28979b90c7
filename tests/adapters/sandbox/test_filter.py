"""The filter of system calls decides the same on every machine that it has a table for."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from desktop_agent.adapters.sandbox import seccomp

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# The kernel's own tables, where its headers are installed.
_HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
_LEAD_OUT = {
    "add_key", "bpf", "clone3", "fsconfig", "fsmount", "fsopen", "fspick", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "keyctl", "mount", "mount_setattr", "move_mount",
    "open_by_handle_at", "open_tree", "open_tree_attr", "perf_event_open", "pivot_root",
    "request_key", "setns", "umount2", "userfaultfd",
}  # fmt: skip
# Decided by their arguments; the last are no calls but marks in the header.
_ASK_FOR_MORE = {"socket", "socketpair", "syscalls", "arch_specific_syscall"}
_NEW_USER_SPACE = 0x10000000
_READ_AND_OPENAT = {"x86_64": (0, 257), "aarch64": (63, 56)}
_CLONE_AND_UNSHARE = {"x86_64": (56, 272), "aarch64": (220, 97)}
_MOUNT = {"x86_64": (165, 155, 308), "aarch64": (40, 41, 268)}  # mount, pivot_root, setns
_SOCKET = {"x86_64": 41, "aarch64": 198}


def decide(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Run the filter as the kernel does, for the few instructions it is made of."""
    program = seccomp.program(machine)
    assert program is not None
    called = architecture or _ARCHITECTURES[machine]
    data = struct.pack("<iIQ6Q", number, called, 0, *(*arguments, *(0,) * 6)[:6])
    at = held = 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return value
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += if_true if holds else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def test_of_the_kernels_calls_those_are_refused_that_lead_out_and_no_other(machine: str) -> None:
    if not _HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    lines = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", _HEADERS[machine].read_text())
    calls = {name: int(number) for name, number in lines if name not in _ASK_FOR_MORE}
    refused = {name for name, number in calls.items() if decide(machine, number) != _ALLOW}
    assert refused == _LEAD_OUT & calls.keys()
    assert len(refused) >= 20


def test_what_leaves_the_sandbox_is_refused(machine: str) -> None:
    for number in _MOUNT[machine]:
        assert decide(machine, number) == _ERRNO | errno.EPERM
    for number in _CLONE_AND_UNSHARE[machine]:
        assert decide(machine, number, _NEW_USER_SPACE) == _ERRNO | errno.EPERM
    assert decide(machine, 435) == _ERRNO | errno.ENOSYS, "clone3 hides its flags from a filter"


def test_what_every_program_needs_is_allowed(machine: str) -> None:
    for number in (*_READ_AND_OPENAT[machine], *_CLONE_AND_UNSHARE[machine]):
        assert decide(machine, number) == _ALLOW


def test_sockets_of_other_families_than_the_known_are_refused(machine: str) -> None:
    assert decide(machine, _SOCKET[machine], 2, 1) == _ALLOW
    assert decide(machine, _SOCKET[machine], 40, 1) == _ERRNO | errno.EAFNOSUPPORT
    assert decide(machine, _SOCKET[machine], 16, 3, 0) == _ALLOW
    assert decide(machine, _SOCKET[machine], 16, 3, 12) == _ERRNO | errno.EPROTONOSUPPORT


def test_calls_of_another_architecture_are_refused(machine: str) -> None:
    i386 = 0x40000003
    assert decide(machine, 3, architecture=i386) == _ERRNO | errno.ENOSYS
    if machine == "x86_64":
        assert decide(machine, 0x40000000) == _ERRNO | errno.ENOSYS  # x32
