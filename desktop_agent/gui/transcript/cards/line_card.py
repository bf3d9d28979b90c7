"""One quiet line over the text: a decision that was made, a turn's end, work that goes on."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.safe_text import duration_text, elapsed_text
from desktop_agent.gui.kit.text import plain_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.transcript.cards.approval_text import decision_text
from desktop_agent.gui.transcript.cards.card import Card, CardHeader
from desktop_agent.gui.transcript.document.clock import clock_text
from desktop_agent.gui.transcript.state.items import ApprovalItem, QuestionItem, RetryItem, TurnItem

_DENIED = {"Deny"}
_ELAPSED_FROM_S = 3.0


class LineCard(Card):
    """An icon and a few muted words."""

    def __init__(
        self, theme: Theme, icon: str, words: str, meta: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent, ground="", edge="")
        self.line = CardHeader(theme, self, flat=True)
        self.line.can_unfold = False
        self.line.setEnabled(False)
        self.line.setCheckable(False)
        self.line.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.line.icon_name, self.line.verb, self.line.target = icon, words, meta
        self.line.setFixedHeight(line_height(theme))
        self.body.addWidget(self.line)
        self.setObjectName("lineCard")
        self._name(f"{words} {meta}".strip())

    def tell_whole(self) -> None:
        """Have the tooltip say all of it: it may be longer than the line."""
        self.setToolTip(plain_tip(f"{self.line.verb} {self.line.target}"))

    def _name(self, words: str) -> None:
        self.setAccessibleName(words)
        self.line.setAccessibleName(words)

    def height_for(self, width: int) -> int:
        """One short line."""
        return line_height(self._theme)


class WorkingCard(LineCard):
    """Says that the model has been silent for a while, or that the agent is paused."""

    def __init__(
        self, theme: Theme, since: float, parent: QWidget | None = None, *, is_paused: bool = False
    ) -> None:
        super().__init__(theme, "", "", parent=parent)
        self._is_paused = is_paused
        self.set_since(since, is_paused=is_paused)

    @property
    def is_live(self) -> bool:
        """While something goes on: nothing turns or counts while the agent is paused."""
        return not self._is_paused

    def spin(self) -> None:
        """Turn the spinner."""
        self.line.update()

    def set_since(self, since: float, *, is_paused: bool = False) -> None:
        """Count from another moment, or rest."""
        self._since, self._is_paused = since, is_paused
        line = self.line
        line.state = "" if is_paused else "running"
        line.icon_name = "circle-pause" if is_paused else "sparkles"
        line.verb = self.tr("Paused") if is_paused else self.tr("Thinking…")
        line.target = ""
        self._name(line.verb if is_paused else self.tr("The agent is thinking"))
        line.update()

    def tick(self, now: float) -> None:
        """Show the time since the last sign of life."""
        seconds = now - self._since
        self.line.target = elapsed_text(seconds) if seconds >= _ELAPSED_FROM_S else ""
        self.line.update()


class RetryCard(LineCard):
    """Counts down to the next try."""

    def __init__(
        self, theme: Theme, item: RetryItem, now: float, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, "refresh-cw", item.fault.message, parent=parent)
        self._due = now + item.delay_s
        self._attempt = item.attempt
        self.tick(now)

    @property
    def is_live(self) -> bool:
        """Always: the countdown runs."""
        return True

    def tick(self, now: float) -> None:
        """Show the seconds that are left."""
        left = max(0, round(self._due - now))
        words = self.tr("Trying again in {seconds} s (attempt {number})")
        self.line.target = words.format(seconds=left, number=self._attempt + 1)
        self.line.update()


def approval_line(theme: Theme, item: ApprovalItem, parent: QWidget | None = None) -> LineCard:
    """Return the line that is left of an approval card."""
    assert item.decision is not None
    is_denied = type(item.decision).__name__ in _DENIED
    icon = "shield-off" if is_denied else "shield-check"
    return LineCard(theme, icon, approval_text(item), parent=parent)


def approval_text(item: ApprovalItem) -> str:
    """Return what was decided, and when."""
    assert item.decision is not None
    at = clock_text(item.at)
    return decision_text(item.decision) + (f"  ·  {at}" if at else "")


def question_text(item: QuestionItem, skipped: str, withdrawn: str, answered: str) -> str:
    """Return what was answered, put into one of three sentences."""
    if item.by == "withdrawn":
        return withdrawn
    return answered.format(answer=plain_words(item.answer)) if item.answer else skipped


def turn_text(item: TurnItem, finished: str) -> str:
    """Return how long a turn took."""
    return finished.format(time=duration_text(item.seconds))


def line_height(theme: Theme) -> int:
    """Return the height of such a line."""
    return theme.size("row") - theme.space("xs")
