"""Attempts to get out of a sandbox. Runs by itself, inside and, as a control, outside.

`python -I -S attempts.py WHAT` with a JSON object of targets; answers with one of
`{name: "" or why it failed}`. Each attempt has a process of its own, and leaves things as they
were where it succeeds: it opens, or it works on files that were made for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import tempfile

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


# Files outside that may be read.


@attempt("write a file outside")
def _(w):
    opened(w["canary"])


@attempt("make a file outside")
def _(w):
    path = w["outside"] + "/new"
    opened(path, os.O_WRONLY | os.O_CREAT)
    os.unlink(path)


@attempt("truncate a file outside")
def _(w):
    os.truncate(w["canary"], 6)


@attempt("delete a file outside")
def _(w):
    os.unlink(w["spare"])
    open(w["spare"], "w").close()


@attempt("rename a file outside")
def _(w):
    os.rename(w["canary"], w["canary"] + "2")
    os.rename(w["canary"] + "2", w["canary"])


@attempt("rename a file outside into the folder")
def _(w):
    os.rename(w["canary"], w["work"] + "/stolen")
    os.rename(w["work"] + "/stolen", w["canary"])


@attempt("change the mode of a file outside")
def _(w):
    os.chmod(w["canary"], 0o644)


@attempt("change the owner of a file outside")
def _(w):
    os.chown(w["canary"], os.getuid(), os.getgid())


@attempt("change the times of a file outside")
def _(w):
    os.utime(w["canary"])


@attempt("set an attribute of a file outside")
def _(w):
    os.setxattr(w["canary"], "user.x", b"1")


@attempt("make a folder outside")
def _(w):
    os.mkdir(w["outside"] + "/folder")
    os.rmdir(w["outside"] + "/folder")


@attempt("make a link outside")
def _(w):
    os.symlink("x", w["outside"] + "/link")
    os.unlink(w["outside"] + "/link")


@attempt("make a socket outside")
def _(w):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(w["outside"] + "/s")
    os.unlink(w["outside"] + "/s")


@attempt("hard link to a file outside")
def _(w):
    os.link(w["canary"], w["work"] + "/hard")
    os.unlink(w["work"] + "/hard")


@attempt("write through a link to outside")
def _(w):
    path = w["work"] + "/soft"
    os.symlink(w["canary"], path)
    try:
        opened(path)
    finally:
        os.unlink(path)


@attempt("write through a linked folder")
def _(w):
    path = w["work"] + "/softly"
    os.symlink(w["outside"], path)
    try:
        opened(path + "/canary")
    finally:
        os.unlink(path)


@attempt("write by a path that goes up")
def _(w):
    opened(os.path.join(w["work"], os.path.relpath(w["canary"], w["work"])))


@attempt("write through /proc/self/root")
def _(w):
    opened("/proc/self/root" + w["canary"])


@attempt("write through the root of process 1")
def _(w):
    opened("/proc/1/root" + w["canary"])


@attempt("write through /proc/self/cwd")
def _(w):
    opened("/proc/self/cwd/" + os.path.relpath(w["canary"], os.getcwd()))


@attempt("open again for writing what is open for reading")
def _(w):
    descriptor = os.open(w["canary"], os.O_RDONLY)
    opened(f"/proc/self/fd/{descriptor}")


@attempt("write to a toolchain")
def _(w):
    opened(w["toolchain"])


@attempt("write to an inherited descriptor")
def _(w):
    os.close(os.open("canary", os.O_WRONLY, dir_fd=w["inherited"]))


@attempt("map a file outside for writing")
def _(w):
    with open(w["canary"], "r+b") as file:
        mmap.mmap(file.fileno(), 1).close()


# What is hidden.


@attempt("read a key in the home")
def _(w):
    opened(w["home"] + "/.ssh/id_rsa", os.O_RDONLY)


@attempt("see a project in the home")
def _(w):
    os.listdir(w["home"] + "/other-project")


@attempt("read the home through /proc")
def _(w):
    opened("/proc/self/root" + w["home"] + "/.ssh/id_rsa", os.O_RDONLY)


@attempt("write a start-up file in the home")
def _(w):
    opened(w["home"] + "/.bashrc")


@attempt("read the app's own files")
def _(w):
    opened(w["own"] + "/sessions.db", os.O_RDONLY)


@attempt("read a file of the app beside its own")
def _(w):
    opened(w["own"] + "/sessions.db-wal", os.O_RDONLY)


@attempt("read another program's file in /tmp")
def _(w):
    opened(w["in_tmp"], os.O_RDONLY)


@attempt("read another program's file in /dev/shm")
def _(w):
    opened(w["in_shm"], os.O_RDONLY)


@attempt("see what is in /run")
def _(w):
    names = [name for name in w["in_run"] if os.path.lexists("/run/" + name)]
    if not names:
        raise FileNotFoundError(2, "nothing is there")


@attempt("read a program's environment")
def _(w):
    opened(f"/proc/{w['pid']}/environ", os.O_RDONLY)


@attempt("read a program's memory")
def _(w):
    opened(f"/proc/{w['pid']}/mem", os.O_RDONLY)


@attempt("reach a program's files through /proc")
def _(w):
    opened(f"/proc/{w['pid']}/cwd/canary")


# The repository, and files that run by themselves.


@attempt("git: write the settings")
def _(w):
    opened(w["work"] + "/.git/config")


@attempt("git: replace the settings")
def _(w):
    path = w["work"] + "/.git/config"
    with open(path, "rb") as file:
        held = file.read()
    with open(w["work"] + "/config.new", "wb") as file:
        file.write(held)
    try:
        os.replace(w["work"] + "/config.new", path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(w["work"] + "/config.new")


@attempt("git: make a hook")
def _(w):
    path = w["work"] + "/.git/hooks/pre-commit"
    opened(path, os.O_WRONLY | os.O_CREAT)
    os.unlink(path)


@attempt("git: change a hook")
def _(w):
    opened(w["work"] + "/.git/hooks/post-commit")


@attempt("git: move the hooks")
def _(w):
    move(w["work"] + "/.git/hooks")


@attempt("git: move the repository")
def _(w):
    move(w["work"] + "/.git")


@attempt("git: exchange the repository")
def _(w):
    other = w["work"] + "/exchanged"
    os.mkdir(other)
    try:
        for _ in range(2):
            at = os.fsencode(w["work"] + "/.git"), os.fsencode(other)
            if LIBRARY.renameat2(-100, at[0], -100, at[1], 2):
                raise OSError(ctypes.get_errno(), "refused")
    finally:
        os.rmdir(other)


@attempt("git: write a nested repository's settings")
def _(w):
    opened(w["work"] + "/nested/.git/config")


@attempt("git: hard link to the settings")
def _(w):
    os.link(w["work"] + "/.git/config", w["work"] + "/config.link")
    os.unlink(w["work"] + "/config.link")


@attempt("change a protected file")
def _(w):
    opened(w["work"] + "/.envrc")


@attempt("replace a protected file")
def _(w):
    path = w["work"] + "/envrc.new"
    open(path, "w").close()
    try:
        os.replace(path, w["work"] + "/.envrc")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


@attempt("delete a protected file")
def _(w):
    os.unlink(w["work"] + "/.envrc")
    open(w["work"] + "/.envrc", "w").close()


@attempt("move a protected folder")
def _(w):
    move(w["work"] + "/.vscode")


@attempt("change a file in a protected folder")
def _(w):
    opened(w["work"] + "/.vscode/tasks.json")


def move(path):
    os.rename(path, path + ".moved")
    os.rename(path + ".moved", path)


# The kernel's files.


@attempt("kernel: core_pattern")
def _(w):
    opened("/proc/sys/kernel/core_pattern")


@attempt("kernel: sysrq-trigger")
def _(w):
    opened("/proc/sysrq-trigger")


@attempt("kernel: interrupts")
def _(w):
    some(["/proc/irq/default_smp_affinity"])


@attempt("kernel: its memory")
def _(w):
    some(["/proc/kcore", "/dev/mem", "/proc/kmsg"], os.O_RDONLY)


@attempt("kernel: memory type ranges")
def _(w):
    opened("/proc/mtrr")


@attempt("kernel: /sys")
def _(w):
    some(["/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/uevent_helper"])


@attempt("kernel: control groups")
def _(w):
    some(["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"])


@attempt("kernel: oom score of another program")
def _(w):
    opened(f"/proc/{w['pid']}/oom_score_adj")


# Devices.


@attempt("device: open a disk")
def _(w):
    some(["/dev/vda", "/dev/sda", "/dev/nvme0n1"], os.O_RDONLY)


@attempt("device: make one")
def _(w):
    path = w["work"] + "/device"
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 11))
    os.unlink(path)


@attempt("device: the kernel's log")
def _(w):
    opened("/dev/kmsg", os.O_RDONLY)


@attempt("device: file systems of the user's")
def _(w):
    opened("/dev/fuse", os.O_RDWR)


@attempt("device: tunnels")
def _(w):
    opened("/dev/net/tun", os.O_RDWR)


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
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise OSError(abs(code), os.strerror(abs(code)))

    return run


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
        os._exit(0)
    os.waitpid(child, 0)


@attempt("namespace: user, by clone3")
def _(w):
    arguments = struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    child = call("clone3", ctypes.create_string_buffer(arguments), len(arguments))
    if child == 0:
        os._exit(0)
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


def main(what):
    results = {}
    for name, function in ATTEMPTS.items():
        with tempfile.TemporaryFile() as told:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                words = "succeeded"
                try:
                    function(what)
                except (OSError, ValueError, KeyError, TypeError) as error:
                    words = f"{type(error).__name__}: {error}"
                os.write(told.fileno(), words.encode())
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            told.seek(0)
            words = told.read().decode() or f"ended with {status}"
            results[name] = "" if words == "succeeded" else words
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
