"""Small controls shared by all panels. Each takes the theme first and follows its changes."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGraphicsDropShadowEffect,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.pulse import paint_spinner
from desktop_agent.gui.theme import Theme

# Keeps a button's text off its icon; the style sheet has no property for that.
_GAP = "\u2009"


class IconButton(QToolButton):
    """A square button that is only an icon; its name is spoken and shown as the tooltip."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        name: str,
        parent: QWidget | None = None,
        *,
        size: int = 16,
        token: str = "muted",
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = token
        self._size = size
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setIconSize(QSize(size, size))
        self.setMinimumSize(theme.size("hit_min"), theme.size("hit_min"))
        theme.changed.connect(self._paint_icon)
        self._paint_icon()

    def set_icon(self, icon: str, token: str | None = None) -> None:
        """Show another icon."""
        self._icon = icon
        self._token = token or self._token
        self._paint_icon()

    def _paint_icon(self) -> None:
        self.setIcon(self._theme.icon(self._icon, self._token, self._size))


class TextButton(QPushButton):
    """A button with words and, if given, an icon. `kind` is `plain`, `primary` or `ghost`."""

    def __init__(
        self,
        theme: Theme,
        text: str,
        icon: str = "",
        parent: QWidget | None = None,
        *,
        kind: str = "plain",
        token: str = "",
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = token or ("onAccent" if kind == "primary" else "muted")
        self.setProperty("kind", kind)
        self.set_text(text)
        if icon:
            self.setIconSize(QSize(14, 14))
            theme.changed.connect(self._paint_icon)
            self._paint_icon()

    def set_text(self, text: str) -> None:
        """Show other words; the accessible name follows."""
        self.setText((_GAP if self._icon else "") + text)
        self.setAccessibleName(text.replace("&", ""))

    def set_icon(self, icon: str, token: str | None = None) -> None:
        """Show another icon."""
        self._icon = icon
        self._token = token or self._token
        self._paint_icon()

    def _paint_icon(self) -> None:
        self.setIcon(self._theme.icon(self._icon, self._token, 14))


class PrimaryButton(TextButton):
    """The one filled button of a region."""

    def __init__(
        self, theme: Theme, text: str, icon: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, text, icon, parent, kind="primary")


class GhostButton(TextButton):
    """A button without an edge, for what is rarely wanted."""

    def __init__(
        self, theme: Theme, text: str, icon: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, text, icon, parent, kind="ghost")


class TextLabel(QLabel):
    """Plain text in a role of the style sheet: `muted`, `caption`, `section`, `h1` …"""

    def __init__(self, text: str = "", role: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            self.setProperty("role", role)

    def set_role(self, role: str) -> None:
        """Change the role and restyle."""
        self.setProperty("role", role)
        restyle(self)


class IconLabel(QLabel):
    """An icon that is no button."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        token: str = "muted",
        size: int = 16,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = token
        self._size = size
        self.setFixedSize(size, size)
        theme.changed.connect(self._paint_icon)
        self._paint_icon()

    def set_icon(self, icon: str, token: str | None = None) -> None:
        """Show another icon."""
        self._icon = icon
        self._token = token or self._token
        self._paint_icon()

    def _paint_icon(self) -> None:
        ratio = self.devicePixelRatioF()
        self.setPixmap(self._theme.pixmap(self._icon, self._token, self._size, ratio))


class ElidedLabel(QLabel):
    """One line that shortens itself; the whole text is the tooltip and is what is spoken."""

    def __init__(
        self,
        text: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        role: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._whole = ""
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if role:
            self.setProperty("role", role)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show this text, shortened to the room there is."""
        self._whole = text
        self.setAccessibleName(text)
        self._shorten()
        self.updateGeometry()

    def whole_text(self) -> str:
        """Return the text as it was set."""
        return self._whole

    def sizeHint(self) -> QSize:
        """Ask for the room of the whole text."""
        hint = super().sizeHint()
        hint.setWidth(self.fontMetrics().horizontalAdvance(self._whole) + 2)
        return hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten to the new width."""
        super().resizeEvent(event)
        self._shorten()

    def changeEvent(self, event: QEvent) -> None:
        """Shorten again in a new font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._shorten()

    def _shorten(self) -> None:
        room = max(0, self.contentsRect().width())
        shown = QFontMetrics(self.font()).elidedText(self._whole, self._mode, room)
        self.setText(shown)
        self.setToolTip(self._whole if shown != self._whole else "")


class Chip(QLabel):
    """A short word on a coloured ground; `tone` is empty, `ok`, `warn`, `err` or `accent`."""

    def __init__(self, text: str = "", tone: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", "chip")
        self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def set_tone(self, tone: str) -> None:
        """Change the ground's colour."""
        self.setProperty("tone", tone)
        restyle(self)


class Separator(QFrame):
    """A hairline."""

    def __init__(self, parent: QWidget | None = None, *, vertical: bool = False) -> None:
        super().__init__(parent)
        self.setProperty("frame", "line")
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)


class SearchField(QLineEdit):
    """A field with a magnifier and a named clear button; `left` on Esc when it is empty."""

    left = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName(name)
        self.setPlaceholderText(name)
        self._lens = self.addAction(
            theme.icon("search", "subtle", 14), QLineEdit.ActionPosition.LeadingPosition
        )
        self._clear = self.addAction(
            theme.icon("x", "subtle", 14), QLineEdit.ActionPosition.TrailingPosition
        )
        self._lens.setText(name)
        self._clear.setText(self.tr("Clear"))
        self._clear.setToolTip(self.tr("Clear"))
        self._clear.setVisible(False)
        self._clear.triggered.connect(self.clear)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName(button.defaultAction().text())
        self.textChanged.connect(lambda text: self._clear.setVisible(bool(text)))
        theme.changed.connect(self._paint_icons)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc empties the field first, then leaves it."""
        if event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.left.emit()
            event.accept()
            return
        super().keyPressEvent(event)

    def _paint_icons(self) -> None:
        self._lens.setIcon(self._theme.icon("search", "subtle", 14))
        self._clear.setIcon(self._theme.icon("x", "subtle", 14))


class Spinner(QWidget):
    """Turns while it can be seen."""

    def __init__(self, theme: Theme, size: int = 16, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedSize(size, size)
        theme.pulse.ticked.connect(self.update)

    def showEvent(self, event: QShowEvent) -> None:
        """Need the clock."""
        super().showEvent(event)
        self._theme.pulse.hold(self)

    def hideEvent(self, event: QHideEvent) -> None:
        """Need it no longer."""
        super().hideEvent(event)
        self._theme.pulse.release(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the present frame."""
        painter = QPainter(self)
        theme = self._theme
        paint_spinner(
            painter, QRectF(self.rect()), theme.pulse, theme.color("accent"), theme.color("line2")
        )
        painter.end()


class Popover(QFrame):
    """A panel that floats within the window and closes on Esc or on a click beside it.

    Put the content into `body`. `closed` is emitted however it was closed; the focus goes back
    to where it was. It is no window of its own, so that it looks the same on every desktop.
    """

    closed = Signal()
    _MARGIN = 16

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._before: QWidget | None = None
        self._anchor: tuple[QWidget, bool] | None = None
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._frame = QFrame(self)
        self._frame.setProperty("frame", "popover")
        self._shadow = QGraphicsDropShadowEffect(self._frame)
        self._shadow.setBlurRadius(24)
        self._shadow.setOffset(0, 6)
        self._frame.setGraphicsEffect(self._shadow)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(self._MARGIN, self._MARGIN, self._MARGIN, self._MARGIN)
        outer.addWidget(self._frame)
        self.body = QVBoxLayout(self._frame)
        self.body.setContentsMargins(*(theme.space("s"),) * 4)
        self.body.setSpacing(theme.space("xs"))
        theme.changed.connect(self._tint)
        self._tint()
        self.hide()

    def open_below(self, anchor: QWidget, *, above: bool = False) -> None:
        """Show under the anchor's near edge (or above it), kept inside its window."""
        self._anchor = (anchor, above)
        self._before = QApplication.focusWidget()
        self.setParent(anchor.window())
        self.place()
        self.show()
        self.raise_()
        self.setFocus()
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)

    def place(self) -> None:
        """Take the size of the content, and the place at the anchor."""
        self.adjustSize()
        if self._anchor is None:
            return
        anchor, above = self._anchor
        window = anchor.window()
        corner = anchor.mapTo(window, QPoint(0, 0 if above else anchor.height()))
        x = corner.x() - self._MARGIN
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            x = corner.x() + anchor.width() - self.width() + self._MARGIN
        y = corner.y() - self._MARGIN + 6
        if above:
            y = corner.y() - self.height() + self._MARGIN - 6
        x = max(-self._MARGIN, min(x, window.width() - self.width() + self._MARGIN))
        y = max(-self._MARGIN, min(y, window.height() - self.height() + self._MARGIN))
        self.move(x, y)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Close on a press beside it; menus and lists of its own controls are no such place."""
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            is_inside = watched is self or self.isAncestorOf(watched)
            if not is_inside and watched.window() is self.window():
                self.close()
        elif event.type() == QEvent.Type.Resize and watched is self.window():
            self.place()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close on Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Give the focus back and tell that it closed."""
        super().hideEvent(event)
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        before, self._before = self._before, None
        focused = QApplication.focusWidget()
        has_focus = focused is None or focused is self or self.isAncestorOf(focused)
        if before is not None and has_focus and shiboken6.isValid(before):
            before.setFocus(Qt.FocusReason.PopupFocusReason)
        self.closed.emit()

    def _tint(self) -> None:
        color = QColor(self._theme.color("shadow"))
        color.setAlpha(120 if self._theme.is_dark else 45)
        self._shadow.setColor(color)


def row(*widgets: QWidget | int | None, spacing: int = 8) -> QHBoxLayout:
    """Return a horizontal layout: a number is a gap, None a stretch."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        elif isinstance(widget, int):
            layout.addSpacing(widget)
        else:
            layout.addWidget(widget)
    return layout


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a property it selects by has changed."""
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()
