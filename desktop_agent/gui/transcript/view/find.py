"""Finds text in the transcript and marks every place."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextBrowser, QTextEdit

from desktop_agent.gui.kit.theme import Theme

_MOST_MARKS = 1_000
# A place in the first or the last of so many parts of the height is at the edge.
_EDGE = 5


class Finder:
    """Keeps the marks of the text that was searched for last."""

    def __init__(self, browser: QTextBrowser, theme: Theme) -> None:
        self._browser = browser
        self._theme = theme
        self._sought = ""

    def find(self, text: str, *, backward: bool = False) -> int:
        """Select the next place, around the end if need be; return how many places there are."""
        places = self._places(text)
        is_same, self._sought = text == self._sought, text
        if not places:
            self._mark(places, QTextCursor())
            if not text:
                cursor = self._browser.textCursor()
                cursor.clearSelection()
                self._browser.setTextCursor(cursor)
            return 0
        flags = QTextDocument.FindFlag.FindBackward if backward else QTextDocument.FindFlag(0)
        start = self._browser.textCursor()
        if not is_same and not backward:
            # Other words are looked for from where it stands: only the same again is the next one.
            start.setPosition(start.selectionStart())
        found = self._browser.document().find(text, start, flags)
        if found.isNull():
            found = places[-1] if backward else places[0]
        self._mark(places, found)
        self._browser.setTextCursor(found)
        self._browser.ensureCursorVisible()
        self._keep_off_the_edges()
        return len(places)

    def find_from(self, position: int, text: str) -> int:
        """Select the first place at or after a position; return how many places there are."""
        cursor = self._browser.textCursor()
        cursor.setPosition(position)
        self._browser.setTextCursor(cursor)
        return self.find(text)

    def _keep_off_the_edges(self) -> None:
        """Show what stands around it; at the very edge, a bar that comes up would cover it."""
        high, box = self._browser.viewport().height(), self._browser.cursorRect()
        if not high // _EDGE <= box.top() <= high - high // _EDGE:
            bar = self._browser.verticalScrollBar()
            bar.setValue(bar.value() + box.center().y() - high // 3)

    def _places(self, text: str) -> list[QTextCursor]:
        document = self._browser.document()
        places: list[QTextCursor] = []
        cursor = QTextCursor(document)
        while text and len(places) < _MOST_MARKS:
            cursor = document.find(text, cursor)
            if cursor.isNull():
                break
            places.append(QTextCursor(cursor))
        return places

    def _mark(self, places: list[QTextCursor], current: QTextCursor) -> None:
        """Mark all places; the one that is shown in the colours of what is chosen."""
        marks: list[QTextEdit.ExtraSelection] = []
        for place in places:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = place
            is_current = place.selectionStart() == current.selectionStart()
            mark.format.setBackground(self._theme.color("accentFill" if is_current else "found"))
            if is_current:
                mark.format.setForeground(self._theme.color("onAccent"))
            marks.append(mark)
        self._browser.setExtraSelections(marks)
