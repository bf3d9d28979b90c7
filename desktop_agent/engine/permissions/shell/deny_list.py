"""The deny list: commands that are never run, whatever the mode or the rules."""

from __future__ import annotations

import re
from pathlib import PurePath

from desktop_agent.engine.permissions.shell.parse import SimpleCommand

_RAW_DEVICE = re.compile(
    r"/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|md\d|dm-\d|mapper/|"
    r"mem\b|kmem\b|port\b).*"
)
_ABOVE_ROOT = re.compile(r"(/\.\.)+(?=/|$)")
_TREES = frozenset({
    "bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "run", "sbin",
    "sys", "usr", "var", "Users", "System", "Library", "Applications", "Windows",
})  # fmt: skip
_WRITERS = {"dd", "cp", "mv", "tee", "shred", "truncate", "install"}
_WIPERS = {"wipefs", "blkdiscard", "sgdisk", "fdisk", "sfdisk", "parted", "mkswap"}


def why_never(simple: SimpleCommand) -> str:
    """Return what makes this simple command one that is never run, or nothing."""
    if any(_RAW_DEVICE.fullmatch(target) for target in simple.targets):
        return "it writes to a disk device"
    if not simple.words:
        return ""
    name, arguments = PurePath(simple.words[0]).name, simple.words[1:]
    if name == "mkfs" or name.startswith("mkfs."):
        return "it makes a new file system"
    if name in _WIPERS and any(_RAW_DEVICE.fullmatch(a) for a in arguments):
        return "it erases a disk"
    if name in _WRITERS and _writes_device(name, arguments):
        return "it writes to a disk device"
    if _removes_everything(name, arguments):
        return "it removes a whole system or home folder"
    if name in {"chmod", "chown"} and _is_recursive(arguments) and "/" in arguments:
        return "it changes the rights of the whole disk"
    return ""


def _writes_device(name: str, arguments: list[str]) -> bool:
    if name == "dd":
        targets = [a.removeprefix("of=") for a in arguments if a.startswith("of=")]
    elif name in {"cp", "mv", "install"}:
        targets = arguments[-1:]
    else:
        targets = arguments
    return any(_RAW_DEVICE.fullmatch(target) for target in targets)


def _is_recursive(arguments: list[str]) -> bool:
    return "--recursive" in arguments or any(
        a.startswith("-") and not a.startswith("--") and set(a) & set("rR") for a in arguments
    )


def _removes_everything(name: str, arguments: list[str]) -> bool:
    if name == "find":
        return "-delete" in arguments and _is_whole_tree(arguments[0])
    if name != "rm":
        return False
    if "--no-preserve-root" in arguments:
        return True
    if not _is_recursive(arguments):
        return False
    return any(_is_whole_tree(a) for a in arguments if not a.startswith("-"))


def _is_whole_tree(path: str) -> bool:
    plain = re.sub(r"/+", "/", path)
    plain = re.sub(r"(/\.)+(?=/|$)", "", plain) or "/"
    if above := _ABOVE_ROOT.match(plain):
        plain = plain[above.end() :] or "/"
    plain = plain.removesuffix("/*").removesuffix("/") or "/"
    if plain in {"/", "/*", "~", "$HOME", "${HOME}", "$HOME/", "/."}:
        return True
    parts = plain.split("/")
    return len(parts) == 2 and parts[0] == "" and parts[1] in _TREES
