"""One quiet line over the text: a decision that was made, a turn's end, work that goes on."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.safe_text import elapsed_text
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.transcript.cards.card import HeaderCard
from desktop_agent.gui.transcript.state.items import RetryItem

_ELAPSED_FROM_S = 3.0


class LineCard(HeaderCard):
    """An icon and a few muted words; `more` may be longer than the line, and is in the tooltip."""

    def __init__(
        self, theme: Theme, parent: QWidget, icon: str = "", text: str = "", more: str = ""
    ) -> None:
        super().__init__(theme, parent, flat=True)
        header = self.header
        header.can_unfold = False
        header.setEnabled(False)
        header.setCheckable(False)
        header.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header.icon_name, header.verb, header.target = icon, text, more
        header.is_prose = bool(more)
        self.setObjectName("lineCard")
        self.set_name(f"{text} {more}".strip())
        if more:
            self.setToolTip(plain_tip(f"{text} {more}"))


class WorkingCard(LineCard):
    """Says that the model has been silent for a while, or that the agent is paused."""

    def __init__(self, theme: Theme, parent: QWidget, since: float, *, is_paused: bool) -> None:
        super().__init__(theme, parent)
        self.set_since(since, is_paused=is_paused)

    @property
    def is_live(self) -> bool:
        return not self._is_paused

    def set_since(self, since: float, *, is_paused: bool) -> None:
        """Count from another moment, or rest."""
        self._since, self._is_paused = since, is_paused
        header = self.header
        header.state = "" if is_paused else "running"
        header.icon_name = "circle-pause" if is_paused else "sparkles"
        header.verb = self.tr("Paused") if is_paused else self.tr("Thinking…")
        header.target = ""
        self.set_name(header.verb if is_paused else self.tr("The agent is thinking"))
        header.update()

    def tick(self, now: float) -> None:
        seconds = now - self._since
        self.header.target = elapsed_text(seconds) if seconds >= _ELAPSED_FROM_S else ""
        self.header.update()


class RetryCard(LineCard):
    """Counts down to the next try."""

    def __init__(self, theme: Theme, parent: QWidget, item: RetryItem, now: float) -> None:
        super().__init__(theme, parent, "refresh-cw", item.fault.message)
        self._due = now + item.delay_s
        self._attempt = item.attempt
        self.tick(now)

    @property
    def is_live(self) -> bool:
        return True

    def tick(self, now: float) -> None:
        left = max(0, round(self._due - now))
        words = self.tr("Trying again in {seconds} s (attempt {number})")
        self.header.target = words.format(seconds=left, number=self._attempt + 1)
        self.header.update()
