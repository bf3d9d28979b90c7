"""The card of one tool call, or of several that are grouped."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.core.messages import DiffDisplay, OutputDisplay
from desktop_agent.gui.kit.safe_text import elapsed_text
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import GhostButton, row
from desktop_agent.gui.transcript.cards.card import Card, CardHeader, header_height
from desktop_agent.gui.transcript.cards.diff import diff_lines
from desktop_agent.gui.transcript.cards.diff_view import DiffView, diff_height
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.cards.stop_button import SIZE, StopButton
from desktop_agent.gui.transcript.cards.tool_text import (
    diff_of,
    error_line,
    group_text,
    output_of,
    result_text,
    summary,
    tool_text,
)
from desktop_agent.gui.transcript.state.items import FINAL_STATES, ToolItem
from desktop_agent.gui.transcript.state.rows import ToolGroup

DETAIL_LIMIT = 320
_SHOWN_LINES = 200
_UNFOLDED_DIFF_LINES = 14
_ELAPSED_FROM_S = 2.0


class ToolCard(Card):
    """A line that unfolds to the output or the diff.

    `unfolded` tells that the user opened or closed it, `path_activated` asks to open a
    file, `text_requested` to show a long text in a window of its own, `stopped` to end the call.
    """

    unfolded = Signal(bool)
    path_activated = Signal(str)
    text_requested = Signal(str, str)
    stopped = Signal()

    def __init__(
        self,
        theme: Theme,
        item: ToolItem | ToolGroup,
        parent: QWidget | None = None,
        *,
        is_unfolded: bool = False,
    ) -> None:
        super().__init__(theme, parent)
        self._item = item
        self._now = 0.0
        self._details: QWidget | None = None
        self._footer: QWidget | None = None
        self._detail_height = 0
        self.header = CardHeader(theme, self)
        self.header.setObjectName("toolCardHeader")
        self.header.setChecked(is_unfolded)
        self.header.toggled.connect(self._on_toggled)
        self.body.addWidget(self.header)
        self.body.addStretch(1)
        self.setObjectName("toolCard")
        # Made for a call that runs: most cards are of calls that are over.
        self._stop: StopButton | None = None
        self.set_item(item)
        if is_unfolded:
            self._build_details()

    @property
    def is_live(self) -> bool:
        """Whether the call runs."""
        return isinstance(self._item, ToolItem) and self._item.state == "running"

    def set_item(self, item: ToolItem | ToolGroup) -> None:
        """Show the call as it is now."""
        old, self._item = self._item, item
        if isinstance(item, ToolGroup):
            self._show_group(item)
        else:
            self._show_call(item)
        if self._details is None:
            return
        if isinstance(self._details, OutputView) and _is_same_kind(old, item):
            self._details.set_text(self._detail_text())
        else:
            self._drop_details()
            self._build_details()

    def height_for(self, width: int) -> int:
        """Return the height of the header and of the details, if they are unfolded."""
        height = header_height(self._theme)
        if self._details is None:
            return height
        footer = self._footer.sizeHint().height() if self._footer is not None else 0
        if isinstance(self._details, DiffView):
            self._detail_height = min(DETAIL_LIMIT, self._details.content_height(width))
        elif isinstance(self._details, OutputView):
            limit = DETAIL_LIMIT
            self._detail_height = self._details.content_height(width, limit)
        self._details.setFixedHeight(self._detail_height)
        return height + self._detail_height + footer + 1

    def spin(self) -> None:
        """Turn the spinner."""
        self.header.update()

    def tick(self, now: float) -> None:
        """Show how long the call has been running."""
        self._now = now
        if isinstance(self._item, ToolItem):
            self._show_elapsed(self._item)
        self.header.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._details is None:
            return
        painter = QPainter(self)
        top = self._details.geometry().top()
        painter.fillRect(
            QRectF(1, top, self.width() - 2, self._detail_height), self._theme.color("sunken")
        )
        painter.setPen(QPen(self._theme.color("line"), 1))
        painter.drawLine(1, top - 1, self.width() - 2, top - 1)
        painter.drawLine(1, top + self._detail_height, self.width() - 2, top + self._detail_height)
        painter.end()

    # -- inside --------------------------------------------------------------------------

    def _show_call(self, item: ToolItem) -> None:
        header, words = self.header, tool_text(item.call, item.doing)
        header.icon_name, header.verb, header.target = words.icon, words.verb, words.target
        header.is_prose = words.is_prose
        header.state = item.state
        diff = diff_of(item)
        header.counts = (diff.added, diff.removed) if diff is not None else None
        header.meta = "" if diff is not None and item.state == "ok" else result_text(item)
        header.meta_token = "err" if item.state == "failed" else "subtle"
        header.can_unfold = item.state not in {"queued", "waiting"}
        header.setEnabled(header.can_unfold)
        if item.state == "running":
            self._show_elapsed(item)
        self._show_stop(is_running=item.state == "running")
        self._name(summary(item))
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
            self.header.reserved = SIZE if is_running else 0
            self._stop.follow()

    def _on_stop(self) -> None:
        if self._stop is not None:
            self._stop.is_wanted = False
            self._stop.follow()
        self.stopped.emit()

    def _show_elapsed(self, item: ToolItem) -> None:
        seconds = self._now - item.started_at
        has_time = item.started_at > 0 and seconds >= _ELAPSED_FROM_S
        self.header.meta = elapsed_text(seconds) if has_time else ""

    def _show_group(self, group: ToolGroup) -> None:
        first = group.items[0]
        self.header.icon_name = tool_text(first.call).icon
        self.header.verb = group_text(first.call.name, len(group.items))
        names = [tool_text(item.call).target for item in group.items]
        self.header.target = ", ".join(name.rsplit("/", 1)[-1] for name in names)
        self.header.state = "ok"
        self._name(self.header.verb)
        self.header.update()

    def _name(self, words: str) -> None:
        self.setAccessibleName(words)
        self.header.setAccessibleName(words)
        self.header.setAccessibleDescription(self.tr("Press Space to show or hide the details"))

    def _on_toggled(self, is_unfolded: bool) -> None:
        if is_unfolded:
            self._build_details()
        else:
            self._drop_details()
        self.unfolded.emit(is_unfolded)
        self.resized.emit()

    def _detail_text(self) -> str:
        item = self._item
        if isinstance(item, ToolGroup):
            lines = (f"{tool_text(call.call).target}    {result_text(call)}" for call in item.items)
            return "\n".join(lines)
        if item.call.name == "shell":
            command = item.call.arguments.get("command", "")
            return f"$ {command}\n{output_of(item)}"
        return output_of(item) or self.tr("No output yet.")

    def _build_details(self) -> None:
        item = self._item
        diff = diff_of(item) if isinstance(item, ToolItem) else None
        buttons: list[QWidget] = []
        if diff is not None:
            details: QWidget = DiffView(self._theme, diff, self)
            buttons.append(self._button(self.tr("Copy patch"), "copy", diff.patch))
        else:
            details, buttons = self._build_output()
        if isinstance(item, ToolItem) and (path := tool_text(item.call).path):
            opener = GhostButton(self._theme, self.tr("Open file"), "external-link", self)
            opener.clicked.connect(lambda: self.path_activated.emit(path))
            buttons.append(opener)
        self._details = details
        self.body.insertWidget(1, details)
        footer = QWidget(self)
        line = row(*buttons, None, spacing=4)
        line.setContentsMargins(6, 4, 6, 4)
        footer.setLayout(line)
        self._footer = footer
        self.body.insertWidget(2, footer)
        for widget in (details, footer):
            widget.show()

    def _build_output(self) -> tuple[QWidget, list[QWidget]]:
        text = self._detail_text()
        lines = text.split("\n")
        view = OutputView(self._theme, self.tr("Output"), self)
        is_over = not isinstance(self._item, ToolItem) or self._item.state in FINAL_STATES
        buttons: list[QWidget] = [self._button(self.tr("Copy"), "copy", text)]
        if is_over and len(lines) > _SHOWN_LINES:
            view.set_text("\n".join(lines[:_SHOWN_LINES]))
            words = self.tr("Show all {count} lines").format(count=f"{len(lines):,}")
            more = GhostButton(self._theme, words, "list", self)
            title = self.header.accessibleName()
            more.clicked.connect(lambda: self.text_requested.emit(title, text))
            buttons.append(more)
        else:
            view.set_text(text)
        if (path := self._output_file()) != "":
            opener = GhostButton(self._theme, self.tr("Open whole output"), "file-text", self)
            opener.clicked.connect(lambda: self.path_activated.emit(path))
            buttons.append(opener)
        return view, buttons

    def _output_file(self) -> str:
        result = self._item.result if isinstance(self._item, ToolItem) else None
        display = result.display if result is not None else None
        return display.file if isinstance(display, OutputDisplay) else ""

    def _button(self, words: str, icon: str, text: str) -> QWidget:
        button = GhostButton(self._theme, words, icon, self)
        button.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        return button

    def _drop_details(self) -> None:
        for widget in (self._details, self._footer):
            if widget is not None:
                self.body.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
        self._details = self._footer = None


def is_unfolded_at_first(item: ToolItem) -> bool:
    """Whether the card shows its details unasked: a short change does."""
    diff = diff_of(item)
    return diff is not None and item.state == "ok" and _count(diff) <= _UNFOLDED_DIFF_LINES


def known_height(theme: Theme, item: ToolItem | ToolGroup, *, is_unfolded: bool) -> int | None:
    """Return the card's height without making it, where that is known."""
    if not is_unfolded:
        return header_height(theme)
    diff = diff_of(item) if isinstance(item, ToolItem) else None
    if diff is None:
        return None
    footer = theme.size("control") + theme.space("s")
    return header_height(theme) + min(DETAIL_LIMIT, diff_height(theme, _count(diff))) + footer


def _count(diff: DiffDisplay) -> int:
    return len(diff_lines(diff.patch))


def _is_same_kind(old: ToolItem | ToolGroup, new: ToolItem | ToolGroup) -> bool:
    """Whether the details can stay: the call still runs."""
    return (
        isinstance(old, ToolItem) and isinstance(new, ToolItem) and new.state not in FINAL_STATES
    ) or old is new
