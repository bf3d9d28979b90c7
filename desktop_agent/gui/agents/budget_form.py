"""A small form for what an agent may use up."""

from __future__ import annotations

import re

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QWidget

from desktop_agent.core.agents import Budget
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    Popover,
    PrimaryButton,
    TextLabel,
    named,
    restyle,
    row,
)

_WHOLE = frozenset({"tokens", "steps"})
# Thousands as people part them: `100,000`. With a comma in an amount it may be either.
_PARTED = re.compile(r"[1-9]\d{0,2}([.,’'\s])\d{3}(?:\1\d{3})*")
_EITHER = re.compile(r"[1-9]\d{0,2},\d{3}")


class BudgetForm(Popover):
    """What an agent may use up; an empty field is no limit.

    Signals:
        budget_chosen(agent_id, Budget): its new budget
        price_wanted(agent_id): call `set_unpriced` if the price of its model is not known
    """

    budget_chosen = Signal(str, object)
    price_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "", parent)
        self.setAccessibleName(self.tr("Budget"))
        self.setObjectName("budgetForm")
        self._agent = ""
        self._title = TextLabel("", "strong", self)
        self._fields: dict[str, Line] = {}
        form = QFormLayout()
        form.setSpacing(theme.space("s"))
        titles = {
            "cost": self.tr("Cost in dollars"),
            "tokens": self.tr("Tokens"),
            "steps": self.tr("Steps"),
            "minutes": self.tr("Minutes"),
        }
        for name, title in titles.items():
            field = named(Line(self), f"budget-{name}", title)
            field.setPlaceholderText(self.tr("No limit"))
            field.returnPressed.connect(self._accept)
            form.addRow(title, field)
            self._fields[name] = field
        self._unpriced = TextLabel("", "warn", self, name="budgetUnpriced", wraps=True)
        set_button = PrimaryButton(theme, self.tr("Set budget"), parent=self, name="budgetSet")
        set_button.clicked.connect(self._accept)
        cancel = GhostButton(theme, self.tr("Cancel"), parent=self, clicked=self.close)
        self.body.setContentsMargins(*(theme.space("m"),) * 4)
        self.body.setSpacing(theme.space("s"))
        self.body.addWidget(self._title)
        self.body.addLayout(form)
        self.body.addWidget(self._unpriced)
        self.body.addLayout(row(set_button, cancel, None))

    def open_for(self, agent_id: str, name: str, budget: Budget, anchor: QWidget) -> None:
        """Show an agent's present budget, to be changed."""
        self._agent = agent_id
        self._title.setText(self.tr("Budget of {name}").format(name=name))
        minutes = None if budget.seconds is None else budget.seconds / 60
        values = (budget.cost, budget.tokens, budget.steps, minutes)
        for field, value in zip(self._fields.values(), values, strict=True):
            field.setText("" if value is None else f"{value:g}" if value < 1e5 else str(int(value)))
        self._say("")
        self.open_below(anchor, above=True)
        self._fields["cost"].setFocus()
        self.price_wanted.emit(agent_id)

    def set_unpriced(self, agent_id: str, model: str) -> None:
        """Say that a limit of money can't be measured: the price of `model` is not known."""
        if not model or agent_id != self._agent:
            return
        text = self.tr(
            "The price of {model} isn’t known, so a limit in dollars can’t be measured. "
            "Limit tokens, steps or minutes instead."
        )
        self._say(text.format(model=model))
        self.adjustSize()

    def _say(self, text: str) -> None:
        self._unpriced.setText(text)
        self._unpriced.setVisible(bool(text))
        # What a screen reader says with the field itself.
        self._fields["cost"].setAccessibleDescription(text)

    def _accept(self) -> None:
        found: dict[str, float | None] = {}
        for name, field in self._fields.items():
            value = _number(field.text(), is_whole=name in _WHOLE)
            if name == "cost" and value is not None and self._unpriced.text():
                value = field.text()
            is_bad = isinstance(value, str)
            field.setProperty("problem", "true" if is_bad else "false")
            restyle(field)
            if isinstance(value, str):
                field.setFocus()
                field.selectAll()
                return
            found[name] = value
        minutes, tokens, steps = found["minutes"], found["tokens"], found["steps"]
        budget = Budget(
            cost=found["cost"],
            tokens=None if tokens is None else int(tokens),
            steps=None if steps is None else int(steps),
            seconds=None if minutes is None else minutes * 60,
        )
        self.close()
        self.budget_chosen.emit(self._agent, budget)


def _number(text: str, *, is_whole: bool) -> float | str | None:
    """Return a number, None for no limit, or the text itself when it is neither."""
    plain = text.strip().lstrip("$")
    if not plain:
        return None
    if is_whole and _PARTED.fullmatch(plain):
        plain = "".join(filter(str.isdecimal, plain))
    elif _EITHER.fullmatch(plain):
        return text
    plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        return text
    is_fit = 0 <= value < 1e15 and (not is_whole or value == int(value))
    return value if is_fit else text
