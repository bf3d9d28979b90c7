"""What can be done with a session of the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.sessions.rows import SessionRow

if TYPE_CHECKING:
    from desktop_agent.gui.kit.dialogs.question import Question


class SessionMenu(QMenu):
    """The menu of one row.

    Signals:
        wanted(what): `open`, `open_beside`, `rename`, `pin`, `unpin`, `archive`, `unarchive`,
            `export`, `delete`; of a deleted one `restore` and `erase`; of all of them `empty`
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
        self._add("app-window", self.tr("Open in new window"), "open_beside")
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


def ask_to_erase(theme: Theme, question: str, parent: QWidget) -> Question:
    """Ask before what can't be undone; `accepted` means yes."""
    from desktop_agent.gui.kit.dialogs.question import Question  # not at the start

    box = Question(
        theme,
        parent,
        name="eraseQuestion",
        title=_tr("Delete permanently?"),
        text=question,
        detail=_tr("What was said is erased, and what is kept to undo its changes of files."),
        icon="trash-2",
        token="err",
    )
    box.add(_tr("Delete permanently"), icon="trash-2")
    box.open()
    return box


def _tr(text: str) -> str:
    return QCoreApplication.translate("EraseSession", text)
