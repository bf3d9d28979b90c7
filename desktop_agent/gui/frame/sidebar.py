"""The left side: which folder, a new session, the sessions, and what the app is connected to."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, IconLabel, PrimaryButton, row
from desktop_agent.gui.sessions.panel import SessionPanel
from desktop_agent.gui.workspace.button import WorkspaceButton


class Sidebar(QFrame):
    """Holds its parts as attributes; the window wires them."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Sidebar"))
        self.workspace = WorkspaceButton(theme, self)
        self.new_session = PrimaryButton(theme, self.tr("New session"), "plus", self)
        self.new_session.setObjectName("newSession")
        self.sessions = SessionPanel(theme, self)
        self._state_icon = IconLabel(theme, "circle", "subtle", 14, self)
        self._state = ElidedLabel("", role="subtle", parent=self)
        self._state.setObjectName("connection")
        self.settings = IconButton(theme, "settings", self.tr("Settings"), self)
        self.settings.setObjectName("openSettings")
        edge = theme.space("m")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, edge, 0, theme.space("s"))
        layout.setSpacing(0)
        layout.addLayout(row(edge, self.workspace, edge, spacing=0))
        layout.addSpacing(10)
        layout.addLayout(row(edge, self.new_session, edge, spacing=0))
        layout.addSpacing(theme.space("s"))
        layout.addWidget(self.sessions, 1)
        foot = row(16, self._state_icon, (self._state, 1), self.settings, 8, spacing=6)
        layout.addSpacing(6)
        layout.addLayout(foot)
        self._column = layout
        theme.changed.connect(self._resize)
        self._resize()

    def set_connection(self, text: str, icon: str, token: str) -> None:
        """Say which model answers, and whether it can."""
        self._state.set_text(text)
        self._state_icon.set_icon(icon, token)

    def add_foot(self, part: QWidget) -> None:
        """Take a part that stands between the sessions and the last line; Tab goes so as well."""
        self._column.insertWidget(self._column.count() - 2, part)
        self.setTabOrder(self.sessions, part)
        self.setTabOrder(part, self.settings)

    def _resize(self) -> None:
        self.setFixedWidth(self._theme.size("sidebar"))
        self.new_session.setFixedHeight(self._theme.size("control"))
