"""The button beside the mode that says whether commands run in the sandbox, and why not."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.core.sandbox import SandboxState
from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextButton, TextLabel, named, restyle

_LETTERS = 26


class SandboxButton(GhostButton):
    """Nothing is shown before it is known."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "", "shield", parent)
        self.setObjectName("sandboxButton")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._state: SandboxState | None = None
        self._is_narrow = False
        self.clicked.connect(self._open)
        self.hide()

    @property
    def is_known(self) -> bool:
        """Whether there is something to show."""
        return self._state is not None

    def show_sandbox(self, state: SandboxState | None) -> bool:
        """Show this state; return whether that changed anything."""
        if state == self._state:
            return False
        self._state = state
        self._show()
        return True

    def set_narrow(self, is_narrow: bool) -> None:
        """Show only the icon."""
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._show()

    def _show(self) -> None:
        holds = self._state is not None and self._state.holds
        words = self.tr("Sandboxed") if holds else self.tr("Not sandboxed")
        self.set_text("" if self._is_narrow else words)
        self.set_icon("shield" if holds else "triangle-alert", "muted" if holds else "warn")
        self.setAccessibleName(words)
        self.setAccessibleDescription(self._explained())
        self.setToolTip(words)
        self.setProperty("tone", "" if holds else "warn")
        restyle(self)

    def _explained(self) -> str:
        if self._state is None:
            return ""
        if self._state.holds:
            return self.tr(
                "Commands can change this session's folders only, see nothing private in your "
                "home folder, and ask before they reach a new host."
            )
        more = self.tr("Commands that may change something are asked about in every mode.")
        return f"{self._state.reason} {more}"

    def _open(self) -> None:
        if self._state is None:
            return
        remedy = "" if self._state.holds else self._state.remedy
        open_sandbox_popover(self._theme, self, self.accessibleName(), self._explained(), remedy)


def open_sandbox_popover(
    theme: Theme, anchor: QWidget, title: str, words: str, remedy: str
) -> Popover:
    """Open it above the anchor; it is gone when it is closed."""
    popover = named(Popover(theme, title, anchor.window()), "sandboxPopover")
    popover.closed.connect(popover.deleteLater)
    popover.body.addWidget(TextLabel(title, "title"))
    about = TextLabel(words, "muted", name="sandboxReason")
    popover.body.addWidget(_wrapped(theme, about))
    if remedy:
        shown = TextLabel(remedy, "mono", name="sandboxRemedy")
        shown.setAccessibleName(remedy)
        flags = Qt.TextInteractionFlag
        shown.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        popover.body.addWidget(_wrapped(theme, shown))
        copy = TextButton(theme, QCoreApplication.translate("SandboxPopover", "Copy"), "copy")
        copy.setObjectName("copyRemedy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(remedy))
        popover.body.addWidget(copy, 0, Qt.AlignmentFlag.AlignLeft)
    popover.open_below(anchor, above=True)
    return popover


def _wrapped(theme: Theme, label: TextLabel) -> TextLabel:
    label.setWordWrap(True)
    label.setFixedWidth(_LETTERS * theme.text_px("ui"))
    return label
