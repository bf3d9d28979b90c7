"""A button beside a field takes what an input method still composes in it, as it does the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QPlainTextEdit, QWidget

from desktop_agent.core.parts.forms import FormField, ServerForm
from desktop_agent.gui.agents.actions import AgentActions
from desktop_agent.gui.agents.note_input import SteerInput
from desktop_agent.gui.kit.fields.input_methods import Line, finish_input
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, column
from desktop_agent.gui.transcript.cards.approval_forms import EditForm
from desktop_agent.gui.transcript.cards.form_card import FormCard
from desktop_agent.gui.transcript.cards.question_card import QuestionCard

# A part of the window: the signal that gives what was typed, and the names of field and button.
Made = tuple[QWidget, SignalInstance, str, str]


def note(theme: Theme) -> Made:
    made = SteerInput(theme, AgentActions(theme, QWidget()))
    made.show_agent("sa_1", "a", "")
    return made, made.sent, "steerField", "steerSend"


def question(theme: Theme) -> Made:
    made = QuestionCard(theme, "Which?", ())
    return made, made.answered, "otherAnswer", "sendAnswer"


def form(theme: Theme) -> Made:
    made = FormCard(theme, ServerForm("Who?", (FormField("name"),), server="tracker"))
    return made, made.answered, "formLine", "sendForm"


def edit(theme: Theme) -> Made:
    holder = QWidget()
    made = EditForm(theme, "", holder)
    column(made, within=holder)
    return holder, made.accepted, "editField", "allowEdited"


def compose(field: QWidget, words: str) -> None:
    QApplication.sendEvent(field, QInputMethodEvent(words, []))


@pytest.mark.parametrize("make", [note, question, form, edit])
def test_a_button_takes_what_is_still_composed(qtbot, theme, make: Callable[[Theme], Made]):
    made, given, name, button = make(theme)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    kind = QPlainTextEdit if make is edit else QLineEdit
    field, send = made.findChild(kind, name), made.findChild(QAbstractButton, button)
    assert field is not None
    assert send is not None
    field.setFocus()
    qtbot.waitFocus(field)
    qtbot.keyClicks(field, "See ")
    compose(field, "にほん")
    with qtbot.waitSignal(given) as hit:
        qtbot.mouseClick(send, Qt.MouseButton.LeftButton)
    assert "See にほん" in str(hit.args)


def test_what_was_composed_in_a_line_that_is_filled_anew_does_not_come_back(qtbot, theme):
    holder = QWidget()
    line, button = Line(), TextButton(theme, "Send")
    column(line, button, within=holder)
    qtbot.addWidget(holder)
    holder.show()
    holder.activateWindow()
    line.setFocus()
    qtbot.waitFocus(line)
    compose(line, "にほん")
    line.setText("another")
    button.click()
    finish_input()
    assert line.text() == "another"
