"""What takes the size that fits: scroll areas without a ground of their own, dialogs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QScrollArea, QSizePolicy, QWidget

from desktop_agent.gui.kit.theme import Theme


class FittedArea(QScrollArea):
    """Takes no room of its own; what does not fit is scrolled."""

    def __init__(self, content: QWidget, highest: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._highest = highest
        # One of our own, with no ground: Qt's would have to be looked up among all its widgets.
        self.setViewport(QWidget(self))
        self.setWidgetResizable(True)
        self.setWidget(content)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # As a scroll area it would have what it stands in take room that is left over.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        content.setAutoFillBackground(False)
        content.installEventFilter(self)

    def set_highest(self, highest: int) -> None:
        """Scroll what is higher than this."""
        if highest != self._highest:
            self._highest = highest
            self.fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the content when it needs more or less room."""
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self.fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the width: text that wraps gets higher."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Take the height the content needs at this width."""
        content = self.widget()
        if content is None:
            return
        width = self.viewport().width()
        high = content.sizeHint().height()
        if content.hasHeightForWidth():
            high = content.heightForWidth(width)
        high = min(self._highest, high)
        if self.maximumHeight() != high or self.minimumHeight() != high:
            self.setFixedHeight(high)


class _PlainArea(QScrollArea):
    """Takes its content in when it is first shown: it would ask it for a size, for which every
    widget in there gets its style, and again each time that something around it gets a parent.
    """

    def __init__(self, content: QWidget, parent: QWidget | None) -> None:
        super().__init__(parent, widgetResizable=True)
        self._content = content
        self.setViewport(QWidget(self))  # as above
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content.setParent(self)
        content.hide()

    def showEvent(self, event: QShowEvent) -> None:
        if self.widget() is None:
            self.setWidget(self._content)
            self._content.setAutoFillBackground(False)
        super().showEvent(event)


def plain_area(content: QWidget, parent: QWidget | None = None) -> QScrollArea:
    """Return an area in which the content is scrolled where it is too high."""
    return _PlainArea(content, parent)


def fit_dialog(dialog: QDialog, theme: Theme, wide: int, high: int) -> None:
    """Resize a dialog to widths of the text size, or to less where its window has less room."""
    letter = theme.text_px("ui")
    wide, high = wide * letter, high * letter
    window = dialog.parentWidget()
    if window is not None:
        room = window.window().size()
        wide, high = min(wide, room.width() - 40), min(high, room.height() - 60)
    dialog.resize(wide, high)
