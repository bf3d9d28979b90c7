"""Rows of the settings: a name, a sentence, and the control at the trailing end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.kit.accessible import NamedChoice
from desktop_agent.gui.kit.fitted_area import PlainArea
from desktop_agent.gui.kit.safe_text import label_text, plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, IconLabel, Separator, TextLabel, column, row

_CHOICE_LETTERS = 20
_NUMBER_LETTERS = 13


class ChoiceBox(NamedChoice):
    """A list of choices.

    Signals:
        chosen(value): the user picked another
    """

    chosen = Signal(object)

    def __init__(self, name: str, choices: Sequence[tuple[object, str]]) -> None:
        super().__init__()
        self.setObjectName(name)
        for value, title in choices:
            self.addItem(title, value)
        # As wide as so many letters in any text size, so that the boxes stand in line.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(_CHOICE_LETTERS)
        self.activated.connect(self._on_activated)

    def minimumSizeHint(self) -> QSize:
        """Half of it will do where the page is narrow."""
        hint = super().minimumSizeHint()
        return QSize(hint.width() // 2, hint.height())

    def set_value(self, value: object) -> None:
        """Show a value; one that is no choice takes the nearest number, or stays."""
        values = [self.itemData(number) for number in range(self.count())]
        if value not in values and isinstance(value, int):
            value = min(values, key=lambda known: abs(known - value))
        if value in values:
            self.setCurrentIndex(values.index(value))

    def _on_activated(self) -> None:
        self.chosen.emit(self.currentData())

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class NumberBox(QDoubleSpinBox):
    """A number. With a text for `no_limit`, 0 shows that text and is chosen as None.

    Signals:
        chosen(number): the user finished the entry
    """

    chosen = Signal(object)

    def __init__(
        self,
        name: str,
        low: int,
        high: int,
        suffix: str = "",
        *,
        prefix: str = "",
        decimals: int = 0,
        no_limit: str = "",
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setDecimals(decimals)
        self.setRange(low, high)
        self.setPrefix(prefix)
        self.setSuffix(suffix)
        self.setSpecialValueText(no_limit)
        self.setKeyboardTracking(False)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._is_set = False
        self.valueChanged.connect(self._on_changed)

    def sizeHint(self) -> QSize:
        letters = self.fontMetrics().horizontalAdvance("0") * _NUMBER_LETTERS
        return QSize(letters, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def set_value(self, value: float | None) -> None:
        self._is_set = True
        self.setValue(value or 0)
        self._is_set = False

    def _on_changed(self, value: float) -> None:
        if not self._is_set:
            number = value if self.decimals() else round(value)
            self.chosen.emit(None if self.specialValueText() and not number else number)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class Switch(QCheckBox):
    """A yes or no.

    Signals:
        chosen(bool): the user changed it
    """

    chosen = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("kind", "bare")
        self.clicked.connect(self._on_clicked)

    def _on_clicked(self, is_on: bool) -> None:
        self.chosen.emit(is_on)

    def set_value(self, value: bool) -> None:
        self.setChecked(value)


class _SettingRow(QWidget):
    """Words and a control side by side, or one under the other where that is too narrow."""

    def __init__(self, words: QVBoxLayout, control: QWidget) -> None:
        super().__init__()
        self._control = control
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._line.setContentsMargins(0, 9, 0, 9)
        self._line.setSpacing(12)
        self._line.addLayout(words, 1)
        self._line.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)

    def minimumSizeHint(self) -> QSize:
        """Ask for the control alone: the words wrap, or move above it."""
        width = self._control.minimumSizeHint().width()
        return QSize(width, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand one under the other when less than half is left for the words."""
        super().resizeEvent(event)
        way = QBoxLayout.Direction
        is_narrow = self.width() < 2 * self._control.sizeHint().width()
        direction = way.TopToBottom if is_narrow else way.LeftToRight
        if direction != self._line.direction():
            self._line.setDirection(direction)
            side = Qt.AlignmentFlag.AlignVCenter
            if is_narrow:
                # A list of choices takes the whole line; what is of one width begins it.
                fills = isinstance(self._control, QComboBox)
                side = Qt.AlignmentFlag(0) if fills else Qt.AlignmentFlag.AlignLeft
            self._line.setAlignment(self._control, side)


class SettingGroup(QFrame):
    """Rows that belong together, on one card."""

    def __init__(self, theme: Theme, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("settingGroup")
        self._stack = column(spacing=6, within=self)
        if title:
            self._stack.addWidget(TextLabel(title, "section"))
        self._card = QFrame()
        self._card.setProperty("frame", "card")
        self._rows = column(spacing=0, edges=(16, 4, 16, 4), within=self._card)
        self._stack.addWidget(self._card)

    def add_row(self, title: str, detail: str, control: QWidget) -> None:
        """Add a control; its accessible name is the title."""
        name = TextLabel(title, "", wraps=True)
        words = column(name, spacing=1)
        if detail:
            line = TextLabel(detail, "subtle", wraps=True)
            words.addWidget(line)
        control.setAccessibleName(title)
        control.setAccessibleDescription(detail)
        self.add_widget(_SettingRow(words, control))

    def add_widget(self, widget: QWidget) -> None:
        """Add any widget as a row, with a line above it when it is not the first."""
        if self._rows.count():
            self._rows.addWidget(Separator())
        self._rows.addWidget(widget)

    def row_count(self) -> int:
        return self._rows.count()

    def clear(self) -> None:
        """Take all rows out; the focus is in the same row again when they are back."""
        held = QApplication.focusWidget()
        if held is not None and self._card.isAncestorOf(held):
            name, said = held.objectName(), held.accessibleName()
            place = self._card.findChildren(QWidget, name).index(held)
            QTimer.singleShot(0, self, partial(self._give_focus, name, said, place))
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()

    def _give_focus(self, name: str, said: str, place: int) -> None:
        """Give it to what is called so and says so, else to what stands in its place now."""
        found = self._card.findChildren(QWidget, name)
        same = next((one for one in found if one.accessibleName() == said), None)
        target = same or next(reversed(found[: place + 1]), None)
        if target is not None:
            target.setFocus(Qt.FocusReason.OtherFocusReason)


def scrolled(within: QWidget, *widgets: QWidget) -> QScrollArea:
    """Return the widgets in a column that scrolls, for the layout of `within`."""
    holder = QWidget(within)
    area = PlainArea(holder, within)
    # Only now: what already has children gives them all a style again with each new parent.
    column(*widgets, None, spacing=18, edges=(24, 20, 24, 24), within=holder)
    return area


def item_row(
    theme: Theme,
    icon: str,
    title: str,
    detail: str,
    *trailing: QWidget | None,
    token: str = "muted",
    wraps: bool = False,
) -> QWidget:
    """Return a line for a thing of a list, with what stands at its end; the title may wrap."""
    line = QWidget()
    name: QWidget = ElidedLabel(title, role="strong")
    if wraps:
        name = TextLabel(label_text(title), "strong", wraps=True)
        name.setMinimumWidth(1)  # a long word must not make the page wider
        name.setToolTip(plain_tip(title))
    more = ElidedLabel(detail, role="subtle")
    ends = [widget for widget in trailing if widget is not None]
    mark = IconLabel(theme, icon, token, 16)
    row(
        mark,
        (column(name, more, spacing=1), 1),
        *ends,
        spacing=12,
        edges=(0, 8, 0, 8),
        within=line,
    )
    line.setAccessibleName(f"{title}, {detail}")
    return line
