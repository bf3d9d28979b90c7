"""Draws a row of the task list: state, subject, what goes on, owner. Renames in place."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.pulse import paint_spinner
from desktop_agent.gui.task_rows import TaskRow
from desktop_agent.gui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ICON = 16
_EDGE = 14
# Above this many rows all are two lines high: a view asks for the height of one then.
UNIFORM_ABOVE = 300
_MAX_SUBJECT = 500

STATE_ICONS = {
    "done": ("circle-check", "ok"),
    "skipped": ("circle-slash", "subtle"),
    "stalled": ("circle-pause", "warn"),
    "blocked": ("lock", "warn"),
    "pending": ("circle", "muted"),
}
_DETAIL_TOKENS = {"running": "accent", "stalled": "warn"}


class TaskDelegate(QStyledItemDelegate):
    """Tells of a new subject by `renamed`; it never writes into the model."""

    renamed = Signal(int, str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.editor: QWidget | None = None

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height of one line, or of two where something stands below."""
        row: TaskRow = index.data(ROW_ROLE)
        is_tall = bool(row.detail) or index.model().rowCount() > UNIFORM_ABOVE
        return QSize(80, self._theme.size("row2" if is_tall else "row"))

    def icon_box(self, rect: QRect, direction: Qt.LayoutDirection) -> QRect:
        """Return where the state icon of a row is, for clicks."""
        box = QRect(rect.left() + _EDGE, rect.top(), _ICON + 8, rect.height())
        return QStyle.visualRect(direction, rect, box)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the row, mirrored where the window is."""
        row: TaskRow = index.data(ROW_ROLE)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_selected = self._paint_ground(painter, option, rect)
        if row.task is None:
            self._paint_fold(painter, option, rect, row)
        else:
            self._paint_task(painter, option, rect, row, is_selected)
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, rect: QRect) -> bool:
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        if is_selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("active" if is_selected else "hover"))
            painter.drawRoundedRect(QRectF(rect).adjusted(4, 1, -4, -1), 6, 6)
        return is_selected

    def _paint_fold(
        self, painter: QPainter, option: QStyleOptionViewItem, rect: QRect, row: TaskRow
    ) -> None:
        icon = "chevron-down" if row.is_open else "chevron-right"
        self._paint_icon(painter, option, rect, rect.center().y(), icon, "muted")
        text = self.tr("%n completed", "", row.folded)
        words = rect.adjusted(_EDGE + _ICON + 10, 0, -_EDGE, 0)
        self._text(painter, option, words, text, "muted", self._theme.font("ui"))

    def _paint_task(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        rect: QRect,
        row: TaskRow,
        is_selected: bool,
    ) -> None:
        assert row.task is not None
        theme = self._theme
        is_done = row.state in {"done", "skipped"}
        font = theme.font("ui", "medium" if row.state in {"running", "stalled"} else "regular")
        font.setStrikeOut(is_done)
        words = rect.adjusted(_EDGE + _ICON + 10, 0, -_EDGE, 0)
        upper, lower = self._lines(words, has_detail=bool(row.detail))
        self._paint_state(painter, option, rect, upper.center().y() + 1, row)
        room = self._paint_owner(painter, option, upper, row.task.owner if not is_done else "")
        token = "subtle" if is_done or row.state == "blocked" else "fg"
        if is_selected and token == "subtle":
            token = "muted"
        subject = row.task.subject
        self._text(painter, option, upper.adjusted(0, 0, -room, 0), subject, token, font)
        if row.detail:
            detail = _DETAIL_TOKENS.get(row.state, "muted" if is_selected else "subtle")
            self._text(painter, option, lower, row.detail, detail, theme.font("small"))

    def _lines(self, words: QRect, *, has_detail: bool) -> tuple[QRect, QRect]:
        if not has_detail:
            return words, QRect()
        height = words.height() // 2
        upper = QRect(words.left(), words.top() + 5, words.width(), height - 5)
        lower = QRect(words.left(), words.top() + height - 1, words.width(), height - 5)
        return upper, lower

    def _paint_state(
        self, painter: QPainter, option: QStyleOptionViewItem, rect: QRect, y: int, row: TaskRow
    ) -> None:
        theme = self._theme
        if row.state == "running":
            direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
            box = QRect(rect.left() + _EDGE, y - _ICON // 2, _ICON, _ICON)
            ring = QRectF(QStyle.visualRect(direction, rect, box))
            paint_spinner(painter, ring, theme.pulse, theme.color("accent"), theme.color("line2"))
            return
        icon, token = STATE_ICONS[row.state]
        self._paint_icon(painter, option, rect, y, icon, token)

    def _paint_icon(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        rect: QRect,
        y: int,
        icon: str,
        token: str,
    ) -> None:
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        box = QRect(rect.left() + _EDGE, y - _ICON // 2, _ICON, _ICON)
        ratio = painter.device().devicePixelRatioF()
        where = QStyle.visualRect(direction, rect, box).topLeft()
        painter.drawPixmap(where, self._theme.pixmap(icon, token, _ICON, ratio))

    def _paint_owner(
        self, painter: QPainter, option: QStyleOptionViewItem, line: QRect, owner: str
    ) -> int:
        """Draw the owner's chip at the far end; return the room it took."""
        if not owner:
            return 0
        font = self._theme.font("caption", "medium")
        metrics = QFontMetrics(font)
        text = metrics.elidedText(owner, Qt.TextElideMode.ElideRight, line.width() // 3)
        width = metrics.horizontalAdvance(text) + 18
        chip = QRect(line.right() - width + 1, line.center().y() - 8, width, 18)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("line"))
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        if state & QStyle.StateFlag.State_Selected:
            painter.setBrush(self._theme.color("raised"))
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.drawRoundedRect(QRectF(QStyle.visualRect(direction, rect, chip)), 9, 9)
        self._text(painter, option, chip.adjusted(8, 0, -8, 0), text, "muted", font)
        return width + 8

    def _text(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        token: str,
        font: QFont,
    ) -> None:
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        near = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        aligned = QStyle.visualAlignment(direction, near) | Qt.AlignmentFlag.AlignAbsolute
        flat = " ".join(text.split())
        shown = painter.fontMetrics().elidedText(flat, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(QStyle.visualRect(direction, rect, box), int(aligned), shown)

    # -- renaming --------------------------------------------------------------------------

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        """Return a field over the row."""
        field = QLineEdit(parent)
        field.setObjectName("renameTask")
        field.setAccessibleName(self.tr("Task"))
        field.setMaxLength(_MAX_SUBJECT)
        self.editor = field
        return field

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: _Index
    ) -> None:
        """Fill the row."""
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        editor.setGeometry(rect.adjusted(_EDGE + _ICON + 2, 0, -6, 0))

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        """Start with the present subject, all of it selected."""
        row: TaskRow = index.data(ROW_ROLE)
        if isinstance(editor, QLineEdit) and row.task is not None and not editor.text():
            editor.setText(row.task.subject)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        """Pass the new subject on."""
        row: TaskRow = index.data(ROW_ROLE)
        text = editor.text().strip() if isinstance(editor, QLineEdit) else ""
        if row.task is not None and text and text != row.task.subject:
            self.renamed.emit(row.task.id, text)
