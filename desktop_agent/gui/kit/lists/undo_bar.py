"""A line that says what was deleted, and brings it back."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, GhostButton, has_focus_in, row


class UndoBar(QFrame):
    """`undo` is called by the button, and by the usual key wherever the focus is in `area`; in a
    field that key is the field's. The focus goes to `home` when the button that had it hides.
    """

    def __init__(
        self, theme: Theme, name: str, area: QWidget, home: QWidget, undo: Callable[[], None]
    ) -> None:
        super().__init__(area)
        self._home = home
        self._undo = undo
        self.setObjectName(name)
        self.setProperty("frame", "card")
        self._text = ElidedLabel("", role="muted", parent=self)
        button = GhostButton(theme, self.tr("Undo"), "undo-2", self, name=f"{name}Button")
        button.clicked.connect(self._act)
        keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), area)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        keys.activated.connect(self._act)
        self.setLayout(row(self._text, button, stretch=0, edges=(10, 2, 2, 2)))
        self.hide()

    def offer(self, text: str) -> None:
        """Say what can be undone."""
        self._text.set_text(text)
        self.show()

    def _act(self) -> None:
        if has_focus_in(self):
            self._home.setFocus(Qt.FocusReason.OtherFocusReason)
        self._undo()
