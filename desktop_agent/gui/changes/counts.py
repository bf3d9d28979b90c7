"""How many lines were added and removed, in the colours that they have in a diff."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.widgets import TextLabel, row


class LineCounts(QWidget):
    """`+40 −12`; what is nothing is left out, and so is all of it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._labels = TextLabel("", "added", self), TextLabel("", "removed", self)
        row(*self._labels, spacing=6, edges=0, within=self)

    def show_counts(self, added: int, removed: int) -> None:
        for label, sign, count in zip(self._labels, "+−", (added, removed), strict=True):
            label.setText(f"{sign}{count:,}")
            label.setVisible(count > 0)
        self.setVisible(added + removed > 0)
