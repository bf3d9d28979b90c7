"""What can be done with a session of the list."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QMessageBox, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import named
from desktop_agent.gui.sessions.rows import SessionRow


class SessionMenu(QMenu):
    """The menu of one row.

    Signals:
        wanted(what): `open`, `rename`, `pin`, `unpin`, `archive`, `unarchive`, `export`, `delete`;
            of a deleted one `restore` and `erase`; of all of them `empty`
    """

    wanted = Signal(str)

    def __init__(self, theme: Theme, row: SessionRow, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._row = row
        self.setObjectName("sessionMenu")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def fill(self, *, is_archived: bool) -> None:
        if self._row.is_heading:
            if self._row.fold == "deleted":
                self._add_red(self.tr("Empty…"), "empty")
        elif self._row.is_deleted:
            self._add("undo-2", self.tr("Restore"), "restore")
            self._add_red(self.tr("Delete permanently…"), "erase")
        else:
            self._fill_kept(is_archived=is_archived)

    def _fill_kept(self, *, is_archived: bool) -> None:
        self._add("message-square", self.tr("Open"), "open")
        # The keys are named, not bound: they are the list's, and a text field has its own.
        self._add("pencil", self.tr("Rename") + "\tF2", "rename")
        if self._row.is_pinned:
            self._add("pin", self.tr("Unpin"), "unpin")
        else:
            self._add("pin", self.tr("Pin"), "pin")
        if is_archived:
            self._add("archive", self.tr("Unarchive"), "unarchive")
        else:
            self._add("archive", self.tr("Archive"), "archive")
        self._add("external-link", self.tr("Export…"), "export")
        self.addSeparator()
        self._add_red(self.tr("Delete") + "\tDel", "delete")

    def _add_red(self, text: str, what: str) -> None:
        self._add("trash-2", text, what, "err")

    def _add(self, icon: str, text: str, what: str, token: str = "muted") -> None:
        self.addAction(self._theme.icon(icon, token), text, lambda: self.wanted.emit(what))


def ask_to_erase(question: str, parent: QWidget) -> QMessageBox:
    """Ask before what can't be undone; the box's `accepted` means yes."""
    box = named(QMessageBox(parent), "eraseQuestion")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(box.tr("Delete permanently?"))
    box.setText(question)
    box.setInformativeText(
        box.tr("What was said is erased, and what is kept to undo its changes of files.")
    )
    box.addButton(box.tr("Delete permanently"), QMessageBox.ButtonRole.AcceptRole)
    cancel = box.addButton(box.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.open()
    return box
