"""What a command's words give away about its effects: for cards and for what is always asked."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path, PurePath

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import OwnPlaces, Workspace
from desktop_agent.engine.permissions.protected_files import (
    is_protected,
    is_secret,
    may_name_protected,
)
from desktop_agent.engine.permissions.shell import classify
from desktop_agent.engine.permissions.shell.parse import SimpleCommand
from desktop_agent.engine.workspace import windows_names
from desktop_agent.engine.workspace.containment import as_text, resolve_for_write
from desktop_agent.tools.shell.git_repository import bare_at
from desktop_agent.tools.shell.whole_reads import Room, secrets_below

_REMOVERS = {"rm", "rmdir", "unlink", "shred", "del", "erase", "rd", "ri", "remove-item", "trash"}
# Programs and devices that stand outside of any workspace and mean nothing by it.
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/opt/", "/dev/null", "/dev/stdin", "/dev/stdout")
_SYSTEM += ("/dev/stderr", "/dev/fd/", "/dev/tty", "/dev/zero", "/dev/urandom")

# What follows these is no path to remove.
_VALUED = frozenset({"-erroraction", "-ea", "-exclude", "-include", "-filter", "-stream"})
_SHORT_OPTION = re.compile("-[A-Za-z]")
_PATH_IN_CLUSTER = re.compile(r"^-[A-Za-z]+([/~.].*)")
_MOST_ENTRIES = 5_000
_MOST_FOLDERS = 16
_NOWHERE = OwnPlaces()
_Judge = Callable[[str, OwnPlaces], bool]


class Effects(msgspec.Struct, frozen=True):
    """What stands in a command: what it removes, and which named paths need a question."""

    deletes: tuple[str, ...]
    protected: tuple[str, ...]
    outside: tuple[str, ...]


def effects_of(
    command: str,
    directory: str,
    workspace: Workspace,
    own: OwnPlaces = _NOWHERE,
    *,
    is_changing: bool = True,
) -> Effects:
    """Read a command's words. What scripts do by themselves can't be read from them.

    Of a command that can't change anything, only what is secret is protected.
    """
    judge = is_protected if is_changing else is_secret
    deletes: list[str] = []
    is_inside = judge(directory, own)
    protected = [directory] if is_inside else []
    outside: list[str] = []
    names = _Names()
    for simple, folders in _placed(command, directory):
        deletes.extend(_deleted(simple.words))
        has_pattern = "glob" in simple.features
        for folder, path, of_path in _named(simple, folders, names, judge):
            is_found = _is_protected(path, folder, own, of_path)
            if not is_inside and (is_found or (has_pattern and may_name_protected(path))):
                protected.append(path)
            elif _is_outside(path, folder, workspace):
                outside.append(path)
        if is_changing:
            protected.extend(_bare_repositories(simple, folders, workspace))
    if not is_changing:
        deletes.clear()
    # Names that a pattern stands for can be any bytes.
    named = (tuple(dict.fromkeys(map(as_text, found))) for found in (protected, outside))
    return Effects(tuple(dict.fromkeys(deletes)), *named)


def secrets_searched(command: str, directory: str, own: OwnPlaces = _NOWHERE) -> tuple[str, ...]:
    """Return secret files that a command reads without naming them: below what it searches."""
    names, room = _Names(), Room()
    found = (
        as_text(name)
        for simple, folders in _placed(command, directory)
        for folder in folders
        for name in secrets_below(_spread(simple, names, folder), folder, own, room)
    )
    return tuple(dict.fromkeys(found))


def _spread(simple: SimpleCommand, names: _Names, folder: str) -> list[str]:
    """Return the words with what their patterns stand for, where they stand for anything."""
    spread: list[str] = []
    for place, word in enumerate(simple.words):
        meant = names.of(word, folder) if place > 0 and place in simple.globs else []
        spread += meant or [word]
    return spread


def _placed(command: str, directory: str) -> Iterator[tuple[SimpleCommand, Sequence[str]]]:
    """Yield each simple command with the folders it may run in: a `cd` may fail, or not run."""
    folders = [directory]
    for simple in classify.words_of(command):
        yield simple, folders
        if simple.words[:1] == ["cd"] and len(simple.words) > 1:
            moved = [os.path.join(folder, simple.words[1]) for folder in folders]  # noqa: PTH118
            real = (os.path.realpath(folder) for folder in moved if os.path.isdir(folder))  # noqa: PTH112
            folders = list(dict.fromkeys([*folders, *real]))[:_MOST_FOLDERS]


def _named(
    simple: SimpleCommand, folders: Sequence[str], names: _Names, judge: _Judge
) -> Iterator[tuple[str, str, _Judge]]:
    """Yield the paths that a command names, also by patterns: where, and how each is judged."""
    source = _cloned(simple.words)
    for folder in folders:
        for word in dict.fromkeys([*simple.words[1:], *simple.targets]):
            for path in _paths_in(word, folder):
                # What is cloned is only read, and is mostly called NAME.git.
                yield folder, path, is_secret if word == source else judge
        for pattern in dict.fromkeys(simple.words[place] for place in simple.globs if place > 0):
            for name in names.of(pattern, folder):
                yield folder, name, is_secret


def _bare_repositories(
    simple: SimpleCommand, folders: Sequence[str], workspace: Workspace
) -> Iterator[str]:
    """Yield the folders that git would take for a repository although none is called `.git`."""
    if not simple.words or PurePath(simple.words[0]).name != "git":
        return
    for folder in folders:
        found = bare_at(Path(os.path.realpath(folder)), Path(workspace.root))
        if found is not None:
            yield str(found)


class _Names:
    """Looks up what the patterns of one command stand for, as far as that is bounded."""

    def __init__(self) -> None:
        self._room = _MOST_ENTRIES

    def of(self, pattern: str, folder: str) -> list[str]:
        """Return the names, relative to the folder; none when there is more to look up."""
        found = [""]
        for step in PurePath(pattern).parts:
            longer: list[str] = []
            for before in found:
                names = self._entries(os.path.join(folder, before), step)  # noqa: PTH118
                longer.extend(os.path.join(before, name) for name in names)  # noqa: PTH118
            found = longer
        return found

    def _entries(self, folder: str, step: str) -> list[str]:
        """Return what one step may stand for; older shells find `..` as well."""
        if not set(step) & set("*?["):
            return [step]
        if self._room < 0:
            return []
        try:
            names = os.listdir(folder)  # noqa: PTH208 - the names are all that is needed
        except OSError:
            return []
        self._room -= len(names)
        if step.startswith("."):
            return [name for name in (*names, "..") if fnmatchcase(name, step)]
        return [name for name in names if name[0] != "." and fnmatchcase(name, step)]


def _deleted(words: list[str]) -> list[str]:
    if not words:
        return []
    name = PurePath(words[0]).name.casefold()
    operands = [word for word in words[1:] if not word.startswith("-")]
    if name in _REMOVERS and os.name == "nt":
        operands = windows_operands(words)
    if name in _REMOVERS:
        return operands or [name]
    if name == "find" and "-delete" in words:
        return operands[:1] or ["."]
    if name == "git" and operands[:1] in (["clean"], ["rm"]):
        return [f"git {operands[0]}"]
    if name == "git" and operands[:1] == ["reset"] and "--hard" in words:
        return ["git reset --hard"]
    return []


def windows_operands(words: Sequence[str]) -> list[str]:
    """Return what a remover of PowerShell or `cmd` is to remove, without switches and their values.

    A brace ends the block that the command stands in.
    """
    return [
        word
        for before, word in pairwise(words)
        if before.casefold() not in _VALUED
        and not (word.startswith("-") or word == "}" or windows_names.is_switch(word))
    ]


def _cloned(words: list[str]) -> str:
    """Return what `git clone` reads from; nothing for another command."""
    operands = [word for word in words[2:] if not word.startswith("-")]
    return operands[0] if words[:2] == ["git", "clone"] and len(operands) in (1, 2) else ""


def _paths_in(word: str, directory: str) -> Iterator[str]:
    """Yield the path in a word, also behind `--option=`, `-o` and the letters before it."""
    tail = word.partition("=")[2] if "=" in word else word
    behind = (word[2:], *_PATH_IN_CLUSTER.findall(word)) if _SHORT_OPTION.match(word) else ()
    others = windows_names.paths_in(word) if os.name == "nt" else ()
    for path in dict.fromkeys((word, tail, *behind, *others)):
        is_path = path and not path.startswith("-") and len(path) < 4096
        if is_path and not _is_no_path(path, directory):
            yield path


def _is_no_path(text: str, directory: str) -> bool:
    """Whether it is an address or a text: there is no folder that it could begin with."""
    first = os.path.join(directory, text.partition("/")[0])  # noqa: PTH118
    return ("://" in text or "\n" in text) and not os.path.lexists(first)


def _is_protected(path: str, directory: str, own: OwnPlaces, judge: _Judge) -> bool:
    """Evaluate a word as the path it may be: as it is written, and resolved through links."""
    if os.name == "nt":
        path = windows_names.with_percent_signs(path)
    plain = os.path.expanduser(os.path.expandvars(path))  # noqa: PTH111 - "~" of nobody stays
    called = os.path.join(directory, plain)  # noqa: PTH118
    # `.env*` means `.env` too.
    names = [called, called.rstrip("*?")]
    with contextlib.suppress(OSError, ValueError):
        names.append(os.path.realpath(called))
    return any(judge(name, own) for name in dict.fromkeys(names))


def _behind_links(path: str, directory: str) -> str:
    """Return where a relative path leads when there is a link on its way; nothing otherwise."""
    called = os.path.join(directory, path)  # noqa: PTH118
    try:
        real = os.path.realpath(called)
    except (OSError, ValueError):
        return ""
    return "" if real == os.path.normpath(called) else real


def _is_outside(path: str, directory: str, workspace: Workspace) -> bool:
    plain = path.replace("${HOME}", "~").replace("$HOME", "~")
    if os.name == "nt":
        plain = os.path.expandvars(windows_names.with_percent_signs(plain))
        if windows_names.is_switch(plain) and not os.path.lexists(plain):
            return False
    looks_out = plain.startswith(("/", "~")) or ".." in PurePath(plain).parts
    looks_out = looks_out or (os.name == "nt" and windows_names.is_rooted(plain))
    leads_to = plain if looks_out else _behind_links(plain, directory)
    if not leads_to or leads_to.startswith(_SYSTEM):
        return False
    try:
        resolve_for_write(workspace, plain, base=directory)
    except ToolError:
        return True
    return False
