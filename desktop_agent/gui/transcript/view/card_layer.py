"""Cards over their places in the text: made when they come into range, dropped when out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

from PySide6.QtCore import QObject, QRect, Signal

from desktop_agent.gui.kit.failure_log import attempt
from desktop_agent.gui.kit.widgets import has_focus_in, single_timer, ticker
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.card import Card, CardHost
from desktop_agent.gui.transcript.cards.factory import CardFactory
from desktop_agent.gui.transcript.cards.form_card import FormCard
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from desktop_agent.gui.transcript.document.document import ShownRow, TranscriptDocument
from desktop_agent.gui.transcript.state.rows import Row, is_text
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser

# More living cards than this, and those out of range go.
_MOST_CARDS = 80
# Those a screen away are made between two paints, for so long at a time.
_SLICE_S = 0.003
_PAUSE_MS = 10
_SECOND_MS = 1000

ASKING = ApprovalCard | QuestionCard | FormCard


class CardLayer(QObject):
    """Keeps the cards of the rows in and around the viewport; those on screen are there at once.

    `resized` names a row by its key. `made`: cards are there that are still to be placed.
    `second`: a second has passed, and the times on the cards will be brought up to date.
    """

    resized = Signal(str)
    made = Signal()
    second = Signal()

    def __init__(
        self, host: CardHost, browser: TranscriptBrowser, column: Callable[[], QRect]
    ) -> None:
        super().__init__(browser)
        self._pulse = host.theme.pulse
        self._browser = browser
        self._factory = CardFactory(host)
        self._column = column
        self._now = host.clocks.wall
        # The living cards, by their rows' keys.
        self.cards: dict[str, Card] = {}
        self._to_make: list[Row] = []
        self._making = single_timer(self, _PAUSE_MS, self._make_some)
        self._seconds = ticker(self, _SECOND_MS, self._on_second)
        self._pulse.ticked.connect(self._spin)

    def clear(self) -> None:
        self._to_make = []
        for key in list(self.cards):
            self.drop(key)

    def drop(self, key: str) -> None:
        card = self.cards.pop(key, None)
        if card is not None:
            card.hide()
            card.setParent(None)
            card.deleteLater()

    def measure(self, row: Row) -> int:
        """Return the height of a row's card; unless it is known, the card is made for it."""
        card = self.cards.get(row.key)
        if card is None:
            known = self._factory.known_height(row)
            if known is not None:
                return known
            card = self._make(row)
        return card.height_for(self._column().width())

    def refresh(self, row: Row) -> None:
        """Show a row's newest state, in another card if need be."""
        card = self.cards.get(row.key)
        if card is None:
            return
        what = f"a change of a card ({type(row).__name__})"
        if not attempt(what, lambda: self._factory.update(card, row), bool):
            self.drop(row.key)

    def place(self, page: TranscriptDocument) -> list[ShownRow]:
        """Put the cards where they belong; return rows whose card needs another height."""
        top = self._browser.verticalScrollBar().value()
        height = self._browser.viewport().height()
        column = self._column()
        wrong: list[ShownRow] = []
        placed: list[str] = []
        self._to_make = []
        for shown, y in _cards_between(page, top - height, top + 2 * height):
            card = self.cards.get(shown.row.key)
            if card is None and not top - shown.height < y < top + height:
                self._to_make.append(shown.row)
                continue
            placed.append(shown.row.key)
            card = card or self._make(shown.row)
            if card.height_for(column.width()) != shown.height:
                wrong.append(shown)
            card.setGeometry(column.left(), y - top, column.width(), shown.height)
            if not card.isVisible():
                card.show()
        self._put_away(set(placed))
        if self._to_make and not self._making.isActive():
            self._making.start()
        return wrong

    # -- time ----------------------------------------------------------------------------

    @property
    def is_ticking(self) -> bool:
        return self._seconds.isActive()

    def follow_clocks(self, *, is_visible: bool, is_running: bool) -> None:
        """Turn spinners and count seconds while it can be seen and something goes on."""
        is_live = is_visible and any(True for _ in self._live_cards())
        if is_live:
            self._pulse.hold(self)
        else:
            self._pulse.release(self)
        if not (is_visible and (is_live or is_running)):
            self._seconds.stop()
        elif not self._seconds.isActive():
            self._seconds.start()
        if is_live:
            self.tick()

    def tick(self) -> None:
        now = self._now()
        for card in self._live_cards():
            card.tick(now)

    def _live_cards(self) -> Iterator[Card]:
        """Yield the cards on screen that show the time or turn a spinner."""
        return (card for card in self.cards.values() if card.is_live and card.isVisible())

    def _on_second(self) -> None:
        self.second.emit()
        self.tick()

    def _spin(self) -> None:
        for card in self._live_cards():
            card.spin()

    def _make_some(self) -> None:
        """Make some of the cards that may soon be seen."""
        until = perf_counter() + _SLICE_S
        while self._to_make and perf_counter() < until:
            row = self._to_make.pop(0)
            if row.key not in self.cards:
                self._make(row)
        self.made.emit()

    def _make(self, row: Row) -> Card:
        what = f"a card ({type(row).__name__})"
        card = attempt(what, lambda: self._factory.make(row), self._factory.failed)
        card.resized.connect(lambda: self.resized.emit(row.key))
        self.cards[row.key] = card
        return card

    def _put_away(self, placed: set[str]) -> None:
        others = [key for key in self.cards if key not in placed]
        for key in others:
            self.cards[key].hide()
        if len(self.cards) > _MOST_CARDS:
            for key in others:
                card = self.cards[key]
                is_begun = isinstance(card, ASKING) and card.has_draft
                if not (is_begun or has_focus_in(card)):
                    self.drop(key)


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
