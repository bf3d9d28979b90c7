"""What subagents changed elsewhere: told when it comes, judged, applied when the user agrees."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from desktop_agent.core.changes import Choice, UndoError, UndoPlan, UndoReport
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.gui.controllers.changes import ChangesController
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import plain, with_plural
from desktop_agent.gui.state.session_state import AgentPage

if TYPE_CHECKING:
    from desktop_agent.gui.changes.page import ChangesPage
    from desktop_agent.gui.changes.rows import ChangeRow

_NOTICE, _REVIEW = "results", "review_results"


class ResultsController(Controller):
    """Works on the page of changes, which shows the results."""

    def __init__(self, parts: WindowParts, changes: ChangesController) -> None:
        super().__init__(parts)
        self._changes = changes
        self._page: ChangesPage | None = None
        # Those that were there when their session was shown, or were told since.
        self._seen: dict[SessionId, set[str]] = {}
        self._new_of = ""
        changes.looked.connect(self._on_looked)
        changes.page_made.connect(self._on_page_made)
        self._session.shown.connect(self._on_session)
        self._frame.notices.acted.connect(self._act)

    def review(self, agent_id: str) -> None:
        """Show what a subagent changed elsewhere, and what becomes of it here."""
        self._frame.notices.remove(_NOTICE)
        page = self._changes.open()
        if page is not None:
            page.show_results_of(agent_id)

    def _on_session(self, page: AgentPage) -> None:
        self._frame.notices.remove(_NOTICE)
        if len(page.agents) < 2:  # whatever comes from now on is new
            self._seen.setdefault(page.info.id, set())

    def _on_page_made(self, page: ChangesPage) -> None:
        self._page = page
        page.apply_requested.connect(self._on_apply)

    def _act(self, action: str) -> None:
        if action == _REVIEW:
            self.review(self._new_of)

    # -- what is known -----------------------------------------------------------------------

    def _on_looked(self) -> None:
        session_id = self._known.session_id
        if session_id is None:
            return
        waiting = self._known.changes.waiting
        is_first, seen = session_id not in self._seen, self._seen.setdefault(session_id, set())
        new = [made for made in waiting if made.id not in seen]
        seen.update(made.id for made in waiting)
        if self._changes.is_open:
            self._queries.run(self._judge(session_id), "judging results")
        elif new and not is_first:
            self._tell(new[-1].agent_id, len(new))

    def _tell(self, agent_id: AgentId, count: int) -> None:
        info = self._known.agent(agent_id)
        self._new_of = agent_id
        text = self.tr("{name} has changed files in its copy: review and apply them here.")
        text = text.format(name=with_marks(plain(info.name)) if info is not None else agent_id)
        if count > 1:
            text = self.tr("{n} subagents have changed files in their copies.")
            text = text.format(n=f"{count:,}")
        self._frame.notices.put(_NOTICE, Notice(text, "info", _REVIEW, self.tr("Review")))

    async def _judge(self, session_id: SessionId) -> None:
        try:
            judged = await self._queries.changes.judged_results(session_id)
        except UndoError as error:
            self._say(str(error), "error")
            return
        if self._page is not None and session_id == self._known.session_id:
            self._page.show_judged(judged)

    # -- applying ----------------------------------------------------------------------------

    def _on_apply(self, row: ChangeRow | None) -> None:
        session_id = self._known.session_id
        if session_id is None:
            return
        if row is None:
            self._queries.run(self._apply_fitting(session_id), "applying results")
        else:
            self._queries.run(self._plan(session_id, row), "planning what is applied")

    async def _plan(self, session_id: SessionId, row: ChangeRow) -> None:
        from desktop_agent.gui.changes.undo_dialog import UndoDialog, can_do

        try:
            plan = await self._queries.changes.plan_result(session_id, row.result)
        except UndoError as error:
            self._say(str(error), "error")
            return
        if plan.blocked:
            self._say(plan.blocked, "warn")
        elif not can_do(plan):
            self._say(self.tr("There is nothing to apply: the folder holds all of it."), "info")
        else:
            info = self._known.agent(AgentId(row.agent_id))
            name = info.name if info is not None else row.agent_id
            title = self.tr("Apply what {name} changed?").format(name=name)
            window = self._frame.window()
            dialog = UndoDialog(self._theme, plan, title, window, is_result=True)
            dialog.decided.connect(partial(self._decide, session_id, row.result, plan))
            dialog.open()

    def _decide(
        self, session_id: SessionId, result: str, plan: UndoPlan, choices: Mapping[str, Choice]
    ) -> None:
        self._queries.run(self._apply(session_id, result, plan, choices), "applying a result")

    async def _apply(
        self, session_id: SessionId, result: str, plan: UndoPlan, choices: Mapping[str, Choice]
    ) -> None:
        try:
            report = await self._queries.changes.apply_result(session_id, result, choices, plan)
        except UndoError as error:
            self._say(str(error), "error")
        else:
            self._changes.tell_applied(report, *self._told(report))
        self._changes.look()

    async def _apply_fitting(self, session_id: SessionId) -> None:
        try:
            reports = await self._queries.changes.apply_fitting(session_id)
        except UndoError as error:
            self._say(str(error), "error")
        else:
            count = len(reports)
            text = self.tr("{n} result(s) applied.").format(n=f"{count:,}")
            last = reports[-1] if count == 1 else UndoReport()
            self._changes.tell_applied(last, with_plural(text, count), "info")
        self._changes.look()

    def _told(self, report: UndoReport) -> tuple[str, str]:
        parts = [
            (self.tr("{n} file(s) changed"), len(report.restored)),
            (self.tr("{n} merged"), len(report.merged)),
            (self.tr("{n} left as you have it"), len(report.kept)),
            (self.tr("{n} can’t be applied"), len(report.lost)),
        ]
        said = [with_plural(words.format(n=f"{n:,}"), n) for words, n in parts if n]
        told = ", ".join(said) + "." if said else self.tr("Nothing was changed.")
        if report.problem:
            return f"{report.problem} {told}", "error"
        return told, "info"

    def _say(self, text: str, tone: str) -> None:
        self._changes.tell_applied(UndoReport(), text, tone)
