"""Where the user looks: it stays there, or at the end, whatever happens to the text."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument

from desktop_agent.gui.transcript.document.document import ShownRow, TranscriptDocument
from desktop_agent.gui.transcript.state.rows import EARLIER_KEY
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser

# This close to the end counts as at the end.
STICKY = 48
# So much stays free under a row's foot: the way to the newest message floats there.
_FOOT = 60


class _Anchor(msgspec.Struct, frozen=True):
    """A row, how far below the top of the view it is, and where the scroll bar then stands."""

    shown: ShownRow
    offset: float
    value: int


class Scrolling(QObject):
    """Changes to the document go into one of its `with` blocks. `moved`: the view scrolled."""

    moved = Signal()

    def __init__(self, browser: TranscriptBrowser, page: TranscriptDocument) -> None:
        super().__init__(browser)
        self._browser = browser
        self._page = page
        self._bar = browser.verticalScrollBar()
        self._is_ours = 0
        self._anchor: _Anchor | None = None
        self.is_at_end = True
        self._bar.valueChanged.connect(self._on_moved)

    @contextmanager
    def kept(self, *, below: Callable[[], int] | None = None) -> Generator[None]:
        """Stay at the end, or keep the first row on screen where it is.

        Nothing before the position that `below` gives afterwards has changed: only what
        follows it is painted again.
        """
        anchor = None if self._follows_end() else self._anchor_now()
        with self._edited(anchor, below):
            yield

    @contextmanager
    def held_at(self, shown: ShownRow) -> Generator[None]:
        """Keep this row where it is: the user has just unfolded it."""
        with self._edited((shown, self._offset(shown))):
            yield
        self._note_place()

    def to_end(self) -> None:
        self._lay_out()
        self._bar.setValue(self._bar.maximum())
        self._note_place()

    def show(self, shown: ShownRow) -> None:
        box = self._page.rect(shown)
        height = self._browser.viewport().height()
        top = self._bar.value()
        if box.top() < top or box.bottom() > top + height:
            room = max(16, (height - box.height()) / 2)
            self._bar.setValue(round(box.top() - room))
        self._note_place()

    def show_foot(self, shown: ShownRow) -> None:
        """Bring the end of a row into view: what it asks for stands there."""
        self._lay_out()
        foot = self._page.rect(shown).bottom() + _FOOT - self._browser.viewport().height()
        if foot > self._bar.value():
            self._bar.setValue(round(foot))
        self._note_place()

    @contextmanager
    def _edited(
        self, anchor: tuple[ShownRow, float] | None, below: Callable[[], int] | None = None
    ) -> Generator[None]:
        edit = QTextCursor(self._browser.document())
        edit.beginEditBlock()
        self._is_ours += 1
        try:
            yield
        finally:
            try:
                self._end(edit, anchor, below)
            finally:
                self._is_ours -= 1

    def _end(
        self,
        edit: QTextCursor,
        anchor: tuple[ShownRow, float] | None,
        below: Callable[[], int] | None,
    ) -> None:
        if below is None:
            edit.endEditBlock()
            self._lay_out()
            self._restore(anchor)
            return
        self._end_quietly(edit)
        self._restore(anchor)
        self._browser.paint_below(int(_top_of(self._browser.document(), below())))

    def _end_quietly(self, edit: QTextCursor) -> None:
        """Have it laid out, without Qt's request to paint everything that comes with frames."""
        layout = self._browser.document().documentLayout()
        size = layout.documentSize()
        layout.blockSignals(True)
        try:
            edit.endEditBlock()
            self._lay_out()
        finally:
            layout.blockSignals(False)
        if layout.documentSize() != size:
            layout.documentSizeChanged.emit(layout.documentSize())

    def _restore(self, anchor: tuple[ShownRow, float] | None) -> None:
        if anchor is None:
            self._bar.setValue(self._bar.maximum())
            self.is_at_end = True
            return
        shown, offset = anchor
        if shown in self._page.rows:
            self._bar.setValue(round(self._page.rect(shown).top() - offset))
            self._anchor = _Anchor(shown, offset, self._bar.value())

    def _follows_end(self) -> bool:
        return self.is_at_end and not self._browser.textCursor().hasSelection()

    def _anchor_now(self) -> tuple[ShownRow, float] | None:
        """Go on from the same place if nobody scrolled, else roundings would add up to a drift."""
        last = self._anchor
        if last is not None and last.value == self._bar.value() and last.shown in self._page.rows:
            return last.shown, last.offset
        return self._first_on_screen()

    def _first_on_screen(self) -> tuple[ShownRow, float] | None:
        rows = self._page.rows
        index = self._page.first_below(self._bar.value())
        # A row that the user can see whole moves least when another one changes its height.
        while index < len(rows) - 1 and (
            rows[index].row.key == EARLIER_KEY or self._offset(rows[index]) < 0
        ):
            index += 1
        return (rows[index], self._offset(rows[index])) if index < len(rows) else None

    def _offset(self, shown: ShownRow) -> float:
        return self._page.rect(shown).top() - self._bar.value()

    def _lay_out(self) -> None:
        """Have the layout done to its end, so that the scroll bar knows its range."""
        document = self._browser.document()
        document.documentLayout().blockBoundingRect(document.lastBlock())

    def _note_place(self) -> None:
        self.is_at_end = self._bar.maximum() - self._bar.value() <= STICKY

    def _on_moved(self) -> None:
        if not self._is_ours:
            self._note_place()
        self.moved.emit()

    @property
    def room(self) -> tuple[int, int]:
        return self._browser.viewport().width(), self._browser.viewport().height()

    @property
    def is_ours(self) -> bool:
        """Whether a change of the document moves what is seen, and not the user."""
        return self._is_ours > 0


def _top_of(document: QTextDocument, position: int) -> float:
    """Return how far down the lines begin that look otherwise when text changes from there on."""
    block = document.findBlock(position)
    if not block.isValid():
        return 0  # nothing is sure: all is painted
    top = document.documentLayout().blockBoundingRect(block).top()
    at = position - block.position()
    line = block.layout().lineForTextPosition(at)
    if not line.isValid():
        return top
    if line.lineNumber() > 0 and not _has_space(block, line.textStart(), at):
        # A word that grew may have gone from the line before to this one.
        line = block.layout().lineAt(line.lineNumber() - 1)
    return top + line.y()


def _has_space(block: QTextBlock, start: int, end: int) -> bool:
    text = block.text()
    # Where a character takes two places, these count otherwise than the document does.
    return len(text) == block.length() - 1 and " " in text[start:end]
