"""What subagents tell their parent reads as what it is, and can be answered where it stands."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLineEdit

from desktop_agent.core.agents import AgentInfo, Budget, Spent
from desktop_agent.core.events import (
    AgentsChanged,
    BudgetChanged,
    BudgetReached,
    MessageAdded,
    StepStarted,
)
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.gui.transcript.state.items import AgentMessageItem, BudgetItem, UserItem
from desktop_agent.gui.transcript.state.transcript import Transcript
from desktop_agent.gui.transcript.view.view import TranscriptView
from tests.gui.transcript.story import AGENT, begins, ends, opened

QUESTION = (
    "[Question from tester (sa_12345678)] Which currency?\nAnd which year?\n"
    'It waits for answer_child(agent_id: "sa_12345678", answer: "…").'
)
REPORT = "[Report from grep (callers) (sa_0000000a): completed]\nNine callers.\nAll fine."
NOTICE = "[The user told tester (sa_12345678): use euros]"


def told(*texts, number=1):
    parts = tuple(TextPart(f"\n\n{text}" if place else text) for place, text in enumerate(texts))
    return MessageAdded(AGENT, Message(f"me_t{number}", "user", parts, "sa_12345678", ("no_1",)))


def agents(question="", status="waiting_answer"):
    main = AgentInfo(AGENT, "se_1", "Main", "running")
    child = AgentInfo("sa_12345678", "se_1", "tester", status, AGENT, question=question)
    return (main, child)


def transcript(*events, question=""):
    return Transcript.of_session(opened(begins(), *events, agents=agents(question)))


def test_each_thing_told_is_an_item_and_the_persons_words_stand_apart():
    items = transcript(told(REPORT, NOTICE, QUESTION, "And me: go on")).items
    assert [type(item) for item in items] == [
        AgentMessageItem,
        AgentMessageItem,
        AgentMessageItem,
        UserItem,
    ]
    assert [item.kind for item in items[:3]] == ["report", "notice", "question"]
    assert (items[0].name, items[0].state) == ("grep (callers)", "completed")
    assert items[0].text == "Nine callers.\nAll fine."
    assert items[2].text == "Which currency?\nAnd which year?"
    assert items[3].text == "And me: go on"


def test_words_of_a_person_that_only_look_alike_stay_their_own():
    for text in (
        "[Question from me] why?",
        "see [Report from x (sa_1): done]",
        "[The user told me]",
    ):
        (item,) = transcript(told(text)).items
        assert isinstance(item, UserItem)
        assert item.text == text


def test_a_question_is_open_while_its_agent_waits_and_closed_afterwards():
    words = "Which currency?\nAnd which year?"
    script = transcript(told(QUESTION), question=words)
    assert script.items[0].state == "open"
    assert script.apply(AgentsChanged("se_1", agents(status="running"))) == {script.items[0].key}
    assert script.items[0].state == "closed"


def test_a_question_told_before_it_is_known_to_wait_opens_then():
    script = transcript()
    script.apply(told(QUESTION))
    assert script.items[0].state == "new"
    script.apply(AgentsChanged("se_1", agents("Which currency?\nAnd which year?")))
    assert script.items[0].state == "open"


def test_after_a_restart_a_question_of_a_dead_agent_is_closed():
    assert transcript(told(QUESTION)).items[0].state == "closed"


def test_a_used_up_budget_holds_until_it_is_changed_or_the_work_goes_on():
    reached = BudgetReached(AGENT, AGENT, Spent(cost=0.31), Budget(cost=0.3))
    for after in (BudgetChanged(AGENT, Budget(cost=1)), StepStarted(AGENT, 2), ends("cancelled")):
        script = transcript(reached)
        assert isinstance(script.items[0], BudgetItem)
        assert script.items[0].is_current
        script.apply(after)
        assert not script.items[0].is_current


@pytest.fixture
def view(qtbot, theme):
    view = TranscriptView(theme)
    qtbot.addWidget(view)
    view.resize(800, 700)
    view.show()
    qtbot.waitExposed(view)
    return view


def shown(view, name):
    return next(one for one in view.findChildren(QAbstractButton, name) if one.isVisible())


def test_a_childs_question_is_answered_where_its_parent_reads_it(view, qtbot):
    words = "Which currency?\nAnd which year?"
    view.open(opened(begins(), told(QUESTION), agents=agents(words)))
    assert "answer_child" not in view.browser.toPlainText()
    assert "tester asked: Which currency?" in view.browser.toPlainText()
    field = view.findChild(QLineEdit, "otherAnswer")
    qtbot.keyClicks(field, "euros")
    with qtbot.waitSignal(view.wished) as hit:
        qtbot.mouseClick(shown(view, "sendAnswer"), Qt.MouseButton.LeftButton)
    assert hit.args == ["sa_12345678", "answer", "euros"]
    view.apply([AgentsChanged("se_1", agents(status="running"))])
    assert view.findChild(QLineEdit, "otherAnswer") is None or not any(
        card.isVisible() for card in view.findChildren(QLineEdit, "otherAnswer")
    )


def test_a_report_is_one_line_and_unfolds_to_its_words(view, qtbot):
    view.open(opened(begins(), told(REPORT), agents=agents()))
    header = shown(view, "reportHeader")
    assert header.accessibleName() == "grep (callers): done. Nine callers. All fine."
    low = view.cards.cards["me_t1/told/0"].height()
    qtbot.mouseClick(header, Qt.MouseButton.LeftButton)
    assert view.cards.cards["me_t1/told/0"].height() > low + 30
    with qtbot.waitSignal(view.wished) as hit:
        qtbot.mouseClick(shown(view, "openReporter"), Qt.MouseButton.LeftButton)
    assert hit.args == ["sa_0000000a", "open", ""]


@pytest.mark.parametrize("wish", ["more", "budget", "finish", "stop"])
def test_a_used_up_budget_offers_four_ways_out(view, qtbot, wish):
    reached = BudgetReached(AGENT, AGENT, Spent(cost=0.31), Budget(cost=0.3, steps=50))
    view.open(opened(begins(), reached, agents=agents()))
    card = view.cards.cards["budget/0"]
    assert card.accessibleName() == "The budget is used up: $0.31 of $0.30."
    with qtbot.waitSignal(view.wished) as hit:
        qtbot.mouseClick(shown(view, f"budget-{wish}"), Qt.MouseButton.LeftButton)
    assert hit.args == [AGENT, wish, ""]
