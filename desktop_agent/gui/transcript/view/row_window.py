"""Which of the rows are in the document: the newest ones, and more when they are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from PySide6.QtCore import QObject, Signal

from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.transcript.document.answer import STEP
from desktop_agent.gui.transcript.document.document import TranscriptDocument
from desktop_agent.gui.transcript.document.highlighting import Coloring
from desktop_agent.gui.transcript.state.items import AnswerItem, UserItem
from desktop_agent.gui.transcript.state.rows import (
    ActivityRow,
    EarlierRow,
    Row,
    WorkingRow,
    build_rows,
    changed_span,
    is_text,
)
from desktop_agent.gui.transcript.state.transcript import Transcript
from desktop_agent.gui.transcript.view.card_layer import CardLayer
from desktop_agent.gui.transcript.view.scroll_anchor import Scrolling

# No more of the newest rows are written before the first paint, and no more than are seen.
FIRST_ROWS = 16
_FIRST_SCREENS = 1.5
# About so high is a card, a line of text, and the room around a text; so wide a letter.
_CARD, _LINE, _AROUND, _LETTER = 36, 22, 26, 7
WANTED_ROWS = 400
MORE_ROWS = 200
MOST_ROWS = 800
KEPT_ROWS = 600
# What a slice adds is laid out and painted after it, which takes as long again.
_SLICE_S = 0.003
# While a lexer is being loaded.
_LEXER_MS = 40
# The newest rows are painted before any others are written.
_FIRST_DELAY_MS = 30
# So many characters may be missing at the end of what is not on screen.
_UNSEEN = 2_000


class VisibleRows(QObject):
    """Brings the document to the state of the transcript. `filled`: rows came in on top."""

    filled = Signal()

    def __init__(
        self,
        page: TranscriptDocument,
        cards: CardLayer,
        scrolling: Scrolling,
        unfolded: Mapping[str, bool],
    ) -> None:
        super().__init__(scrolling)
        self._unfolded = unfolded
        self._page = page
        self._cards = cards
        self._scrolling = scrolling
        self._rows: list[Row] = []
        self._first = 0
        self._wanted = WANTED_ROWS
        self._has_earlier = False
        self._is_prepended = False
        self._delay_ms = 0
        # An answer is longer than what is in the document.
        self.is_late = False
        self._coloring = Coloring()
        self._timer = single_timer(self, 0, self._fill)

    def reset(self, *, has_earlier: bool) -> None:
        """Forget everything: another session comes."""
        self._timer.stop()
        self._coloring.clear()
        self._cards.clear()
        self._page.clear()
        self._rows = []
        self._delay_ms = _FIRST_DELAY_MS
        self._first = 0
        self._wanted = WANTED_ROWS
        self._has_earlier = has_earlier

    def rebuild(self) -> None:
        """Empty the document, to have the same rows written again in another look."""
        self._coloring.clear()
        self._page.clear()
        self._first = self._first_seen(self._rows)

    def add_earlier(self, *, has_earlier: bool) -> None:
        """Older rows will be there at the next `sync`."""
        self._has_earlier = has_earlier
        self._is_prepended = True
        self._wanted = len(self._page.rows) + MORE_ROWS

    def sync(self, transcript: Transcript, *, is_working: bool) -> bool:
        """Show the transcript as it is; returns whether a text is held back for a moment."""
        self.is_late = False
        old = self._rows
        rows = build_rows(transcript.items, transcript.asked_calls, self._unfolded)
        if is_working:
            rows.append(WorkingRow(is_paused=transcript.is_paused))
        self._first = self._first_of(old, rows)
        self._rows = rows
        with self._scrolling.kept():
            self._trim()
            is_held = self._bring_in(self._desired())
        self.fill_soon()
        return is_held

    def grow(self, transcript: Transcript, changed: set[str], *, is_seen: bool) -> bool | None:
        """Show more of an answer, if it alone changed and is last; None if more has to change.

        Returns whether a text is held back for a moment. What nobody sees is written later,
        a good deal at a time.
        """
        item = transcript.item(next(iter(changed))) if len(changed) == 1 else None
        shown = self._page.rows[-1] if self._page.rows else None
        if not isinstance(item, AnswerItem) or not item.is_live or shown is None:
            return None
        if not isinstance(shown.row, AnswerItem) or shown.row.key != item.key:
            return None
        self.is_late = not is_seen and len(item.text) - len(shown.row.text) < _UNSEEN
        if self.is_late:
            return False
        index = len(self._page.rows) - 1
        with self._scrolling.kept(below=lambda: self._page.changed_from(index)):
            is_held = self._page.update(index, item)
        self.fill_soon()
        return is_held

    def fill_soon(self) -> None:
        if self.has_work and not self._timer.isActive():
            can_work = self._has_text_to_write or self._coloring.can_work(self._page.styles)
            self._timer.start(self._delay_ms if can_work else _LEXER_MS)
            self._delay_ms = 0

    def show_more(self) -> bool:
        """Show rows that are known but not in the document; False if there are none."""
        if self._first == 0:
            return False
        self._wanted = len(self._page.rows) + MORE_ROWS
        self.fill_soon()
        return True

    def show_all(self) -> None:
        """Put every known row into the document, whole."""
        self._wanted = len(self._rows)
        self._add_on_top(self._first)
        self.write_out()

    def write_out(self) -> None:
        """Write what is still missing of the rows that are in the document."""
        with self._scrolling.kept():
            while self._page.is_behind:
                self._page.catch_up()

    def show_back_to(self, key: str) -> None:
        """Put the row with this key into the document, and all after it."""
        for index in range(self._first):
            if self._rows[index].key == key:
                self._add_on_top(self._first - index)
                return

    def activity_of(self, key: str) -> ActivityRow | None:
        """Return the line that an item is folded into, if it is."""
        for row in reversed(self._rows):
            if isinstance(row, ActivityRow) and any(item.key == key for item in row.items):
                return None if row.is_open else row
        return None

    @property
    def has_work(self) -> bool:
        """Whether rows, parts of an answer or colours are still to be written."""
        return self._has_text_to_write or self._coloring.has_work(self._page.styles)

    @property
    def _has_text_to_write(self) -> bool:
        return self._page.is_behind or self._is_short

    @property
    def _is_short(self) -> bool:
        return self._first > 0 and len(self._rows) - self._first < self._wanted

    def _first_of(self, old: list[Row], rows: list[Row]) -> int:
        """Return which of the new rows is the first that is shown."""
        if not old:
            return self._first_seen(rows)
        if self._first == 0 and not self._is_prepended:
            return 0
        self._is_prepended = False
        wanted = old[self._first].key if self._first < len(old) else ""
        for index, row in enumerate(rows):
            if row.key == wanted:
                return index
        shown = len(old) - self._first
        return max(0, len(rows) - max(shown, FIRST_ROWS))

    def _first_seen(self, rows: list[Row]) -> int:
        """Return which row is the first that can be seen from the end, and a little before it."""
        width, height = self._scrolling.room
        left = height * _FIRST_SCREENS
        first = len(rows)
        while first > max(0, len(rows) - FIRST_ROWS) and left > 0:
            first -= 1
            left -= _likely_height(rows[first], width)
        return first

    def _desired(self) -> list[Row]:
        rows = self._rows[self._first :]
        if self._has_earlier or self._first > 0:
            return [EarlierRow(), *rows]
        return rows

    def _trim(self) -> None:
        if self._scrolling.is_at_end and len(self._rows) - self._first > MOST_ROWS:
            self._first = len(self._rows) - KEPT_ROWS
            self._wanted = WANTED_ROWS

    def _follow_work(self, rows: list[Row]) -> None:
        """Take the working row out, or put it in: else what came before it would be made anew."""
        shown = self._page.rows
        was_working = bool(shown) and isinstance(shown[-1].row, WorkingRow)
        is_working = bool(rows) and isinstance(rows[-1], WorkingRow)
        if was_working and not is_working:
            self._cards.drop(self._page.remove(len(shown) - 1).row.key)
        elif is_working and not was_working:
            self._page.insert(len(shown), rows[-1])

    def _bring_in(self, rows: list[Row]) -> bool:
        self._follow_work(rows)
        old = [_shape(shown.row) for shown in self._page.rows]
        start, old_end, new_end = changed_span(old, [_shape(row) for row in rows])
        for index in range(old_end - 1, start - 1, -1):
            self._cards.drop(self._page.remove(index).row.key)
        for index in range(start, new_end):
            self._page.insert(index, rows[index])
        is_held = False
        for index, row in enumerate(rows):
            is_new = start <= index < new_end
            if not is_new and _differs(self._page.rows[index].row, row):
                self._cards.refresh(row)
                is_held |= self._page.update(index, row)
        return is_held

    def _fill(self) -> None:
        """Write a part of a long answer, or colours, or rows; then let the window breathe."""
        if not self.has_work:
            return
        until = perf_counter() + _SLICE_S
        with self._scrolling.kept():
            if self._page.is_behind:
                self._page.catch_up()
            elif not self._coloring.work(self._page.styles, until):
                while self._is_short and perf_counter() < until:
                    self._write_on_top(1)
        self.filled.emit()
        self.fill_soon()

    def _add_on_top(self, count: int) -> None:
        if count > 0:
            with self._scrolling.kept():
                self._write_on_top(count)
            self.filled.emit()

    def _write_on_top(self, count: int) -> None:
        count = min(count, self._first)
        at = 1 if self._page.rows and isinstance(self._page.rows[0].row, EarlierRow) else 0
        for _ in range(count):
            self._first -= 1
            self._page.insert(at, self._rows[self._first])
        if at == 1 and self._first == 0 and not self._has_earlier:
            self._cards.drop(self._page.remove(0).row.key)


def _shape(row: Row) -> str:
    """Return what makes a row another one: its key, and whether it is text or a card."""
    return f"{row.key}/{is_text(row)}"


def _differs(old: Row, new: Row) -> bool:
    """Whether the row has to be updated; the time of the working row is not part of it."""
    return old is not new and (old != new or isinstance(new, WorkingRow))


def _likely_height(row: Row, width: int) -> float:
    if not isinstance(row, AnswerItem | UserItem):
        return _CARD
    letters = max(1, width // _LETTER)
    lines = sum(1 + len(line) // letters for line in row.text[:STEP].split("\n"))
    return _AROUND + _LINE * lines
