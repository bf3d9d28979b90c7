"""Asks once more before a command that failed in the sandbox is let out of it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextButton, TextLabel, row
from desktop_agent.gui.transcript.cards.approval_text import outside_words
from desktop_agent.gui.transcript.cards.output_view import OutputView

_LETTERS = 30
_MOST_HEIGHT = 200
translate = QCoreApplication.translate


def open_outside_popover(
    theme: Theme, anchor: QWidget, command: str, allow: Callable[[], None]
) -> Popover:
    """Show the whole command and what it could do; `allow` is called if the person wants that."""
    title = translate("Transcript", "Run outside the sandbox, once?")
    popover = Popover(theme, title, anchor.window())
    popover.setObjectName("outsidePopover")
    popover.closed.connect(popover.deleteLater)
    popover.body.setSpacing(theme.space("s"))
    wide = popover.wide(_LETTERS)
    shown = OutputView(theme, translate("Transcript", "Exactly what will be done"))
    shown.set_text(f"$ {with_marks(command)}")
    shown.setFixedSize(wide, shown.content_height(wide, _MOST_HEIGHT))
    doubt = translate(
        "Transcript",
        "What a command prints can be wrong about why it failed. The agent is told that it may run "
        "this one again, and nothing else.",
    )
    popover.body.addWidget(TextLabel(title, "title"))
    popover.body.addWidget(shown)
    for words, role in ((outside_words(), ""), (doubt, "muted")):
        label = TextLabel(words, role, wraps=True)
        label.setFixedWidth(wide)
        popover.body.addWidget(label)
    run = TextButton(theme, translate("Transcript", "Run outside once"), "shield-off", token="warn")
    run.setObjectName("runOutsideOnce")
    cancel = GhostButton(theme, translate("Transcript", "Cancel"))
    run.clicked.connect(allow)
    for button in (run, cancel):
        button.clicked.connect(popover.close)
    popover.body.addLayout(row(run, cancel, None))
    popover.setAccessibleDescription(f"{command} {outside_words()} {doubt}")
    popover.open_below(anchor, above=True)
    cancel.setFocus(Qt.FocusReason.PopupFocusReason)
    return popover
