"""The left side: which folder, a new session, the sessions, and what the app is connected to."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.folders import folder_icon, git_branch, short_path
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    IconButton,
    IconLabel,
    PrimaryButton,
    PushButton,
    column,
    row,
)
from desktop_agent.gui.sessions.panel import SessionPanel


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
        self._state_icon.setObjectName("connectionState")
        self._state = ElidedLabel("", role="subtle", parent=self, name="connection")
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

    def set_connection(self, text: str, icon: str, token: str, state: str = "") -> None:
        """Say which model answers, and whether it can; `state` is what the icon means."""
        self._state_icon.setAccessibleName(state)
        self._state_icon.setToolTip(state)
        self._state.set_text(text)
        self._state_icon.set_icon(icon, token)

    def add_foot(self, part: QWidget, *, is_first: bool = False) -> None:
        """Take a part between the sessions and the last line: the first of them, or the last."""
        sessions = self._column.indexOf(self.sessions)
        self._column.insertWidget(sessions + 1 if is_first else self._column.count() - 2, part)

    def _resize(self) -> None:
        self.setFixedWidth(self._theme.size("sidebar"))


class WorkspaceButton(PushButton):
    """Names the folder, its path and its git branch."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._theme = theme
        self.setObjectName("workspaceButton")
        self._icon = IconLabel(theme, "folder", "accent", 18, self)
        self._name = ElidedLabel("", role="strong", parent=self)
        self._place = ElidedLabel("", Qt.TextElideMode.ElideMiddle, "caption", self)
        arrows = IconLabel(theme, "chevrons-up-down", "subtle", 14, self)
        for child in (self._icon, self._name, self._place, arrows):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        lines = column(self._name, self._place, spacing=1)
        self._lines = row(self._icon, lines, arrows, spacing=10, stretch=1, edges=(12, 8, 10, 8))
        self.setLayout(self._lines)
        self.set_workspace(None)

    def set_workspace(self, workspace: Workspace | None) -> None:
        """Show this folder; without one, invite to choose."""
        if workspace is None:
            name, place, icon = self.tr("Choose a folder"), self.tr("to work in"), "folder-open"
        else:
            branch = git_branch(workspace.root)
            name, icon = workspace.name, folder_icon(workspace.root)
            place = code_text(short_path(workspace.root)) + (f"  ·  {branch}" if branch else "")
        self._icon.set_icon(icon)
        self._name.set_text(name)
        self._place.set_text(place)
        self.setAccessibleName(self.tr("Folder: {name}, {place}").format(name=name, place=place))
        self.setToolTip(self.tr("Change the folder (Ctrl+O)"))

    def sizeHint(self) -> QSize:
        """Take the room of the two lines, not of a button's text."""
        return QSize(self._theme.size("sidebar") - 24, self._lines.sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._lines.sizeHint().height())
