"""The card of one tool call."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, QRectF
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QStyle, QWidget

from desktop_agent.core.messages import DiffDisplay, OutputDisplay
from desktop_agent.core.parts.facts import FailedInside, InBackground
from desktop_agent.gui.kit.safe_text import elapsed_text, plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconButton
from desktop_agent.gui.state.change_sets import is_table_file
from desktop_agent.gui.transcript.cards.card import CardHost, header_height
from desktop_agent.gui.transcript.cards.changes_card import (
    scope_of_call,
    table_button,
    undo_buttons,
)
from desktop_agent.gui.transcript.cards.diff_view import DiffView, diff_height, shown_lines
from desktop_agent.gui.transcript.cards.fold_card import FoldCard
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.cards.tool_text import (
    diff_of,
    error_line,
    is_undone,
    line_counts,
    output_of,
    result_text,
    summary,
    tool_text,
)
from desktop_agent.gui.transcript.state.items import FINAL_STATES, ToolItem

_SHOWN_LINES = 200
_UNFOLDED_DIFF_LINES = 14
_ELAPSED_FROM_S = 2.0
_STOP_SIZE = 26
_TURNS = {
    QEvent.Type.Enter,
    QEvent.Type.Leave,
    QEvent.Type.FocusIn,
    QEvent.Type.FocusOut,
    QEvent.Type.Resize,
    QEvent.Type.LayoutDirectionChange,
}


class ToolCard(FoldCard):
    """A line that unfolds to the output or the diff; the call can be stopped while it runs."""

    foot_margins = (6, 4)

    def __init__(self, host: CardHost, item: ToolItem) -> None:
        super().__init__(host, item.key)
        self._item = item
        self._now = 0.0
        self.header.setObjectName("toolCardHeader")
        self.setObjectName("toolCard")
        # Made for a call that runs: most cards are of calls that are over.
        self._stop: StopButton | None = None
        self.set_item(item)
        self.header.set_open(is_unfolded(item, host.unfolded))

    @property
    def is_live(self) -> bool:
        return self._item.state == "running"

    def set_item(self, item: ToolItem) -> None:
        self._item = item
        self._show_call(item)
        is_open = item.state not in FINAL_STATES
        if isinstance(self._details, OutputView) and is_open:
            self._details.set_text(self._detail_text())
        elif self._details is not None:
            self.unfold()

    def height_for(self, width: int) -> int:
        return super().height_for(width) + (self._details is not None)

    def tick(self, now: float) -> None:
        self._now = now
        self._show_elapsed(self._item)
        self.header.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._details is None:
            return
        painter = QPainter(self)
        box = self._details.geometry()
        right, bottom = self.width() - 2, box.top() + self._details.height()
        ground = QRectF(1, box.top(), right, self._details.height())
        painter.fillRect(ground, self._theme.color("sunken"))
        painter.setPen(QPen(self._theme.color("line"), 1))
        painter.drawLine(1, box.top() - 1, right, box.top() - 1)
        painter.drawLine(1, bottom, right, bottom)
        painter.end()

    def _show_call(self, item: ToolItem) -> None:
        header, said = self.header, tool_text(item.call, item.doing)
        header.icon_name, header.verb, header.target = said.icon, said.verb, said.target
        header.is_prose = said.is_prose
        header.state = item.state
        header.counts = line_counts(item)
        is_plain_edit = item.state == "ok" and diff_of(item) is not None
        header.meta = "" if is_plain_edit and not is_undone(item) else result_text(item)
        header.meta_token = "err" if item.state == "failed" else "subtle"
        header.can_unfold = item.state not in {"queued", "waiting"}
        header.setEnabled(header.can_unfold)
        if item.state == "running":
            self._show_elapsed(item)
        self._show_stop(is_running=item.state == "running")
        self.set_name(summary(item))
        header.setToolTip(plain_tip(error_line(item)) if item.state == "failed" else "")
        header.update()

    def _show_stop(self, *, is_running: bool) -> None:
        if self._stop is None and is_running:
            # Left of the chevron and the state.
            trailing = self._theme.space("m") + 2 * self._theme.space("s") + self._theme.icon_px(30)
            self._stop = StopButton(self._theme, self, self.header, trailing)
            self._stop.clicked.connect(self._on_stop)
        if self._stop is not None:
            self._stop.is_wanted = is_running
            self.header.reserved = _STOP_SIZE if is_running else 0
            self._stop.follow()

    def _on_stop(self) -> None:
        if self._stop is not None:
            self._stop.is_wanted = False
            self._stop.follow()
        # Of the agent that is shown.
        self.host.command_requested.emit("", "stop_call", self._item.key)

    def _show_elapsed(self, item: ToolItem) -> None:
        seconds = self._now - item.started_at
        has_time = item.started_at > 0 and seconds >= _ELAPSED_FROM_S
        self.header.meta = elapsed_text(seconds) if has_time else ""

    def _detail_text(self) -> str:
        item = self._item
        if item.call.name == "shell":
            command = item.call.arguments.get("command", "")
            return f"$ {command}\n{output_of(item)}"
        return output_of(item) or self.tr("No output yet.")

    def make_details(self) -> tuple[OutputView | DiffView, list[QWidget]]:
        item = self._item
        diff = diff_of(item)
        if diff is not None:
            details, buttons = DiffView(self._theme, diff, self), list[QWidget]()
            buttons.append(self._copy_button(self.tr("Copy patch"), lambda: diff.patch))
        else:
            details, buttons = self._make_output()
        if path := tool_text(item.call).path:
            buttons.append(self._open_button(self.tr("Open file"), "external-link", path))
            if is_table_file(path):
                buttons.append(table_button(self.host, path, self))
        scope = scope_of_call(self.host, item)
        buttons += undo_buttons(self.host, item.changes, scope, self, is_short=True)
        return details, buttons

    def _make_output(self) -> tuple[OutputView, list[QWidget]]:
        text = self._detail_text()
        lines = text.split("\n")
        view = OutputView(self._theme, self.tr("Output"), self)
        item = self._item
        is_over = item.state in FINAL_STATES
        buttons: list[QWidget] = [self._copy_button(self.tr("Copy"), self._detail_text)]
        if is_over and len(lines) > _SHOWN_LINES:
            view.set_text("\n".join(lines[:_SHOWN_LINES]))
            words = self.tr("Show all {count} lines").format(count=f"{len(lines):,}")
            more = GhostButton(self._theme, words, "list", self)
            show, title = self.host.text_requested.emit, self.header.accessibleName()
            more.clicked.connect(lambda: show(title, text))
            buttons.append(more)
        else:
            view.set_text(text)
        result = item.result
        display = result.display if result is not None else None
        if isinstance(display, OutputDisplay) and display.file:
            words = self.tr("Open whole output")
            buttons.append(self._open_button(words, "file-text", display.file))
        if result is not None and isinstance(result.facts, FailedInside):
            buttons.append(self._outside_button(result.facts.command))
        if result is not None and isinstance(result.facts, InBackground):
            buttons.append(self._job_button(result.facts.job_id))
        return view, buttons

    def _job_button(self, job_id: str) -> QWidget:
        button = GhostButton(self._theme, self.tr("Open terminal"), "terminal", self)
        button.setObjectName("openTerminal")
        button.clicked.connect(lambda: self.host.job_requested.emit(job_id))
        return button

    def _outside_button(self, command: str) -> QWidget:
        button = GhostButton(self._theme, self.tr("Run outside the sandbox…"), "shield-off", self)
        button.setObjectName("runOutside")

        def allow() -> None:
            self.host.command_requested.emit("", "allow_outside", self._item.key)

        def ask() -> None:
            # Rarely wanted.
            from desktop_agent.gui.transcript.cards.outside_popover import open_outside_popover

            open_outside_popover(self._theme, button, command, allow)

        button.clicked.connect(ask)
        return button

    def _copy_button(self, words: str, text: Callable[[], str]) -> QWidget:
        button = GhostButton(self._theme, words, "copy", self)
        # What a call that runs has printed by then.
        button.clicked.connect(lambda: QGuiApplication.clipboard().setText(text()))
        return button

    def _open_button(self, words: str, icon: str, path: str) -> QWidget:
        button = GhostButton(self._theme, words, icon, self)
        button.clicked.connect(lambda: self.host.open_path_requested.emit(path))
        return button


class StopButton(IconButton):
    """Stops the call: there under the mouse and with the focus, while `is_wanted`.

    Stands over the card's header, `trailing` pixels from its edge.
    """

    def __init__(self, theme: Theme, card: QWidget, header: QWidget, trailing: int) -> None:
        super().__init__(theme, "square", self.tr("Stop this tool"), card, size=14, name="stopTool")
        self.set_icon("square", "err")
        self.is_wanted = False
        self._card, self._header, self._trailing = card, header, trailing
        self.setFixedSize(_STOP_SIZE, _STOP_SIZE)
        for watched in (card, header, self):
            watched.installEventFilter(self)
        self.hide()

    def follow(self) -> None:
        has_focus = QApplication.focusWidget() in (self._header, self)
        is_shown = self.is_wanted and (self._card.underMouse() or has_focus)
        if is_shown:
            whole = QRect(0, 0, self._card.width(), self._header.height())
            box = QRect(whole.width() - self._trailing - _STOP_SIZE, 0, _STOP_SIZE, _STOP_SIZE)
            box.moveTop((whole.height() - _STOP_SIZE) // 2)
            self.setGeometry(QStyle.visualRect(self.layoutDirection(), whole, box))
        self.setVisible(is_shown)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _TURNS and (event.type() != QEvent.Type.Resize or watched is self._card):
            # What had the focus knows it only afterwards.
            QApplication.postEvent(self, QEvent(QEvent.Type.User))
        return False

    def customEvent(self, event: QEvent) -> None:
        self.follow()


def is_unfolded(item: ToolItem, unfolded: dict[str, bool]) -> bool:
    """Whether the card shows its details: a short change does unasked."""
    diff = diff_of(item) if item.state == "ok" else None
    return unfolded.get(item.key, diff is not None and _count(diff) <= _UNFOLDED_DIFF_LINES)


def known_height(theme: Theme, item: ToolItem, unfolded: dict[str, bool]) -> int | None:
    """Return the card's height without making it, where that is known."""
    if not is_unfolded(item, unfolded):
        return header_height(theme)
    diff = diff_of(item)
    if diff is None:
        return None
    footer = theme.size("control") + theme.space("s")
    return header_height(theme) + min(ToolCard.limit, diff_height(theme, _count(diff))) + footer


def _count(diff: DiffDisplay) -> int:
    return len(shown_lines(diff.patch, is_new=diff.is_new)[0])
