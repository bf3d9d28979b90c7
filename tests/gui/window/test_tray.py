"""The user is called when something needs them and they are elsewhere; the tray says what runs."""

import threading

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSystemTrayIcon

from desktop_agent.core.events import (
    QuestionAsked,
    SessionsChanged,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.questions import Question
from desktop_agent.gui.state.session_state import SessionState
from desktop_agent.gui.window.tray import Attention
from tests.helpers.events import opened
from tests.helpers.patience import HANG_MS
from tests.helpers.providers import Say, Wait
from tests.helpers.windows import Front, app_of, bridge_of, part

# The platform without a tray says so when an icon is made.
pytestmark = pytest.mark.qt_log_ignore("systemTrayWindowChanged")
MAIN = AgentId("ag_1")


@pytest.fixture
def known():
    state = SessionState()
    page, other = opened("se_1"), opened("se_2", agent="ag_2").info
    first = replace(page.info, title="Paint & polish", status="running")
    second = replace(other, title="Count\nbirds", status="needs_you")
    state.apply(SessionsChanged((first, second)))
    state.apply(page)
    return state


@pytest.fixture
def attention(qtbot, theme, known, monkeypatch):
    # The platform that tests run on has no tray; the icon itself is the real one.
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    one = Attention(theme, Front(), known)
    one.said = []
    monkeypatch.setattr(one, "notify", lambda *words: one.said.append(words))
    return one


def entries(attention):
    return [action.text() for action in attention.menu().actions() if action.text()]


def icon(attention):
    return attention.findChild(QSystemTrayIcon)


def test_a_question_calls_the_user_who_is_elsewhere_and_names_the_session(attention):
    question = Question(QuestionId("qu_1"), MAIN, "c1", "Which colour?", (), 1.0)
    attention.apply(QuestionAsked(MAIN, question))
    assert attention.said == [("Paint & polish", "Which colour?")]
    assert icon(attention).isVisible()
    attention.come_back()
    assert not icon(attention).isVisible()


def test_a_click_on_the_notification_leads_to_its_session(attention, qtbot):
    question = Question(QuestionId("qu_1"), MAIN, "c1", "Which colour?", (), 1.0)
    attention.apply(QuestionAsked(MAIN, question))
    with qtbot.waitSignal(attention.opened) as asked:
        icon(attention).messageClicked.emit()
    assert asked.args == ["se_1"]


def test_a_click_on_the_icon_opens_the_window_and_the_one_for_its_menu_does_not(attention, qtbot):
    """Windows tells of both; a window that opened would take the icon away with its menu."""
    assert attention.enter_tray()
    reason = QSystemTrayIcon.ActivationReason
    with qtbot.assertNotEmitted(attention.opened):
        icon(attention).activated.emit(reason.Context)
    with qtbot.waitSignal(attention.opened) as asked:
        icon(attention).activated.emit(reason.Trigger)
    assert asked.args == [""]


def test_long_work_that_ends_is_told_and_that_of_a_subagent_is_not(attention):
    for agent_id in (MAIN, AgentId("sa_1")):
        attention.apply(TurnStarted(agent_id, at=100.0))
        attention.apply(TurnEnded(agent_id, "finished", at=200.0))
    attention.apply(TurnStarted(MAIN, at=300.0))
    attention.apply(TurnEnded(MAIN, "finished", at=301.0))
    assert [text for _, text in attention.said] == ["The work is finished."]


def test_the_tray_lists_what_runs_and_who_needs_the_user(attention, qtbot, known):
    assert entries(attention) == [
        "Paint && polish – working",
        "Count birds – needs you",
        "Show the window",
        "Stop and quit",
    ]
    assert attention.summary() == "Desktop Agent · 2 sessions at work · 1 needs you"
    with qtbot.waitSignal(attention.opened) as asked:
        attention.menu().actions()[1].trigger()
    assert asked.args == ["se_2"]
    known.apply(SessionsChanged(()))
    assert entries(attention) == ["Show the window", "Stop and quit"]


def test_the_icon_stays_while_the_window_is_in_the_tray(attention):
    assert attention.enter_tray()
    attention.come_back()
    assert icon(attention).isVisible()
    attention.leave_tray()
    assert not icon(attention).isVisible()


@pytest.mark.parametrize("way", ["menu", "dock"])
def test_what_works_goes_on_in_the_tray_and_is_there_when_the_window_is_opened_again(
    window, provider, qtbot, monkeypatch, way
):
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    may_answer = threading.Event()
    provider.push([Wait(may_answer), Say("The boat is painted.")])
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    window.frame.composer.set_text("Paint the boat")
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitState(bridge_of(window).received, lambda: bool(window.known.running()))
    window.close()
    qtbot.waitUntil(lambda: part(window, "keepInTray") is not None, timeout=HANG_MS)
    qtbot.mouseClick(part(window, "keepInTray"), Qt.MouseButton.LeftButton)
    assert not window.isVisible()
    may_answer.set()
    qtbot.waitState(bridge_of(window).received, lambda: not window.known.running())
    entries_now = app_of(window).attention.menu().actions()
    if way == "menu":
        next(one for one in entries_now if one.text() == "Show the window").trigger()
    else:
        app_of(window).come_from_tray(Qt.ApplicationState.ApplicationInactive)
        assert not window.isVisible()
        app_of(window).come_from_tray(Qt.ApplicationState.ApplicationActive)
    qtbot.waitUntil(window.isVisible, timeout=HANG_MS)
    shown = window.pages.page(window.flow.agent).browser
    qtbot.waitUntil(lambda: "The boat is painted." in shown.toPlainText(), timeout=HANG_MS)
