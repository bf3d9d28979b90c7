"""The panel beside the conversation: made when there is first something to show in it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.controllers.preload import Preload
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.controllers.transcript_pages import SessionPages
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.frame.window_state import WindowState
from desktop_agent.gui.kit.plurals import with_plural
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.state.session_state import EVERYTHING, Facet, SessionState


class SidePanelController(QObject):
    """Feeds the panel with the session that is shown, and turns its wishes into commands."""

    def __init__(
        self,
        theme: Theme,
        frame: WindowFrame,
        bridge: Bridge,
        pages: SessionPages,
        known: SessionState,
        flow: SessionController,
        queries: Queries,
        state: WindowState,
    ) -> None:
        super().__init__(frame)
        self._theme = theme
        self._frame = frame
        self._bridge = bridge
        self._pages = pages
        self._known = known
        self._flow = flow
        self._queries = queries
        self._breadcrumb: Any = None
        self._budget: Any = None
        self._is_going_to_ask = False
        self._commands: list[QAction] = []
        self._panel: Any = None
        self._is_asked_for = False
        self._parts: dict[str, Any] = {}
        # Made while the person stops to think, it is there at once for the first task.
        self._preload = Preload(self, (self._make_tasks, self._make_agents, self._make))
        frame.composer.begun.connect(self._preload.start)
        frame.composer.box.changed.connect(self._preload.put_off)
        frame.set_side(has_content=False, is_wanted=state.has_side)
        frame.side_toggled.connect(state.remember_side)
        pages.page_made.connect(lambda view, _: view.command_requested.connect(self._on_command))

    def show_state(self, changed: Facet) -> None:
        """Show what differs of the session and the agent that are shown."""
        known = self._known
        if Facet.SESSION in changed:
            self._is_asked_for = False
        if known.notes(known.shown).is_running:
            self._preload.start()
        if self._panel is not None:
            self._panel.show_state(known, changed)
        elif len(known.agents) > 1 or known.has_tasks:
            self._make()
        places = Facet.SESSION | Facet.SHOWN | Facet.TASKS | Facet.AGENTS
        if self._panel is not None and changed & places:
            self._show()
        if Facet.SHOWN in changed:
            self._show_agent()

    def _show_agent(self) -> None:
        """Say whose transcript is shown, and the way back from it."""
        agent_id = self._known.shown
        if self._panel is not None:
            self._panel.agents.select(agent_id)
        if self._is_going_to_ask:
            self._is_going_to_ask = False
            self._show_card()
        if self._flow.is_at_main and self._breadcrumb is None:
            return
        if self._breadcrumb is None:
            self._make_breadcrumb()
        bar: Any = self._breadcrumb
        bar.show_path(self._known.path_of(agent_id))

    def toggle(self) -> None:
        """Show or hide the panel; an empty one comes with its field for a first task."""
        if self._panel is None or not self._panel.has_content:
            self.add_task()
        else:
            self._frame.toggle_side()

    def add_task(self) -> None:
        """Show the panel and begin to add a task."""
        if self._known.session_id is None:
            return
        self._make()
        self._is_asked_for = True
        self._show(is_wanted=True)
        self._panel.tasks.tasks.focus_add()

    def commands(self) -> list[QAction]:
        """Return what the list of all commands offers for the subagents; anew each time."""
        for action in self._commands:
            action.deleteLater()
        self._commands = []
        if self._panel is not None:
            self._commands = self._panel.agents.palette_actions(self, self._reveal)
        agents = self._known.agents_of(self._flow.current)
        if agents and agents[0].is_in_turn and agents[0].status != "stopping":
            self._commands.append(self._pause_command(agents[0]))
        return self._commands

    def _pause_command(self, main: AgentInfo) -> QAction:
        is_held = main.status == "paused" or main.pace == "pausing"
        words = self.tr("Resume this session") if is_held else self.tr("Pause this session")
        action = QAction(words, self)
        command = self._bridge.engine.resume if is_held else self._bridge.engine.pause
        action.triggered.connect(lambda: command(main.id))
        return action

    def _reveal(self) -> None:
        self._show(is_wanted=True)
        if not self._panel.isVisible():
            self._frame.toggle_side()  # it is a drawer here

    def _make_tasks(self) -> None:
        if self._panel is None:
            from desktop_agent.gui.tasks.tabs import SidePanel  # as below

            self._parts["tasks"] = SidePanel(self._theme)

    def _make_agents(self) -> None:
        if self._panel is None:
            from desktop_agent.gui.agents.panel import AgentPanel  # as below

            self._parts["agents"] = AgentPanel(self._theme)

    def _make(self) -> None:
        if self._panel is not None or self._known.session_id is None:
            return
        # Lists, graph and tree are no part of the first paint.
        from desktop_agent.gui.frame.side_panel import RightPanel

        self._panel = panel = RightPanel(self._theme, self._frame, **self._parts)
        self._frame.add_side(panel)
        panel.filled.connect(lambda _: self._show())
        panel.left.connect(self._frame.composer.focus_text)
        panel.tasks.edited.connect(
            lambda edit: self._flow.tell(self._bridge.engine.edit_tasks, edit)
        )
        panel.tasks.tasks.jump_requested.connect(self._jump)
        panel.tasks.owner_chosen.connect(self._show_owner)
        self._connect_agents(panel.agents)
        panel.show_state(self._known, EVERYTHING)

    def _on_command(self, agent_id: str, wish: str, words: str) -> None:
        """Do what a card of a transcript offers about an agent."""
        engine, agent = self._bridge.engine, AgentId(agent_id)
        match wish:
            case "answer":
                question = self._known.question_of(agent_id)
                if question is not None:
                    engine.answer(question.id, words)
            case "open":
                self._flow.show_agent(agent_id)
            case "more":
                engine.extend_budget(agent)
            case "stop_call":
                self._flow.tell(engine.stop_call, words)
            case "budget":
                self.edit_budget(agent_id)
            case "finish":
                engine.finish(agent)
            case "stop":
                engine.stop(agent)
            case _:
                raise ValueError(f"no card offers {wish!r}")

    def edit_budget(self, agent_id: str = "", anchor: QWidget | None = None) -> None:
        """Let the person set what an agent may use up; the session's main one without a name."""
        agents = self._known.agents_of(self._flow.current)
        wanted = agent_id or (agents[0].id if agents else "")
        info = next((one for one in agents if one.id == wanted), None)
        if info is None:
            return
        if self._budget is None:
            from desktop_agent.gui.agents.budget_form import BudgetForm  # rarely wanted

            self._budget = BudgetForm(self._theme, self._frame)
            self._budget.budget_chosen.connect(self._bridge.engine.set_budget)
            self._budget.price_wanted.connect(self._look_up_price)
        is_main = info.parent_id is None
        name = self.tr("this session") if is_main else plain(info.name)
        self._budget.open_for(info.id, name, info.budget, anchor or self._frame.composer)

    def _connect_agents(self, agents: Any) -> None:
        engine = self._bridge.engine
        agents.opened.connect(self._flow.show_agent)
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
        agents.paused.connect(engine.pause)
        agents.resumed.connect(engine.resume)
        agents.stepped.connect(engine.step)
        agents.stopped.connect(engine.stop)
        agents.finish_requested.connect(engine.finish)
        agents.budget_extended.connect(engine.extend_budget)
        agents.budget_requested.connect(lambda a: self.edit_budget(a, agents.strip))
        queries, asked = self._queries, self._queries.engine
        agents.probe_requested.connect(lambda a: self._show_probe(a, asked.probe(a)))
        agents.aside_requested.connect(lambda a, q: self._show_probe(a, asked.ask_aside(a, q)))
        agents.result_requested.connect(lambda a: queries.ask(self._copy, asked.result_of(a)))

    def _go_to_ask(self, agent_id: str, _: str) -> None:
        """Show who asks; its oldest card gets the focus."""
        if agent_id == self._flow.agent:
            self._show_card()
        else:
            self._is_going_to_ask = True
            self._flow.show_agent(agent_id)

    def review(self) -> None:
        """Go to what waits longest: here, else in the list of the whole tree; then who holds."""
        if self._show_card() or self._panel is None:
            return
        asks, held = self._panel.agents.asks, self._known.held
        if asks.count:
            self._reveal()
            asks.focus_oldest()
        elif held:
            self._go_to_ask(held[0], "")

    def _show_card(self) -> bool:
        page = self._pages.page(self._flow.agent)
        return page is not None and page.focus_oldest_approval()

    def _count_asks(self, count: int) -> None:
        button = self._frame.header.side_button
        button.set_icon("panel-right", "warn" if count else "muted")
        words = self.tr("Tasks and subagents (Ctrl+J)")
        if count:
            words += " · " + self.tr("%n waiting for you", "", count)
        button.setAccessibleName(words)
        button.setToolTip(words)

    def _show_probe(self, agent_id: str, answer: Coroutine[Any, Any, str]) -> None:
        """Show what an agent's record, or its model aside, says."""
        show = self._panel.agents.set_probe_result
        self._queries.ask(lambda text: show(agent_id, text), answer)

    def _look_up_price(self, agent_id: str) -> None:
        unpriced = self._queries.engine.unpriced_model(AgentId(agent_id))
        self._queries.ask(lambda model: self._budget.set_unpriced(agent_id, model), unpriced)

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        words = with_plural(self.tr("Copied: %n character(s)", "", len(text)), len(text))
        self._frame.notices.hint(words)

    def _make_breadcrumb(self) -> None:
        from desktop_agent.gui.agents.breadcrumb import Breadcrumb  # shown with a subagent only

        self._breadcrumb = Breadcrumb(self._theme, self._frame.center)
        self._breadcrumb.chosen.connect(self._flow.show_agent)
        self._frame.add_bar(self._breadcrumb)

    def _show(self, *, is_wanted: bool | None = None) -> None:
        has_content = self._panel.has_content or self._is_asked_for
        self._frame.set_side(has_content=has_content, is_wanted=is_wanted)

    def _show_owner(self, name: str) -> None:
        """Show the newest agent of a name; the session's own agent is called main."""
        main = self._known.main_agent
        if name == "main" and main is not None:
            self._flow.show_agent(main)
            return
        named = [agent.id for agent in self._known.agents if agent.name == name]
        if named:
            self._flow.show_agent(named[-1])

    def _jump(self, call_id: str) -> None:
        page = self._pages.page(self._flow.agent)
        if page is not None and call_id:
            page.show_call(call_id)
