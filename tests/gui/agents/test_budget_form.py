"""What an agent may use up, as a person sets it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from desktop_agent.core.agents import Budget
from desktop_agent.gui.agents.budget_form import BudgetForm
from desktop_agent.gui.kit.widgets import TextLabel


@pytest.fixture
def form(theme, qtbot):
    anchor = QWidget()
    qtbot.addWidget(anchor)
    anchor.resize(600, 500)
    anchor.show()
    form = BudgetForm(theme, anchor)
    with qtbot.waitSignal(form.price_wanted) as asked:
        form.open_for("sa_1", "alpha", Budget(), anchor)
    assert asked.args == ["sa_1"]
    qtbot.waitUntil(form.isVisible)
    yield form
    form.close()


def field(form, name) -> QLineEdit:
    return form.findChild(QLineEdit, f"budget-{name}")


def press(form, qtbot) -> None:
    button = next(b for b in form.findChildren(QPushButton) if b.objectName() == "budgetSet")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_limit_in_dollars_is_refused_with_a_sentence_where_no_price_is_known(form, qtbot) -> None:
    form.set_unpriced("sa_1", "openai/of-my-own")
    said = form.findChild(TextLabel, "budgetUnpriced")
    assert said.isVisible()
    assert "The price of openai/of-my-own isn’t known" in said.text()
    assert "can’t be measured" in field(form, "cost").accessibleDescription()
    field(form, "cost").setText("0.50")
    with qtbot.assertNotEmitted(form.budget_chosen):
        press(form, qtbot)
    assert form.isVisible()
    assert field(form, "cost").property("problem") == "true"
    field(form, "cost").clear()
    field(form, "steps").setText("20")
    with qtbot.waitSignal(form.budget_chosen) as chosen:
        press(form, qtbot)
    assert chosen.args == ["sa_1", Budget(steps=20)]


def test_a_limit_in_dollars_is_taken_where_the_price_is_known(form, qtbot) -> None:
    form.set_unpriced("sa_1", "")
    form.set_unpriced("sa_2", "a-model-of-somebody-else")
    assert form.findChild(TextLabel, "budgetUnpriced").isHidden()
    field(form, "cost").setText("0.50")
    with qtbot.waitSignal(form.budget_chosen) as chosen:
        press(form, qtbot)
    assert chosen.args == ["sa_1", Budget(cost=0.5)]


def test_a_budget_can_be_changed_and_nonsense_is_refused(form, qtbot) -> None:
    form.open_for("sa_2", "beta", Budget(cost=0.5, seconds=120), form.parentWidget())
    assert (field(form, "cost").text(), field(form, "minutes").text()) == ("0.5", "2")
    field(form, "tokens").setText("many")
    with qtbot.assertNotEmitted(form.budget_chosen):
        press(form, qtbot)
    assert field(form, "tokens").property("problem") == "true"
    field(form, "tokens").setText("50000")
    field(form, "cost").setText("")
    with qtbot.waitSignal(form.budget_chosen) as chosen:
        press(form, qtbot)
    assert chosen.args == ["sa_2", Budget(tokens=50_000, seconds=120.0)]


@pytest.mark.parametrize("typed", ["100,000", "100.000", "100 000", "100’000", "100000"])
def test_thousands_are_read_as_people_write_them(form, qtbot, typed) -> None:
    field(form, "tokens").setText(typed)
    with qtbot.waitSignal(form.budget_chosen) as chosen:
        press(form, qtbot)
    assert chosen.args == ["sa_1", Budget(tokens=100_000)]


def test_an_amount_that_may_mean_one_or_a_thousand_dollars_is_not_guessed(form, qtbot) -> None:
    field(form, "cost").setText("1,000")
    with qtbot.assertNotEmitted(form.budget_chosen):
        press(form, qtbot)
    assert field(form, "cost").property("problem") == "true"
    field(form, "cost").setText("1,50")
    with qtbot.waitSignal(form.budget_chosen) as chosen:
        press(form, qtbot)
    assert chosen.args == ["sa_1", Budget(cost=1.5)]
