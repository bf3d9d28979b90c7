"""Settings: whether commands are contained on this computer, and what was tried to find out."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.sandbox import Probe, SandboxState
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, TextButton, TextLabel, column, named, row
from desktop_agent.gui.settings.rows import SettingGroup, scrolled


class SandboxPage(QWidget):
    """Signals:
    check_requested: answered by `set_sandbox`
    """

    check_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        about = TextLabel(
            self.tr(
                "In the sandbox a command can read the system and the session's folders, and "
                "change these folders. The rest of your home folder is hidden, and a new host is "
                "reached once you allow it. What needs more is asked about, each time."
            ),
            "muted",
        )
        about.setWordWrap(True)
        self._words = TextLabel("", "", name="sandboxWords", wraps=True)
        self._remedy = TextLabel("", "mono", name="sandboxRemedy", wraps=True)
        flags = Qt.TextInteractionFlag
        both = flags.TextSelectableByMouse | flags.TextSelectableByKeyboard
        self._remedy.setTextInteractionFlags(both)
        self._again = TextButton(theme, self.tr("Check again"), "refresh-cw", name="checkSandbox")
        self._again.clicked.connect(self._check)
        self._group = named(SettingGroup(theme, self.tr("What was tried")), "sandboxProbes")
        state = QWidget()
        state.setLayout(column(self._words, self._remedy, row(self._again, None), spacing=8))
        self.setLayout(column(scrolled(about, state, self._group)))
        self.set_sandbox(None)

    def set_sandbox(self, state: SandboxState | None) -> None:
        """Show what a check found; None while it is not known."""
        self._again.setEnabled(state is not None)
        if state is None:
            self._tell(self.tr("Checking…"), "muted", "")
            return
        if state.holds:
            self._tell(self.tr("The sandbox holds: commands run in it."), "ok", "")
        else:
            self._tell(state.reason, "warn", state.remedy)
        self._group.clear()
        self._group.setVisible(bool(state.probes))
        for probe in state.probes:
            self._group.add_widget(self._line(probe))

    def _check(self) -> None:
        self.set_sandbox(None)
        self.check_requested.emit()

    def _tell(self, words: str, role: str, remedy: str) -> None:
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self._words.set_role(role)
        self._remedy.setText(remedy)
        self._remedy.setVisible(bool(remedy))

    def _line(self, probe: Probe) -> QWidget:
        icon = IconLabel(
            self._theme,
            "circle-check" if probe.held else "circle-x",
            "ok" if probe.held else "err",
        )
        words = TextLabel(probe.words or probe.name, "", wraps=True)
        result = self.tr("held") if probe.held else self.tr("did not hold")
        words.setAccessibleName(f"{result}: {words.text()}")
        line = QWidget()
        line.setLayout(row(icon, words, stretch=1, edges=(0, 7, 0, 7)))
        return line
