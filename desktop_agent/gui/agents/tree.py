"""The section “Subagents”: how many work, and the tree of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent, QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.agents.finished_line import FinishedLine, finished
from desktop_agent.gui.agents.rows import (
    AgentRow,
    AgentRowBuilder,
    matching,
    same_states,
    tokens_text,
)
from desktop_agent.gui.agents.tree_view import AgentTreeView, changed_roles
from desktop_agent.gui.kit.lists.list_model import text_roles
from desktop_agent.gui.kit.lists.tree_model import SnapshotTreeModel
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    TextLabel,
    column,
    named,
    row,
    single_timer,
    ticker,
)

# Ten updates a second are enough to follow anything.
_COALESCE_MS = 100
_SECOND_MS = 1_000
FILTER_ABOVE = 50
# In a low window the rest is scrolled.
_LEAST_ROWS = 2


class AgentTree(QWidget):
    """What is done with a row are signals of the `view` and of its `actions_of_row`.

    Signals:
        selected(agent_id): another row is the current one; empty for none
        filled(is_filled): whether there is any subagent
        shown: the rows were brought up to date
    """

    selected = Signal(str)
    filled = Signal(bool)
    shown = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._agents: Sequence[AgentInfo] = ()
        self._held: frozenset[AgentId] = frozenset()
        # Every row, those too that the filter hides or that are folded.
        self.rows: tuple[AgentRow, ...] = ()
        self._folded: frozenset[AgentId] = frozenset()
        self._is_reshaped = True
        self._height = 0
        self._is_showing = False
        self._marked = AgentId("")
        self._newest = AgentId("")
        self._maker = AgentRowBuilder()
        self.setObjectName("agentSection")
        self.setAccessibleName(self.tr("Subagents"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._build()
        self._is_stale = False
        self._turns = False
        self._soon = named(single_timer(self, _COALESCE_MS, self._on_soon), "agentUpdates")
        self._clock = named(ticker(self, _SECOND_MS, self.flush), "agentClock")
        theme.pulse.ticked.connect(self._on_pulse)
        theme.changed.connect(self._fit)
        theme.changed.connect(self._on_soon)

    def set_agents(self, agents: Sequence[AgentInfo], held: Collection[AgentId]) -> None:
        """Show these agents; many calls in a row are shown ten times a second.

        While spinners turn, text that changes comes with their next turn: both are one paint.
        """
        kept = frozenset(held)
        is_news = kept != self._held or not same_states(self._agents, agents)
        self._agents, self._held = agents, kept
        self._is_stale = True
        if self._soon.isActive() or (self._is_turning and not is_news):
            return
        self._soon.start()
        self.flush()

    def flush(self) -> None:
        """Show now what came last."""
        self._is_stale = False
        was_filled = bool(self.rows)
        self.rows = self._maker.rows(self._agents, self._held, time.time())
        self.filter.setVisible(len(self.rows) > FILTER_ABOVE or bool(self.filter.text()))
        self._show_rows()
        self._show_newest()
        active = sum(not one.info.is_ended for one in self.rows)
        parts = (self.tr("{n} active").format(n=active), tokens_text(one.info for one in self.rows))
        self.summary.set_text(" · ".join(filter(None, parts)))
        self._keep_time(is_active=active > 0)
        if was_filled != bool(self.rows):
            self.filled.emit(not was_filled)
        self.shown.emit()

    @property
    def current(self) -> AgentRow | None:
        return self.view.row_at(self.view.currentIndex())

    def row(self, agent_id: str) -> AgentRow | None:
        return next((one for one in self.rows if one.key == agent_id), None)

    def select(self, agent_id: str) -> None:
        """Mark an agent and bring it into view; an unknown one unmarks all."""
        index = self.model.index_of(AgentId(agent_id))
        if not index.isValid() and self.row(agent_id) is not None:
            self._marked = AgentId(agent_id)  # which is not folded
            self.filter.clear()
            self._show_rows()
            index = self.model.index_of(AgentId(agent_id))
            self._on_current(index)  # the rows came with it marked, of which nobody was told
        self.view.setCurrentIndex(index)
        if index.isValid():
            self.view.scrollTo(index)
        else:
            self.view.clearSelection()

    def _show_rows(self) -> None:
        text = self.filter.text().strip()
        has_filter = bool(text) and not self.filter.isHidden()
        shown = matching(self.rows, text) if has_filter else self._unfolded()
        self._is_showing = True
        self.model.set_rows(shown)
        self._keep_marked()
        self._is_showing = False
        self._none.setVisible(bool(text) and not shown)
        if text:
            self._none.setText(self.tr("No subagent matches “{text}”").format(text=text))
        self.view.actions_of_row.set_row(self.current)
        if self._is_reshaped:
            self._fit()

    def _unfolded(self) -> tuple[AgentRow, ...]:
        """Return the rows without those that are folded; none goes from under the mouse."""
        over = finished(self.rows, self._marked)
        self._folded = over & self._folded if self.view.underMouse() else over
        self.finished.show_rows([one for one in self.rows if one.key in self._folded])
        if not self._folded or self.finished.is_open:
            return self.rows
        return tuple([one for one in self.rows if one.key not in self._folded])

    def leaveEvent(self, event: QEvent) -> None:
        """Fold what was kept in place for the mouse."""
        super().leaveEvent(event)
        if self._folded != finished(self.rows, self._marked):
            self.flush()

    def close_up(self) -> None:
        """Show another session as it is shown at first."""
        self.filter.clear()
        self.finished.close_up()

    def _show_newest(self) -> None:
        """Bring who started last into view once it has its place, unless the mouse is there."""
        newest = max(self.rows, key=lambda one: one.info.started_at, default=None)
        if newest is None or newest.key == self._newest:
            return
        was_known, self._newest = bool(self._newest), newest.key
        if was_known and not newest.info.is_ended:
            QTimer.singleShot(0, self, self._show_newest_now)

    def _show_newest_now(self) -> None:
        index = self.model.index_of(self._newest)
        if index.isValid() and not self.view.underMouse():
            self.view.scrollTo(index)

    def _keep_marked(self) -> None:
        """Mark the same agent as before, or none: never another, which a note would reach."""
        index = self.model.index_of(self._marked)
        if index != self.view.currentIndex():
            self.view.setCurrentIndex(index)
        if not index.isValid() and self.view.selectionModel().hasSelection():
            self.view.clearSelection()

    @property
    def _is_turning(self) -> bool:
        pulse = self._theme.pulse
        return self._turns and pulse.is_running and not pulse.is_still

    def _on_pulse(self) -> None:
        if self._is_stale and self._turns:
            self.flush()
        self.view.turn_spinners()

    def _on_soon(self) -> None:
        if self._is_stale:
            self._soon.start()
            self.flush()

    def _on_current(self, current: QModelIndex) -> None:
        if self._is_showing:
            return  # by the view itself, as rows went
        one = self.view.row_at(current)
        self._marked = one.key if one is not None else AgentId("")
        self.view.actions_of_row.set_row(one)
        self.selected.emit(self._marked)

    def _fit(self) -> None:
        """Ask for the room of the rows there are, so that what follows stands right below."""
        self._is_reshaped = True
        if self._is_showing:
            return  # rows still come; once is enough
        self._is_reshaped = False
        wanted = self.view.sizeHint().height()
        if wanted != self._height:
            self._height = wanted
            self.view.setMinimumHeight(min(wanted, _LEAST_ROWS * self._theme.size("row2") + 6))
            self.view.updateGeometry()

    def _build(self) -> None:
        theme = self._theme
        title = TextLabel(self.tr("Subagents"), "title", self)
        self.summary = ElidedLabel("", role="muted", parent=self, name="agentSummary")
        # It shrinks when the text is large, and else stands at the trailing edge.
        self.summary.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.summary.setMinimumWidth(1)
        self.filter = named(SearchField(theme, self.tr("Find a subagent"), self), "findAgent")
        self.filter.hide()
        self._none = TextLabel("", "muted", self, name="noAgentFound", wraps=True)
        self._none.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._none.hide()
        self.model: SnapshotTreeModel[AgentRow] = SnapshotTreeModel(
            lambda one: one.key,
            lambda one: one.parent_key,
            text_roles(
                lambda one: one.name, lambda one: one.spoken, lambda one: plain_tip(one.tip)
            ),
            self,
            changed_roles,
        )
        self.view = AgentTreeView(theme, self.model, self)
        self.view.selectionModel().currentChanged.connect(self._on_current)
        model, view = self.model, self.view
        for signal in (model.rowsInserted, model.rowsRemoved, model.rowsMoved):
            signal.connect(self._fit)
        for signal in (view.expanded, view.collapsed):
            signal.connect(self._fit)
        self.filter.textChanged.connect(self.flush)
        self.filter.left.connect(self.view.setFocus)
        self.filter.stepped.connect(lambda: self.view.setFocus(Qt.FocusReason.TabFocusReason))
        self.finished = FinishedLine(theme, self)
        self.finished.toggled.connect(self.flush)
        self._lay_out(title)

    def _lay_out(self, title: TextLabel) -> None:
        theme = self._theme
        edge = theme.space("l")
        header = row(title, theme.space("s"), None, self.summary, spacing=0)
        header.setContentsMargins(edge, theme.space("xs"), edge, theme.space("xs"))
        found = row(theme.space("m"), self.filter, theme.space("m"), spacing=0)
        parts = (header, found, self._none, self.view, self.finished)
        self.setLayout(column(*parts, spacing=theme.space("xs"), stretch=3))

    # -- life ------------------------------------------------------------------------------

    def _keep_time(self, *, is_active: bool) -> None:
        """Count seconds while somebody lives, turn spinners while somebody runs."""
        is_seen = self.isVisible()
        if not is_active or not is_seen:
            self._clock.stop()
        elif not self._clock.isActive():
            self._clock.start()
        self._turns = is_seen and any(one.state == "running" for one in self.rows)
        pulse = self._theme.pulse
        (pulse.hold if self._turns else pulse.release)(self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.flush()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()
        self._turns = False
        self._theme.pulse.release(self)
