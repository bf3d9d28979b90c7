"""The panel beside the conversation: made when there is first something to show in it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import CommandRefused, Event
from desktop_agent.core.ids import AgentId, CompactionId
from desktop_agent.core.tasks import TaskEdit
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.kit.preload import Preload
from desktop_agent.gui.kit.text import plain, with_plural
from desktop_agent.gui.state.background_jobs import BackgroundJob
from desktop_agent.gui.state.session_state import EVERYTHING, Facet

if TYPE_CHECKING:
    from desktop_agent.gui.agents.breadcrumb import Breadcrumb
    from desktop_agent.gui.agents.budget_form import BudgetForm
    from desktop_agent.gui.agents.panel import AgentPanel
    from desktop_agent.gui.frame.side_panel import RightPanel
    from desktop_agent.gui.tasks.panel import SidePanel
    from desktop_agent.gui.transcript.view.view import TranscriptView

_WAIT_MS = 700
# From the leaves up, so that each step is short.
MODULES = (
    "tasks.list_view",
    "tasks.panel",
    "tasks.graph_items",
    "agents.actions",
    "agents.tree_view",
    "agents.card",
    "agents.panel",
    "frame.side_panel",
)


class SidePanelController(Controller):
    """Feeds the panel with the session that is shown, and gives the commands it asks for.

    Signals:
        undo_requested(agent_id): what a subagent did to files is to be taken back
        review_requested(agent_id): what it did elsewhere is to be looked at
        job_requested(agent_id, job_id): the terminal of a command in the background
    """

    undo_requested = Signal(str)
    review_requested = Signal(str)
    job_requested = Signal(str, str)

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._breadcrumb: Breadcrumb | None = None
        self._budget: BudgetForm | None = None
        self._is_going_to_ask = False
        self._commands: list[QAction] = []
        self._panel: RightPanel | None = None
        self._tasks: SidePanel | None = None
        self._agents: AgentPanel | None = None
        self._is_asked_for = False
        engine = self._engine
        # What a card or the panel asks for, where its name and the agent are all there is to it.
        self._commands_of_agents: dict[str, Callable[[AgentId], object]] = {
            "open": self._session.show_agent,
            "probe": self._probe,
            "pause": engine.pause,
            "resume": engine.resume,
            "step": engine.step,
            "finish": engine.finish,
            "stop": engine.stop,
            "more": engine.extend_budget,
            "copy": self._copy_result,
            "undo": self.undo_requested.emit,
            "review": self.review_requested.emit,
        }
        # Made while the user stops to think, it is there at once for the first task.
        self._preload = Preload(
            self,
            MODULES,
            (self._make_tasks, self._make_agents, self._make),
            wait_ms=_WAIT_MS,
        )
        self._frame.composer.begun.connect(self._preload.start)
        self._frame.composer.box.changed.connect(self._preload.put_off)
        self._pages.page_made.connect(self._on_page_made)
        self._session.followed.connect(self._on_followed)
        self._frame.approvals.review_requested.connect(self.review)

    def _on_followed(self, events: tuple[Event, ...], changed: Facet) -> None:
        for event in events:
            # What was typed for a subagent and never reached the disk goes back to its field.
            if isinstance(event, CommandRefused) and self._panel is not None:
                self._panel.agents.give_back(event.about)
        if changed:
            self.show_state(changed)

    def show_state(self, changed: Facet) -> None:
        """Show what differs of the session and the agent that are shown."""
        known = self._known
        if Facet.SESSION in changed:
            self._is_asked_for = False
        if known.notes(known.shown).is_running:
            self._preload.start()
        if self._panel is not None:
            self._feed(self._panel, changed)
        elif len(known.agents) > 1 or known.has_tasks:
            self._make()
        places = Facet.SESSION | Facet.SHOWN | Facet.TASKS | Facet.AGENTS
        if self._panel is not None and changed & places:
            self._show()
        if Facet.SHOWN in changed:
            self._show_agent()

    def show_jobs(self, jobs: tuple[BackgroundJob, ...]) -> None:
        """Show the commands of this session that run in the background."""
        if jobs:
            self._make()
        if self._panel is not None:
            self._panel.jobs.show_jobs(jobs)

    def _feed(self, panel: RightPanel, changed: Facet) -> None:
        panel.tasks.show_state(self._known, changed)
        panel.agents.show_state(self._known, changed)
        if changed & (Facet.SESSION | Facet.SHOWN | Facet.TASKS):
            panel.share_soon()

    def _show_agent(self) -> None:
        """Say whose transcript is shown, and the way back from it."""
        agent_id = self._known.shown
        if self._panel is not None and agent_id is not None:
            self._panel.agents.select(agent_id)
        if self._is_going_to_ask:
            self._is_going_to_ask = False
            self._show_card()
        if agent_id is None or (self._session.is_at_main and self._breadcrumb is None):
            return
        bar = self._breadcrumb or self._make_breadcrumb()
        bar.show_path(self._known.path_of(agent_id))

    def toggle(self) -> None:
        """Show or hide the panel; an empty one comes with its field for a first task."""
        if self._panel is None or not self._panel.has_content:
            self.add_task()
        else:
            self._frame.toggle_side()

    def add_task(self) -> None:
        if self._known.session_id is None:
            return
        self._make()
        self._is_asked_for = True
        self._reveal()
        if self._panel is not None:
            self._panel.tasks.tasks.focus_add()

    def commands(self) -> list[QAction]:
        """Return what the list of all commands offers for the subagents; anew each time."""
        for action in self._commands:
            action.deleteLater()
        self._commands = []
        if self._panel is not None:
            self._commands = self._panel.agents.palette_actions(self, self._reveal)
        agents = self._known.agents
        if agents and agents[0].is_in_turn and agents[0].status != "stopping":
            self._commands.append(self._pause_command(agents[0]))
        return self._commands

    def _pause_command(self, main: AgentInfo) -> QAction:
        is_held = main.status == "paused" or main.pace == "pausing"
        text = self.tr("Resume this session") if is_held else self.tr("Pause this session")
        action = QAction(text, self)
        command = self._engine.resume if is_held else self._engine.pause
        action.triggered.connect(lambda: command(main.id))
        return action

    def _reveal(self) -> None:
        self._show(is_wanted=True)
        if self._panel is not None and not self._panel.isVisible():
            self._frame.toggle_side()  # it is a drawer here

    def _make_tasks(self) -> None:
        if self._panel is None:
            from desktop_agent.gui.tasks.panel import SidePanel  # as below

            self._tasks = SidePanel(self._theme)

    def _make_agents(self) -> None:
        if self._panel is None:
            from desktop_agent.gui.agents.panel import AgentPanel  # as below

            self._agents = AgentPanel(self._theme)

    def _make(self) -> None:
        if self._panel is not None or self._known.session_id is None:
            return
        # Lists, graph and tree are no part of the first paint.
        from desktop_agent.gui.frame.side_panel import RightPanel

        self._panel = panel = RightPanel(self._theme, self._frame, self._tasks, self._agents)
        self._frame.add_side(panel)
        panel.filled.connect(self._show)
        panel.jobs.opened.connect(self.job_requested)
        panel.left.connect(self._frame.composer.focus_text)
        panel.tasks.edited.connect(self._edit_tasks)
        panel.tasks.tasks.jump_requested.connect(self._jump)
        panel.tasks.owner_chosen.connect(self._show_owner)
        self._connect_agents(panel.agents)
        self._feed(panel, EVERYTHING)

    def _edit_tasks(self, edit: TaskEdit) -> None:
        self._session.tell(self._engine.edit_tasks, edit)

    def _on_page_made(self, view: TranscriptView) -> None:
        view.command_requested.connect(partial(self._on_command, view))

    def _on_command(self, view: TranscriptView, agent_id: str, command: str, text: str) -> None:
        engine = self._engine
        match command:
            case "answer":
                self._reveal()
                if self._panel is not None:
                    self._panel.agents.answer(agent_id)
            case "undo_compaction":
                self._session.tell(engine.undo_compaction, CompactionId(text))
            case "stop_call" | "allow_outside":
                is_stop = command == "stop_call"
                self._session.tell(engine.stop_call if is_stop else engine.allow_outside, text)
            case "budget":
                self.edit_budget(agent_id, _pressed(view, "budget-budget"))
            case _:
                self._commands_of_agents[command](AgentId(agent_id))

    def edit_budget(self, agent_id: str = "", anchor: QWidget | None = None) -> None:
        """Let the user set what an agent may use up; the session's main one without a name."""
        agents = self._known.agents
        wanted = agent_id or (agents[0].id if agents else "")
        info = next((one for one in agents if one.id == wanted), None)
        if info is None:
            return
        if self._budget is None:
            from desktop_agent.gui.agents.budget_form import BudgetForm  # rarely wanted

            self._budget = form = BudgetForm(self._theme, self._frame)
            form.budget_chosen.connect(self._engine.set_budget)
            form.price_wanted.connect(partial(self._look_up_price, form))
        is_main = info.parent_id is None
        name = self.tr("this session") if is_main else plain(info.name)
        self._budget.open_for(info.id, name, info.budget, anchor or self._frame.composer)

    def _on_panel_command(self, agents: AgentPanel, agent_id: str, command: str) -> None:
        if command == "budget":
            self.edit_budget(agent_id, agents.strip.button("budget"))
        else:
            self._commands_of_agents[command](AgentId(agent_id))

    def _connect_agents(self, agents: AgentPanel) -> None:
        engine = self._engine
        agents.opened.connect(self._session.show_agent)
        agents.asks.ask_chosen.connect(self._go_to_ask)
        agents.asks.count_changed.connect(self._count_asks)
        agents.steered.connect(engine.send)
        agents.note_edited.connect(engine.edit_note)
        agents.note_withdrawn.connect(engine.withdraw_note)
        # A note that came back stands on the card and over the message box.
        agents.notes_forgotten.connect(lambda: self._frame.composer.show_state(self._known))
        self._frame.composer.note_withdrawn.connect(agents.show_card)
        agents.answered.connect(engine.answer)
        agents.asks.decided.connect(engine.decide)
        agents.command_requested.connect(partial(self._on_panel_command, agents))
        agents.aside_requested.connect(self._ask_aside)

    def _go_to_ask(self, agent_id: str) -> None:
        """Show who asks; its oldest card gets the focus."""
        if agent_id == self._session.agent:
            self._show_card()
        else:
            self._is_going_to_ask = True
            self._session.show_agent(agent_id)

    def review(self) -> None:
        """Go to what waits longest: here, else in the list of the whole tree; then who holds."""
        waiting, held, shown = self._known.waiting(), self._known.held, self._session.agent
        # The card of a subagent's question only leads to the list.
        is_elsewhere = bool(waiting) and all(one.agent_id != shown for one in waiting)
        if (not is_elsewhere or shown in held) and self._show_card():
            return
        if self._panel is None:
            return
        if waiting:
            self._reveal()
            self._panel.agents.asks.focus_oldest()
        elif held:
            self._go_to_ask(held[0])

    def _show_card(self) -> bool:
        page = self._pages.page(self._session.agent)
        return page is not None and page.focus_oldest_approval()

    def _count_asks(self, count: int) -> None:
        button = self._frame.header.side_button
        button.set_icon("panel-right", "warn" if count else "muted")
        text = self.tr("Tasks and subagents (Ctrl+J)")
        if count:
            text += " · " + self.tr("%n waiting for you", "", count)
        button.setAccessibleName(text)
        button.setToolTip(text)

    def _probe(self, agent_id: AgentId) -> None:
        self._show_answer(agent_id, self._queries.engine.probe(agent_id))

    def _ask_aside(self, agent_id: str, question: str) -> None:
        answer = self._queries.engine.ask_aside(AgentId(agent_id), question)
        self._show_answer(agent_id, answer)

    def _show_answer(self, agent_id: str, answer: Coroutine[Any, Any, str]) -> None:
        """Show what an agent's record, or its model beside its work, says."""

        def show(text: str) -> None:
            if self._panel is not None:
                self._panel.agents.set_probe_result(agent_id, text)

        self._queries.ask(show, answer)

    def _copy_result(self, agent_id: AgentId) -> None:
        self._queries.ask(self._copy, self._queries.engine.result_of(agent_id))

    def _look_up_price(self, form: BudgetForm, agent_id: str) -> None:
        unpriced = self._queries.engine.unpriced_model(AgentId(agent_id))
        self._queries.ask(lambda model: form.set_unpriced(agent_id, model), unpriced)

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        copied = with_plural(self.tr("Copied: %n character(s)", "", len(text)), len(text))
        self._frame.notices.hint(copied)

    def _make_breadcrumb(self) -> Breadcrumb:
        from desktop_agent.gui.agents.breadcrumb import Breadcrumb  # shown with a subagent only

        self._breadcrumb = bar = Breadcrumb(self._theme, self._frame.center)
        bar.chosen.connect(self._session.show_agent)
        self._frame.add_bar(bar)
        return bar

    def _show(self, *, is_wanted: bool | None = None) -> None:
        has_content = self._panel is not None and self._panel.has_content
        has_content |= self._is_asked_for
        self._frame.set_side(has_content=has_content, is_wanted=is_wanted)

    def _show_owner(self, name: str) -> None:
        """Show the newest agent of a name; the session's own agent is called main."""
        main = self._known.main_agent
        if name == "main" and main is not None:
            self._session.show_agent(main)
            return
        named = [agent.id for agent in self._known.agents if agent.name == name]
        if named:
            self._session.show_agent(named[-1])

    def _jump(self, call_id: str) -> None:
        page = self._pages.page(self._session.agent)
        if page is not None and call_id:
            page.show_call(call_id)


def _pressed(view: QWidget, name: str) -> QWidget | None:
    """Return the button of this name that was pressed just now, for what opens at it."""
    shown = [one for one in view.findChildren(QWidget, name) if one.isVisible()]
    return next((one for one in shown if one.underMouse() or one.hasFocus()), None)
