"""Where a folder or a file is dropped to be looked at."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.gui.kit.links import accept_copy
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, TextLabel, restyle, row

_FILES = (".zip", ".skill", ".md")


class DropZone(QFrame):
    """A place to drop skills on.

    Signals:
        dropped(path): a folder or archive was dropped
        file_wanted, folder_wanted: the same without a mouse
    """

    dropped = Signal(str)
    file_wanted = Signal()
    folder_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("dropZone")
        self.setAcceptDrops(True)
        self.setAccessibleName(self.tr("Drop a folder or a file here"))
        words = TextLabel(
            self.tr("Or drop a folder, a .zip, a .skill or a SKILL.md here"), "muted", self
        )
        words.setWordWrap(True)
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        file = GhostButton(theme, self.tr("Choose a file…"), "file", self, name="chooseSkillFile")
        file.clicked.connect(self.file_wanted)
        folder = GhostButton(theme, self.tr("Choose a folder…"), "folder", self)
        folder.setObjectName("chooseSkillFolder")
        folder.clicked.connect(self.folder_wanted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("l"),) * 4)
        layout.setSpacing(theme.space("s"))
        layout.addStretch(1)
        layout.addLayout(row(None, IconLabel(theme, "download", "subtle", 24, self), None))
        layout.addWidget(words)
        layout.addLayout(row(None, file, folder, None))
        layout.addStretch(1)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_source(event.mimeData()):
            accept_copy(event)
            self._light(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._light(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self._light(False)
        path = dropped_source(event.mimeData())
        if path:
            accept_copy(event)
            self.dropped.emit(path)

    def _light(self, is_over: bool) -> None:
        self.setProperty("is_over", is_over)
        restyle(self)


def dropped_source(dragged: QMimeData) -> str:
    """Return the first thing dragged that may hold skills, or nothing."""
    for url in dragged.urls():
        if url.isLocalFile():
            path = Path(url.toLocalFile())
            if path.is_dir() or path.suffix.lower() in _FILES:
                return str(path)
    return ""
