"""Draws a row of two lines with an icon, a word at the far end, and a tick for the chosen one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ICON_PX = 16


class TwoLineDelegate(QStyledItemDelegate):
    """Rows have `title`, `detail`, `icon`, `tag` and `is_current`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @property
    def _icon_px(self) -> int:
        return self._theme.icon_px(_ICON_PX)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height of two lines."""
        return QSize(120, self._theme.size("row2"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the row, mirrored where the window is."""
        one = index.data(ROW_ROLE)
        theme = self._theme
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        if is_selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("active" if is_selected else "hover"))
            painter.drawRoundedRect(QRectF(rect).adjusted(2, 1, -2, -1), 6, 6)
        inner = rect.adjusted(10, 0, -10, 0)
        ratio = painter.device().devicePixelRatioF()
        token = "accent" if one.is_current else "muted"
        box = QRect(
            inner.left(), inner.center().y() - self._icon_px // 2, self._icon_px, self._icon_px
        )
        painter.drawPixmap(
            self._mirror(option, box).topLeft(), theme.pixmap(one.icon, token, self._icon_px, ratio)
        )
        far = self._paint_far(painter, option, inner, one, ratio)
        words = inner.adjusted(self._icon_px + 10, 0, -far - 8, 0)
        middle = words.center().y()
        upper = QRect(words.left(), rect.top() + 6, words.width(), middle - rect.top() - 5)
        lower = QRect(words.left(), middle + 1, words.width(), rect.bottom() - middle - 6)
        title = "subtle" if one.icon == "folder-x" else "fg"
        self._text(painter, option, upper, one.title, title, theme.font("ui", "medium"))
        self._text(
            painter,
            option,
            lower,
            one.detail,
            "muted" if is_selected else "subtle",
            theme.font("caption"),
            Qt.TextElideMode.ElideMiddle,
        )
        painter.restore()

    def _paint_far(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        inner: QRect,
        one: object,
        ratio: float,
    ) -> int:
        """Draw the tag or the tick at the far end; return the room it took."""
        tag: str = getattr(one, "tag", "")
        if getattr(one, "is_current", False) and not tag:
            box = QRect(
                inner.right() - self._icon_px,
                inner.center().y() - self._icon_px // 2,
                self._icon_px,
                self._icon_px,
            )
            painter.drawPixmap(
                self._mirror(option, box).topLeft(),
                self._theme.pixmap("check", "accent", self._icon_px, ratio),
            )
            return self._icon_px
        if not tag:
            return 0
        font = self._theme.font("caption")
        width = QFontMetrics(font).horizontalAdvance(tag) + 2
        box = QRect(inner.right() - width, inner.top(), width + 1, inner.height())
        self._text(painter, option, box, tag, "muted", font)
        return width

    def _text(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        token: str,
        font: QFont,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        near = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        aligned = QStyle.visualAlignment(direction, near) | Qt.AlignmentFlag.AlignAbsolute
        shown = painter.fontMetrics().elidedText(text, mode, box.width())
        # Isolated, and a path is always left to right: else a mirrored window scrambles it.
        shown = f"\u2066{shown}\u2069" if "/" in text else f"\u2068{shown}\u2069"
        painter.drawText(self._mirror(option, box), int(aligned), shown)

    def _mirror(self, option: QStyleOptionViewItem, box: QRect) -> QRect:
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        return QStyle.visualRect(direction, rect, box)
