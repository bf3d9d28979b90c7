"""Draws a row of the tree of subagents: state, name, what it does, and its buttons."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.agent_rows import AgentRow, whole_words
from desktop_agent.gui.agent_words import CHIP_TONES, STATE_ICONS
from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.pulse import paint_spinner
from desktop_agent.gui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ICON = 16
_EDGE = 8
_GAP = 8
_BUTTON, _BUTTON_ICON = 24, 15
_LEAST = 24
# What the buttons of a row wish for, from the near end to the far one.
ROW_WISHES = ("steer", "probe", "pause", "stop", "open")
_BUTTON_ICONS = {
    "steer": "pencil",
    "probe": "radar",
    "pause": "pause",
    "stop": "square",
    "open": "external-link",
}
_CUT = Qt.TextElideMode.ElideRight
_DIM = frozenset({"done", "stopped", "failed", "over_budget"})


class AgentDelegate(QStyledItemDelegate):
    """`can_do(row, wish)` tells which buttons are live. `pointed` is the wish under the mouse."""

    def __init__(
        self, theme: Theme, can_do: Callable[[AgentRow, str], bool], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._can_do = can_do
        self.pointed = ""
        # Making a font and measuring with it costs more than drawing the words.
        self._fonts: dict[tuple[str, str], tuple[QFont, QFontMetrics]] = {}
        theme.changed.connect(self._forget_fonts)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height of two lines."""
        return QSize(80, self._theme.size("row2"))

    # -- where things are ------------------------------------------------------------------

    def icon_box(self, rect: QRect, direction: Qt.LayoutDirection) -> QRect:
        """Return where the state icon is."""
        upper, _ = self._lines(rect)
        size = self._theme.icon_px(_ICON)
        box = QRect(rect.left() + _EDGE, upper.center().y() - size // 2 + 1, size, size)
        return QStyle.visualRect(direction, rect, box)

    def words_box(self, rect: QRect, direction: Qt.LayoutDirection) -> QRect:
        """Return where everything but the state icon is."""
        inner = _EDGE + self._theme.icon_px(_ICON) + 1
        return QStyle.visualRect(direction, rect, rect.adjusted(inner, 0, 0, 0))

    def wish_at(self, rect: QRect, where: QPoint, direction: Qt.LayoutDirection) -> str:
        """Return the wish of the button at a place of a row; empty where there is none."""
        for wish in ROW_WISHES:
            if self.button_box(rect, wish, direction).contains(where):
                return wish
        return ""

    def button_box(self, rect: QRect, wish: str, direction: Qt.LayoutDirection) -> QRect:
        """Return where the button of a wish is."""
        place = len(ROW_WISHES) - ROW_WISHES.index(wish)
        upper, _ = self._lines(rect)
        side = self._theme.icon_px(_BUTTON)
        left = rect.right() - 4 - place * side
        box = QRect(left, upper.center().y() - side // 2 + 1, side, side)
        return QStyle.visualRect(direction, rect, box)

    def _lines(self, rect: QRect) -> tuple[QRect, QRect]:
        height = rect.height() // 2
        upper = QRect(rect.left(), rect.top() + 4, rect.width(), height - 4)
        lower = QRect(rect.left(), rect.top() + height - 1, rect.width(), height - 4)
        return upper, lower

    # -- drawing ---------------------------------------------------------------------------

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the row, mirrored where the window is; the view has drawn the ground."""
        row: AgentRow = index.data(ROW_ROLE)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(self._direction(option))
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        upper, lower = self._lines(rect)
        self.paint_state(painter, option, row)
        inner = _EDGE + self._theme.icon_px(_ICON) + _GAP
        words = upper.adjusted(inner, 0, -_EDGE, 0)
        is_touched = state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_HasFocus)
        if is_touched and not row.info.is_ended:
            self._paint_buttons(painter, option, row)
            far = len(ROW_WISHES) * self._theme.icon_px(_BUTTON) + 4
        else:
            far = self._paint_chip(painter, option, words, row, is_selected=is_selected)
        token = "muted" if row.state in _DIM else "fg"
        room = words.adjusted(0, 0, -far, 0)
        self._text(painter, option, room, row.name, token, "ui", "medium")
        self._paint_detail(
            painter, option, lower.adjusted(inner, 0, -_EDGE, 0), row, is_selected=is_selected
        )
        if row.has_budget and not row.info.is_ended:
            self._paint_budget(painter, option, lower.adjusted(inner, 0, -_EDGE, 0), row)
        painter.restore()

    def paint_state(self, painter: QPainter, option: QStyleOptionViewItem, row: AgentRow) -> None:
        """Draw the state icon alone: all that changes while a spinner turns."""
        theme = self._theme
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        box = self.icon_box(rect, self._direction(option))
        if row.state == "running":
            color, track = theme.color("accent"), theme.color("line2")
            paint_spinner(painter, QRectF(box), theme.pulse, color, track)
            return
        icon, token = STATE_ICONS[row.state]
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(box.topLeft(), theme.pixmap(icon, token, box.width(), ratio))

    def _paint_chip(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        line: QRect,
        row: AgentRow,
        *,
        is_selected: bool,
    ) -> int:
        """Draw the chip at the far end; return the room it took."""
        if not row.chip:
            return 0
        ground, ink = CHIP_TONES.get(row.state, ("line", "muted"))
        if is_selected and ground == "line":
            ground = "raised"
        _, metrics = self._font("caption", "medium")
        text = metrics.elidedText(row.chip, Qt.TextElideMode.ElideRight, line.width() // 2)
        width = metrics.horizontalAdvance(text) + 18
        height = metrics.height() + 4
        chip = QRect(line.right() - width + 1, line.center().y() - height // 2 + 1, width, height)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(ground))
        box = QRectF(QStyle.visualRect(self._direction(option), rect, chip))
        painter.drawRoundedRect(box, height / 2, height / 2)
        self._text(painter, option, chip.adjusted(9, 0, -8, 0), text, ink, "caption", "medium")
        return width + 8

    def _paint_detail(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        line: QRect,
        row: AgentRow,
        *,
        is_selected: bool,
    ) -> None:
        """Draw time, tokens and what it does; silence in amber."""
        token = "muted" if is_selected else "subtle"
        _, metrics = self._font("small", "regular")
        parts = [(row.elapsed, token), (row.tokens, token)]
        if row.doing:
            parts.append((row.doing, "warn" if row.is_silent else token))
        dot = "  ·  "
        if not row.is_silent and self._direction(option) == Qt.LayoutDirection.LeftToRight:
            # The usual case in one stroke.
            self._text(painter, option, line, dot.join(p for p, _ in parts), token, "small")
            return
        for place, (text, color) in enumerate(parts):
            if place:
                self._text(painter, option, line, dot, token, "small")
                line = line.adjusted(metrics.horizontalAdvance(dot), 0, 0, 0)
            if line.width() > _LEAST:
                self._text(painter, option, line, text, color, "small")
            line = line.adjusted(metrics.horizontalAdvance(text), 0, 0, 0)

    def _paint_budget(
        self, painter: QPainter, option: QStyleOptionViewItem, line: QRect, row: AgentRow
    ) -> None:
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        track = QRect(line.left(), rect.bottom() - 5, line.width(), 3)
        used = min(1.0, max(0.0, row.info.used))
        filled = QRect(track.left(), track.top(), round(track.width() * used), 3)
        token = "err" if used >= 1.0 else "warn" if used >= 0.8 else "accentFill"
        painter.setPen(Qt.PenStyle.NoPen)
        for box, color in ((track, "line2"), (filled, token)):
            painter.setBrush(self._theme.color(color))
            mirrored = QStyle.visualRect(self._direction(option), rect, box)
            painter.drawRoundedRect(QRectF(mirrored), 1.5, 1.5)

    def _paint_buttons(
        self, painter: QPainter, option: QStyleOptionViewItem, row: AgentRow
    ) -> None:
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        ratio = painter.device().devicePixelRatioF()
        is_hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        for wish in ROW_WISHES:
            box = self.button_box(rect, wish, self._direction(option))
            is_live = self._can_do(row, wish)
            is_pointed = is_live and is_hovered and wish == self.pointed
            if is_pointed:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._theme.color("line2"))
                painter.drawRoundedRect(QRectF(box).adjusted(1, 1, -1, -1), 5, 5)
            icon = "play" if wish == "pause" and row.is_holding else _BUTTON_ICONS[wish]
            token = "line3" if not is_live else "fg" if is_pointed else "muted"
            size = self._theme.icon_px(_BUTTON_ICON)
            edge = (box.width() - size + 1) // 2
            pixmap = self._theme.pixmap(icon, token, size, ratio)
            painter.setOpacity(1.0 if is_live else 0.6)
            painter.drawPixmap(box.left() + edge, box.top() + edge, pixmap)
        painter.setOpacity(1.0)

    def _text(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        token: str,
        size: str,
        weight: str = "regular",
    ) -> None:
        direction = self._direction(option)
        font, metrics = self._font(size, weight)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        near = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        aligned = QStyle.visualAlignment(direction, near) | Qt.AlignmentFlag.AlignAbsolute
        shown = whole_words(text, metrics.elidedText(text, _CUT, box.width()))
        if direction == Qt.LayoutDirection.RightToLeft and text.strip() == text:
            # Isolated, so that a number keeps its unit and a path its order.
            shown = f"\u2068{shown}\u2069"
        painter.drawText(QStyle.visualRect(direction, rect, box), int(aligned), shown)

    def _forget_fonts(self) -> None:
        self._fonts.clear()

    def _font(self, size: str, weight: str) -> tuple[QFont, QFontMetrics]:
        found = self._fonts.get((size, weight))
        if found is None:
            font = self._theme.font(size, weight)
            found = self._fonts[size, weight] = (font, QFontMetrics(font))
        return found

    def _direction(self, option: QStyleOptionViewItem) -> Qt.LayoutDirection:
        return option.direction  # pyright: ignore[reportAttributeAccessIssue]
