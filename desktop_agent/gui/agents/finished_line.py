"""The line that folds the subagents that have finished: how many, what they used, and a chevron."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.ids import AgentId
from desktop_agent.gui.agents.rows import AgentRow, tokens_text
from desktop_agent.gui.kit.lists.fold import FoldButton
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, row

# A failure stays in sight.
_FINISHED = frozenset({"done", "stopped", "over_budget"})
# So few are no crowd: their results are worth more than the room.
FOLD_ABOVE = 2


def finished(rows: Sequence[AgentRow], marked: str) -> frozenset[AgentId]:
    """Return who can be folded away: below none of them somebody works, has failed or is marked."""
    parents = {row.key: row.parent_key for row in rows}
    staying: set[AgentId] = set()
    count = 0
    for one in rows:
        is_over = one.state in _FINISHED
        count += is_over
        above = None if is_over and one.key != marked else one.key
        while above is not None and above not in staying:
            staying.add(above)
            above = parents.get(above)
    return frozenset(parents) - staying if count > FOLD_ABOVE else frozenset()


class FinishedLine(QWidget):
    """Hidden while there is nothing to fold.

    Signals:
        toggled(is_open): the rows are wanted, or not any more
    """

    toggled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._button = FoldButton(theme, self, name="finishedAgents")
        self._button.clicked.connect(self._toggle)
        self._used = TextLabel("", "muted", self)
        edge = theme.space("s")
        self.setLayout(row(self._button, None, self._used, edges=(edge, 0, 2 * edge, 0)))
        self.hide()

    def show_rows(self, folded: Sequence[AgentRow]) -> None:
        """Speak for these rows, whether they are shown or not."""
        self.setVisible(bool(folded))
        self._button.set_text(self.tr("%n finished", "", len(folded)))
        self._used.setText(tokens_text(one.info for one in folded))

    @property
    def is_open(self) -> bool:
        return self._button.is_open

    def close_up(self) -> None:
        """Fold again, as for another session."""
        self._button.set_open(is_open=False)

    def _toggle(self) -> None:
        self._button.set_open(is_open=not self.is_open)
        self.toggled.emit(self.is_open)
