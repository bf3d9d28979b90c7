"""How a server is started: names and values in two columns, a hidden one shown when asked for."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from desktop_agent.gui.kit.fitted_area import WholeText
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextLabel

_HIDDEN = "••••••••••••"


class Fact(msgspec.Struct, frozen=True):
    """A name with its value; `is_code`: as it is typed. `kept` says where a hidden value is."""

    name: str
    value: str = ""
    is_code: bool = False
    is_hidden: bool = False
    can_show: bool = True
    kept: str = ""


class FactsGrid(QWidget):
    """Signals:
    wanted(name): a hidden value is to be shown; answered by `show_value`
    """

    wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("serverFacts")
        self._theme = theme
        self._facts: tuple[Fact, ...] = ()
        self._values: dict[str, WholeText] = {}
        self._buttons: dict[str, GhostButton] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(theme.space("l"))
        self._grid.setVerticalSpacing(theme.space("xs"))
        self._grid.setColumnStretch(1, 1)

    def show_facts(self, facts: tuple[Fact, ...]) -> None:
        """Show these; what is hidden is hidden again once one of them is another."""
        if facts == self._facts:
            return
        self._facts = facts
        while (item := self._grid.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self._values, self._buttons = {}, {}
        for at, fact in enumerate(facts):
            self._add(at, fact)

    def show_value(self, name: str, value: str) -> None:
        """Show what was hidden."""
        if name in self._buttons:
            self._values[name].setText(with_marks(value))
            self._say(name, is_shown=True)

    def _add(self, at: int, fact: Fact) -> None:
        name = TextLabel(with_marks(fact.name), "muted", wraps=True)
        shown = self._hidden(fact) if fact.is_hidden else with_marks(fact.value)
        role = "mono" if fact.is_code else ""
        value = self._values[fact.name] = WholeText(
            self._theme, "", with_marks(fact.name), role=role
        )
        value.setText(shown)
        if not (fact.is_hidden and fact.can_show):
            self._grid.addWidget(name, at, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(value, at, 1, 1, 2)
            return
        button = GhostButton(self._theme, self.tr("Show"), "eye", name=f"show_{fact.name}")
        button.clicked.connect(partial(self._on_pressed, fact))
        self._buttons[fact.name] = button
        for place, widget in enumerate((name, value, button)):
            self._grid.addWidget(widget, at, place)
        self._say(fact.name, is_shown=False)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        for fact in self._facts:
            if fact.name in self._buttons:
                self._hide_value(fact)

    def _hide_value(self, fact: Fact) -> None:
        self._values[fact.name].setText(self._hidden(fact))
        self._say(fact.name, is_shown=False)

    def _hidden(self, fact: Fact) -> str:
        return f"{_HIDDEN}  {fact.kept}".rstrip()

    def _say(self, name: str, *, is_shown: bool) -> None:
        button = self._buttons[name]
        button.set_text(self.tr("Hide") if is_shown else self.tr("Show"))
        words = self.tr("Hide {name}") if is_shown else self.tr("Show {name}")
        button.setAccessibleName(words.format(name=with_marks(name)))
        button.setProperty("isShown", is_shown)

    def _on_pressed(self, fact: Fact) -> None:
        if self._buttons[fact.name].property("isShown"):
            self._hide_value(fact)
        elif fact.value:
            self.show_value(fact.name, fact.value)
        else:
            self.wanted.emit(fact.name)
