"""The user's own instructions for all work, as a field of several lines."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.settings import LONGEST_INSTRUCTIONS
from desktop_agent.gui.kit.fields.input_methods import PlainText
from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, column
from desktop_agent.gui.settings.rows import SettingGroup

translate = QCoreApplication.translate

_LINES = 6


class InstructionsBox(PlainText):
    """Several lines of text.

    Signals:
        chosen(str): the user has written, and gone on to something else
    """

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._value = ""
        self._shown: str = ""
        self.setObjectName("ownInstructions")
        self.setTabChangesFocus(True)
        self.setPlaceholderText(self.tr("For example: Answer in French. I use uv, not pip."))
        self._fit()

    def set_value(self, text: str) -> None:
        """Show this text; nothing is emitted."""
        if text != self._value:
            self._value = text
            self.setPlainText(clean(text))
            # Not what it was given: a field keeps no line ends and no non-breaking spaces.
            self._shown = self.toPlainText()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._take()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._take()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        margins = 2 * round(self.document().documentMargin()) + 16
        self.setFixedHeight(_LINES * self.fontMetrics().lineSpacing() + margins)

    def _take(self) -> None:
        shown = self.toPlainText()
        if shown != self._shown:
            self._shown = self._value = shown
            self.chosen.emit(self._value)


def instructions_group(theme: Theme, box: QWidget) -> SettingGroup:
    """Return the group of settings around the field."""
    group = SettingGroup(theme)
    title = TextLabel(translate("Settings", "Your instructions"))
    words = translate(
        "Settings",
        "Given to every agent in every folder, up to {most} characters. /remember in a message "
        "adds a line.",
    ).format(most=f"{LONGEST_INSTRUCTIONS:,}")
    box.setAccessibleName(title.text())
    box.setAccessibleDescription(words)
    holder = QWidget()
    about = TextLabel(words, "subtle", wraps=True)
    column(title, about, 6, box, spacing=1, edges=(0, 8, 0, 12), within=holder)
    group.add_widget(holder)
    return group
