"""The folders an agent may use beside its own: read, or read and write."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.accessible import NamedChoice
from desktop_agent.gui.kit.folders import folder_warning, real_folder, short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconButton,
    TextLabel,
    column,
    row,
)

# As the entries of the box that chooses one of them.
_READ, _WRITE, _NONE = 0, 1, 2


class ExtraFolders(QWidget):
    """Shows and edits the extra folders of a workspace; hidden while there is none.

    Signals:
        workspace_changed(Workspace): other extra folders
        add_requested: open a dialog for a folder, and call `add`
    """

    workspace_changed = Signal(object)
    add_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._workspace: Workspace | None = None
        self.setObjectName("extraFolders")
        self._rows = column(spacing=theme.space("xs"))
        self._note = TextLabel("", "warn", self, wraps=True)
        self._note.hide()
        add = GhostButton(theme, self.tr("Add a folder…"), "folder-plus", self)
        add.setObjectName("addExtraFolder")
        add.setToolTip(self.tr("Let the agent use another folder as well"))
        add.clicked.connect(self.add_requested)
        title = TextLabel(self.tr("Also allowed in this session"), "section", self)
        title.setIndent(theme.space("s"))
        parts = (title, self._rows, self._note, row(add, None))
        self.setLayout(column(*parts, spacing=-1, edges=(0, theme.space("s"), 0, 0)))
        self.hide()

    def set_workspace(self, workspace: Workspace | None) -> None:
        self._workspace = workspace
        self.setVisible(workspace is not None)
        while self._rows.count():
            item = self._rows.takeAt(0)
            old = item.widget() if item is not None else None
            if old is not None:
                old.setParent(None)
                old.deleteLater()
        if workspace is not None:
            for access, paths in ((_WRITE, workspace.writable), (_READ, workspace.readable)):
                for path in paths:
                    self._rows.addWidget(self._row(path, access))

    def add(self, path: str) -> None:
        """Allow reading another folder; what is already covered is said, not added twice."""
        workspace, real = self._workspace, real_folder(path)
        if workspace is None or real is None:
            return
        if real in workspace.read_roots:
            self._say(self.tr("That folder is already in the list."))
            return
        self._say(folder_warning(real))
        self._change(replace(workspace, readable=(*workspace.readable, real)))

    def _row(self, path: str, access: int) -> QWidget:
        line = QWidget(self)
        name = ElidedLabel(short_path(path), Qt.TextElideMode.ElideMiddle, "muted", line)
        right = NamedChoice(line)
        right.setObjectName("extraFolderRight")
        right.addItems([self.tr("Read"), self.tr("Read and write")])
        right.setCurrentIndex(access)
        right.setAccessibleName(self.tr("What is allowed in {path}").format(path=path))
        right.activated.connect(partial(self._set_access, path))
        remove = IconButton(self._theme, "x", self.tr("Remove this folder"), line, size=14)
        remove.setObjectName("removeExtraFolder")
        remove.clicked.connect(lambda: self._set_access(path, _NONE))
        line.setLayout(row(name, right, remove, spacing=4, stretch=0))
        return line

    def _set_access(self, path: str, access: int) -> None:
        """Take a folder off the list, or let the agent read it, or also write."""
        if self._workspace is None:
            return
        readable = tuple(one for one in self._workspace.readable if one != path)
        writable = tuple(one for one in self._workspace.writable if one != path)
        if access == _READ:
            readable = (*readable, path)
        elif access == _WRITE:
            writable = (*writable, path)
        self._change(replace(self._workspace, readable=readable, writable=writable))

    def _say(self, text: str) -> None:
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def _change(self, workspace: Workspace) -> None:
        if workspace != self._workspace:
            self.set_workspace(workspace)
            self.workspace_changed.emit(workspace)
