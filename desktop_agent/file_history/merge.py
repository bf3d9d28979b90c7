"""Taking a change out of a file that was changed since, by `git merge-file`."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.changes import FileState, UndoError
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.engine.workspace.programs import find_program

LARGEST = 4 << 20
_TIMEOUT_S = 20.0


class Merged(NamedTuple):
    """What a merge comes to; `is_as_now` tells that this is what is there."""

    content: bytes
    mode: int
    is_as_now: bool = False


class Merger:
    """Takes changes out of files; `content` reads what is kept, by digest."""

    def __init__(self, folder: Path, content: Callable[[str], bytes]) -> None:
        self._folder = folder
        self._content = content

    def without(
        self, stretches: Sequence[tuple[FileState, FileState]], now: FileState, current: bytes
    ) -> Merged | None:
        """Return the file without these changes, the newest taken out first.

        None where it can't be merged, or where what was changed since overlaps with them.
        """
        sizes = [now.size, *(state.size for pair in stretches for state in pair)]
        if now.kind != "file" or max(sizes) > LARGEST:
            return None
        mode, content, digest = now.mode, current, now.digest
        for before, after in reversed(stretches):
            if not (_is_kept(before) and _is_kept(after)):
                return None
            if before.mode != after.mode and mode == after.mode:
                mode = before.mode
            if digest == after.digest:
                content, digest = self._of(before, content, digest), before.digest
            elif before.digest != after.digest:
                merged = self._merged(content, self._content(after.digest), before.digest)
                if merged is None:
                    return None
                content, digest = merged, ""
        return Merged(content, mode, (content, mode) == (current, now.mode))

    def _of(self, state: FileState, content: bytes, digest: str) -> bytes:
        return content if state.digest == digest else self._content(state.digest)

    def _merged(self, current: bytes, after: bytes, before_digest: str) -> bytes | None:
        before = self._content(before_digest)
        texts = (current, after, before)
        git = find_git()
        if git is None or any(b"\0" in text for text in texts):
            return None
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            for label, text in zip(("now", "after", "before"), texts, strict=True):
                (folder / label).write_bytes(text)
            return _run(git, folder)


@functools.cache
def find_git() -> str | None:
    """Return where git is, or None: not what an agent has put in its place."""
    return find_program("git") or None


def _run(git: str, folder: Path) -> bytes | None:
    command = [git, "merge-file", "-p", "--diff3", "now", "after", "before"]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        # No settings of anybody's, and no repository in which the app's own folder might lie.
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
    }
    if "SYSTEMROOT" in os.environ:
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UndoError("git could not merge the file.") from error
    # Above 0 is the number of conflicts: marks of them are no file that anybody wants.
    return done.stdout if done.returncode == 0 else None


def _is_kept(state: FileState) -> bool:
    return state.kind == "file" and state.is_held
