"""Over the message box while the next message begins a branch: of what, and with which files."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.core.ids import MessageId
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconButton,
    IconLabel,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.state.branch_draft import BranchDraft

_QUOTE = 200
_ICON = 16


class BranchBar(QFrame):
    """Signals:
    shown(BranchDraft): another one than before is shown
    cancelled: the message is an ordinary one after all
    files_requested(BranchDraft): files are to be put back as they were then
    """

    shown = Signal(object)
    cancelled = Signal()
    files_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._draft: BranchDraft | None = None
        self.setObjectName("branchBar")
        self.setProperty("frame", "card")
        self._words = ElidedLabel(parent=self, name="branchWords")
        self._files = TextLabel("", "muted", self, name="branchFiles", wraps=True)
        self._restore = GhostButton(theme, self.tr("Restore files…"), "history", self)
        self._restore.setObjectName("restoreFiles")
        self._restore.clicked.connect(self._on_restore)
        title = self.tr("Write an ordinary message instead")
        close = IconButton(
            theme, "x", title, self, size=14, keys="Esc", name="cancelBranch", clicked=self._cancel
        )
        icon = IconLabel(theme, "workflow", "accent", _ICON, self)
        first = row(icon, (self._words, 1), close, spacing=8)
        second = row((self._files, 1), self._restore, spacing=8)
        second.setContentsMargins(_ICON + 8, 0, 0, 0)
        column(first, second, spacing=0, edges=(12, 6, 6, 6), within=self)
        self.hide()

    def show_draft(self, draft: BranchDraft | None) -> None:
        """Say what a message begins a branch of; None hides the bar."""
        was, self._draft = self._draft, draft
        self.setVisible(draft is not None)
        if draft is not None and draft != was:
            self._show_words(draft)
            self.shown.emit(draft)

    def show_files(self, before: MessageId, words: str, *, can_restore: bool) -> None:
        """Say what becomes of the files, unless another message is meant by now."""
        if self._draft is not None and self._draft.before == before:
            self._files.setText(words)
            self._restore.setVisible(can_restore)

    def _show_words(self, draft: BranchDraft) -> None:
        said = with_marks(" ".join(draft.said[:_QUOTE].split()))
        words = self.tr("Your message begins a new branch in place of “{said}”").format(said=said)
        if draft.is_edit and draft.attachments:
            names = ", ".join(with_marks(name) for name in draft.attachments)
            words += " · " + self.tr("With {files}").format(files=names)
        self._words.set_text(words)
        self.setAccessibleName(words)
        self._files.setText(self.tr("Files stay as they are."))
        self._restore.hide()

    def _cancel(self) -> None:
        self.cancelled.emit()

    def _on_restore(self) -> None:
        if self._draft is not None:
            self.files_requested.emit(self._draft)
