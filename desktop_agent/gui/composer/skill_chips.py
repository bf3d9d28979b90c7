"""The chips of the skills that go with a message."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, IconLabel

_MAX_NAME = 260
_MAX_REASON = 420


class SkillChip(QFrame):
    """One skill; with a reason it is red and stays behind. Delete or Backspace removes it."""

    removed = Signal()

    def __init__(self, theme: Theme, name: str, reason: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("skillChip")
        self.setProperty("frame", "chip")
        self.setProperty("tone", "err" if reason else "")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        words = self.tr("Skill {name} goes with this message")
        if reason:
            words = self.tr("Skill {name} does not go along. {reason}")
        spoken = words.format(name=name, reason=reason)
        self.setAccessibleName(spoken)
        self.setToolTip(plain_tip(spoken))
        icon = IconLabel(theme, "circle-alert" if reason else "book-open", "err", 14, self)
        icon.set_icon("circle-alert" if reason else "book-open", "err" if reason else "accent")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 2, 2)
        layout.setSpacing(6)
        layout.addWidget(icon)
        for text, role, most in ((name, "", _MAX_NAME), (reason, "error", _MAX_REASON)):
            if text:
                label = ElidedLabel(text, Qt.TextElideMode.ElideRight, role, self)
                label.setFont(theme.font("small"))
                label.setFixedWidth(min(most, label.fontMetrics().horizontalAdvance(text) + 4))
                layout.addWidget(label)
        words = self.tr("Remove skill {name}").format(name=name)
        button = IconButton(theme, "x", words, self, size=12)
        button.setObjectName("removeSkillChip")
        button.clicked.connect(self.removed)
        layout.addWidget(button)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete removes."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)


class SkillChips(QWidget):
    """All chips, on as many lines as they need; hidden when there is none. `removed(name)`."""

    removed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._flow = FlowLayout(self)
        self._shown: dict[str, tuple[str, SkillChip]] = {}
        self.setObjectName("skillChips")
        self.setAccessibleName(self.tr("Skills for this message"))
        self.hide()
        theme.changed.connect(self._make_again)

    def show_skills(self, reasons: Mapping[str, str]) -> None:
        """Show these by name, each with why it stays behind (empty: it goes along)."""
        for name, (reason, chip) in tuple(self._shown.items()):
            self._flow.removeWidget(chip)
            if reasons.get(name) != reason:
                chip.setParent(None)
                chip.deleteLater()
                del self._shown[name]
        for name, reason in reasons.items():
            self._flow.addWidget(self._chip(name, reason))
        self.setVisible(bool(reasons))
        self.updateGeometry()

    def _make_again(self) -> None:
        reasons = {name: reason for name, (reason, _) in self._shown.items()}
        self.show_skills({})
        self.show_skills(reasons)

    def _chip(self, name: str, reason: str) -> SkillChip:
        if name in self._shown:
            return self._shown[name][1]
        chip = SkillChip(self._theme, name, reason, self)
        chip.removed.connect(lambda: self.removed.emit(name))
        self._shown[name] = (reason, chip)
        chip.show()
        return chip
