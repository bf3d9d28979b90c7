"""Cards over their places in the text: made when they come near, dropped when far away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.gui.transcript.approval_card import ApprovalCard
from desktop_agent.gui.transcript.browser import TranscriptBrowser
from desktop_agent.gui.transcript.card import Card
from desktop_agent.gui.transcript.card_factory import CardFactory
from desktop_agent.gui.transcript.page import Page, ShownRow
from desktop_agent.gui.transcript.question_card import QuestionCard
from desktop_agent.gui.transcript.rows import Row, is_text

# More living cards than this, and the far ones go.
_MOST_CARDS = 80


class CardLayer(QObject):
    """Keeps the cards of the rows near the viewport. `resized` names a row by its key."""

    resized = Signal(str)

    def __init__(
        self, browser: TranscriptBrowser, factory: CardFactory, column: Callable[[], QRect]
    ) -> None:
        super().__init__(browser)
        self._browser = browser
        self._factory = factory
        self._column = column
        self._cards: dict[str, Card] = {}
        self._tab_order: list[str] = []

    @property
    def cards(self) -> dict[str, Card]:
        """The living cards, by their rows' keys."""
        return self._cards

    def live_cards(self) -> Iterator[Card]:
        """Yield the cards on screen that show the time or turn a spinner."""
        return (card for card in self._cards.values() if card.is_live and card.isVisible())

    def clear(self) -> None:
        """Drop every card."""
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

    def place(self, page: Page) -> list[ShownRow]:
        """Put the cards where they belong; return rows whose card needs another height."""
        top = self._browser.verticalScrollBar().value()
        height = self._browser.viewport().height()
        column = self._column()
        wrong: list[ShownRow] = []
        near: list[str] = []
        for shown in _rows_between(page, top - height, top + 2 * height):
            if is_text(shown.row):
                continue
            near.append(shown.row.key)
            card = self._cards.get(shown.row.key) or self._make(shown.row)
            if card.height_for(column.width()) != shown.height:
                wrong.append(shown)
            y = round(page.rect(shown).top()) - top
            card.setGeometry(column.left(), y, column.width(), shown.height)
            if not card.isVisible():
                card.show()
        self._order_tabs(near)
        self._put_away(set(near))
        return wrong

    # -- inside --------------------------------------------------------------------------

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


def _rows_between(page: Page, top: float, bottom: float) -> Iterator[ShownRow]:
    for index in range(page.first_below(top), len(page.rows)):
        shown = page.rows[index]
        if page.rect(shown).top() > bottom:
            return
        yield shown
