"""Draws a row of the session list, in either reading direction, and renames in place."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QLocale,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.gui.mirroring import placed
from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.pulse import paint_spinner
from desktop_agent.gui.session_rows import SessionRow
from desktop_agent.gui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ICONS = {
    "needs_you": ("circle-alert", "warn"),
    "failed": ("circle-x", "err"),
    "interrupted": ("circle-pause", "warn"),
    "idle": ("message-square", "subtle"),
}
_ICON_PX = 14
_MAX_TITLE = 200


class SessionDelegate(QStyledItemDelegate):
    """Tells of a new title by `renamed`; it never writes into the model."""

    renamed = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @property
    def _icon_px(self) -> int:
        return self._theme.icon_px(_ICON_PX)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the row's height by its kind."""
        row: SessionRow = index.data(ROW_ROLE)
        return QSize(80, self._theme.size("section_row" if row.is_heading else "session_row"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw icon, title and age; a heading is only its words."""
        row: SessionRow = index.data(ROW_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        inner = rect.adjusted(14, 0, -12, 0)
        if row.is_heading:
            self._text(
                painter, option, inner.adjusted(-2, 6, 0, 0), row.title, "subtle", self._heading()
            )
        else:
            self._paint_row(painter, option, inner, row)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        """Return a field over the row."""
        field = QLineEdit(parent)
        field.setObjectName("renameSession")
        field.setAccessibleName(self.tr("Session name"))
        field.setMaxLength(_MAX_TITLE)
        return field

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: _Index
    ) -> None:
        """Fill the row."""
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        editor.setGeometry(rect.adjusted(4, 0, -4, 0))

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        """Start with the present title, all of it selected."""
        if isinstance(editor, QLineEdit) and not editor.text():
            editor.setText(index.data(ROW_ROLE).title)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        """Pass the new title on."""
        row: SessionRow = index.data(ROW_ROLE)
        title = editor.text().strip() if isinstance(editor, QLineEdit) else ""
        if title and title != row.title and row.session_id:
            self.renamed.emit(row.session_id, title)

    def _paint_row(
        self, painter: QPainter, option: QStyleOptionViewItem, inner: QRect, row: SessionRow
    ) -> None:
        from PySide6.QtWidgets import QStyle  # brings all its names: not before there is a row

        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        if is_selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("active" if is_selected else "hover"))
            painter.drawRoundedRect(QRectF(rect).adjusted(2, 1, -2, -1), 6, 6)
        size = self._icon_px
        icon = QRect(inner.left(), inner.center().y() - size // 2 + 1, size, size)
        self._paint_icon(painter, _mirrored(option, icon), row)
        small = self._theme.font("caption")
        age_width = QFontMetrics(small).horizontalAdvance(row.age) + 2
        title = inner.adjusted(self._icon_px + 8, 0, -age_width - 8, 0)
        quiet = "fg" if is_selected or row.is_bold or row.state == "running" else "muted"
        font = self._theme.font("ui", "medium" if is_selected or row.is_bold else "regular")
        self._text(painter, option, title, row.title, quiet, font)
        age = QRect(inner.right() - age_width, inner.top(), age_width + 1, inner.height())
        far = Qt.AlignmentFlag.AlignRight
        # Isolated, so that "4 min" is not scrambled in a right-to-left window.
        shown = f"\u2068{row.age}\u2069"
        self._text(painter, option, age, shown, "muted" if is_selected else "subtle", small, far)

    def _paint_icon(self, painter: QPainter, box: QRect, row: SessionRow) -> None:
        theme = self._theme
        if row.state == "running":
            ring = QRectF(box).adjusted(-1, -1, 1, 1)
            paint_spinner(painter, ring, theme.pulse, theme.color("accent"), theme.color("line2"))
        elif row.state == "unread":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("accent"))
            painter.drawEllipse(QRectF(box).center(), 3.5, 3.5)
        else:
            name, token = _ICONS[row.state]
            ratio = painter.device().devicePixelRatioF()
            painter.drawPixmap(box.topLeft(), theme.pixmap(name, token, self._icon_px, ratio))

    def _heading(self) -> QFont:
        return self._theme.font("caption", "semibold")

    def _text(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        token: str,
        font: QFont,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        painter.setFont(font)
        painter.setPen(QColor(self._theme.color(token)))
        if direction == Qt.LayoutDirection.RightToLeft:
            side ^= Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignRight
        aligned = side | Qt.AlignmentFlag.AlignVCenter
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(
            _mirrored(option, box), int(aligned | Qt.AlignmentFlag.AlignAbsolute), shown
        )

    def displayText(self, value: object, locale: QLocale | QLocale.Language) -> str:
        """Return the title as it is."""
        return str(value)


def _mirrored(option: QStyleOptionViewItem, box: QRect) -> QRect:
    direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
    rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
    return placed(direction, rect, box)
