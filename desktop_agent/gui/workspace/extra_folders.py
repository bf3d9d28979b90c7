"""The folders an agent may use beside its own: read, or read and write."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.folders import folder_warning, real_folder, short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, GhostButton, IconButton, TextLabel, row


class ExtraFolders(QWidget):
    """Shows and edits the extra folders of a workspace; hidden while there is none."""

    workspace_changed = Signal(object)
    add_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._workspace: Workspace | None = None
        self.setObjectName("extraFolders")
        self._rows = QVBoxLayout()
        self._rows.setSpacing(theme.space("xs"))
        self._note = TextLabel("", "warn", self)
        self._note.setWordWrap(True)
        self._note.hide()
        add = GhostButton(theme, self.tr("Add a folder…"), "folder-plus", self)
        add.setObjectName("addExtraFolder")
        add.setToolTip(self.tr("Let the agent use another folder as well"))
        add.clicked.connect(self.add_requested)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.space("s"), 0, 0)
        title = TextLabel(self.tr("Also allowed in this session"), "section", self)
        title.setIndent(theme.space("s"))
        layout.addWidget(title)
        layout.addLayout(self._rows)
        layout.addWidget(self._note)
        layout.addLayout(row(add, None))
        self.hide()

    def set_workspace(self, workspace: Workspace | None) -> None:
        """Show the extra folders of this workspace."""
        self._workspace = workspace
        self.setVisible(workspace is not None)
        while self._rows.count():
            item = self._rows.takeAt(0)
            old = item.widget() if item is not None else None
            if old is not None:
                old.setParent(None)
                old.deleteLater()
        if workspace is not None:
            for path in workspace.writable:
                self._rows.addWidget(self._row(path, can_write=True))
            for path in workspace.readable:
                self._rows.addWidget(self._row(path, can_write=False))

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

    def _row(self, path: str, *, can_write: bool) -> QWidget:
        line = QWidget(self)
        name = ElidedLabel(short_path(path), Qt.TextElideMode.ElideMiddle, "muted", line)
        right = QComboBox(line)
        right.setObjectName("extraFolderRight")
        right.addItems([self.tr("Read"), self.tr("Read and write")])
        right.setCurrentIndex(int(can_write))
        right.setAccessibleName(self.tr("What is allowed in {path}").format(path=path))
        right.activated.connect(lambda choice: self._set_right(path, can_write=bool(choice)))
        remove = IconButton(self._theme, "x", self.tr("Remove this folder"), line, size=14)
        remove.setObjectName("removeExtraFolder")
        remove.clicked.connect(lambda: self._remove(path))
        layout = row(name, right, remove, spacing=4)
        layout.setStretch(0, 1)
        line.setLayout(layout)
        return line

    def _set_right(self, path: str, *, can_write: bool) -> None:
        if self._workspace is None:
            return
        readable = tuple(one for one in self._workspace.readable if one != path)
        writable = tuple(one for one in self._workspace.writable if one != path)
        if can_write:
            writable = (*writable, path)
        else:
            readable = (*readable, path)
        self._change(replace(self._workspace, readable=readable, writable=writable))

    def _remove(self, path: str) -> None:
        if self._workspace is None:
            return
        self._change(
            replace(
                self._workspace,
                readable=tuple(one for one in self._workspace.readable if one != path),
                writable=tuple(one for one in self._workspace.writable if one != path),
            )
        )

    def _say(self, text: str) -> None:
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def _change(self, workspace: Workspace) -> None:
        if workspace != self._workspace:
            self.set_workspace(workspace)
            self.workspace_changed.emit(workspace)
