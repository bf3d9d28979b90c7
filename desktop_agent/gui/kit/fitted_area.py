"""What takes the size that fits: scroll areas without a ground of their own, dialogs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QFont, QResizeEvent, QShowEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QDialog, QFrame, QScrollArea, QSizePolicy, QWidget

from desktop_agent.gui.kit.rtl import keep_left_to_right
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import ReadOnlyText

_WHOLE_SHEET = "WholeText { background: transparent; border: none; padding: 0; }"
_WHOLE_WRAP = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
_WHOLE_ROOM = 2  # a line that does not fit to the pixel would be scrolled out


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


class WholeText(ReadOnlyText):
    """Text that is always seen whole: unlike in a label, a long word breaks where the room ends.

    `role` is `mono`, `strong` or none.
    """

    def __init__(self, theme: Theme, name: str, said: str, *, role: str = "mono") -> None:
        super().__init__()
        self._theme = theme
        self._role = role
        self.setObjectName(name)
        self.setAccessibleName(said)
        self.setStyleSheet(_WHOLE_SHEET)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(0)
        self.setWordWrapMode(_WHOLE_WRAP)
        keep_left_to_right(self)
        for set_policy in (self.setVerticalScrollBarPolicy, self.setHorizontalScrollBarPolicy):
            set_policy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.changed.connect(self._fit)
        # Where it had less room for a moment, its first line would stay scrolled out.
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(lambda: bar.setValue(0))
        self._fit()

    def setText(self, text: str) -> None:
        """Show this text, as in a label."""
        if text != self.text():
            self.setPlainText(text)
            self.updateGeometry()

    def text(self) -> str:
        return self.toPlainText()

    def heightForWidth(self, width: int) -> int:
        """Ask for all lines that the text takes."""
        count = sum(_lines(text, self.font(), width) for text in self.text().split("\n"))
        return count * self.fontMetrics().lineSpacing() + _WHOLE_ROOM

    def sizeHint(self) -> QSize:
        wide = 20 * self.fontMetrics().averageCharWidth()
        return QSize(wide, self.heightForWidth(max(wide, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(4 * self.fontMetrics().averageCharWidth(), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _fit(self) -> None:
        weight = "semibold" if self._role == "strong" else "regular"
        is_mono = self._role == "mono"
        font = mono_font(self._theme, "small") if is_mono else self._theme.font("ui", weight)
        self.setFont(font)
        self.updateGeometry()


def _lines(text: str, font: QFont, width: int) -> int:
    """Return how many lines a text without line ends takes."""
    layout = QTextLayout(text, font)
    layout.setTextOption(_wrapping())
    count = 0
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(max(1, width))
        count += 1
    layout.endLayout()
    return max(1, count)


def _wrapping() -> QTextOption:
    option = QTextOption()
    option.setWrapMode(_WHOLE_WRAP)
    return option


class PlainArea(QScrollArea):
    """An area in which the content is scrolled where it is too high.

    It takes it in when it is first shown: before, it would ask it for a size, for which every
    widget in there gets its style, and again each time that something around it gets a parent.
    """

    def __init__(self, content: QWidget, parent: QWidget | None = None) -> None:
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


def fit_dialog(dialog: QDialog, theme: Theme, wide: int, high: int) -> None:
    """Resize a dialog to widths of the text size, or to less where its window has less room."""
    letter = theme.text_px("ui")
    wide, high = wide * letter, high * letter
    window = dialog.parentWidget()
    if window is not None:
        room = window.window().size()
        wide, high = min(wide, room.width() - 40), min(high, room.height() - 60)
    dialog.resize(wide, high)
