"""Whose transcript is shown: `Main ▸ Research ▸ Prices`, each part a way back."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextLabel, row

_LONGEST = 28


class Breadcrumb(QFrame):
    """Hidden while the main agent is shown.

    Signals:
        chosen(agent_id): show its transcript
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._path: tuple[tuple[AgentId, str], ...] = ()
        self.setObjectName("breadcrumb")
        self.setAccessibleName(self.tr("Path of subagents"))
        edge = theme.space("m")
        self._line = row(None, spacing=0, edges=(edge, 2, edge, 2))
        self.setLayout(self._line)
        self.hide()

    def show_path(self, agents: Sequence[AgentInfo]) -> None:
        """Show these agents, from the main one down."""
        path = tuple((info.id, plain(info.name)) for info in agents)
        if path != self._path:
            self._path = path
            self._fill()
        self.setVisible(len(path) > 1)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._fill()

    def _fill(self) -> None:
        while self._line.count() > 1:
            item = self._line.takeAt(0)
            part = item.widget() if item is not None else None
            if part is not None:
                part.hide()
                part.deleteLater()
        for place, (agent_id, name) in enumerate(self._path):
            if place:
                mark = TextLabel("◂" if self.isRightToLeft() else "▸", "subtle", self)
                mark.setAccessibleName(" ")
                self._insert(mark)
            self._insert(self._part(agent_id, name, is_last=place == len(self._path) - 1))

    def _insert(self, widget: QWidget) -> None:
        self._line.insertWidget(self._line.count() - 1, widget)
        widget.show()

    def _part(self, agent_id: AgentId, name: str, *, is_last: bool) -> QWidget:
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        if is_last:
            label = TextLabel(short, "strong", self)
            label.setContentsMargins(self._theme.space("s"), 0, self._theme.space("s"), 0)
            label.setToolTip(plain_tip(name) if short != name else "")
            return label
        button = GhostButton(self._theme, short.replace("&", "&&"), parent=self)
        button.setObjectName("breadcrumbPart")
        button.setAccessibleName(self.tr("Go to {name}").format(name=name))
        button.setToolTip(plain_tip(self.tr("Go to {name}").format(name=name)))
        button.clicked.connect(lambda: self.chosen.emit(agent_id))
        return button
