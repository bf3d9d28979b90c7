"""Proving that parts of a command only look, inside the workspace, at nothing secret.

`engine/permissions/shell/looking.py` evaluates the words; what they name is looked up here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from fnmatch import translate
from pathlib import Path, PurePath

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import OwnPlaces, Workspace
from desktop_agent.engine.permissions.protected_files import (
    is_secret,
    private_below,
    search_exclusions,
)
from desktop_agent.engine.permissions.shell.classify import plain_script
from desktop_agent.engine.permissions.shell.looking import Part, Reading, parts_of
from desktop_agent.engine.workspace.containment import is_within, resolve_for_read
from desktop_agent.tools.shell.git_repository import is_inert
from desktop_agent.tools.shell.user_git_settings import is_apart

_NOWHERE = OwnPlaces()
_MOST_ENTRIES = 60_000
_MOST_NAMES = 2_000
# Whoever sets these gives commands or names another meaning.
_MEDDLING = re.compile(
    r"CDPATH|BASH.*|ENV|SHELLOPTS|GLOBIGNORE|IFS|POSIXLY_CORRECT|LD_.*|DYLD_.*|RIPGREP_.*|GREP_.*|"
    r"GIT_(?!PAGER$|TERMINAL_PROMPT$|OPTIONAL_LOCKS$).*|JQ_.*|LESS.*|PYTHON(HOME|PATH|STARTUP)|NODE_OPTIONS|PERL.*"
)
_SECRET = re.compile("|".join(translate(name) for name in search_exclusions() if name != ".git"))


class Proof(msgspec.Struct, frozen=True):
    """Which parts of a command, by their number, are proven to only look."""

    parts: tuple[int, ...] = ()
    is_whole: bool = False


def prove(
    command: str,
    directory: str,
    workspace: Workspace,
    environment: Mapping[str, str],
    own: OwnPlaces = _NOWHERE,
) -> Proof:
    """Return which parts of the command only look inside the workspace, run in `directory`."""
    script = plain_script(command)
    if script is None or any(map(_MEDDLING.fullmatch, environment)) or is_secret(directory, own):
        return Proof()
    disk = _Disk(directory, workspace, environment, own)
    parts = parts_of(script, disk.expand)
    proven: list[int] = []
    for number, part in enumerate(parts):
        # What ran before may have changed the repository, or what is in a name's place.
        is_fresh = len(proven) == number
        if disk.holds(part, is_fresh=is_fresh):
            proven.append(number)
        elif part.is_move:
            break  # where the others would run isn't known
    return Proof(tuple(proven), len(proven) == len(parts))


class _Disk:
    """Looks up what the words of one command name; each call of `expand` and `holds` is bounded."""

    def __init__(
        self,
        directory: str,
        workspace: Workspace,
        environment: Mapping[str, str],
        own: OwnPlaces,
    ) -> None:
        self._own = own
        self._directory = directory
        self._workspace = workspace
        self._environment = environment
        self._room = _MOST_ENTRIES

    def holds(self, part: Part, *, is_fresh: bool) -> bool:
        """Whether the part is harmless in every folder it may run in."""
        if not part.readings or not self._is_foreign(part):
            return False
        return all(self._is_harmless(reading, is_fresh) for reading in part.readings)

    def expand(self, start: PurePath, pattern: str) -> list[str] | None:
        """Return the names that `*` and `?` stand for, at least those that a shell finds."""
        found = [""]
        for step in re.findall(r"[^/]+/*|/+", pattern):
            name, slashes = step.rstrip("/"), step[len(step.rstrip("/")) :]
            longer: list[str] = []
            for before in found:
                names = self._names(start, before, name)
                if names is None or len(longer) + len(names) > _MOST_NAMES:
                    return None
                longer.extend(f"{before}{one}{slashes}" for one in names)
            found = longer
        return sorted(found)

    def _names(self, start: PurePath, before: str, pattern: str) -> list[str] | None:
        folder = self._resolved(str(start / before) if before else str(start))
        if folder is None:
            return None
        if not set(pattern) & {"*", "?"}:
            return [pattern] if os.path.lexists(folder / pattern) else []
        if pattern[0] == "." and _matches(pattern, ".."):
            return None  # bash before 5.2 and other shells go up with it
        names: list[str] = []
        for entry in self._entries(folder):
            if entry is None:
                return None
            if (pattern[0] == "." or entry.name[0] != ".") and _matches(pattern, entry.name):
                names.append(entry.name)
        return names

    def _is_harmless(self, reading: Reading, is_fresh: bool) -> bool:
        look, start = reading.look, reading.start
        if not all(self._is_open(start / path) for path in look.paths):
            return False
        if not all(self._is_open_tree(start / path, look.follows) for path in look.trees):
            return False
        if not look.git:
            return True
        folder = self._resolved(str(start))
        return (
            is_fresh
            and folder is not None
            and is_apart(self._environment, self._workspace.write_roots, self._own)
            and is_inert(folder, Path(self._workspace.root), shows_contents=look.git == "contents")
        )

    def _is_open(self, path: PurePath) -> bool:
        resolved = self._resolved(str(path))
        return resolved is not None and not is_secret(resolved, self._own)

    def _is_open_tree(self, path: PurePath, follows: bool) -> bool:
        """Whether nothing below is secret, or a link that would be followed."""
        if not self._is_open(path):
            return False
        folders = [self._resolved(str(path))]
        while folders:
            folder = folders.pop()
            if folder is None or not folder.is_dir():
                continue
            if private_below(folder, self._own):
                return False
            for entry in self._entries(folder):
                if entry is None or is_secret_name(entry.name):
                    return False
                if entry.is_symlink():
                    if follows:
                        return False
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
        return True

    def _entries(self, folder: Path) -> Iterator[os.DirEntry[str] | None]:
        """Yield what is in a folder; None when there is more than one command may look up."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._room -= 1
                    if self._room < 0:
                        yield None
                        return
                    yield entry
        except OSError:
            return  # the command can't read it either

    def _resolved(self, path: str) -> Path | None:
        self._room -= 1
        if self._room < 0:
            return None
        try:
            return resolve_for_read(self._workspace, path, base=self._directory)
        except ToolError:
            return None

    def _is_foreign(self, part: Part) -> bool:
        """Whether the program is not one that the agent could have written."""
        path = self._environment.get("PATH", "")
        program = shutil.which(part.words[0], path=path)
        if program is None:
            return True
        places = (PurePath(program), PurePath(program).parent, PurePath(os.path.realpath(program)))
        # The root as well when this agent may not write there: others may.
        roots = {self._workspace.root, *self._workspace.write_roots}
        if any(is_within(place, root) for place in places for root in roots):
            return False
        needs_binary = any(reading.look.needs_binary for reading in part.readings)
        return not needs_binary or _is_binary(program)


def _is_binary(program: str) -> bool:
    """Whether it is no script: those that stand in for a program may read the folder."""
    try:
        with Path(program).open("rb") as file:
            return file.read(2) != b"#!"
    except OSError:
        return False


def is_secret_name(name: str) -> bool:
    """Whether a file or folder of this name is secret wherever it lies."""
    # `is_secret` forgives spellings; that is slow, and plain names don't need it.
    if name.isascii() and not name.endswith((".", " ")) and not _SECRET.match(name.lower()):
        return False
    return is_secret(name)


def _matches(pattern: str, name: str) -> bool:
    """Whether `*` and `?` may stand for the rest of the name; linear in both.

    `?` stands for any run here: how many bytes it is depends on the shell's locale.
    """
    pieces = re.split(r"[*?]+", pattern)
    first, last = pieces[0], pieces[-1]
    if len(name) < len(first) + len(last):
        return False
    if not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in pieces[1:-1]:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
