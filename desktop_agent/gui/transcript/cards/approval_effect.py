"""What will be done, exactly: a command, a diff, the text of a new file, or what is deleted."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.messages import CommandDisplay, DiffDisplay
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextLabel, column, named, row
from desktop_agent.gui.transcript.cards.approval_text import request_text
from desktop_agent.gui.transcript.cards.card import Card
from desktop_agent.gui.transcript.cards.diff_view import DiffView, diff_height
from desktop_agent.gui.transcript.cards.output_view import OutputView

_LIMIT, _OPEN_LIMIT = 240, 480
# Of a new file, so many lines before the rest is asked for.
_FOLDED_LINES = 12
_ROW_EDGES = (12, 2, 12, 2)


class ApprovalEffect(Card):
    """Shows all of it; a long new file is folded. `unfolded`: it wants more height."""

    unfolded = Signal()

    def __init__(self, theme: Theme, request: ApprovalRequest, parent: QWidget) -> None:
        super().__init__(theme, parent, ground="sunken")
        frame = named(QWidget(self), "approvalEffect")
        frame.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        frame.setProperty("frame", "sunken")
        self.body.addWidget(frame)
        self._lines = column(edges=(1, 1, 1, 1), within=frame)
        self._limit = _LIMIT
        self._is_open = False
        self._foot: QWidget | None = None
        self._view = self._make_view(request, frame)
        self._lines.addWidget(self._view)
        if isinstance(self._view, DiffView) and isinstance(request.display, DiffDisplay):
            self._fold(self._view, request.display, frame)

    def fit(self, width: int) -> None:
        """Take the height that this width calls for."""
        inset = 4 if isinstance(self._view, DiffView) else 0
        height = self._view.content_height(width - inset, self._limit)
        self._view.setFixedHeight(height)
        if self._foot is not None and not self._is_open:
            height += self._foot.sizeHint().height()
        # Told at once: a layout within a layout learns of it only later.
        self.setFixedHeight(height + 2)

    def _make_view(self, request: ApprovalRequest, frame: QWidget) -> DiffView | OutputView:
        if isinstance(request.display, DiffDisplay):
            return DiffView(self._theme, request.display, frame)
        view = OutputView(self._theme, self.tr("Exactly what will be done"), frame)
        prefix = "$ " if isinstance(request.display, CommandDisplay) else ""
        view.set_text(prefix + request_text(request))
        return view

    def _fold(self, view: DiffView, display: DiffDisplay, frame: QWidget) -> None:
        rest = view.line_count - _FOLDED_LINES
        if not display.is_new or rest <= 0:
            return
        self._limit = diff_height(self._theme, _FOLDED_LINES)
        words = with_plural(self.tr("Show {n} more line(s)").format(n=f"{rest:,}"), rest)
        more = GhostButton(self._theme, words, "chevron-down", frame, name="showWholeFile")
        more.clicked.connect(self._unfold)
        count = with_plural(
            self.tr("{n} line(s)").format(n=f"{view.line_count:,}"), view.line_count
        )
        self._foot = foot = QWidget(frame)
        line = row(more, None, TextLabel(count, "subtle"))
        line.setContentsMargins(*_ROW_EDGES)
        foot.setLayout(line)
        self._lines.addWidget(foot)

    def _unfold(self) -> None:
        self._limit, self._is_open = _OPEN_LIMIT, True
        self._view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if self._foot is not None:
            self._foot.hide()
        self.unfolded.emit()


def lost_list(theme: Theme, names: tuple[str, ...], parent: QWidget) -> QWidget:
    """Return the list of what is deleted for good."""
    ground = Card(theme, parent)
    view = OutputView(theme, ground.tr("Deleted for good"), ground)
    view.setObjectName("lostFiles")
    view.set_text("\n".join(names))
    view.setFixedHeight(min(_LIMIT, view.content_height(400, _LIMIT) + theme.space("l")))
    ground.body.addWidget(view)
    return ground
