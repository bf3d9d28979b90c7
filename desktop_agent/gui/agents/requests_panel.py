"""One list of all that waits for the user in the whole tree of agents, oldest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QHideEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.approvals import AllowOnce, Deny
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.agents.request_row import RequestRow
from desktop_agent.gui.kit.fitted_area import FittedArea
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    Chip,
    PrimaryButton,
    Separator,
    TextButton,
    TextLabel,
    column,
    has_focus_in,
    row,
    ticker,
)
from desktop_agent.gui.state.pending_request import PendingRequest
from desktop_agent.gui.state.session_state import SessionState

# After the list has moved, a click may have been meant for another row.
ARM_S = 0.4
_MAX_ROWS = 50
_MAX_HEIGHT = 360
_LEAST_HEIGHT = 150


class RequestsPanel(QWidget):
    """All that waits in the session that is shown, the oldest first.

    Signals:
        decided(request_id, Decision), answered(question_id, text)
        ask_chosen(agent_id, key): go to the card of what it asks
        count_changed(count): how many wait
        left: what had the focus is answered, and nothing else waits
    """

    decided = Signal(str, object)
    answered = Signal(str, str)
    ask_chosen = Signal(str, str)
    count_changed = Signal(int)
    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state = SessionState()
        self._shown: tuple[PendingRequest, ...] = ()
        self._views: dict[str, RequestRow] = {}
        self._moved_at = 0.0
        self.clock: Callable[[], float] = time.monotonic
        self.setObjectName("asksPanel")
        self.setAccessibleName(self.tr("Waiting for you"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._build()
        self._ages = ticker(self, 1_000, self._show_ages)
        self.hide()

    def show_state(self, state: SessionState) -> None:
        self._state = state
        waiting = state.waiting()
        if [ask.key for ask in waiting] != [ask.key for ask in self._shown]:
            before = len(self._shown)
            self._announce(waiting)
            self._shown = waiting
            self._moved_at = self.clock()
            self._show_rows()
            if before != len(waiting):
                self.count_changed.emit(len(waiting))
        for view in self._views.values():
            view.set_pointer(is_pointer=view.ask.agent_id == state.shown)
        self._content.setEnabled(not state.is_read_only)
        self._show_ages()
        self.setVisible(bool(waiting))

    @property
    def count(self) -> int:
        """How many wait in the session that is shown."""
        return len(self._shown)

    def set_room(self, high: int) -> None:
        self._area.set_highest(max(_LEAST_HEIGHT, min(high, _MAX_HEIGHT)))

    def focus_ask(self, key: str) -> bool:
        """Give one of them the focus, to be answered; tell whether it is there."""
        view = self._views.get(key)
        if view is not None:
            view.focus_answer()
            self._area.ensureWidgetVisible(view)
        return view is not None

    def focus_oldest(self) -> bool:
        """Give the oldest the focus, to be answered; tell whether there is one."""
        return self.focus_ask(next(iter(self._views), ""))

    @property
    def _is_armed(self) -> bool:
        """Whether a click counts: the rows stand still for long enough."""
        return self.clock() - self._moved_at >= ARM_S

    # -- showing ---------------------------------------------------------------------------

    def _show_rows(self) -> None:
        shown = self._shown[:_MAX_ROWS]
        wanted = {ask.key for ask in shown}
        gone = [known for known in self._views if known not in wanted]
        if any(has_focus_in(self._views[key]) for key in gone):
            self._pass_focus(wanted)
        for key in gone:
            view = self._views.pop(key)
            view.hide()
            self._rows.removeWidget(view)
            view.deleteLater()
        for place, ask in enumerate(shown):
            if ask.key not in self._views:
                self._rows.insertWidget(place, self._make(ask))
        # In the order of the list, for the arrow keys.
        self._views = {ask.key: self._views[ask.key] for ask in shown}
        self._count.setText(str(len(self._shown)))
        self._count.setAccessibleName(self.tr("%n waiting", "", len(self._shown)))
        rest = len(self._shown) - len(shown)
        self._rest.setVisible(rest > 0)
        self._rest.setText(self.tr("and %n more", "", rest))
        several = sum(1 for ask in shown if ask.is_approval) > 1
        for view in self._views.values():
            view.mark.setVisible(several and view.ask.is_approval)
            if not several:
                view.mark.setChecked(False)
        self._show_bar()

    def _pass_focus(self, staying: set[str]) -> None:
        """Go on with what comes after the row that has the focus; Qt would go just anywhere."""
        keys = list(self._views)
        at = next(place for place, key in enumerate(keys) if has_focus_in(self._views[key]))
        after = [key for key in (*keys[at:], *reversed(keys[:at])) if key in staying]
        if after:
            self._views[after[0]].setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self.left.emit()

    def _announce(self, waiting: tuple[PendingRequest, ...]) -> None:
        """Say what came from a subagent; the transcript speaks for the main agent."""
        if not QAccessible.isActive():
            return
        known = {ask.key for ask in self._shown}
        for ask in waiting:
            if ask.key not in known and len(self._state.path_of(ask.agent_id)) > 1:
                text = self.tr("{who} is waiting for you").format(who=self._who(ask.agent_id))
                event = QAccessibleAnnouncementEvent(self, text)
                event.setPoliteness(QAccessible.AnnouncementPoliteness.Assertive)
                QAccessible.updateAccessibility(event)

    def _show_ages(self) -> None:
        for view in self._views.values():
            view.show_ask(self._who(view.ask.agent_id))

    def _who(self, agent_id: AgentId) -> str:
        return " ▸ ".join(plain(info.name) for info in self._state.path_of(agent_id))

    def _make(self, ask: PendingRequest) -> RequestRow:
        view = RequestRow(self._theme, ask, self._content)
        view.chosen.connect(partial(self.ask_chosen.emit, ask.agent_id, ask.key))
        view.decided.connect(partial(self._decide, (ask,)))
        view.answered.connect(partial(self._answer, ask))
        view.marked.connect(self._show_bar)
        view.walked.connect(partial(self._walk, ask.key))
        self._views[ask.key] = view
        return view

    def _marked(self) -> list[PendingRequest]:
        return [view.ask for view in self._views.values() if view.mark.isChecked()]

    def _show_bar(self) -> None:
        marked = self._marked()
        self._bar.setVisible(bool(marked))
        self._allow.set_text(self.tr("Allow %n", "", len(marked)))
        self._refuse.set_text(self.tr("Refuse %n", "", len(marked)))
        # Only like with like: one glance must do for all of them.
        is_mixed = len({ask.kind for ask in marked}) > 1
        self._allow.setEnabled(not is_mixed)
        self._allow.setToolTip(
            self.tr("Select requests of one kind to allow them together") if is_mixed else ""
        )

    # -- acting ----------------------------------------------------------------------------

    def _decide(self, asks: Sequence[PendingRequest], decision: AllowOnce | Deny) -> None:
        if self._is_armed:
            for ask in asks:
                self.decided.emit(ask.key, decision)

    def _answer(self, ask: PendingRequest, text: str) -> None:
        if self._is_armed:
            self.answered.emit(ask.key, text)

    def _walk(self, key: str, step: int) -> None:
        keys = list(self._views)
        place = keys.index(key) + step
        if 0 <= place < len(keys):
            view = self._views[keys[place]]
            view.setFocus(Qt.FocusReason.TabFocusReason)
            self._area.ensureWidgetVisible(view)

    # -- building --------------------------------------------------------------------------

    def _build(self) -> None:
        theme = self._theme
        self._count = Chip("", "warn", self)
        self._content = QWidget()
        self._rows = column(spacing=theme.space("xs"))
        self._content.setLayout(self._rows)
        self._area = FittedArea(self._content, _MAX_HEIGHT, self)
        self._area.setAccessibleName(self.tr("Waiting for you"))
        self._rest = TextLabel("", "caption", self, name="asksRest")
        self._rest.hide()
        self._bar = QWidget(self)
        self._allow = PrimaryButton(theme, "", parent=self._bar, name="asksAllow")
        self._allow.clicked.connect(lambda: self._decide(self._marked(), AllowOnce()))
        self._refuse = TextButton(theme, "", parent=self._bar, name="asksRefuse")
        self._refuse.clicked.connect(lambda: self._decide(self._marked(), Deny()))
        self._bar.setLayout(row(self._allow, self._refuse, None))
        # In a low window the rest is scrolled; these are not squeezed.
        self._bar.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._bar.hide()
        title = TextLabel(self.tr("Waiting for you"), "title", self)
        head = row(theme.space("xs"), title, self._count, None)
        edge, gap = theme.space("m"), theme.space("s")
        parts = (head, self._area, self._rest, self._bar)
        inner = column(*parts, spacing=gap, edges=(edge, gap, edge, gap))
        self.setLayout(column(Separator(self), inner))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ages.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ages.stop()
