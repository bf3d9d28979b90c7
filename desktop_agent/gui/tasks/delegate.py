"""Draws a row of the task list: state, subject, what goes on, owner. Renames in place."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from desktop_agent.core.tasks import Task
from desktop_agent.gui.kit.lists.choice_list import RenamingDelegate
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.safe_text import plain_tip, without_direction_marks
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.tasks.rows import TaskRow

_ICON_PX = 16
_EDGE = 14
# Above this many rows all are two lines high: a view asks for the height of one then.
UNIFORM_ABOVE = 300

STATE_ICONS = {
    "done": ("circle-check", "ok"),
    "skipped": ("circle-slash", "subtle"),
    "asking": ("circle-alert", "warn"),
    "stalled": ("circle-pause", "warn"),
    "blocked": ("lock", "warn"),
    "pending": ("circle", "muted"),
}
_DETAIL_TOKENS = {"running": "accent", "asking": "warn", "stalled": "warn"}


def owner_name(owner: str) -> str:
    """Return what whoever works on a task is called everywhere else in the window."""
    return QCoreApplication.translate("Tasks", "Main") if owner == "main" else owner


def task_tip(task: Task) -> str:
    """Return a task's subject and description as a tooltip."""
    return plain_tip("\n".join(text for text in (task.subject, task.description) if text))


class TaskDelegate(RenamingDelegate):
    """Draws tasks and the line that folds the completed ones."""

    field_name = "renameTask"
    longest = 500

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(QCoreApplication.translate("TaskDelegate", "Task"), _title_of, parent)
        self._theme = theme
        self.editor: QWidget | None = None

    @property
    def _icon(self) -> int:
        return self._theme.icon_px(_ICON_PX)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row: TaskRow = index.data(ROW_ROLE)
        is_tall = bool(row.detail) or index.model().rowCount() > UNIFORM_ABOVE
        return QSize(80, self._theme.size("row2" if is_tall else "row"))

    def icon_box(self, rect: QRect, direction: Qt.LayoutDirection) -> QRect:
        """Return where the state icon of a row is, for clicks."""
        box = QRect(rect.left() + _EDGE, rect.top(), self._icon + 8, rect.height())
        return placed(direction, rect, box)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: TaskRow = index.data(ROW_ROLE)
        with RowPainter(self._theme, painter, option) as pen:
            pen.ground(4)
            if row.task is None:
                self._paint_fold(pen, row)
            else:
                self._paint_task(pen, row, row.task.subject, owner_name(row.task.owner))

    def _paint_fold(self, pen: RowPainter, row: TaskRow) -> None:
        icon = "chevron-down" if row.is_open else "chevron-right"
        pen.icon(self._square(pen, pen.rect.center().y()), icon, "muted")
        text = self.tr("%n completed", "", row.folded)
        pen.text(self._text_box(pen), text, "muted", self._theme.font("ui"))

    def _paint_task(self, pen: RowPainter, row: TaskRow, subject: str, owner: str) -> None:
        theme = self._theme
        is_done = row.state in {"done", "skipped"}
        font = theme.font("ui", "medium" if row.state in _DETAIL_TOKENS else "regular")
        font.setStrikeOut(is_done)
        upper, lower = self._lines(self._text_box(pen), has_detail=bool(row.detail))
        self._paint_state(pen, self._square(pen, upper.center().y() + 1), row)
        if owner and not is_done:
            upper.setRight(upper.right() - pen.chip(upper, owner, upper.width() // 3) - 8)
        token = pen.faint if is_done or row.state == "blocked" else "fg"
        pen.text(upper, without_direction_marks(" ".join(subject.split())), token, font)
        if row.detail:
            token = _DETAIL_TOKENS.get(row.state, pen.faint)
            detail = without_direction_marks(" ".join(row.detail.split()))
            pen.text(lower, detail, token, theme.font("small"))

    def _text_box(self, pen: RowPainter) -> QRect:
        return pen.rect.adjusted(_EDGE + self._icon + 10, 0, -_EDGE, 0)

    def _lines(self, box: QRect, *, has_detail: bool) -> tuple[QRect, QRect]:
        if not has_detail:
            return box, QRect()
        half = box.height() // 2
        upper = QRect(box.left(), box.top() + 5, box.width(), half - 5)
        return upper, upper.translated(0, half - 6)

    def _square(self, pen: RowPainter, middle: int) -> QRect:
        size = self._icon
        return QRect(pen.rect.left() + _EDGE, middle - size // 2, size, size)

    def _paint_state(self, pen: RowPainter, box: QRect, row: TaskRow) -> None:
        theme = self._theme
        if row.state == "running":
            ring = QRectF(pen.mirrored(box))
            colors = theme.color("accent"), theme.color("line2")
            paint_spinner(pen.painter, ring, theme.pulse, *colors)
        else:
            pen.icon(box, *STATE_ICONS[row.state])

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        self.room = (_EDGE + self._icon + 2, 6)
        self.editor = super().createEditor(parent, option, index)
        return self.editor


def _title_of(row: TaskRow) -> str:
    return row.task.subject if row.task is not None else ""
