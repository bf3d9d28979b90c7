"""The engine's commands about what agents changed in files."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    FolderLook,
    JudgedResult,
    SessionChanges,
    UndoError,
    UndoPlan,
    UndoReport,
    UndoScope,
    UndoUsage,
)
from desktop_agent.core.events import EngineFailed
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_change_set_id, new_note_id
from desktop_agent.core.messages import Display
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import AppNotice, FilesUndone
from desktop_agent.core.prose.markdown import listed
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.base.ports import FileHistory, Store, StoreError
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions.protected_files import is_protected
from desktop_agent.engine.sessions.registry import Sessions
from desktop_agent.engine.undo.kept_calls import KeptCalls
from desktop_agent.engine.undo.not_kept import is_of, not_kept

_log = logging.getLogger(__name__)

_NONE = "What agents change in files is not kept here."
_NOTHING = "Nothing was changed since that message."
_NOT_KEPT = "What was changed since that message is not kept any more."
_NAMED = 50


class ChangeCommands(EnginePart):
    """A part of the Engine. Without `_history` nothing is kept. All of it raises UndoError."""

    _history: FileHistory | None
    _kept: KeptCalls
    _sessions: Sessions
    _store: Store

    async def session_changes(self, session_id: SessionId) -> SessionChanges:
        """Return all that a session changed."""
        changes = await self._keeper().changes(session_id, self._root(session_id))
        if changes.sets:
            return changes
        return msgspec.structs.replace(changes, not_kept=len(self._not_kept(session_id, ())))

    async def change_diff(self, scope: UndoScope, *, is_since: bool = False) -> Display:
        """Return how a scope changed its path, or with `is_since` how that was changed since.

        As a DiffDisplay.
        """
        return await self._keeper().diff(scope, is_since=is_since)

    async def patch(self, session_id: SessionId) -> str:
        """Return all that a session changed as one patch."""
        return await self._keeper().patch(session_id, self._root(session_id))

    async def plan_undo(self, scope: UndoScope) -> UndoPlan:
        """Return what an undo would do now."""
        keeper, root = self._keeper(), self._root(scope.session_id)
        wanted = await self._with_known_message(keeper, scope, root)
        plan = UndoPlan(scope) if wanted is None else await keeper.plan(wanted, root)
        gone = await self._not_kept_of(keeper, scope, root)
        return msgspec.structs.replace(plan, scope=scope, not_kept=gone)

    async def undo(
        self, scope: UndoScope, choices: Mapping[str, Choice], shown: UndoPlan | None = None
    ) -> UndoReport:
        """Take a scope back; what changed since goes by `choices`, and is kept without one.

        The agents that had changed it are told once. Refused while a command runs there, and
        when it would do something else than the plan that was `shown`.
        """
        keeper, root = self._keeper(), self._root(scope.session_id)
        wanted = await self._with_known_message(keeper, scope, root)
        if wanted is None:
            gone = await self._not_kept_of(keeper, scope, root)
            raise UndoError(_NOT_KEPT if gone else _NOTHING)
        session = self._sessions.session(scope.session_id)
        now = time.time()
        agent = session.info.main_agent
        meta = ChangeSet(new_change_set_id(), "undo", agent, began=now, ended=now)
        try:
            report = await keeper.undo(wanted, choices, meta, shown, root)
        except UndoError:
            if keeper.is_unfinished:  # who did it has ended in the middle
                self._kept.spawn(self._recovered(keeper))
            raise
        await self._told_of(keeper, report)
        keeper.settled()
        return report

    async def _applied(
        self,
        session_id: SessionId,
        result: str,
        choices: Mapping[str, Choice],
        shown: UndoPlan | None,
    ) -> UndoReport:
        keeper, root = self._keeper(), self._root(session_id)
        known = (await keeper.changes(session_id, root)).results
        made = next((one.made for one in known if one.made.id == result), None)
        if made is None:
            raise UndoError("That result is not kept any more.")
        now, about = time.time(), (made.agent_id, "", made.message_id)
        meta = ChangeSet(new_change_set_id(), "tool", *about, began=now, ended=now)
        scope = UndoScope(session_id, set_id=result)
        try:
            report = await keeper.apply_result(scope, choices, meta, shown, root)
        except UndoError:
            if keeper.is_unfinished:
                self._kept.spawn(self._recovered(keeper))
            raise
        if report.made is not None:
            self._kept.tell(session_id, report.made)
        keeper.settled()
        return report

    async def _told_of(self, keeper: FileHistory, report: UndoReport) -> None:
        """Tell the window what an undo changed, and the agents whose changes it took back."""
        made, session_id = report.made, report.session_id
        if made is None or session_id is None:
            return
        self._kept.tell(session_id, made)
        if made.result:
            self._tell_of_results((report,))
            return
        try:
            session = self._sessions.session(session_id)
            changes = await keeper.changes(session_id, self._root(session_id))
        except (KeyError, UndoError) as error:  # the session is gone, or the files are back
            _log.warning("agents were not told of an undo: %s", error)
            return
        self._tell_of_undo(session, report, made, changes)

    async def judged_results(self, session_id: SessionId) -> tuple[JudgedResult, ...]:
        """Return what applying each result that waits would do now, one after the other."""
        found = await self._keeper().judged_results(session_id, self._root(session_id))
        return tuple(msgspec.structs.replace(one, guarded=_guarded(one)) for one in found)

    async def plan_result(self, session_id: SessionId, result: str) -> UndoPlan:
        """Return what applying what a subagent changed elsewhere would do now."""
        scope = UndoScope(session_id, set_id=result)
        return await self._keeper().plan_result(scope, self._root(session_id))

    async def apply_result(
        self,
        session_id: SessionId,
        result: str,
        choices: Mapping[str, Choice],
        shown: UndoPlan | None = None,
    ) -> UndoReport:
        """Do here what a subagent changed elsewhere, as a change of its own; else as `undo`."""
        report = await self._applied(session_id, result, choices, shown)
        self._tell_of_results((report,))
        return report

    async def apply_fitting(self, session_id: SessionId) -> tuple[UndoReport, ...]:
        """Apply each result that `is_plain`, in the order in which they came."""
        reports: list[UndoReport] = []
        try:
            for one in await self.judged_results(session_id):
                plan = await self.plan_result(session_id, one.id) if one.is_plain else None
                if plan is not None and plan.blocked:
                    raise UndoError(plan.blocked)
                if plan is not None and JudgedResult(one.id, plan.files).fits:
                    choices: dict[str, Choice] = {file.path: "merge" for file in plan.files}
                    reports.append(await self._applied(session_id, one.id, choices, plan))
        finally:
            self._tell_of_results(reports)
        return tuple(reports)

    async def undo_usage(self) -> tuple[UndoUsage, ...]:
        """Return what is kept for each folder."""
        return await self._keeper().usage()

    async def empty_undo(self, folder: str) -> None:
        """Forget all that is kept for a folder, or for all of them if it is empty."""
        await self._keeper().empty(folder)

    async def first_look(self, session_id: SessionId) -> FolderLook:
        """Return how far the first look at a session's folder is."""
        return await self._keeper().first_look(self._root(session_id))

    async def stop_first_look(self, session_id: SessionId) -> FolderLook:
        """Leave what the first look has not read yet without a way back; return how far it was."""
        return await self._keeper().first_look(self._root(session_id), is_stopped=True)

    # -- inside --------------------------------------------------------------------------

    def _new_kept(self, history: FileHistory | None) -> KeptCalls:
        self._history = history
        return KeptCalls(
            history, self._last_message, lambda id_: self._sessions.session(id_), self._emit
        )

    def _last_message(self, session: Session) -> MessageId | None:
        messages = self._sessions.agent(session.info.main_agent).user_messages
        return messages[-1] if messages else None

    def _recover_files(self) -> None:
        """Finish an undo that was cut off when the app last ended."""
        if self._history is not None and self._history.is_unfinished:
            self._kept.spawn(self._recovered(self._history))

    async def _recovered(self, keeper: FileHistory) -> None:
        try:
            reports = await keeper.recovered()
        except UndoError as error:
            self._emit(EngineFailed("undo", f"An undo that was cut off is not finished: {error}"))
            return
        for report in reports:
            await self._told_of(keeper, report)
            count = report.made.count if report.made is not None else 0
            files = "1 file was" if count == 1 else f"{count:,} files were"
            is_result = report.made is not None and bool(report.made.result)
            what, did = ("A result", "changed") if is_result else ("An undo", "put back")
            lost = f" Left as they are: {listed(report.kept, _NAMED)}." if report.kept else ""
            words = f"{what} that was cut off is finished: {files} {did}.{lost}"
            self._emit(EngineFailed("undo", words))
        keeper.settled()

    def _forget_changes(self, session_id: SessionId) -> None:
        if self._history is not None:
            self._kept.spawn(self._forgotten(self._history, session_id))

    async def _forgotten(self, keeper: FileHistory, session_id: SessionId) -> None:
        try:
            await keeper.forget_session(session_id)
        except UndoError as error:
            words = f"What the session changed is still kept for an undo: {error}"
            self._emit(EngineFailed("undo", words))

    async def close_changes(self) -> None:
        """Wait until all that ended is recorded, and let go of the history."""
        await self._kept.close()
        if self._history is not None:
            await self._history.close()

    def _keeper(self) -> FileHistory:
        self._check_thread()
        if self._history is None:
            raise UndoError(_NONE)
        return self._history

    def _root(self, session_id: SessionId) -> str:
        try:
            return os.path.realpath(self._sessions.session(session_id).info.workspace.root)
        except KeyError:
            raise UndoError(f"There is no session {session_id}.") from None

    async def _with_known_message(
        self, keeper: FileHistory, scope: UndoScope, root: str
    ) -> UndoScope | None:
        """Return a scope that goes back to a message after which something was changed.

        None where nothing was.
        """
        if scope.to_message is None:
            return scope
        sets = (await keeper.changes(scope.session_id, root)).sets
        is_since = self._since(scope.session_id, scope.to_message)
        first = next((one.message_id for one in sets if is_since(one)), None)
        return None if first is None else msgspec.structs.replace(scope, to_message=first)

    def _since(self, session_id: SessionId, message: MessageId) -> Callable[[ChangeSet], bool]:
        """Return what tells whether something was changed since a message."""
        agent = self._sessions.agent(self._sessions.session(session_id).info.main_agent)
        messages = agent.user_messages
        if message not in messages:
            raise UndoError("There is no such message in this session.")
        at = messages.index(message)
        before, since = messages[:at], messages[at:]
        sent = next(one.created_at for one in agent.history if one.id == message)

        # What was changed since then for a message on another branch counts as well. What the
        # messages before it changed does not, whatever the clock said then.
        def is_since(one: ChangeSet) -> bool:
            is_known = one.message_id is not None and one.message_id not in before
            return is_known and (one.message_id in since or one.began > sent)

        return is_since

    async def _not_kept_of(self, keeper: FileHistory, scope: UndoScope, root: str) -> int:
        """Return how many change sets of a scope are not kept any more."""
        kept = (await keeper.changes(scope.session_id, root)).sets
        gone = self._not_kept(scope.session_id, kept)
        if scope.to_message is None:
            return sum(map(is_of(scope), gone))
        return sum(map(self._since(scope.session_id, scope.to_message), gone))

    def _not_kept(self, session_id: SessionId, kept: Sequence[ChangeSet]) -> list[ChangeSet]:
        with contextlib.suppress(StoreError, LookupError):  # then nothing is said of it
            return not_kept(self._store.told_changes(session_id), kept)
        return []

    def _tell_of_undo(
        self, session: Session, report: UndoReport, made: ChangeSet, changes: SessionChanges
    ) -> None:
        text = _note_text(report, is_redo=_is_redo(made, changes))
        told: set[AgentId] = set()
        for agent_id in _authors(made.undoes, changes):
            agent = self._sessions.agent(agent_id)
            if agent.end is not None:
                agent = self._sessions.agent(session.info.main_agent)
            if agent.id not in told:
                told.add(agent.id)
                self._leave_note(agent.id, text, FilesUndone())

    def _tell_of_results(self, reports: Sequence[UndoReport]) -> None:
        """Tell whoever was reported to that the user has applied what was done elsewhere."""
        changed: dict[AgentId, list[UndoReport]] = {}
        for report in reports:
            if report.made is not None:
                changed.setdefault(self._reported_to(report.made.agent_id), []).append(report)
        for agent_id, applied in changed.items():
            self._leave_note(agent_id, _applied_text(applied), AppNotice())

    def _reported_to(self, agent_id: AgentId) -> AgentId:
        """Return the nearest agent above that is there still."""
        agent = self._sessions.agent(agent_id)
        while agent.spec_parent is not None:
            agent = self._sessions.agent(agent.spec_parent)
            if agent.end is None:
                break
        return agent.id

    def _leave_note(self, agent_id: AgentId, text: str, origin: FilesUndone | AppNotice) -> None:
        note = Note(new_note_id(), text, "notice", sender="app", origin=origin)
        try:
            inbox = self._sessions.agent(agent_id).inbox
            inbox.put(msgspec.structs.replace(note, created_at=time.time()))
        except StoreError as error:  # the disk says so elsewhere; the files are as they were told
            _log.warning("an agent was not told of changed files: %s", error)


def _authors(undone: Iterable[str], changes: SessionChanges) -> list[AgentId]:
    """Return whose changes these sets hold, also where they are undos themselves."""
    by_id = {one.id: one for one in changes.sets}
    authors: dict[AgentId, None] = {}
    waiting, seen = list(undone), set[str]()
    while waiting:
        one = by_id.get(waiting.pop())
        if one is None or one.id in seen:
            continue
        seen.add(one.id)
        if one.kind == "undo":
            waiting.extend(one.undoes)
        elif one.agent_id:
            authors[one.agent_id] = None
    return list(authors)


def _is_redo(made: ChangeSet, changes: SessionChanges) -> bool:
    undos = {one.id for one in changes.sets if one.kind == "undo"}
    return bool(made.undoes) and all(one in undos for one in made.undoes)


def _note_text(report: UndoReport, *, is_redo: bool) -> str:
    names = [f"{one.was} → {one.path}" if one.was else one.path for one in report.restored]
    names += report.merged
    what = "redone changes to files that were undone" if is_redo else "undone changes to files"
    text = f"The user has {what}: {listed(names, _NAMED)}. Read a file again before you change it."
    if report.kept:
        text += f" Left as they are: {listed(report.kept, _NAMED)}."
    return text


def _applied_text(reports: Sequence[UndoReport]) -> str:
    files = (file.path for report in reports for file in report.restored)
    names = dict.fromkeys((*files, *(path for report in reports for path in report.merged)))
    text = f"The user has applied changes of subagents elsewhere: {listed(tuple(names), _NAMED)}. "
    return f"{text}Read a file again before you change it."


def _guarded(result: JudgedResult) -> tuple[str, ...]:
    changed = (file for file in result.files if file.prospect != "already")
    return tuple(file.path for file in changed if is_protected(file.path))
