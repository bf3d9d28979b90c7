"""Draws a row of the tree of subagents: state, name, what it does, and its buttons."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPixmap, QRegion
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.agents.actions import ICONS
from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.kit.lists.list_model import Index
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.text import whole_words
from desktop_agent.gui.kit.theme import Theme

_ICON, _BUTTON, _BUTTON_ICON = 16, 24, 15
_EDGE = 8
_LEAST = 24
# The buttons of a row, from the leading to the trailing end.
ROW_COMMANDS = ("steer", "probe", "pause", "stop", "open")
# State icon and colour; a running row has a spinner in its place.
_STATE_ICONS = {
    "queued": ("circle-dashed", "muted"),
    "waiting": ("circle-dot", "accent"),
    "needs_approval": ("shield-alert", "warn"),
    "needs_answer": ("message-circle-question-mark", "warn"),
    "paused": ("circle-pause", "muted"),
    "held": ("gauge", "warn"),
    "stopping": ("circle-stop", "warn"),
    "done": ("circle-check", "ok"),
    "failed": ("circle-x", "err"),
    "stopped": ("circle-slash", "subtle"),
    "over_budget": ("gauge", "subtle"),
}
_CHIP_TONES = {
    "needs_approval": ("warnSoft", "warn"),
    "needs_answer": ("warnSoft", "warn"),
    "held": ("warnSoft", "warn"),
    "done": ("okSoft", "ok"),
    "failed": ("errSoft", "err"),
}
_DIM = frozenset({"done", "stopped", "failed", "over_budget"})
_RTL = Qt.LayoutDirection.RightToLeft
_ALIGN = Qt.AlignmentFlag
# By whether the row is mirrored; put together once, since that takes longer than to draw an icon.
_LEADING = (
    int(_ALIGN.AlignLeft | _ALIGN.AlignVCenter | _ALIGN.AlignAbsolute),
    int(_ALIGN.AlignRight | _ALIGN.AlignVCenter | _ALIGN.AlignAbsolute),
)


class RowLook(msgspec.Struct):
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


class AgentDelegate(QStyledItemDelegate):
    """`can_do(row, command)` tells which buttons are live; `pointed` is the one under the mouse.

    The state icon and the two lines beside it are drawn each on its own, and neither draws
    outside of its part: spinners turn without any text being drawn.
    """

    def __init__(
        self, theme: Theme, can_do: Callable[[AgentRow, str], bool], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._can_do = can_do
        self.pointed = ""
        # Making a font and measuring with it costs more than drawing the text.
        self._fonts: dict[tuple[str, str], tuple[QFont, QFontMetrics]] = {}
        # A turning spinner is drawn ten thousand times an hour, in these few frames.
        self._spinners: dict[tuple[float, bool, float], QPixmap] = {}
        self._take_look()
        theme.changed.connect(self._take_look)

    def _take_look(self) -> None:
        self._fonts.clear()
        self._spinners.clear()
        self._icon, self._button = self._theme.icon_px(_ICON), self._theme.icon_px(_BUTTON)
        self._inner = _EDGE + self._icon + 1

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, self._theme.size("row2"))

    # -- where things are ------------------------------------------------------------------

    def icon_box(self, look: RowLook) -> QRect:
        rect, size = look.rect, self._icon
        middle = rect.top() + 4 + (rect.height() // 2 - 5) // 2  # of the upper line
        return look.visual(QRect(rect.left() + _EDGE, middle - size // 2 + 1, size, size))

    def detail_box(self, look: RowLook) -> QRect:
        """Return what must be drawn again when the lower line reads otherwise."""
        return look.visual(look.rect.adjusted(self._inner, look.rect.height() // 2, 0, 0))

    def command_at(self, look: RowLook, where: QPoint) -> str:
        """Return the command of the button at a place of a row; empty where there is none."""
        for command in self._fitting(look.rect):
            if self.button_box(look, command).contains(where):
                return command
        return ""

    def button_box(self, look: RowLook, command: str) -> QRect:
        side = self._button
        left = look.rect.right() - 4 - (len(ROW_COMMANDS) - ROW_COMMANDS.index(command)) * side
        top = self._lines(look.rect)[0].center().y() - side // 2 + 1
        return look.visual(QRect(left, top, side, side))

    def _fitting(self, rect: QRect) -> tuple[str, ...]:
        """Return the buttons for which there is room; menu and card have all of them."""
        count = max(0, rect.width() - self._inner - 4) // self._button
        return ROW_COMMANDS[max(0, len(ROW_COMMANDS) - count) :]

    def _lines(self, rect: QRect) -> tuple[QRect, QRect]:
        left, half = self._inner + _EDGE - 1, rect.height() // 2
        line = QRect(rect.left() + left, rect.top() + 4, rect.width() - left - _EDGE, half - 4)
        return line, line.translated(0, half - 5)

    # -- drawing ---------------------------------------------------------------------------

    def draw(self, painter: QPainter, look: RowLook, dirty: QRegion) -> None:
        """Draw what is dirty of the row; the view has drawn the ground."""
        beside = look.visual(look.rect.adjusted(self._inner, 0, 0, 0))
        if dirty.intersects(look.visual(look.rect.adjusted(0, 0, -beside.width(), 0))):
            self._draw_state(painter, look)
        if dirty.intersects(beside):
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setClipRect(beside)
            upper, lower = self._lines(look.rect)
            self._draw_upper(painter, look, upper)
            self._draw_detail(painter, look, lower)
            if look.row.has_budget and not look.row.info.is_ended:
                self._draw_budget(painter, look, lower)
            painter.restore()

    def _draw_state(self, painter: QPainter, look: RowLook) -> None:
        ratio = painter.device().devicePixelRatioF()
        if look.row.state == "running":
            pixmap = self._spinner(ratio)
        else:
            pixmap = self._theme.pixmap(*_STATE_ICONS[look.row.state], self._icon, ratio)
        painter.drawPixmap(self.icon_box(look).topLeft(), pixmap)

    def _spinner(self, ratio: float) -> QPixmap:
        pulse, size = self._theme.pulse, self._icon
        key = (pulse.angle, pulse.is_still, ratio)
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

    def _draw_upper(self, painter: QPainter, look: RowLook, line: QRect) -> None:
        if look.has_buttons:
            self._draw_buttons(painter, look)
            taken = len(ROW_COMMANDS) * self._button + 4
        else:
            taken = self._draw_chip(painter, look, line)
        token = "muted" if look.row.state in _DIM else "fg"
        room = line.adjusted(0, 0, -taken, 0)
        self._text(painter, look, room, look.row.name, token, "ui", "medium")

    def _draw_chip(self, painter: QPainter, look: RowLook, line: QRect) -> int:
        """Draw the chip at the trailing end; return the room it took."""
        if not look.row.chip:
            return 0
        state = "held" if look.row.is_away else look.row.state
        ground, ink = _CHIP_TONES.get(state, ("line", "muted"))
        if look.is_selected and ground == "line":
            ground = "raised"
        _, metrics = self._font("caption", "medium")
        text = metrics.elidedText(look.row.chip, Qt.TextElideMode.ElideRight, line.width() // 2)
        width = metrics.horizontalAdvance(text) + 18
        height = metrics.height() + 4
        chip = QRect(line.right() - width + 1, line.center().y() - height // 2 + 1, width, height)
        self._fill(painter, QRectF(look.visual(chip)), height / 2, ground)
        self._text(painter, look, chip.adjusted(9, 0, -8, 0), text, ink, "caption", "medium")
        return width + 8

    def _draw_detail(self, painter: QPainter, look: RowLook, line: QRect) -> None:
        """Draw time, tokens and what it does; silence in amber."""
        row = look.row
        token = "muted" if look.is_selected else "subtle"
        doing = (row.doing, "warn" if row.is_silent else token)
        parts = [one for one in ((row.elapsed, token), (row.tokens, token), doing) if one[0]]
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
        used = min(1.0, max(0.0, look.row.info.used))
        token = "err" if used >= 1.0 else "warn" if used >= 0.8 else "accentFill"
        for width, color in ((line.width(), "line2"), (round(line.width() * used), token)):
            box = QRect(line.left(), look.rect.bottom() - 5, width, 3)
            self._fill(painter, QRectF(look.visual(box)), 1.5, color)

    def _draw_buttons(self, painter: QPainter, look: RowLook) -> None:
        size, ratio = self._theme.icon_px(_BUTTON_ICON), painter.device().devicePixelRatioF()
        for command in self._fitting(look.rect):
            box = self.button_box(look, command)
            is_live = self._can_do(look.row, command)
            is_pointed = is_live and look.is_hovered and command == self.pointed
            if is_pointed:
                self._fill(painter, QRectF(box).adjusted(1, 1, -1, -1), 5, "line2")
            icon = "play" if command == "pause" and look.row.is_holding else ICONS[command]
            token = "line3" if not is_live else "fg" if is_pointed else "muted"
            edge = (box.width() - size + 1) // 2
            painter.setOpacity(1.0 if is_live else 0.6)
            pixmap = self._theme.pixmap(icon, token, size, ratio)
            painter.drawPixmap(box.left() + edge, box.top() + edge, pixmap)
        painter.setOpacity(1.0)

    def _fill(self, painter: QPainter, box: QRectF, radius: float, token: str) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(token))
        painter.drawRoundedRect(box, radius, radius)

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
        cut = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        shown = whole_words(text, cut)
        if look.is_mirrored and text.strip() == text:
            # Isolated, so that a number keeps its unit and a path its order.
            shown = f"\u2068{shown}\u2069"
        painter.drawText(look.visual(box), _LEADING[look.is_mirrored], shown)

    def _font(self, size: str, weight: str) -> tuple[QFont, QFontMetrics]:
        found = self._fonts.get((size, weight))
        if found is None:
            font = self._theme.font(size, weight)
            found = self._fonts[size, weight] = (font, QFontMetrics(font))
        return found
