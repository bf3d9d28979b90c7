"""Bars of what was used, one a day or month. A table beside it says the same."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from desktop_agent.core.usage import UsageLine
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.usage.text import (
    Measure,
    amount,
    amount_text,
    day_text,
    name_text,
    unknown,
)

_HIGH = 150
_WIDEST, _GAP = 36.0, 0.25
_LEAST, _STUB, _RADIUS = 2.0, 5.0, 3.0


class UsageChart(QWidget):
    """The highest bar fills the height. What is partly unknown has a mark above its bar."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("usageChart")
        self._theme = theme
        self._lines: Sequence[UsageLine] = ()
        self._measure: Measure = "cost"
        self._pointed = -1
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme_changed)

    def show_lines(self, lines: Sequence[UsageLine], measure: Measure) -> None:
        """Show these, oldest first."""
        self._lines, self._measure, self._pointed = lines, measure, -1
        highest = max(lines, key=lambda line: amount(line, measure), default=None)
        words = ""
        if highest is not None and amount(highest, measure):
            words = self.tr("{n} bars; the highest is {day} with {amount}. The table has them all.")
            day, most = name_text(highest, "day"), amount_text(highest, measure)
            words = words.format(n=len(lines), day=day, amount=most)
        spoken = self.tr("Money by day") if measure == "cost" else self.tr("Tokens by day")
        self.setAccessibleName(spoken)
        self.setAccessibleDescription(words)
        self.update()

    def bar_at(self, place: QPoint) -> UsageLine | None:
        """Return what stands at a place of the widget."""
        at = self._index_at(place)
        return self._lines[at] if at >= 0 else None

    def sizeHint(self) -> QSize:
        return QSize(400, _HIGH + round(2.5 * self._theme.text_px("caption")))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    # -- places ------------------------------------------------------------------------------

    def _area(self) -> QRectF:
        line = 1.5 * self._theme.text_px("caption")
        return QRectF(self.rect()).adjusted(0, line, 0, -line)

    def _slot(self) -> float:
        return self.width() / max(1, len(self._lines))

    def _index_at(self, place: QPoint) -> int:
        count = len(self._lines)
        at = int(place.x() / self._slot()) if count else -1
        if not 0 <= at < count or not self.rect().contains(place):
            return -1
        return count - 1 - at if self._is_mirrored else at

    @property
    def _is_mirrored(self) -> bool:
        return self.layoutDirection() == Qt.LayoutDirection.RightToLeft

    # -- painting ----------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self._area()
        most = max((amount(line, self._measure) for line in self._lines), default=0.0)
        painter.setPen(self._theme.color("line"))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        painter.setPen(Qt.PenStyle.NoPen)
        for number, line in enumerate(self._lines):
            self._paint_bar(painter, area, number, line, most)
        self._paint_words(painter, area, most)

    def _paint_bar(
        self, painter: QPainter, area: QRectF, number: int, line: UsageLine, most: float
    ) -> None:
        slot = self._slot()
        wide = min(_WIDEST, slot * (1 - _GAP))
        at = len(self._lines) - 1 - number if self._is_mirrored else number
        left = at * slot + (slot - wide) / 2
        value = amount(line, self._measure)
        high = max(_LEAST, area.height() * value / most) if value else 0.0
        colors = self._theme.color
        if high:
            box = QRectF(left, area.bottom() - high, wide, high)
            painter.setBrush(colors("accent" if number == self._pointed else "accentFill"))
            _rounded(painter, box)
        if unknown(line, self._measure):
            box = QRectF(left, area.bottom() - high - _STUB - (2 if high else 0), wide, _STUB)
            painter.setBrush(_faded(colors("warn")))
            _rounded(painter, box)

    def _paint_words(self, painter: QPainter, area: QRectF, most: float) -> None:
        theme = self._theme
        font = theme.font("caption")
        painter.setFont(font)
        painter.setPen(theme.color("subtle"))
        metrics = QFontMetricsF(font)
        if most:
            shown = UsageLine(requests=1, cost=most, input_tokens=int(most))
            words = self.tr("up to {amount}").format(amount=amount_text(shown, self._measure))
            painter.drawText(QPointF(0, metrics.ascent()), words)
        if not self._lines:
            return
        ends = [day_text(self._lines[at].key, is_short=True) for at in (0, -1)]
        if self._is_mirrored:
            ends.reverse()
        low = area.bottom() + metrics.ascent() + 4
        painter.drawText(QPointF(0, low), ends[0])
        if len(self._lines) > 1:
            right = self.width() - metrics.horizontalAdvance(ends[1])
            painter.drawText(QPointF(right, low), ends[1])

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    # -- what the mouse is on ----------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            line = self.bar_at(event.pos())
            if line is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self._tip(line), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self._index_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(-1)

    def _point(self, at: int) -> None:
        if at != self._pointed:
            self._pointed = at
            self.update()

    def _tip(self, line: UsageLine) -> str:
        words = self.tr("{day}: {cost}, {tokens} tokens, {n} requests")
        return words.format(
            day=name_text(line, "day"),
            cost=amount_text(line, "cost"),
            tokens=amount_text(line, "tokens"),
            n=f"{line.requests:,}",
        )


def _rounded(painter: QPainter, box: QRectF) -> None:
    radius = min(_RADIUS, box.height() / 2, box.width() / 2)
    painter.drawRoundedRect(box, radius, radius)


def _faded(color: QColor) -> QColor:
    faded = QColor(color)
    faded.setAlphaF(0.75)
    return faded
