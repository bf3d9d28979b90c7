"""The deny list where PowerShell is the shell: what is never run there, by its names there."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Sequence

from desktop_agent.engine.permissions.shell.parse import SimpleCommand
from desktop_agent.engine.workspace import windows_names

_PROGRAM = re.compile(r"\.(exe|com|cmd|bat)$")
_RAW_DEVICE = re.compile(r"(of=)?\\\\[.?]\\(physicaldrive\d+|harddisk\w*|[a-z]:)\\?", re.IGNORECASE)
_WRITERS = frozenset({"dd", "cp", "copy", "copy-item", "cpi", "set-content", "out-file", "tee"})
_FORMATTERS = frozenset({"format-volume", "new-volume"})
_WIPERS = frozenset({"diskpart", "clear-disk", "initialize-disk", "reset-physicaldisk"})
_BACKUPS = {"vssadmin": "shadows", "wmic": "shadowcopy", "wbadmin": "", "diskshadow": ""}
_REMOVERS = frozenset({"remove-item", "ri", "rm", "rmdir", "rd", "del", "erase"})
_RIGHTS = frozenset({"icacls", "cacls", "takeown"})

_DRIVE = re.compile(r"[a-z]:")
_HIVE = re.compile(r"hk\w+:?")
_RECURSIVE = re.compile(r"-r|(/\w)*/s(/|$)")
_TREES = frozenset({"windows", "users", "program files", "program files (x86)", "programdata"})
# $NAME, ${NAME}, $env:NAME, ${env:NAME} and %NAME%
_VARIABLE = re.compile(r"\$\{?(?:env:)?(\w+(?:\(x86\))?)\}?|%([\w()]+)%", re.IGNORECASE)
_PLACES = {
    "systemdrive": "c:",
    "homedrive": "c:",
    "systemroot": "c:\\windows",
    "windir": "c:\\windows",
    "programfiles": "c:\\program files",
    "programfiles(x86)": "c:\\program files (x86)",
    "programdata": "c:\\programdata",
    "allusersprofile": "c:\\programdata",
}
_HOMES = frozenset({"home", "userprofile", "homepath", "appdata", "localappdata"})


def name_of(words: Sequence[str]) -> str:
    """Return the command's name as Windows compares it: `C:\\x\\CMD.EXE` is `cmd`."""
    return _PROGRAM.sub("", ntpath.basename(words[0]).casefold()) if words else ""


def block_in(simple: SimpleCommand) -> list[str]:
    """Return the words behind the first `{`: what a cmdlet is given to run for each of its input.

    Empty when there is none; one in quotes, as of JSON, is text.
    """
    words = simple.words
    at = next((at for at in sorted(simple.globs) if at > 0 and words[at].startswith("{")), None)
    if at is None:
        return []
    inside = [words[at][1:], *words[at + 1 :]]
    return [word for word in (one.rstrip("}") for one in inside) if word]


def why_never_on_windows(simple: SimpleCommand) -> str:
    """Return what makes this simple command one that is never run on Windows, or nothing."""
    if any(map(_RAW_DEVICE.fullmatch, simple.targets)):
        return "it writes to a disk device"
    name, arguments = name_of(simple.words), [word.casefold() for word in simple.words[1:]]
    if name in _WRITERS and any(map(_RAW_DEVICE.fullmatch, arguments)):
        return "it writes to a disk device"
    if name in _FORMATTERS or (name == "format" and any(map(_DRIVE.fullmatch, arguments))):
        return "it makes a new file system"
    if name in _WIPERS:
        return "it erases a disk"
    if name in _BACKUPS and "delete" in arguments and _BACKUPS[name] in (*arguments, ""):
        return "it deletes the backups of the system"
    if _removes_everything(name, arguments):
        return "it removes a whole system or home folder"
    if name in _RIGHTS and {"/t", "/r"} & set(arguments) and any(map(_is_disk, arguments)):
        return "it changes the rights of the whole disk"
    return ""


def _removes_everything(name: str, arguments: list[str]) -> bool:
    if name == "reg":
        return arguments[:1] == ["delete"] and any(map(_HIVE.fullmatch, map(_plain, arguments)))
    if name not in _REMOVERS or not any(map(_RECURSIVE.match, arguments)):
        return False
    paths = (path for word in arguments for path in windows_names.paths_in(word))
    return any(map(_is_whole_tree, paths))


def _is_whole_tree(path: str) -> bool:
    plain = _plain(path)
    folder, separator, name = plain.rpartition("\\")
    is_of_system = separator and name in _TREES and (not folder or _DRIVE.fullmatch(folder))
    is_hive = plain.endswith(":") and _HIVE.fullmatch(plain)
    return bool(plain in {"~", "c:~"} or is_of_system or is_hive or _is_disk(path))


def _is_disk(path: str) -> bool:
    plain = _plain(path)
    return _DRIVE.fullmatch(plain) is not None or (not plain and path[:1] in {"\\", "/"})


def _plain(path: str) -> str:
    """Return a path in one spelling, with the variables that are known, without `*` for all."""
    meant = _VARIABLE.sub(_place, windows_names.without_prefix(path.strip("'\"")))
    return ntpath.normpath(meant).removesuffix("*.*").removesuffix("*").rstrip("\\")


def _place(variable: re.Match[str]) -> str:
    name = (variable[1] or variable[2]).casefold()
    return "~" if name in _HOMES else _PLACES.get(name, variable[0])
