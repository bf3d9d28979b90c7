"""Branches in the window: begun at a message, switched under it, and what becomes of the files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from desktop_agent.core.changes import UndoError, UndoPlan, UndoScope
from desktop_agent.core.events import Event, FilesChanged
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.notes import Note
from desktop_agent.gui.controllers.changes import ChangesController
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.state.branch_draft import BranchDraft

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.view import TranscriptView


class BranchController(Controller):
    """Files are never changed by a branch: they are restored by the undo that is shown first."""

    def __init__(self, parts: WindowParts, changes: ChangesController) -> None:
        super().__init__(parts)
        self._changes = changes
        composer = self._frame.composer
        composer.branch_submitted.connect(self._submit)
        composer.branch.shown.connect(self._ask_files)
        composer.branch.files_requested.connect(self._restore_files)
        self._pages.page_made.connect(self._on_page_made)
        self._session.followed.connect(self._on_followed)

    def _on_page_made(self, view: TranscriptView, agent_id: str) -> None:
        view.branch_requested.connect(self._frame.composer.begin_branch)
        view.again_requested.connect(partial(self._again, AgentId(agent_id)))
        view.branch_chosen.connect(self._switch)

    def _again(self, agent_id: AgentId, message_id: str) -> None:
        self._engine.begin_branch(agent_id, MessageId(message_id))

    def _switch(self, _: str, head: int) -> None:
        self._session.set(self._engine.switch_branch, head)

    def _submit(self, note: Note, draft: BranchDraft) -> None:
        begin = self._engine.begin_branch
        self._session.tell(begin, draft.before, note, is_edit=draft.is_edit)

    # -- files -------------------------------------------------------------------------------

    def _ask_files(self, draft: BranchDraft) -> None:
        session_id = self._session.current
        if session_id is not None:
            scope = UndoScope(session_id, to_message=draft.before)
            self._queries.run(self._look(scope, draft.before), "looking at files")

    async def _look(self, scope: UndoScope, before: MessageId) -> None:
        try:
            plan = await self._queries.changes.plan_undo(scope)
        except UndoError as error:
            words, can_restore = self.tr("Files stay as they are: {why}"), False
            words = words.format(why=str(error))
        else:
            words, can_restore = self._words(plan)
        self._frame.composer.branch.show_files(before, words, can_restore=can_restore)

    def _words(self, plan: UndoPlan) -> tuple[str, bool]:
        """Return what is said of the files, and whether some can be put back."""
        changed = [file for file in plan.files if file.prospect != "already"]
        lost = sum(file.prospect == "lost" for file in changed)
        count = len(changed) - lost
        if plan.not_kept and not changed:
            why = self.tr("what was changed since that message is not kept any more.")
            return self.tr("Files stay as they are: {why}").format(why=why), False
        if not changed:
            return self.tr("Files are as they were before that message."), False
        words = self.tr("Files stay as they are: {n} file(s) changed since that message.")
        said = with_plural(words.format(n=f"{len(changed):,}"), len(changed))
        if lost:
            less = self.tr("{n} of them can’t come back.").format(n=f"{lost:,}")
            said += f" {less}"
        if plan.not_kept:
            said += f" {self.tr('Some of it is not kept any more.')}"
        return said, count > 0

    def _restore_files(self, draft: BranchDraft) -> None:
        session_id = self._session.current
        if session_id is not None:
            self._changes.request(UndoScope(session_id, to_message=draft.before))

    def _on_followed(self, events: tuple[Event, ...], _: object) -> None:
        """Say anew what becomes of the files when some have been changed, or put back."""
        draft = self._frame.composer.branch_draft
        if draft is not None and any(isinstance(event, FilesChanged) for event in events):
            self._ask_files(draft)
