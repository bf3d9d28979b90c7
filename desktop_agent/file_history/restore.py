"""Carrying an undo out: from what is expected at each path to what is to be there.

The steps are on disk before the first of them is done, and each leaves a path as it was or as it
is to be. So they can be done again after a crash: what is done is found to be, what is as expected
is done, and anything else was changed by somebody and stays.

Files are written beside those they replace, a batch of them is flushed to the disk at once, and
then each gets its name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

import msgspec

from desktop_agent.core.changes import FileState, UndoError
from desktop_agent.engine.workspace.attributes import notes_on, put_notes
from desktop_agent.file_history import disk

_USABLE = 0o300
_OPEN = 0o700
# Of a batch: what it takes of open files, two for each, and for a moment of the disk.
_MOST_FILES = 128 if sys.platform == "linux" else 64
_MOST_BYTES = 64 << 20
_FULL = "The disk is full, so not all of it could be put back. Free some space and try again."
_HELD = (
    "Not all of it could be put back: another program has it open, or it may not be changed. "
    "Close that and try again."
)
Content = Callable[[str], Iterator[bytes]]


class Step(msgspec.Struct, frozen=True):
    """One path: what has to be there, and what is to be."""

    path: bytes
    expected: FileState
    target: FileState


class _Staged(msgspec.Struct, frozen=True):
    """A temporary file that is to replace what is `now` at the path of a step."""

    step: Step
    now: FileState
    file: disk.Staged


class _Written(msgspec.Struct, frozen=True):
    """When a file was written, and what programs wrote about it."""

    at_ns: int
    notes: dict[str, bytes]


class Restore:
    """Does steps. `token` names the temporary files, `content` reads what is kept, by digest."""

    def __init__(self, steps: Sequence[Step], token: str, content: Content) -> None:
        self._steps = sorted(steps, key=lambda step: step.path)
        self._token = token
        self._content = content
        self._done: set[bytes] = set()
        self._staged: list[_Staged] = []
        self._written: dict[str, list[_Written]] = {}
        # Why something could not be done, in words, if somebody can do something about it.
        self.problem = ""

    def run(self) -> set[bytes]:
        """Do all steps that can be done; returns the paths which are now as they are to be."""
        deepest_first = self._steps[::-1]
        self._written = self._written_about_renamed()
        self._each(self._open_folder, self._steps)
        self._each(self._remove, deepest_first)
        self._each(self._make_folder, self._steps)
        try:
            self._each(self._put, self._steps)
        finally:
            self._put_staged()
        self._each(self._close_folder, deepest_first)
        disk.flush_folders({os.path.dirname(path): path for path in self._done}.values())  # noqa: PTH120
        return self._done

    def clean(self) -> None:
        """Remove the temporary files that a killed process left."""
        for step in {os.path.dirname(s.path): s for s in self._steps}.values():  # noqa: PTH120
            disk.remove_temporaries(step.path, self._token)

    def _each(self, do: Callable[[Step], bool], steps: Iterable[Step]) -> None:
        for step in steps:
            with self._trying():
                if do(step):
                    self._done.add(step.path)

    @contextlib.contextmanager
    def _trying(self) -> Generator[None]:
        """What can't be done stays as it is; why is remembered, if there is help."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self.problem = _FULL
            elif isinstance(error, PermissionError) and not self.problem:
                self.problem = _HELD
        except (UndoError, disk.Changed):
            pass

    def _written_about_renamed(self) -> dict[str, list[_Written]]:
        """Return by content what is known of files that come back under names not in use now."""
        coming = {
            step.target.digest
            for step in self._steps
            if step.target.kind == "file" and step.expected.kind == "absent"
        }
        found: dict[str, list[_Written]] = {}
        for step in reversed(self._steps):
            digest = step.expected.digest
            if step.target.kind == "absent" and step.expected.kind == "file" and digest in coming:
                with contextlib.suppress(OSError):
                    written = disk.status_of(step.path).st_mtime_ns
                    known = _Written(written, notes_on(step.path))
                    found.setdefault(digest, []).append(known)
        return found

    # -- the passes over the steps; each tells whether the path is as it is to be

    def _open_folder(self, step: Step) -> bool:
        """Let things be changed in folders that forbid it, and will not or will be gone."""
        if step.expected.kind != "folder" or not self._may_begin(step):
            return False
        if step.target.kind != "folder":
            if step.expected.mode & _USABLE != _USABLE:
                disk.set_mode(step.path, step.expected.mode | _OPEN)
            return False
        if step.target.mode & _USABLE == _USABLE:
            disk.set_mode(step.path, step.target.mode)
            return True
        return False

    def _remove(self, step: Step) -> bool:
        if step.target.kind != "absent":
            return False
        now = disk.state_of(step.path)
        if now.kind == "absent":
            return True
        if not _is_begun(step, now):
            return False
        disk.remove(step.path, now)
        return True

    def _make_folder(self, step: Step) -> bool:
        if step.target.kind != "folder" or step.expected.kind == "folder":
            return False
        now = disk.state_of(step.path)
        if now.kind != "folder" and _is_begun(step, now):
            disk.put_folder(step.path, now, self._next_name())
        return False

    def _put(self, step: Step) -> bool:
        target = step.target
        if target.kind not in {"file", "link"}:
            return False
        now = disk.state_of(step.path)
        if disk.same(now, target):
            return True
        if not _is_begun(step, now):
            return False
        if target.kind == "link":
            link = b"".join(self._content(target.digest))
            disk.put_link(step.path, now, link, self._next_name())
        elif now.kind == "file" and now.digest == target.digest:
            disk.set_mode(step.path, target.mode)
        else:
            self._stage(step, now)
            return False
        return True

    def _stage(self, step: Step, now: FileState) -> None:
        if self._is_full(step.target.size):
            self._put_staged()
        try:
            self._write(step, now)
        except OSError:
            if not self._staged:
                raise
            self._put_staged()  # which makes room on a full disk
            self._write(step, now)

    def _is_full(self, more: int) -> bool:
        size = sum(staged.step.target.size for staged in self._staged)
        return len(self._staged) >= _MOST_FILES or size + more > _MOST_BYTES

    def _write(self, step: Step, now: FileState) -> None:
        name = self._next_name()
        content = self._content(step.target.digest)
        file = disk.stage_file(step.path, step.target.mode, content, name)
        written = self._written.get(step.target.digest)
        if written and now.kind == "absent":
            known = written.pop()
            put_notes(file.descriptor, known.notes)
            file = file._replace(written_ns=known.at_ns)
        self._staged.append(_Staged(step, now, file))

    def _next_name(self) -> bytes:
        return disk.temporary_name(self._token, len(self._staged))

    def _put_staged(self) -> None:
        """Flush all that is staged, then put each file in its place."""
        staged, self._staged = self._staged, []
        failed = disk.flush([one.file.descriptor for one in staged])
        for one in staged:
            with self._trying():
                if one.file.descriptor in failed:
                    disk.put_staged(one.file, None)
                    continue
                disk.put_staged(one.file, one.now)
                self._done.add(one.step.path)

    def _close_folder(self, step: Step) -> bool:
        """Give folders their modes once nothing is changed in them any more."""
        if step.path in self._done:
            return False
        now = disk.state_of(step.path)
        if step.target.kind != "folder":
            if now.kind == "folder" and _is_begun(step, now):  # it could not be removed
                disk.set_mode(step.path, step.expected.mode)
            return False
        if disk.same(now, step.target):
            return True
        if now.kind != "folder" or not (step.expected.kind != "folder" or _is_begun(step, now)):
            return False
        disk.set_mode(step.path, step.target.mode)
        return True

    def _may_begin(self, step: Step) -> bool:
        return _is_begun(step, disk.state_of(step.path))


def _is_begun(step: Step, now: FileState) -> bool:
    """Whether a path is as expected, or as this undo left it half way."""
    if disk.same(now, step.expected):
        return True
    kinds = {step.expected.kind, step.target.kind}
    if now.kind == "absent":
        return "folder" in kinds and "absent" not in kinds
    return now.kind == step.expected.kind == "folder" and now.mode == step.expected.mode | _OPEN
