"""Cards over their places in the text: made when they come near, dropped when far away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.card import Card
from desktop_agent.gui.transcript.cards.factory import CardFactory
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from desktop_agent.gui.transcript.document.document import ShownRow, TranscriptDocument
from desktop_agent.gui.transcript.state.rows import Row, is_text
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser

# More living cards than this, and the far ones go.
_MOST_CARDS = 80
# Those that come near are made between two paints, for so long at a time.
_NEAR_S = 0.003
_NEAR_MS = 10


class CardLayer(QObject):
    """Keeps the cards of the rows near the viewport; those on screen are there at once.

    `resized` names a row by its key. `made`: cards are there that are still to be placed.
    """

    resized = Signal(str)
    made = Signal()

    def __init__(
        self, browser: TranscriptBrowser, factory: CardFactory, column: Callable[[], QRect]
    ) -> None:
        super().__init__(browser)
        self._browser = browser
        self._factory = factory
        self._column = column
        self._cards: dict[str, Card] = {}
        self._tab_order: list[str] = []
        self._due: list[Row] = []
        self._near = QTimer(self)
        self._near.setSingleShot(True)
        self._near.setInterval(_NEAR_MS)
        self._near.timeout.connect(self._make_near)

    @property
    def cards(self) -> dict[str, Card]:
        """The living cards, by their rows' keys."""
        return self._cards

    def live_cards(self) -> Iterator[Card]:
        """Yield the cards on screen that show the time or turn a spinner."""
        return (card for card in self._cards.values() if card.is_live and card.isVisible())

    def clear(self) -> None:
        """Drop every card."""
        self._due = []
        for key in list(self._cards):
            self.drop(key)

    def drop(self, key: str) -> None:
        """Drop a row's card."""
        card = self._cards.pop(key, None)
        if card is not None:
            card.hide()
            card.setParent(None)
            card.deleteLater()

    def measure(self, row: Row) -> int:
        """Return the height of a row's card; unless it is known, the card is made for it."""
        card = self._cards.get(row.key)
        if card is None:
            known = self._factory.known_height(row)
            if known is not None:
                return known
            card = self._make(row)
        return card.height_for(self._column().width())

    def refresh(self, row: Row) -> None:
        """Show a row's newest state, in another card if need be."""
        card = self._cards.get(row.key)
        if card is not None and not self._factory.update(card, row):
            self.drop(row.key)

    def place(self, page: TranscriptDocument) -> list[ShownRow]:
        """Put the cards where they belong; return rows whose card needs another height."""
        top = self._browser.verticalScrollBar().value()
        height = self._browser.viewport().height()
        column = self._column()
        wrong: list[ShownRow] = []
        near: list[str] = []
        self._due = []
        for shown, y in _cards_between(page, top - height, top + 2 * height):
            card = self._cards.get(shown.row.key)
            if card is None and not top - shown.height < y < top + height:
                self._due.append(shown.row)
                continue
            near.append(shown.row.key)
            card = card or self._make(shown.row)
            if card.height_for(column.width()) != shown.height:
                wrong.append(shown)
            card.setGeometry(column.left(), y - top, column.width(), shown.height)
            if not card.isVisible():
                card.show()
        self._order_tabs(near)
        self._put_away(set(near))
        if self._due and not self._near.isActive():
            self._near.start()
        return wrong

    # -- inside --------------------------------------------------------------------------

    def _make_near(self) -> None:
        """Make some of the cards that may soon be seen."""
        until = perf_counter() + _NEAR_S
        while self._due and perf_counter() < until:
            row = self._due.pop(0)
            if row.key not in self._cards:
                self._make(row)
        self.made.emit()

    def _make(self, row: Row) -> Card:
        card = self._factory.make(row, self._browser.viewport())
        card.resized.connect(lambda: self.resized.emit(row.key))
        self._cards[row.key] = card
        return card

    def _order_tabs(self, keys: list[str]) -> None:
        """Let Tab go from the text through the cards, in the order of the text."""
        if keys == self._tab_order:
            return
        self._tab_order = keys
        before: QWidget = self._browser
        for key in keys:
            card = self._cards[key]
            for widget in (card, *card.findChildren(QWidget)):
                if widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
                    QWidget.setTabOrder(before, widget)
                    before = widget

    def _put_away(self, near: set[str]) -> None:
        far = [key for key in self._cards if key not in near]
        for key in far:
            self._cards[key].hide()
        if len(self._cards) <= _MOST_CARDS:
            return
        for key in far:
            if not _is_in_use(self._cards[key]):
                self.drop(key)


def _is_in_use(card: Card) -> bool:
    focused = QApplication.focusWidget()
    if focused is not None and (focused is card or card.isAncestorOf(focused)):
        return True
    return isinstance(card, ApprovalCard | QuestionCard) and card.has_draft


def _cards_between(
    page: TranscriptDocument, top: float, bottom: float
) -> Iterator[tuple[ShownRow, int]]:
    """Yield the rows that have a card, and where they begin."""
    for index in range(page.first_below(top), len(page.rows)):
        shown = page.rows[index]
        y = page.rect(shown).top()
        if y > bottom:
            return
        if not is_text(shown.row):
            yield shown, round(y)
