"""Searches that print what is in every file of a folder: the secret ones that lie below it.

Only what a rule may allow as a whole is looked at; a rule for anything else is for its exact words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePath

import msgspec

from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.permissions.protected_files import is_secret
from desktop_agent.tools.shell.proof import is_secret_name

_MOST_ENTRIES = 20_000  # of one folder
_MOST_NAMED = 3
# What others published; certificates and keys among it are no secrets of anybody here.
_PUBLISHED = ("/usr/", "/opt/")
_INSTALLED = frozenset({"node_modules", "site-packages", "dist-packages"})
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "ggrep"})
# Letters and words that take a value.
_VALUED = {"grep": "ABCDdefm", "rg": "ABCEMTdefgjmrt", "diff": "UWIx"}
_VALUED_WORDS = {
    "grep": frozenset({
        "--regexp", "--file", "--include", "--exclude", "--exclude-dir", "--exclude-from",
        "--max-count", "--context", "--after-context", "--before-context", "--directories",
        "--devices", "--binary-files", "--label", "--group-separator",
    }),
    "rg": frozenset({
        "--regexp", "--file", "--glob", "--iglob", "--type", "--type-not", "--type-add",
        "--type-clear", "--max-count", "--context", "--after-context", "--before-context",
        "--max-columns", "--max-depth", "--maxdepth", "--max-filesize", "--sort", "--sortr",
        "--color", "--colors", "--threads", "--replace", "--encoding", "--engine", "--pre",
        "--pre-glob", "--ignore-file", "--path-separator", "--context-separator",
        "--field-context-separator", "--field-match-separator", "--dfa-size-limit",
        "--regex-size-limit", "--hostname-bin", "--hyperlink-format",
    }),
    "diff": frozenset({"--exclude", "--exclude-from", "--unified", "--width", "--label"}),
}  # fmt: skip
_PATTERNS = frozenset({"-e", "-f", "--regexp", "--file"})
_RECURSIVE = frozenset({"-r", "-R", "--recursive", "--dereference-recursive"})
_UNIGNORED = re.compile(r"--no-ignore(-vcs|-parent|-dot)?|--unrestricted|--hidden|-\.|-[uU]")
# Then no line of a file is printed.
_NAMES_ALONE = frozenset({
    "-l", "-L", "-c", "-q", "--files-with-matches", "--files-without-match", "--count", "--quiet",
    "--files", "--brief",
})  # fmt: skip


class _Search(msgspec.Struct):
    """What one search reads, as far as its words tell."""

    kind: str
    options: list[tuple[str, str]] = []
    operands: list[str] = []

    def has(self, names: frozenset[str]) -> bool:
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names]

    def is_whole(self) -> bool:
        """Whether it prints what is in files that nobody named, those that git ignores too."""
        if self.has(_NAMES_ALONE):
            return False
        if self.kind == "rg":
            return bool(self._marks()) and not self.values("-t", "--type")
        return self._is_recursive() or "recurse" in self.values("-d", "--directories")

    def _is_recursive(self) -> bool:
        # GNU's programs know long options by their beginnings.
        given = [name for name, _ in self.options]
        return any(one.startswith(name) for name in given for one in _RECURSIVE)

    def folders(self) -> list[str]:
        if self.kind == "diff":
            return self.operands
        named = self.operands if self.has(_PATTERNS) else self.operands[1:]
        return named or ["."]

    def reads(self, name: str) -> bool:
        """Whether it reads files and folders of this name."""
        is_rg = self.kind == "rg"
        if is_rg and name.startswith(".") and not self._sees_hidden():
            return False
        never = self.values("--exclude", "--exclude-dir", "-x")
        if is_rg:
            never = [glob[1:].strip("/*") for glob in self._globs() if glob.startswith("!")]
        return not any(fnmatchcase(name, one) for one in never)

    def is_wanted(self, name: str) -> bool:
        """Whether a file of this name is among those that it is limited to."""
        only = [one for one in self._globs() if not one.startswith("!")]
        return not only or any(fnmatchcase(name, one) for one in only)

    def _globs(self) -> list[str]:
        return self.values("-g", "--glob", "--iglob", "--include")

    def _marks(self) -> list[str]:
        return [option for option, _ in self.options if _UNIGNORED.fullmatch(option)]

    def _sees_hidden(self) -> bool:
        marks = self._marks()
        unrestricted = [one for one in marks if one.casefold() in {"-u", "--unrestricted"}]
        return bool({"--hidden", "-."} & {*marks}) or len(unrestricted) > 1


class Room(msgspec.Struct):
    """How many entries of folders are looked at yet, for all searches of a command."""

    left: int = 5 * _MOST_ENTRIES


def secrets_below(words: Sequence[str], folder: str, own: OwnPlaces, room: Room) -> tuple[str, ...]:
    """Return some of the secret files that a search of whole folders reads, run in `folder`."""
    name = PurePath(words[0]).name if words else ""
    kind = "grep" if name in _GREPS else name
    search = _read(words[1:], kind) if kind in _VALUED else None
    if search is None or not search.is_whole():
        return ()
    found: list[str] = []
    for start in search.folders():
        path = os.path.join(folder, os.path.expanduser(start))  # noqa: PTH111, PTH118
        if not is_published(path, folder):
            secret = _secrets_in(path, search, own, room)
            found += [os.path.relpath(file, folder) for file in secret]
    return tuple(found[:_MOST_NAMED])


def is_published(start: str, folder: str) -> bool:
    """Whether a search begins among what others published; a folder to work in is none of that."""
    if _INSTALLED & {*PurePath(start).parts}:
        return True
    is_start, is_folder = (
        os.path.join(os.path.normpath(path), "").startswith(_PUBLISHED)  # noqa: PTH118
        for path in (start, folder)
    )
    return is_start and not is_folder


def _secrets_in(start: str, search: _Search, own: OwnPlaces, room: Room) -> Iterator[str]:
    secret = (
        entry.path
        for entry, is_plain in _files_below(start, search, room)
        if search.is_wanted(entry.name)
        and (is_secret_name(entry.name) if is_plain else is_secret(entry.path, own))
    )
    return islice(secret, _MOST_NAMED)


def _read(words: Sequence[str], kind: str) -> _Search:
    search, left = _Search(kind), list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            search.operands += left
            break
        if word.startswith("--"):
            name, sign, value = word.partition("=")
            if not sign and name in _VALUED_WORDS[kind] and left:
                value = left.pop(0)
            search.options.append((name, value))
        elif word.startswith("-") and len(word) > 1:
            search.options += _letters(word[1:], left, _VALUED[kind])
        else:
            search.operands.append(word)
    return search


def _letters(cluster: str, left: list[str], valued: str) -> Iterator[tuple[str, str]]:
    for at, letter in enumerate(cluster):
        if letter in valued:
            value = cluster[at + 1 :] or (left.pop(0) if left else "")
            yield f"-{letter}", value
            return
        yield f"-{letter}", ""


def _files_below(
    start: str, search: _Search, room: Room
) -> Iterator[tuple[os.DirEntry[str], bool]]:
    """Yield the files below a folder, the nearest first, and no more than so many.

    Whether a plain one is secret is told by its name; it lies in folders that are not hidden.
    """
    folders, most = [start], min(_MOST_ENTRIES, room.left)
    while folders and most > 0:
        below: list[str] = []
        for folder in folders:
            is_plain = "/." not in folder.replace(os.sep, "/").replace("/./", "/")
            found = _entries(folder, most)
            most, room.left = most - len(found), room.left - len(found)
            for entry in found:
                if not search.reads(entry.name):
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    yield entry, is_plain
                elif entry.name not in _INSTALLED:
                    below.append(entry.path)
        folders = below


def _entries(folder: str, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry, _ in zip(entries, range(max(most, 0)), strict=False)]
    except OSError:
        return []  # the command can't read it either
