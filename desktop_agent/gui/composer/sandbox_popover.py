"""What the sandbox does for the person, or why it doesn't and what helps, in words to copy."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel

_LETTERS = 26


def open_sandbox_popover(
    theme: Theme, anchor: QWidget, title: str, words: str, remedy: str
) -> Popover:
    """Open it above the anchor; it is gone when it is closed."""
    popover = Popover(theme, title, anchor.window())
    popover.setObjectName("sandboxPopover")
    popover.closed.connect(popover.deleteLater)
    popover.body.addWidget(TextLabel(title, "title"))
    about = TextLabel(words, "muted")
    about.setObjectName("sandboxReason")
    popover.body.addWidget(_wrapped(theme, about))
    if remedy:
        shown = TextLabel(remedy, "mono")
        shown.setObjectName("sandboxRemedy")
        shown.setAccessibleName(remedy)
        flags = Qt.TextInteractionFlag
        shown.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        popover.body.addWidget(_wrapped(theme, shown))
        copy = TextButton(theme, QCoreApplication.translate("SandboxPopover", "Copy"), "copy")
        copy.setObjectName("copyRemedy")
        # What is pasted into a terminal is the command alone.
        copied = remedy.removeprefix("Run: ")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(copied))
        popover.body.addWidget(copy, 0, Qt.AlignmentFlag.AlignLeft)
    popover.open_below(anchor, above=True)
    return popover


def _wrapped(theme: Theme, label: TextLabel) -> TextLabel:
    label.setWordWrap(True)
    label.setFixedWidth(_LETTERS * theme.text_px("ui"))
    return label
