"""What a server offers beside its tools: a title that unfolds, how many, and a line for each."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.lists.fold import FoldButton
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import Chip, TextLabel, column, row


class OfferedList(QWidget):
    """Hidden while there is nothing of its kind. `title` is what is offered."""

    def __init__(self, theme: Theme, title: str, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self._button = FoldButton(theme, name=f"{name}Fold")
        self._button.set_text(title)
        self._button.clicked.connect(lambda: self._set_open(is_open=not self._button.is_open))
        self._count = Chip("", "", self)
        self._lines = TextLabel("", "muted", name=f"{name}Lines", wraps=True, copies=True)
        self._lines.setIndent(theme.space("xl"))
        head = row(self._button, self._count, None, spacing=theme.space("xs"))
        column(head, self._lines, spacing=theme.space("xs"), within=self)
        self._set_open(is_open=False)

    def show_lines(self, count: int, lines: str) -> None:
        """Show these; it stays open or closed."""
        self._count.setText(str(count))
        self._lines.setText(lines)
        spoken = self.tr("{title}, {n}").format(title=self._title, n=count)
        self._button.setAccessibleName(spoken)
        self.setVisible(bool(count))

    def _set_open(self, *, is_open: bool) -> None:
        self._button.set_open(is_open=is_open)
        self._lines.setVisible(is_open)
