"""The button at the top of the sidebar: which folder the agent works in."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.folders import folder_icon, git_branch, short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, IconLabel, column, row


class WorkspaceButton(QPushButton):
    """Names the folder, its path and its git branch."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
            place = short_path(workspace.root) + (f"  ·  {branch}" if branch else "")
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
