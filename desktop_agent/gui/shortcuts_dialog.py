"""The sheet of keyboard shortcuts, made from the window's own actions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from desktop_agent.gui.command_palette import action_name
from desktop_agent.gui.theme import Theme
from desktop_agent.gui.widgets import Chip, TextButton, TextLabel, row


class ShortcutsDialog(QDialog):
    """Lists name and keys of each action that has keys; `extra` adds keys that are no action's."""

    def __init__(
        self,
        theme: Theme,
        actions: Sequence[QAction],
        extra: Sequence[tuple[str, str]] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("shortcutsDialog")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 12, 0)
        grid.setHorizontalSpacing(theme.space("xl"))
        grid.setVerticalSpacing(theme.space("s"))
        grid.setColumnStretch(0, 1)
        for number, (name, keys) in enumerate((*_named(actions), *extra)):
            label = TextLabel(name)
            chip = Chip(keys)
            chip.setAccessibleName(f"{name}: {keys}")
            grid.addWidget(label, number, 0)
            grid.addWidget(chip, number, 1, Qt.AlignmentFlag.AlignLeft)
        grid.setRowStretch(grid.rowCount(), 1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(content)
        area.setAccessibleName(self.tr("Keyboard shortcuts"))
        close = TextButton(theme, self.tr("Close"))
        close.setObjectName("closeShortcuts")
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("xl"),) * 4)
        layout.setSpacing(theme.space("l"))
        layout.addWidget(TextLabel(self.tr("Keyboard shortcuts"), "h2"))
        layout.addWidget(area, 1)
        layout.addLayout(row(None, close))
        self.resize(440, 560)


def _named(actions: Sequence[QAction]) -> tuple[tuple[str, str], ...]:
    form = QKeySequence.SequenceFormat.NativeText
    found: dict[str, str] = {}
    for action in actions:
        keys = ", ".join(one.toString(form) for one in action.shortcuts())
        if keys and action_name(action):
            found.setdefault(action_name(action), keys)
    return tuple(found.items())
