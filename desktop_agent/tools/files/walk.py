"""Walking a folder of the workspace: without links, and without what git ignores."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Folders
from desktop_agent.engine.workspace.ignored_files import IGNORE_FILE_LENGTH, IgnoreRules
from desktop_agent.engine.workspace.junctions import without_junctions
from desktop_agent.engine.workspace.safe_open import open_beneath, open_folder
from desktop_agent.tools.files.ignored_above import Above, ignored_above
from desktop_agent.tools.files.patterns import Expression
from desktop_agent.tools.files.spelling import looks

_MOST = 200_000
_LONGEST_GLOB = 200
_ALWAYS_LEFT_OUT = {".git"}
# Of POSIX: a link is not followed.
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Walk(msgspec.Struct):
    """The files below a folder; `was_cut` tells that there was more than could be looked at.

    `seconds` bounds the walk, with what is done to each file in between.
    """

    bounds: Folders
    folder: Path
    seconds: float = 20.0
    was_cut: bool = False
    _above: Above = msgspec.field(default_factory=lambda: Above(IgnoreRules()))

    def files(self) -> Iterator[str]:
        """Yield paths relative to the folder, sorted within each folder."""
        deadline = time.monotonic() + self.seconds
        seen = 0
        self._above = ignored_above(self.bounds, self.folder)
        for prefix, folders, names in self._folders():
            folders[:] = sorted(n for n in folders if not self._is_left_out(prefix, n, True))
            for name in sorted(names):
                if not self._is_left_out(prefix, name, False):
                    yield prefix + name
                if time.monotonic() > deadline:
                    self.was_cut = True
                    return
            seen += len(folders) + len(names)
            if seen > _MOST:
                self.was_cut = True
                return

    def _folders(self) -> Iterator[tuple[str, list[str], list[str]]]:
        if os.name == "nt":
            for root, folders, names in os.walk(self.folder):
                relative = Path(root).relative_to(self.folder).as_posix()
                prefix = "" if relative == "." else relative + "/"
                folders[:] = without_junctions(root, folders)
                self._note_ignore_file(prefix, (Path(root) / ".gitignore").read_bytes)
                yield prefix, folders, names
            return
        with open_folder(self.bounds, self.folder) as top:
            yield from self._below(top, "")

    def _below(self, descriptor: int, prefix: str) -> Iterator[tuple[str, list[str], list[str]]]:
        """Walk as os.fwalk does, but on past folders that open and can't be listed, as in /proc."""
        folders: list[str] = []
        names: list[str] = []
        unlisted = contextlib.suppress(OSError) if prefix else contextlib.nullcontext()
        with unlisted, os.scandir(descriptor) as entries:
            for entry in entries:
                (folders if _is_folder(entry) else names).append(entry.name)
        if ".gitignore" in names:
            self._note_ignore_file(prefix, lambda: _ignore_file(descriptor))
        yield prefix, folders, names
        for name in folders:
            try:
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
            except OSError:
                continue
            try:
                yield from self._below(inner, f"{prefix}{name}/")
            finally:
                os.close(inner)

    def _note_ignore_file(self, prefix: str, read: Callable[[], bytes]) -> None:
        with contextlib.suppress(OSError):
            self._above.rules.note(self._above.base + prefix, read())

    def _is_left_out(self, prefix: str, name: str, is_folder: bool) -> bool:
        if name in _ALWAYS_LEFT_OUT:
            return True
        path = f"{self._above.base}{prefix}{name}"
        return self._above.rules.is_ignored(f"{path}/" if is_folder else path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _ignore_file(folder: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(open_beneath(folder, ".gitignore", flags), "rb") as file:
        return file.read(IGNORE_FILE_LENGTH)


def glob_pattern(pattern: str, *, is_windows: bool = os.name == "nt") -> Expression:
    """Return a pattern for relative paths: `*` stays in a folder, `**` crosses folders.

    A pattern without a slash speaks of names in any folder. On Windows a backslash is one too.
    Raises ToolError for a very long one.
    """
    if len(pattern) > _LONGEST_GLOB:
        raise ToolError(f"the glob is longer than {_LONGEST_GLOB:,} characters.")
    if is_windows:  # paths are written so there, and no name holds one
        pattern = pattern.replace("\\", "/")
    wanted = pattern.removeprefix("./").lstrip("/") or "**"
    if "/" not in wanted and wanted != "**":
        wanted = f"**/{wanted}"
    if wanted.endswith("/"):
        wanted += "**"
    return _Names("(?s)" + "".join(_translated(looks(wanted))))


class _Names(Expression):
    """An expression for names; those that look the same are the same."""

    def fullmatch(self, text: str) -> bool:
        return super().fullmatch(looks(text))


def _translated(pattern: str) -> Iterator[str]:
    at, depth = 0, 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if pattern.startswith("**/", at - 1):
            at += 2
            yield "(?:[^/]+/)*"
        elif pattern.startswith("**", at - 1):
            at += 1
            yield ".*"
        elif character in "*?":
            yield "[^/]*" if character == "*" else "[^/]"
        elif character == "[" and (end := pattern.find("]", at + 1)) > 0:
            yield _character_class(pattern[at:end])
            at = end + 1
        elif character == "{" and "}" in pattern[at:]:
            depth += 1
            yield "(?:"
        elif depth and character in ",}":
            depth -= character == "}"
            yield "|" if character == "," else ")"
        else:
            yield re.escape(character)
    yield ")" * depth


def _character_class(inner: str) -> str:
    is_negated = inner[:1] in {"!", "^"}
    plain = re.sub(r"([\\\[\]&~|^])", r"\\\1", inner[is_negated:])
    try:
        re.compile(f"[{plain}]")
    except re.error:
        return re.escape(f"[{inner}]")
    return f"[{'^/' if is_negated else ''}{plain}]"
