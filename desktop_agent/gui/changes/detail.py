"""What was changed in one file: its diff, or why there is none to see."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.changes import UndoScope
from desktop_agent.core.messages import DiffDisplay, Display
from desktop_agent.gui.changes.counts import LineCounts
from desktop_agent.gui.changes.rows import ChangeRow
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconButton,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.transcript.cards.diff_view import DiffView

# In characters of a patch: more is made into lines for nobody, and takes seconds.
_MOST_SHOWN = 400_000
_MOST_SAID = 200
_ROLES = {"err": "error", "warn": "warn"}


class ChangeDetail(QWidget):
    """Signals:
    undo_requested(ChangeRow), apply_requested(ChangeRow)
    open_requested(ChangeRow), talk_requested(ChangeRow)
    diff_requested(ChangeRow, bool): its diff, or that of what was changed since
    """

    undo_requested = Signal(object)
    apply_requested = Signal(object)
    open_requested = Signal(object)
    talk_requested = Signal(object)
    diff_requested = Signal(object, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._row: ChangeRow | None = None
        self._view: DiffView | None = None
        self._shown: Display | None = None
        self._is_roomy = True
        self.setObjectName("changeDetail")
        self._path = ElidedLabel("", Qt.TextElideMode.ElideMiddle, "strong", self)
        self._path.setObjectName("changePath")
        self._counts = LineCounts(self)
        self._mark = TextLabel("", "warn", self, name="changeMark")
        self._compare = GhostButton(theme, self.tr("Compare"), "file-diff", self)
        self._compare.setObjectName("compareChanged")
        self._compare.setCheckable(True)
        self._compare.setToolTip(self.tr("What was changed since"))
        self._compare.clicked.connect(self._on_compare)
        words = self.tr("Show in the conversation")
        self._talk = IconButton(theme, "message-square", words, self, name="showInConversation")
        self._talk.clicked.connect(lambda: self.talk_requested.emit(self._row))
        self._open = GhostButton(theme, self.tr("Open in editor"), "external-link", self)
        self._open.setObjectName("openChanged")
        self._open.clicked.connect(lambda: self.open_requested.emit(self._row))
        self._undo = GhostButton(theme, self.tr("Undo…"), "undo-2", self)
        self._undo.setObjectName("undoChanged")
        self._undo.clicked.connect(lambda: self.undo_requested.emit(self._row))
        self._apply = GhostButton(theme, self.tr("Apply…"), "check", self)
        self._apply.setObjectName("applyResult")
        self._apply.clicked.connect(lambda: self.apply_requested.emit(self._row))
        self._words = TextLabel("", "muted", self, name="changeWords", wraps=True)
        edge, gap = theme.space("l"), theme.space("s")
        buttons = (self._compare, self._talk, self._open, self._undo, self._apply)
        head = row((self._path, 1), self._mark, self._counts, *buttons, spacing=gap)
        head.setContentsMargins(edge, gap, edge, gap)
        self._said = QWidget(self)
        row(self._words, edges=(edge, gap, edge, edge), stretch=0, within=self._said)
        self._column = column(head, self._said, None, within=self)

    def show_row(self, shown: ChangeRow | None) -> None:
        """Show a row's head; its diff follows, and until then the one of the same row stays."""
        is_same = shown is not None and self._row is not None and shown.key == self._row.key
        self._row = shown
        self.setVisible(shown is not None)
        if shown is None:
            return
        self._path.set_text(code_text(shown.title))
        self._mark.setText(shown.mark)
        self._mark.set_role(_ROLES.get(shown.tone, "muted"))
        self.set_roomy(is_roomy=self._is_roomy)
        self._compare.setVisible(shown.is_changed_since)
        self._talk.setVisible(bool(shown.call_id))
        self._undo.setVisible(not shown.result)
        self._apply.setVisible(bool(shown.result))
        self._open.setVisible(bool(shown.path))
        self._open.setEnabled(shown.kind != "deleted")
        if not is_same or not shown.is_changed_since:
            self._compare.setChecked(False)
            self._name_compare()
        if not is_same:
            self._drop_view()
            self._say("" if shown.path else shown.detail)

    def set_roomy(self, *, is_roomy: bool) -> None:
        """Say how many lines were changed, and what became of them, or leave it to the list."""
        self._is_roomy = is_roomy
        row = self._row if is_roomy else None
        self._counts.show_counts(*((0, 0) if row is None else (row.added, row.removed)))
        self._mark.setVisible(row is not None and bool(row.mark))

    @property
    def is_compared(self) -> bool:
        """Whether what was changed since is looked at."""
        return self._compare.isChecked()

    def _on_compare(self) -> None:
        self._name_compare()
        if self._row is not None:
            self.diff_requested.emit(self._row, self.is_compared)

    def _name_compare(self) -> None:
        shown = self.tr("Show the agent’s") if self.is_compared else self.tr("Compare")
        self._compare.set_text(shown)

    def show_diff(self, scope: UndoScope, display: Display, *, is_since: bool = False) -> None:
        """Show the diff of a scope, if that is still the one that is looked at."""
        if self._row is None or scope != self._row.scope or is_since != self.is_compared:
            return
        patch = display.patch if isinstance(display, DiffDisplay) else ""
        if not patch.startswith("--- "):
            # What is too large or no text is told in a few words in the patch's place.
            self.show_problem(patch[:_MOST_SAID] or self.tr("There is no text to compare."))
            return
        if display == self._shown:  # looked at again
            return
        self._drop_view()
        is_cut = len(patch) > _MOST_SHOWN
        patch = patch[:_MOST_SHOWN].rpartition("\n")[0] if is_cut else patch
        self._say(self.tr("Only the beginning is shown: it is very long.") if is_cut else "")
        path = self._row.title
        view = DiffView(self._theme, DiffDisplay(path, patch, 0, 0), self)
        self._view, self._shown = view, display
        view.setObjectName("changeDiff")
        self._column.insertWidget(2, view, 1_000)
        view.show()

    def show_problem(self, text: str) -> None:
        """Say why there is no diff."""
        self._drop_view()
        self._say(with_marks(text))

    def _say(self, text: str) -> None:
        self._words.setText(text)
        self._said.setVisible(bool(text))

    def _drop_view(self) -> None:
        if self._view is not None:
            self._view.hide()
            self._column.removeWidget(self._view)
            self._view.deleteLater()
        self._view = self._shown = None
