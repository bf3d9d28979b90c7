"""Subagents at their worst: names, notes, questions and stops that nobody plans for."""

import time

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QRadioButton

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    NoteQueued,
    NoteReturned,
    QuestionAsked,
    SessionOpened,
    TurnStarted,
)
from desktop_agent.core.notes import Note
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.agents.breadcrumb import Breadcrumb
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from tests.helpers.panels import follow

NAMES = {
    "long": "A name without an end " * 10,
    "unbroken": "x" * 200,
    "emoji": "\N{ROCKET}\N{FAMILY}\N{SMILING FACE WITH SUNGLASSES}" * 70,
    "right to left": "בדיקת המחירים של כל הספקים " * 8,
    "turning": "tester\u202e\u2066\u200fgpj.exe\x00\x1b[31m",
    "tags": "<b>bold</b><img src='file:///etc/passwd'>&amp; && %1 {name}",
    "lines": "first\nsecond\r\n\tthird",
}


def agent(name="a", status="running", agent_id="sa_1", **changes):
    now = time.time()
    values = {"parent_id": "ag_1", "started_at": now - 9, "active_at": now, **changes}
    return AgentInfo(agent_id, "se_1", name, status, **values)


def session(*agents, shown="ag_1"):
    info = SessionInfo("se_1", shown, "t", Workspace("/w"), "m")
    return SessionOpened(info, (AgentInfo("ag_1", "se_1", "Main", "running"), *agents))


@pytest.fixture
def panel(qtbot, theme):
    panel = AgentPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(348, 800)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_no_name_breaks_the_panel_the_path_or_the_message_box(panel, theme, qtbot, name):
    opened = session(agent(name))
    follow(panel, opened)
    panel.select("sa_1")
    assert panel.minimumSizeHint().width() <= 348
    whole = QRect(0, 0, panel.width(), panel.height())
    for part in panel.strip.findChildren(QAbstractButton):
        if part.isVisible():
            assert whole.contains(QRect(part.mapTo(panel, part.rect().topLeft()), part.size()))
    title = panel.strip.findChild(QLabel, "steerName")
    shown = title.text() + panel.tree.rows[0].name + panel.strip.input.field.text()
    assert not set(shown) & set("\u202e\u2066\u200f\x00\x1b\n")
    assert title.textFormat() == Qt.TextFormat.PlainText

    crumb = Breadcrumb(theme)
    qtbot.addWidget(crumb)
    crumb.show_path(opened.agents)
    assert all(len(label.text()) <= 28 for label in crumb.findChildren(QLabel))

    composer = Composer(theme)
    qtbot.addWidget(composer)
    composer.resize(700, 200)
    composer.show()
    follow(composer, session(agent(name), shown="sa_1"))
    follow(composer, TurnStarted("sa_1"))
    stop = composer.findChild(QAbstractButton, "stopButton")
    assert stop.accessibleName().startswith("Stop ")
    assert stop.width() < 350


def test_an_ended_agent_takes_no_note_and_says_why(panel, qtbot):
    follow(panel, session(agent(status="completed", result="done")))
    panel.select("sa_1")
    entry = panel.strip.input
    assert entry.field.isReadOnly()
    assert entry.field.placeholderText() == "It has ended"
    with qtbot.assertNotEmitted(panel.steered):
        entry.field.setText("too late")
        qtbot.keyClick(entry.field, Qt.Key.Key_Return)
        entry.button.click()
        panel.tree.view.findChild(QAction, "agent-steer").trigger()
        qtbot.mouseClick(entry.quick, Qt.MouseButton.LeftButton)


def test_a_note_to_one_that_ends_meanwhile_comes_back_and_can_be_sent_on(panel, qtbot):
    follow(panel, session(agent()))
    panel.select("sa_1")
    note = Note("no_1", "x" * 10_000, kind="steer", created_at=time.time())
    follow(panel, NoteQueued("sa_1", note))
    follow(panel, NoteReturned("sa_1", "no_1", "finished"))
    follow(panel, AgentsChanged("se_1", session(agent(status="completed")).agents))
    state = panel.strip.findChild(QLabel, "steerNoteState")
    assert state.accessibleName() == "Not delivered: it finished first"
    resend = panel.strip.findChild(QAbstractButton, "steerNoteResend")
    qtbot.waitUntil(resend.isVisible)
    with qtbot.waitSignal(panel.steered) as hit:
        resend.click()
    assert (hit.args[0], hit.args[1].text) == ("ag_1", note.text)


def test_stopping_one_that_stops_already_does_nothing_more(panel, qtbot):
    follow(panel, session(agent()))
    panel.select("sa_1")
    with qtbot.waitSignal(panel.command_requested):
        panel.strip.findChild(QAbstractButton, "steer-stop").click()
    follow(panel, AgentsChanged("se_1", session(agent(status="stopping")).agents))
    panel.tree.flush()
    for name in ("steer-stop", "steer-finish", "steer-pause"):
        button = next(b for b in panel.strip.findChildren(QAbstractButton, name))
        assert not button.isEnabled()
        assert "It is stopping" in button.toolTip()
    assert panel.tree.rows[0].chip == "Stopping…"


def test_a_question_with_fifty_answers_can_be_answered(qtbot, theme, panel):
    options = tuple(f"option {number} " + "y" * number * 8 for number in range(50))
    question = Question("qu_1", "sa_1", "c", "Which?", options, time.time())
    card = QuestionCard(theme, question.text, question.options)
    qtbot.addWidget(card)
    card.resize(600, card.height_for(600))
    card.show()
    rows = card.findChildren(QRadioButton)
    words = [one for one in card.findChildren(QLabel) if "option" in one.text()]
    assert (len(rows), len(words)) == (51, 50)
    assert max(one.geometry().right() for one in words) <= 600
    assert all(one.height() >= one.heightForWidth(one.width()) for one in words)
    qtbot.mouseClick(words[7], Qt.MouseButton.LeftButton)
    assert rows[7].isChecked()
    rows[49].click()
    with qtbot.waitSignal(card.answered) as hit:
        card.findChild(QAbstractButton, "sendAnswer").click()
    assert hit.args == [options[49]]
    # The list of what waits offers the first few and leaves the rest to the card.
    follow(panel, session(agent(status="waiting_answer", question="Which?")))
    follow(panel, QuestionAsked("sa_1", question))
    assert len(panel.asks.findChildren(QAbstractButton, "askOption")) == 4
    assert panel.minimumSizeHint().width() <= 348


@pytest.mark.parametrize("chosen", ["sa_2", "sa_9", "sa_41", "sa_56"])
def test_the_chosen_one_of_many_stays_in_view_when_its_card_opens(panel, chosen):
    panel.resize(348, 460)
    states = ("running", "running", "completed")
    many = (agent(f"worker {n}", states[n % 3], f"sa_{n}") for n in range(60))
    follow(panel, session(*many))
    panel.select(chosen)
    QApplication.processEvents()
    assert panel.strip.isVisible()
    view = panel.tree.view
    row = view.visualRect(panel.tree.model.index_of(chosen))
    assert view.viewport().rect().contains(row.adjusted(0, 1, 0, -1)), "it is scrolled away"
