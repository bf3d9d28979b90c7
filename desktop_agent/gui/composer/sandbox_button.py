"""The button beside the mode that says whether commands run in the sandbox, and why not."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.core.sandbox import SandboxState
from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextButton, TextLabel, named, restyle, row

_LETTERS = 26


class SandboxButton(GhostButton):
    """Nothing is shown before it is known.

    Signals:
        check_requested: the user has done something about it
        fix_requested(QWidget): the app is to install what is missing; ask at this widget
    """

    check_requested = Signal()
    fix_requested = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "", "box")
        self.setObjectName("sandboxButton")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._state: SandboxState | None = None
        self._is_machine = False
        self._is_narrow = False
        self.clicked.connect(self._open)
        self.hide()

    @property
    def is_known(self) -> bool:
        """Whether there is something to show."""
        return self._state is not None or self._is_machine

    def show_sandbox(self, state: SandboxState | None, *, is_machine: bool) -> bool:
        """Show this state, or that the machine is the sandbox; return whether it was another."""
        if (state, is_machine) == (self._state, self._is_machine):
            return False
        self._state, self._is_machine = state, is_machine
        self._show()
        return True

    def set_narrow(self, is_narrow: bool) -> None:
        """Show only the icon."""
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._show()

    def _show(self) -> None:
        holds = self._holds
        shown = words = self.tr("Sandboxed") if holds else self.tr("Not sandboxed")
        if self._is_machine:
            shown, words = self.tr("This machine"), self.tr("This machine is the sandbox")
        self.set_text("" if self._is_narrow else shown)
        self.set_icon("box" if holds else "triangle-alert", "muted" if holds else "warn")
        self.setAccessibleName(words)
        self.setAccessibleDescription(self._explained())
        self.setToolTip(words)
        self.setProperty("tone", "" if holds else "warn")
        restyle(self)

    @property
    def _holds(self) -> bool:
        return self._state is not None and self._state.holds and not self._is_machine

    def _explained(self) -> str:
        if self._is_machine:
            return self.tr(
                "Commands of this session run as they are and can change anything here; in the "
                "mode that doesn't ask, unasked. Switch it off under the folder's name."
            )
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
        state = None if self._holds or self._is_machine else self._state
        remedy = state.remedy if state is not None else ""
        words = self._explained()
        popover = sandbox_popover(self._theme, self, self.accessibleName(), words, remedy)
        buttons: list[QWidget] = []
        if state is not None and state.command:
            fix = TextButton(self._theme, self.tr("Fix…"), "download", name="fixSandbox")
            fix.clicked.connect(popover.close)
            fix.clicked.connect(lambda: self.fix_requested.emit(self))
            buttons.append(fix)
        if state is not None:
            again = TextButton(self._theme, self.tr("Check again"), "refresh-cw")
            again.setObjectName("checkSandboxAgain")
            again.clicked.connect(self.check_requested)
            again.clicked.connect(popover.close)
            buttons.append(again)
        more = TextButton(self._theme, self.tr("Learn more"), "book-open")
        more.setObjectName("learnSandbox")
        more.clicked.connect(popover.close)
        more.clicked.connect(self._learn)
        line = row(*buttons, more)
        line.addStretch()
        popover.body.addLayout(line)
        popover.open_below(self, above=True)

    def _learn(self) -> None:
        from desktop_agent.gui.composer.help_dialog import open_chapter  # rarely wanted

        open_chapter(self._theme, "sandbox", self.window())


def sandbox_popover(theme: Theme, anchor: QWidget, title: str, words: str, remedy: str) -> Popover:
    """Return it, to be opened; it is gone when it is closed."""
    popover = named(Popover(theme, title, anchor.window()), "sandboxPopover")
    popover.closed.connect(popover.deleteLater)
    popover.body.addWidget(TextLabel(title, "title"))
    about = TextLabel(words, "muted", name="sandboxReason")
    popover.body.addWidget(_wrapped(popover, about))
    if remedy:
        shown = TextLabel(remedy, "mono", name="sandboxRemedy")
        shown.setAccessibleName(remedy)
        flags = Qt.TextInteractionFlag
        shown.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        popover.body.addWidget(_wrapped(popover, shown))
        copy = TextButton(theme, QCoreApplication.translate("SandboxPopover", "Copy"), "copy")
        copy.setObjectName("copyRemedy")
        # What is pasted into a terminal is the command alone.
        copied = remedy.removeprefix("Run: ")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(copied))
        popover.body.addWidget(copy, 0, Qt.AlignmentFlag.AlignLeft)
    return popover


def _wrapped(popover: Popover, label: TextLabel) -> TextLabel:
    label.setWordWrap(True)
    label.setFixedWidth(popover.wide(_LETTERS))
    return label
