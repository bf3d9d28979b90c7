"""Attempts on files: outside, hidden, protected, the kernel's, devices."""

import contextlib
import ctypes
import mmap
import os
import socket

from attempts_base import LIBRARY, attempt, opened, some

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


@attempt("read the passwords of the system")
def _(w):
    # Only root may, so for anybody else it proves nothing; what is empty holds none.
    with open("/etc/shadow", "rb") as file:
        if not file.read(1):
            raise ValueError("it is empty")


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
