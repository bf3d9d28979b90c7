"""Draws a row of the tree of subagents: state, name, what it does, and its buttons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPixmap, QRegion
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.agents.text import CHIP_TONES, STATE_ICONS
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.text import whole_words
from desktop_agent.gui.kit.theme import Theme

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
_RTL = Qt.LayoutDirection.RightToLeft
_ALIGN = Qt.AlignmentFlag
# By whether the row is mirrored; put together once, since that takes longer than to draw an icon.
_NEAR = (
    int(_ALIGN.AlignLeft | _ALIGN.AlignVCenter | _ALIGN.AlignAbsolute),
    int(_ALIGN.AlignRight | _ALIGN.AlignVCenter | _ALIGN.AlignAbsolute),
)


@dataclass(slots=True)
class RowLook:
    """A row as it is to be drawn: where, and what the mouse and the keys are at."""

    row: AgentRow
    rect: QRect
    is_mirrored: bool = False
    is_selected: bool = False
    is_hovered: bool = False
    is_focused: bool = False

    @property
    def has_buttons(self) -> bool:
        """Whether buttons stand in place of the chip."""
        return (self.is_hovered or self.is_focused) and not self.row.info.is_ended

    def visual(self, box: QRect) -> QRect:
        """Return a part of the row on the side where it is seen."""
        return QStyle.visualRect(_RTL, self.rect, box) if self.is_mirrored else box


@dataclass(frozen=True, slots=True)
class _Measures:
    """Sizes at the present size of text, looked up once for all rows."""

    icon: int
    button: int
    inner: int


class AgentDelegate(QStyledItemDelegate):
    """`can_do(row, wish)` tells which buttons are live. `pointed` is the wish under the mouse.

    A row has three parts that are drawn each on its own, and none draws outside of its part:
    the state icon, the upper line and the lower line. News mostly touch one of them.
    """

    def __init__(
        self, theme: Theme, can_do: Callable[[AgentRow, str], bool], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._can_do = can_do
        self.pointed = ""
        # Making a font and measuring with it costs more than drawing the words.
        self._fonts: dict[tuple[str, str], tuple[QFont, QFontMetrics]] = {}
        # A turning spinner is drawn ten thousand times an hour, in these few frames.
        self._spinners: dict[tuple[float, bool, int, float], QPixmap] = {}
        self._forget_look()
        theme.changed.connect(self._forget_look)

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height of two lines."""
        return QSize(80, self._theme.size("row2"))

    # -- where things are ------------------------------------------------------------------

    def icon_box(self, look: RowLook) -> QRect:
        """Return where the state icon is."""
        rect, size = look.rect, self._px.icon
        middle = rect.top() + 4 + (rect.height() // 2 - 5) // 2  # of the upper line
        return look.visual(QRect(rect.left() + _EDGE, middle - size // 2 + 1, size, size))

    def detail_box(self, look: RowLook) -> QRect:
        """Return what must be drawn again when the lower line reads otherwise."""
        return self._parts(look)[2]

    def wish_at(self, look: RowLook, where: QPoint) -> str:
        """Return the wish of the button at a place of a row; empty where there is none."""
        for wish in self._fitting(look.rect):
            if self.button_box(look, wish).contains(where):
                return wish
        return ""

    def button_box(self, look: RowLook, wish: str) -> QRect:
        """Return where the button of a wish is."""
        place = len(ROW_WISHES) - ROW_WISHES.index(wish)
        upper, _ = self._lines(look.rect)
        side = self._px.button
        left = look.rect.right() - 4 - place * side
        return look.visual(QRect(left, upper.center().y() - side // 2 + 1, side, side))

    def _fitting(self, rect: QRect) -> tuple[str, ...]:
        """Return the buttons for which there is room; menu and card have all of them."""
        room = rect.width() - self._px.inner - 4
        count = min(len(ROW_WISHES), max(0, room // self._px.button))
        return ROW_WISHES[len(ROW_WISHES) - count :]

    def _lines(self, rect: QRect) -> tuple[QRect, QRect]:
        height = rect.height() // 2
        upper = QRect(rect.left(), rect.top() + 4, rect.width(), height - 4)
        lower = QRect(rect.left(), rect.top() + height - 1, rect.width(), height - 4)
        return upper, lower

    def _parts(self, look: RowLook) -> tuple[QRect, QRect, QRect]:
        """Return where the state icon, the upper and the lower line are drawn, side by side."""
        rect, inner = look.rect, self._px.inner
        left, top, width, height = rect.left(), rect.top(), rect.width(), rect.height()
        half = height // 2
        parts = (
            QRect(left, top, inner, height),
            QRect(left + inner, top, width - inner, half),
            QRect(left + inner, top + half, width - inner, height - half),
        )
        if not look.is_mirrored:
            return parts
        return look.visual(parts[0]), look.visual(parts[1]), look.visual(parts[2])

    # -- drawing ---------------------------------------------------------------------------

    def draw(self, painter: QPainter, look: RowLook, dirty: QRegion) -> None:
        """Draw what is dirty of the row; the view has drawn the ground."""
        icon, upper, lower = self._parts(look)
        if dirty.intersects(icon):
            self._draw_state(painter, look)
        if look.has_buttons:  # which are higher than their line
            upper = lower = upper.united(lower)
        has_upper, has_lower = dirty.intersects(upper), dirty.intersects(lower)
        if not has_upper and not has_lower:
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if has_upper:
            painter.setClipRect(upper)
            self._draw_upper(painter, look)
        if has_lower:
            painter.setClipRect(lower)
            self._draw_lower(painter, look)
        painter.restore()

    def _draw_state(self, painter: QPainter, look: RowLook) -> None:
        ratio = painter.device().devicePixelRatioF()
        if look.row.state == "running":
            pixmap = self._spinner(self._px.icon, ratio)
        else:
            icon, token = STATE_ICONS[look.row.state]
            pixmap = self._theme.pixmap(icon, token, self._px.icon, ratio)
        painter.drawPixmap(self.icon_box(look).topLeft(), pixmap)

    def _spinner(self, size: int, ratio: float) -> QPixmap:
        pulse = self._theme.pulse
        key = (pulse.angle, pulse.is_still, size, ratio)
        found = self._spinners.get(key)
        if found is None:
            found = QPixmap(round(size * ratio), round(size * ratio))
            found.setDevicePixelRatio(ratio)
            found.fill(Qt.GlobalColor.transparent)
            painter = QPainter(found)
            colors = self._theme.color("accent"), self._theme.color("line2")
            paint_spinner(painter, QRectF(0, 0, size, size), pulse, *colors)
            painter.end()
            self._spinners[key] = found
        return found

    def _draw_upper(self, painter: QPainter, look: RowLook) -> None:
        upper, _ = self._lines(look.rect)
        inner = self._px.inner + _GAP - 1
        words = upper.adjusted(inner, 0, -_EDGE, 0)
        if look.has_buttons:
            self._draw_buttons(painter, look)
            far = len(ROW_WISHES) * self._px.button + 4
        else:
            far = self._draw_chip(painter, look, words)
        token = "muted" if look.row.state in _DIM else "fg"
        room = words.adjusted(0, 0, -far, 0)
        self._text(painter, look, room, look.row.name, token, "ui", "medium")

    def _draw_lower(self, painter: QPainter, look: RowLook) -> None:
        _, lower = self._lines(look.rect)
        inner = self._px.inner + _GAP - 1
        line = lower.adjusted(inner, 0, -_EDGE, 0)
        self._draw_detail(painter, look, line)
        if look.row.has_budget and not look.row.info.is_ended:
            self._draw_budget(painter, look, line)

    def _draw_chip(self, painter: QPainter, look: RowLook, line: QRect) -> int:
        """Draw the chip at the far end; return the room it took."""
        if not look.row.chip:
            return 0
        ground, ink = CHIP_TONES.get(look.row.state, ("line", "muted"))
        if look.is_selected and ground == "line":
            ground = "raised"
        _, metrics = self._font("caption", "medium")
        text = metrics.elidedText(look.row.chip, _CUT, line.width() // 2)
        width = metrics.horizontalAdvance(text) + 18
        height = metrics.height() + 4
        chip = QRect(line.right() - width + 1, line.center().y() - height // 2 + 1, width, height)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(ground))
        painter.drawRoundedRect(QRectF(look.visual(chip)), height / 2, height / 2)
        self._text(painter, look, chip.adjusted(9, 0, -8, 0), text, ink, "caption", "medium")
        return width + 8

    def _draw_detail(self, painter: QPainter, look: RowLook, line: QRect) -> None:
        """Draw time, tokens and what it does; silence in amber."""
        row = look.row
        token = "muted" if look.is_selected else "subtle"
        parts = [(row.elapsed, token), (row.tokens, token)]
        if row.doing:
            parts.append((row.doing, "warn" if row.is_silent else token))
        dot = "  ·  "
        if not row.is_silent and not look.is_mirrored:
            # The usual case in one stroke.
            self._text(painter, look, line, dot.join([p for p, _ in parts]), token, "small")
            return
        _, metrics = self._font("small", "regular")
        for place, (text, color) in enumerate(parts):
            if place:
                self._text(painter, look, line, dot, token, "small")
                line = line.adjusted(metrics.horizontalAdvance(dot), 0, 0, 0)
            if line.width() > _LEAST:
                self._text(painter, look, line, text, color, "small")
            line = line.adjusted(metrics.horizontalAdvance(text), 0, 0, 0)

    def _draw_budget(self, painter: QPainter, look: RowLook, line: QRect) -> None:
        track = QRect(line.left(), look.rect.bottom() - 5, line.width(), 3)
        used = min(1.0, max(0.0, look.row.info.used))
        filled = QRect(track.left(), track.top(), round(track.width() * used), 3)
        token = "err" if used >= 1.0 else "warn" if used >= 0.8 else "accentFill"
        painter.setPen(Qt.PenStyle.NoPen)
        for box, color in ((track, "line2"), (filled, token)):
            painter.setBrush(self._theme.color(color))
            painter.drawRoundedRect(QRectF(look.visual(box)), 1.5, 1.5)

    def _draw_buttons(self, painter: QPainter, look: RowLook) -> None:
        ratio = painter.device().devicePixelRatioF()
        for wish in self._fitting(look.rect):
            box = self.button_box(look, wish)
            is_live = self._can_do(look.row, wish)
            is_pointed = is_live and look.is_hovered and wish == self.pointed
            if is_pointed:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._theme.color("line2"))
                painter.drawRoundedRect(QRectF(box).adjusted(1, 1, -1, -1), 5, 5)
            icon = "play" if wish == "pause" and look.row.is_holding else _BUTTON_ICONS[wish]
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
        look: RowLook,
        box: QRect,
        text: str,
        token: str,
        size: str,
        weight: str = "regular",
    ) -> None:
        font, metrics = self._font(size, weight)
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        shown = whole_words(text, metrics.elidedText(text, _CUT, box.width()))
        if look.is_mirrored and text.strip() == text:
            # Isolated, so that a number keeps its unit and a path its order.
            shown = f"\u2068{shown}\u2069"
        painter.drawText(look.visual(box), _NEAR[look.is_mirrored], shown)

    def _forget_look(self) -> None:
        self._fonts.clear()
        self._spinners.clear()
        icon = self._theme.icon_px(_ICON)
        self._px = _Measures(icon, self._theme.icon_px(_BUTTON), _EDGE + icon + 1)

    def _font(self, size: str, weight: str) -> tuple[QFont, QFontMetrics]:
        found = self._fonts.get((size, weight))
        if found is None:
            font = self._theme.font(size, weight)
            found = self._fonts[size, weight] = (font, QFontMetrics(font))
        return found
