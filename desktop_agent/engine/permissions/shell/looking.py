"""Which parts of a command only look, and the folders they may run in.

A `cd` that fails leaves the shell where it was. So the folders are followed for both outcomes
of every command, as `&&`, `||`, `;` and line feeds join them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import PurePath

import msgspec

from desktop_agent.engine.permissions.protected_files import is_secret
from desktop_agent.engine.permissions.shell import read_only
from desktop_agent.engine.permissions.shell.parse import Script, SimpleCommand
from desktop_agent.engine.permissions.shell.read_only import Look

# Returns the names that a pattern stands for in a folder, or None when that isn't known.
Expand = Callable[[PurePath, str], Sequence[str] | None]

_Folders = frozenset[PurePath]
_HERE: _Folders = frozenset({PurePath()})
_MOST_FOLDERS = 16
_MOST_WORDS = 5_000
_AND_OR = {"&&", "||", ";", "\n", ""}
_PIPES = {"|"}
# Built into the shell, and able to change what a later word or name means.
_SHELL_STATE = frozenset({
    "pushd", "popd", "export", "declare", "typeset", "local", "readonly", "unset", "set", "shopt",
    "alias", "unalias", "source", ".", "eval", "exec", "trap", "enable", "hash", "read", "mapfile",
    "readarray", "printf", "getopts", "let", "command", "builtin", "function", "umask", "ulimit",
    "exit", "return", "break", "continue", "coproc", "time", "if", "then", "elif", "else", "fi",
    "for", "while", "until", "do", "done", "case", "esac", "select", "in", "{", "}", "!", "[[",
})  # fmt: skip


class Reading(msgspec.Struct, frozen=True):
    """One part in one folder it may run in, relative to where the whole command starts."""

    start: PurePath
    look: Look


class Part(msgspec.Struct, frozen=True):
    """One simple command. Without `readings` it isn't known to only look."""

    words: tuple[str, ...]
    readings: tuple[Reading, ...] = ()
    is_move: bool = False


def parts_of(script: Script, expand: Expand | None = None) -> tuple[Part, ...]:
    """Return what is known of each simple command of the script, in its order."""
    nothing = tuple(Part(tuple(simple.words)) for simple in script.commands)
    is_plain = script.is_whole and not script.nested and os.name != "nt"
    if not is_plain or not set(script.operators) <= _AND_OR | _PIPES:
        return nothing  # PowerShell gives the same words other meanings
    if not _folders_are_certain(script):
        return nothing
    folders = _folders_of(script)
    if folders is None:
        return nothing
    return tuple(
        _part(simple, starts, expand)
        for simple, starts in zip(script.commands, folders, strict=True)
    )


def _folders_are_certain(script: Script) -> bool:
    """Whether nothing but a plain `cd`, in the shell itself, changes the folder."""
    before = ""
    for simple, after in zip(script.commands, script.operators, strict=True):
        if not simple.words or 0 in simple.globs or "assignment" in simple.features:
            return False
        if simple.words[0] in _SHELL_STATE and read_only.look_of(simple.words) is None:
            return False
        is_piped = before in _PIPES or after in _PIPES
        if simple.words[0] == "cd" and (is_piped or not _is_plain_move(simple)):
            return False
        before = after
    return True


def _is_plain_move(simple: SimpleCommand) -> bool:
    return len(simple.words) == 2 and not simple.features and is_tame(simple.words[1])


def _folders_of(script: Script) -> list[_Folders] | None:
    """Return the folders in which each simple command may run, or None when they are many."""
    found: list[_Folders] = []
    succeeded, failed = _HERE, _HERE
    joint = ";"
    for simple, after in zip(script.commands, script.operators, strict=True):
        if joint in _PIPES:  # runs beside the one before, where that one runs
            found.append(found[-1])
            joint = after
            continue
        runs = {"&&": succeeded, "||": failed}.get(joint, succeeded | failed)
        if len(runs) > _MOST_FOLDERS:
            return None  # each further `cd` could double them
        moved = runs
        if simple.words[0] == "cd":
            moved = frozenset(folder / simple.words[1] for folder in runs)
        found.append(runs)
        # What the joint skips keeps the outcome that made it skip.
        kept_failed = failed if joint == "&&" else frozenset[PurePath]()
        kept_succeeded = succeeded if joint == "||" else frozenset[PurePath]()
        succeeded, failed = moved | kept_succeeded, runs | kept_failed
        joint = after
    return found


def _part(simple: SimpleCommand, starts: _Folders, expand: Expand | None) -> Part:
    words = tuple(simple.words)
    if not starts or not simple.features <= {"glob"}:
        return Part(words)
    if words[0] == "cd":
        moves = tuple(Reading(start, Look((words[1],))) for start in sorted(starts))
        return Part(words, moves, is_move=True)
    readings: list[Reading] = []
    for start in sorted(starts):
        reading = _reading(simple, start, expand)
        if reading is None:
            return Part(words)
        readings.append(reading)
    return Part(words, tuple(readings))


def _reading(simple: SimpleCommand, start: PurePath, expand: Expand | None) -> Reading | None:
    named = _named(simple, start, expand)
    if named is None:
        return None
    look = read_only.look_of([name for names in named for name in names])
    if look is None or not all(map(is_tame, (*look.paths, *look.trees))):
        return None
    return Reading(start, look) if _is_in_any_order(named, look) else None


def _is_in_any_order(named: Sequence[Sequence[str]], look: Look) -> bool:
    """Whether names that one pattern stands for are all files to read, whichever comes first.

    Their order depends on the shell's locale, and the first may be what to search for, or a script.
    """
    many = {place: f"\0{place}" for place, names in enumerate(named) if len(names) > 1}
    if any(name.startswith("-") for place in many for name in named[place]):
        return False
    if not many or not (look.paths or look.trees or look.git):
        return True
    words = [many[at] if at in many else names[0] for at, names in enumerate(named)]
    read = read_only.look_of(words)
    return read is not None and set(many.values()) <= {*read.paths, *read.trees}


def _named(
    simple: SimpleCommand, start: PurePath, expand: Expand | None
) -> list[Sequence[str]] | None:
    """Return for each word what the program gets for it, or None when that isn't known."""
    if not simple.globs:
        return [[word] for word in simple.words]
    if expand is None or 0 in simple.globs or not all(simple.globs.values()):
        return None
    named: list[Sequence[str]] = []
    room = _MOST_WORDS - len(simple.words)
    for place, word in enumerate(simple.words):
        if place not in simple.globs:
            named.append([word])
            continue
        names = expand(start, word) if is_tame(word.lstrip("-")) else None
        if names is None or len(names) > room:
            return None
        room -= len(names)
        named.append(names or [word])
    return named


def is_tame(path: str) -> bool:
    """Whether a path leads nowhere up and names no secret.

    Whether it is inside the workspace is for the caller to look up.
    """
    pure = PurePath(path)
    return bool(path) and not (
        path.startswith(("~", "-", "\\"))
        or ".." in pure.parts
        or is_secret(pure)
        or "\\" in path
        or ":" in path
    )
