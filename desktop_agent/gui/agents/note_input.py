"""The field under a subagent: steer it, or ask it something aside."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent import paths
from desktop_agent.gui.agents.actions import AgentActions
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.text import LONGEST_LINE
from desktop_agent.gui.kit.text_cache import TextCache
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, PrimaryButton, named, row

SteerMode = Literal["steer", "aside"]


class SteerInput(QWidget):
    """What was typed for an agent is kept for it.

    Signals:
        sent(mode, text): mode is as in SteerMode
    """

    sent = Signal(str, str)

    def __init__(self, theme: Theme, actions: AgentActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._name = ""
        self._agent = ""
        self._reason = ""
        self._mode: SteerMode = "steer"
        self._drafts: dict[tuple[str, SteerMode], str] = {}
        self._kept = TextCache.of(paths.data_dir() / "steer_drafts.json", self)
        self.setObjectName("steerInput")
        self.field = named(Line(self), "steerField")
        self.field.returnPressed.connect(self._send)
        self.field.textChanged.connect(self._on_typed)
        self.field.setMaxLength(LONGEST_LINE)
        self.quick = IconButton(theme, "zap", self.tr("Quick steer"), self, size=14)
        self.quick.setObjectName("steerQuick")
        self.quick.clicked.connect(self._open_quick)
        self.button = PrimaryButton(theme, self.tr("Send"), parent=self, name="steerSend")
        self.button.clicked.connect(self._send)
        self.setLayout(row(self.quick, self.field, self.button, spacing=6, stretch=1))

    def show_agent(self, agent_id: str, name: str, reason: str) -> None:
        """Be the field of this agent; `reason` tells why nothing can be sent, if so."""
        is_other = agent_id != self._agent
        self._agent, self._name, self._reason = agent_id, name, reason
        if is_other:
            self._mode = "steer"
            self.field.setText(self._draft("steer"))
        self._refresh()

    def set_mode(self, mode: SteerMode, text: str = "") -> None:
        """Change what sending does, and with a text what stands in the field."""
        if mode != self._mode:
            self._mode = mode
            self.field.setText(self._draft(mode))
        if text:
            self.field.setText(text)
        self._refresh()

    def begin(self, mode: SteerMode, text: str = "") -> None:
        self.set_mode(mode, text)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self.field.end(False)

    def give_back(self, agent_id: str, mode: SteerMode, text: str) -> None:
        """Put a text that was not sent before what has been typed since."""
        if agent_id == self._agent and mode == self._mode:
            self.field.setText(" ".join(filter(None, (text, self.field.text()))))
        elif mode == "steer":
            self._kept.keep(agent_id, " ".join(filter(None, (text, self._kept.text(agent_id)))))
        else:
            self._drafts[agent_id, mode] = text

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, which the field leaves alone, first leaves another mode; then it is the window's."""
        if event.key() == Qt.Key.Key_Escape and self._mode != "steer":
            self.set_mode("steer")
        else:
            super().keyPressEvent(event)

    def _open_quick(self) -> None:
        menu = self._actions.make_quick_menu(self)
        high = menu.sizeHint().height()
        menu.popup(self.quick.mapToGlobal(QPoint(0, -high)))

    def _send(self) -> None:
        text = self.field.text().strip()
        if not text or self._reason:
            return
        mode = self._mode
        self.field.clear()
        self.set_mode("steer")
        self.sent.emit(mode, text)

    def _draft(self, mode: SteerMode) -> str:
        # Only of a note it is sure that it still makes sense after a restart.
        if mode == "steer":
            return self._kept.text(self._agent)
        return self._drafts.get((self._agent, mode), "")

    def _on_typed(self, text: str) -> None:
        if self._mode == "steer":
            self._kept.keep(self._agent, text)
        else:
            self._drafts[self._agent, self._mode] = text
        self._refresh()

    def _refresh(self) -> None:
        hint, button, tip = {
            "steer": (
                self.tr("Steer {name}…"),
                self.tr("Send"),
                self.tr("It reads this before its next step (Enter)"),
            ),
            "aside": (
                self.tr("Ask {name} without interrupting…"),
                self.tr("Ask"),
                self.tr("Its work goes on unchanged (Enter). Esc goes back"),
            ),
        }[self._mode]
        hint = hint.format(name=self._name)
        self.field.setPlaceholderText(self._reason or hint)
        self.field.setAccessibleName(hint.removesuffix("…"))
        # Not disabled: whoever is writing would go on writing at the next button, and press it.
        self.field.setReadOnly(bool(self._reason))
        self.quick.setEnabled(not self._reason)
        self.quick.setVisible(self._mode == "steer")
        self.button.set_text(button)
        self.button.setEnabled(not self._reason and bool(self.field.text().strip()))
        self.button.setToolTip(self._reason or tip)
