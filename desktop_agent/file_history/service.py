"""What the app may ask of the history of files: one method for each request."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    FarFile,
    SessionChanges,
    UndoError,
    UndoPlan,
    UndoReport,
    UndoScope,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.core.pipes.file_capture import CallBegun, Captured
from desktop_agent.engine.workspace.diffs import file_diff
from desktop_agent.file_history.capture import Capture
from desktop_agent.file_history.history import History

# Of a patch of a whole session, in characters.
_LONGEST_PATCH = 20_000_000


class Service:
    """Answers requests, one after the other. Methods raise UndoError, in words for a person.

    `folder` is where the history is kept, in the app's data folder, which is not looked into. Who
    `is_patient` waits a while for another process that has it.
    """

    def __init__(self, folder: Path, *, is_patient: bool = True) -> None:
        self._history = History(folder, is_patient=is_patient)
        self._recovered = self._history.recover()
        self.capture = Capture(self._history, (folder, folder.parent))
        self._methods: dict[str, Callable[..., Any]] = {
            "watch": self.capture.watch,
            "first_look": self.capture.first_look,
            "begin": self._begin,
            "end": self.capture.end,
            "held": self.capture.held,
            "recovered": self._take_recovered,
            "changes": self._changes,
            "diff": self._diff,
            "patch": self._patch,
            "plan": self._plan,
            "undo": self._undo,
            "keep_result": self._keep_result,
            "judged_results": self._history.judged_results,
            "plan_result": self._plan_result,
            "apply_result": self._apply_result,
            "usage": self._history.usage,
            "empty": self._empty,
            "forget_session": self._history.forget_session,
        }

    def answer(self, method: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out one request; raises UndoError, or whatever a defect raises."""
        return self._methods[method](**arguments)

    def collect(self) -> None:
        """Delete what is too old or over the limits."""
        self._history.collect(time.time())

    def close(self) -> None:
        """Record what runs now, as nobody will say how it ended, and let go of the files."""
        try:
            self.capture.end_all()
        finally:
            self._history.close()

    def _begin(self, begun: Any) -> Captured:
        return self.capture.begin(msgspec.convert(begun, CallBegun))

    def _take_recovered(self, begun: str) -> tuple[UndoReport, ...]:
        """Return what was finished at the start, and the undo `begun` if it is recorded."""
        recovered, self._recovered = self._recovered, ()
        if begun and all(one.set_id != begun for one in recovered):
            recovered += self._history.reports(begun)
        return recovered

    def _changes(self, session_id: SessionId, root: str) -> SessionChanges:
        found = self._history.changes(session_id, root)
        return msgspec.structs.replace(found, stopped=found.stopped or self.capture.stopped)

    def _diff(self, scope: Any, *, is_since: bool = False) -> DiffDisplay:
        wanted = msgspec.convert(scope, UndoScope)
        before, after = self._history.contents(wanted, is_since=is_since)
        if wanted.was and before == after:
            return DiffDisplay(wanted.path, "[Renamed. What is in it stays.]", 0, 0)
        return file_diff(wanted.path, before, after)

    def _patch(self, session_id: SessionId, root: str) -> str:
        """Return one patch of all that a session changed; what is no text is left out."""
        patches: list[str] = []
        room = _LONGEST_PATCH
        files = [one.file for one in self._history.changes(session_id, root).files]
        # To a program that applies patches, a renamed file is deleted and made anew.
        for path in (path for file in files for path in (file.was, file.path) if path):
            try:
                scope = UndoScope(session_id, path=path)
                patch = file_diff(path, *self._history.contents(scope)).patch
            except UndoError:
                continue
            if patch.startswith("--- ") and len(patch) <= room:
                patches.append(patch)
                room -= len(patch)
        return "".join(patches)

    def _plan(self, scope: Any, root: str) -> UndoPlan:
        plan = self._history.plan(msgspec.convert(scope, UndoScope))
        return self._unless_blocked(plan, root, "Undo")

    def _plan_result(self, scope: Any, root: str) -> UndoPlan:
        plan = self._history.plan_result(msgspec.convert(scope, UndoScope))
        return self._unless_blocked(plan, root, "Apply it")

    def _undo(self, **given: Any) -> UndoReport:
        return self._carry_out(self._history.undo, "Undo", **given)

    def _apply_result(self, **given: Any) -> UndoReport:
        return self._carry_out(self._history.apply_result, "Apply it", **given)

    def _carry_out(
        self,
        do: Callable[..., UndoReport],
        words: str,
        *,
        scope: Any,
        choices: Mapping[str, Choice],
        meta: Any,
        plan: Any,
        root: str,
    ) -> UndoReport:
        if blocked := self._blocked(root, words):
            raise UndoError(blocked)
        wanted = msgspec.convert(scope, UndoScope)
        shown = msgspec.convert(plan, UndoPlan | None)
        self.capture.before_undo(wanted.session_id, root)
        try:
            return do(wanted, choices, msgspec.convert(meta, ChangeSet), shown)
        finally:
            # What was done is told, also where the disk had no room for another look at it.
            with contextlib.suppress(UndoError):
                self.capture.after_undo()

    def _keep_result(self, meta: Any, session_id: SessionId, root: str, files: Any) -> ChangeSet:
        """Keep what was done in a copy; what does not fit into memory was not sent."""
        made, sent = msgspec.convert((meta, files), tuple[ChangeSet, tuple[FarFile, ...]])
        return self._history.keep_result(made, session_id, root, sent)

    def _unless_blocked(self, plan: UndoPlan, root: str, words: str) -> UndoPlan:
        return msgspec.structs.replace(plan, blocked=plan.blocked or self._blocked(root, words))

    def _blocked(self, root: str, words: str) -> str:
        name = self.capture.running_in(root)
        return f"{name} is running in this folder. {words} when it has ended." if name else ""

    def _empty(self, folder: str) -> None:
        self._history.empty(folder)
        self.capture.forget_folders()
