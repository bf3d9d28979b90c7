"""Attempts on the network, on other programs, on the kernel."""

import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
from os import _exit

from attempts_base import LIBRARY, attempt, call, opened, own

# Sockets and the network.


def connected(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as client:
        client.settimeout(5)
        client.connect(address)


@attempt("network: TCP to this computer")
def _(w):
    connected(socket.AF_INET, ("127.0.0.1", w["tcp"]))


@attempt("network: TCP by version 6")
def _(w):
    connected(socket.AF_INET6, ("::1", w["tcp6"]))


@attempt("network: TCP to this computer's own address")
def _(w):
    connected(socket.AF_INET, (w["address"], w["tcp"]))


@attempt("network: a way to the world")
def _(w):
    # A datagram socket only looks for a route.
    connected(socket.AF_INET, ("192.0.2.1", 9), socket.SOCK_DGRAM)


@attempt("network: UDP to this computer")
def _(w):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        client.connect(("127.0.0.1", w["udp"]))
        client.send(b"?")
        client.recv(1)


@attempt("network: raw packets")
def _(w):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()


@attempt("network: whole frames")
def _(w):
    socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM).close()


@attempt("network: to the machine's host")
def _(w):
    socket.socket(40, socket.SOCK_STREAM).close()  # AF_VSOCK


@attempt("network: the kernel's ciphers")
def _(w):
    socket.socket(38, socket.SOCK_SEQPACKET).close()  # AF_ALG


@attempt("netlink: packet filter")
def _(w):
    socket.socket(16, socket.SOCK_RAW, 12).close()


@attempt("netlink: generic")
def _(w):
    socket.socket(16, socket.SOCK_RAW, 16).close()


@attempt("netlink: device events")
def _(w):
    socket.socket(16, socket.SOCK_RAW, 15).close()


@attempt("netlink: IPsec")
def _(w):
    socket.socket(16, socket.SOCK_RAW, 6).close()


@attempt("socket with a path")
def _(w):
    connected(socket.AF_UNIX, w["socket"])


@attempt("named pipe that somebody reads")
def _(w):
    opened(w["pipe"])


@attempt("socket with a path, in the folder")
def _(w):
    connected(socket.AF_UNIX, w["work_socket"])


@attempt("socket with a path, by a link")
def _(w):
    path = w["work"] + "/to-socket"
    os.symlink(w["socket"], path)
    try:
        connected(socket.AF_UNIX, path)
    finally:
        os.unlink(path)


@attempt("socket with a path, for datagrams")
def _(w):
    connected(socket.AF_UNIX, w["datagrams"], socket.SOCK_DGRAM)


@attempt("abstract socket")
def _(w):
    connected(socket.AF_UNIX, "\0" + w["abstract"])


# Other programs.


@attempt("signal a program")
def _(w):
    os.kill(w["pid"], 0)


@attempt("signal by a descriptor")
def _(w):
    os.close(call("pidfd_open", w["pid"], 0))


@attempt("signal a group")
def _(w):
    os.killpg(w["pid"], 0)


@attempt("trace a program")
def _(w):
    _trace(w["pid"])


def _trace(pid):
    if LIBRARY.ptrace(0x4206, pid, 0, 0) < 0:  # PTRACE_SEIZE
        raise OSError(ctypes.get_errno(), "refused")


@attempt("copy a program's memory")
def _(w):
    to = ctypes.create_string_buffer(8)

    class Piece(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    mine = Piece(ctypes.addressof(to), 8)
    theirs = Piece(w["readable"], 8)
    call("process_vm_readv", w["pid"], ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)


@attempt("change a program's priority")
def _(w):
    os.setpriority(os.PRIO_PROCESS, w["pid"], os.getpriority(os.PRIO_PROCESS, w["pid"]))


@attempt("change a program's limits")
def _(w):
    resource.prlimit(w["pid"], resource.RLIMIT_CORE)


@attempt("change a program's processors")
def _(w):
    os.sched_setaffinity(w["pid"], os.sched_getaffinity(w["pid"]))


@attempt("attach to shared memory")
def _(w):
    call("shmget", w["shm_key"], 0, 0)


# Namespaces and mounts.


def _unshare(flags):
    if LIBRARY.unshare(flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@attempt("namespace: user")
@own
def _(w):
    _unshare(0x10000000)


@attempt("namespace: user and mounts")
@own
def _(w):
    _unshare(0x10020000)


@attempt("namespace: mounts")
@own
def _(w):
    _unshare(0x00020000)


@attempt("namespace: network")
@own
def _(w):
    _unshare(0x40000000)


@attempt("namespace: user, by clone")
def _(w):
    child = call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        _exit(0)
    os.waitpid(child, 0)


@attempt("namespace: user, by clone3")
def _(w):
    arguments = struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    child = call("clone3", ctypes.create_string_buffer(arguments), len(arguments))
    if child == 0:
        _exit(0)
    os.waitpid(child, 0)


@attempt("namespace: enter one")
@own
def _(w):
    descriptor = os.open("/proc/self/ns/net", os.O_RDONLY)
    call("setns", descriptor, 0)


@attempt("namespace: enter that of process 1")
@own
def _(w):
    descriptor = os.open("/proc/1/ns/net", os.O_RDONLY)
    call("setns", descriptor, 0)


@attempt("mount a file system")
def _(w):
    target = os.fsencode(w["work"] + "/mount")
    call(
        "mount", ctypes.c_char_p(b"none"), ctypes.c_char_p(target), ctypes.c_char_p(b"tmpfs"), 0, 0
    )
    call("umount2", ctypes.c_char_p(target), 2)


@attempt("mount a folder again")
def _(w):
    target = ctypes.c_char_p(os.fsencode(w["work"] + "/mount"))
    call("mount", ctypes.c_char_p(os.fsencode(w["outside"])), target, 0, 4096, 0)
    call("umount2", target, 2)


@attempt("mount: copy the tree")
def _(w):
    os.close(call("open_tree", -100, ctypes.c_char_p(b"/usr"), 1))


@attempt("mount: a new file system")
def _(w):
    os.close(call("fsopen", ctypes.c_char_p(b"tmpfs"), 0))


@attempt("mount: unmount what protects")
def _(w):
    call("umount2", ctypes.c_char_p(os.fsencode(w["work"] + "/.git")), 2)


@attempt("mount: make the system writable")
def _(w):
    if w["is_control"]:
        raise OSError(1, "not tried outside: it would change this machine")
    call("mount", 0, ctypes.c_char_p(b"/"), 0, 4096 | 32, 0)


@attempt("mount: make the system writable by its attributes")
def _(w):
    if w["is_control"]:
        raise OSError(1, "not tried outside: it would change this machine")
    attributes = ctypes.create_string_buffer(struct.pack("=4Q", 0, 1, 0, 0))
    call("mount_setattr", -100, ctypes.c_char_p(b"/"), 0, attributes, 32)


@attempt("change the root folder")
@own
def _(w):
    os.chroot(w["work"])


@attempt("open by a handle")
def _(w):
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    path = ctypes.c_char_p(os.fsencode(w["work"]))
    call("name_to_handle_at", -100, path, handle, ctypes.byref(mount), 0)
    descriptor = os.open(w["work"], os.O_RDONLY)
    os.close(call("open_by_handle_at", descriptor, handle, os.O_RDONLY))


# Parts of the kernel with a history.


@attempt("keys: look for a keyring")
def _(w):
    call("keyctl", 0, -3, 1)


@attempt("keys: add one")
def _(w):
    kind, name = ctypes.c_char_p(b"user"), ctypes.c_char_p(b"desktop-agent-test")
    call("add_key", kind, name, ctypes.c_char_p(b"x"), 1, -2)


@attempt("keys: ask for one")
@own
def _(w):
    kind, name = ctypes.c_char_p(b"user"), ctypes.c_char_p(b"desktop-agent-test")
    call("add_key", kind, name, ctypes.c_char_p(b"x"), 1, -2)
    call("request_key", kind, name, 0, 0)


@attempt("programs in the kernel")
def _(w):
    attributes = ctypes.create_string_buffer(struct.pack("=4I", 2, 4, 4, 1) + bytes(112))
    os.close(call("bpf", 0, attributes, 128))


@attempt("performance counters")
def _(w):
    attributes = struct.pack("=IIQ", 1, 120, 0) + bytes(24) + struct.pack("=Q", 1 << 5 | 1 << 6)
    buffer = ctypes.create_string_buffer(attributes + bytes(120 - len(attributes)))
    os.close(call("perf_event_open", buffer, 0, -1, -1, 0))


@attempt("page faults")
def _(w):
    os.close(call("userfaultfd", 1))


@attempt("io_uring")
def _(w):
    os.close(call("io_uring_setup", 1, ctypes.create_string_buffer(120)))


@attempt("calls of another architecture")
@own
def _(w):
    if os.uname().machine != "x86_64":
        raise OSError(38, "there is none")
    # mov eax, 20 (getpid); int 0x80; ret
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
    if result < 0:
        raise OSError(-result, os.strerror(-result))


@attempt("calls of the x32 kind")
@own
def _(w):
    if LIBRARY.syscall(ctypes.c_long(0x40000000 | 39)) < 0:
        raise OSError(ctypes.get_errno(), "refused")


@attempt("terminal: type into it")
@own
def _(w):
    _own_terminal()
    fcntl.ioctl(0, 0x5412, b"x")


@attempt("terminal: paste into it")
@own
def _(w):
    _own_terminal()
    fcntl.ioctl(0, 0x541C, b"\x03")


def _own_terminal():
    _, there = os.openpty()
    os.setsid()
    fcntl.ioctl(there, 0x540E, 0)  # TIOCSCTTY
    os.dup2(there, 0)


# Rights.


@attempt("rights: get more by a program")
def _(w):
    if LIBRARY.prctl(39, 0, 0, 0, 0) == 1:  # PR_GET_NO_NEW_PRIVS
        raise OSError(1, "programs with more rights don't get them")


@attempt("rights: become somebody else")
@own
def _(w):
    os.setuid(12345)


@attempt("rights: the computer's name")
def _(w):
    socket.sethostname(socket.gethostname())


@attempt("rights: capabilities")
def _(w):
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    if int(lines["CapEff"], 16) == 0 and int(lines["CapBnd"], 16) == 0:
        raise OSError(1, "there are none, and none can be had")
