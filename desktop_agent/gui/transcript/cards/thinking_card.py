"""The model's reasoning, collapsed to one quiet line."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.safe_text import clean, without_direction_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.cards.card import Card, CardHeader
from desktop_agent.gui.transcript.cards.line_card import line_height
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.state.items import ThinkingItem

_LIMIT = 280


class ThinkingCard(Card):
    """Unfolds to the text; `unfolded` tells that the user opened or closed it."""

    unfolded = Signal(bool)

    def __init__(
        self,
        theme: Theme,
        item: ThinkingItem,
        parent: QWidget | None = None,
        *,
        is_unfolded: bool = False,
    ) -> None:
        super().__init__(theme, parent, ground="", edge="")
        self._item = item
        self._view: OutputView | None = None
        self.setObjectName("thinkingCard")
        self.header = CardHeader(theme, self, flat=True)
        self.header.setObjectName("thinkingHeader")
        self.header.icon_name = "brain"
        self.header.setFixedHeight(line_height(theme))
        self.header.setChecked(is_unfolded)
        self.header.toggled.connect(self._on_toggled)
        self.body.addWidget(self.header)
        self.body.addStretch(1)
        if is_unfolded:
            self._build()
        self.set_item(item)

    @property
    def is_live(self) -> bool:
        """Whether the reasoning goes on."""
        return self._item.is_live

    def spin(self) -> None:
        """Turn the spinner."""
        self.header.update()

    def set_item(self, item: ThinkingItem) -> None:
        """Show the reasoning as it is now."""
        self._item = item
        self.header.verb = self.tr("Thinking…") if item.is_live else self.tr("Thoughts")
        self.header.state = "running" if item.is_live else ""
        self.header.setAccessibleName(self.header.verb)
        self.setAccessibleName(self.header.verb)
        self.header.update()
        if self._view is not None:
            self._view.set_text(_shown(item))

    def height_for(self, width: int) -> int:
        """Return the height of the line, and of the text if it is unfolded."""
        height = line_height(self._theme)
        if self._view is None:
            return height
        room = self._view.content_height(width, _LIMIT)
        self._view.setFixedHeight(room)
        return height + room

    def _on_toggled(self, is_unfolded: bool) -> None:
        if is_unfolded:
            self._build()
        elif self._view is not None:
            self.body.removeWidget(self._view)
            self._view.hide()
            self._view.deleteLater()
            self._view = None
        self.unfolded.emit(is_unfolded)
        self.resized.emit()

    def _build(self) -> None:
        self._view = OutputView(self._theme, self.tr("Thoughts"), self, mono=False)
        self._view.set_text(_shown(self._item))
        self.body.insertWidget(1, self._view)
        self._view.show()


def _shown(item: ThinkingItem) -> str:
    return clean(without_direction_marks(item.text)).strip()
