"""The view's clocks: a spinner's pulse and a tick each second, only while something runs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.view.card_layer import CardLayer

_SECOND_MS = 1000


class TranscriptTimers(QObject):
    """Drives the cards that show time. `second` is emitted before they are ticked."""

    second = Signal()

    def __init__(self, theme: Theme, cards: CardLayer, now: Callable[[], float]) -> None:
        super().__init__(cards)
        self._pulse = theme.pulse
        self._cards = cards
        self._now = now
        self._seconds = QTimer(self)
        self._seconds.setInterval(_SECOND_MS)
        self._seconds.timeout.connect(self._on_second)
        self._pulse.ticked.connect(self._on_pulse)

    @property
    def is_beating(self) -> bool:
        """Whether a timer runs."""
        return self._seconds.isActive()

    def follow(self, *, is_visible: bool, is_running: bool) -> None:
        """Run while it can be seen and something goes on."""
        is_live = is_visible and any(True for _ in self._cards.live_cards())
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
        """Bring the times on the cards up to date."""
        now = self._now()
        for card in self._cards.live_cards():
            card.tick(now)

    def _on_second(self) -> None:
        self.second.emit()
        self.tick()

    def _on_pulse(self) -> None:
        for card in self._cards.live_cards():
            card.spin()


def single_timer(parent: QObject, interval: int, call: Callable[[], None]) -> QTimer:
    """Return a timer that calls once, `interval` milliseconds after each start."""
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(interval)
    timer.timeout.connect(call)
    return timer
