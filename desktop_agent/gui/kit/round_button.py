"""The round button that sends."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from desktop_agent.gui.kit.theme import Theme

_RING = 3


class RoundButton(QAbstractButton):
    """A filled circle with an icon, and a ring around it while it has the focus."""

    def __init__(self, theme: Theme, icon: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(self.sizeHint())
        theme.changed.connect(self._fit)

    def sizeHint(self) -> QSize:
        """The circle and room for the ring."""
        side = self._theme.size("send") + 2 * _RING
        return QSize(side, side)

    def _fit(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        circle = QRectF(self.rect()).adjusted(_RING, _RING, -_RING, -_RING)
        painter.setPen(Qt.PenStyle.NoPen)
        fill = theme.color("accentFill" if self.isEnabled() else "active")
        if self.isEnabled() and (self.isDown() or self.underMouse()):
            fill = fill.darker(118 if self.isDown() else 108)
        painter.setBrush(fill)
        painter.drawEllipse(circle)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        token = "onAccent" if self.isEnabled() else "muted"
        size = theme.icon_px(18)
        pixmap = theme.pixmap(self._icon, token, size, self.devicePixelRatioF())
        corner = circle.center()
        painter.drawPixmap(round(corner.x() - size / 2), round(corner.y() - size / 2), pixmap)
        painter.end()
