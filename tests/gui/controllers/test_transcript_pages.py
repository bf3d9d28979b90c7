"""Sessions run side by side: each event reaches its own page, and old pages are let go."""

import pytest
from PySide6.QtWidgets import QStackedWidget, QTextBrowser

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    EngineFailed,
    MessageAdded,
    SessionOpened,
    SessionsChanged,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.controllers.transcript_pages import SessionPages
from desktop_agent.gui.state.session_state import AgentPage, SessionState


@pytest.fixture
def pages(qtbot, theme):
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    stack.resize(800, 600)
    with qtbot.waitExposed(stack):
        stack.show()
    return SessionPages(theme, stack, SessionState())


def info(number):
    return SessionInfo(
        SessionId(f"se_{number}"),
        AgentId(f"ag_{number}"),
        f"Session {number}",
        Workspace("/tmp"),
        "demo",
    )


def said(number, text):
    message = Message(MessageId(f"me_{number}_{text}"), "assistant", (TextPart(text),))
    return MessageAdded(AgentId(f"ag_{number}"), message)


def show(pages, number, *events):
    opened = SessionOpened(info(number), (), tuple(events))
    pages.state.apply(opened)
    pages.show(AgentPage.of_main(opened))


def text(pages, number):
    return pages.page(AgentId(f"ag_{number}")).findChild(QTextBrowser).toPlainText()


def test_words_reach_the_session_they_belong_to_even_when_it_is_hidden(pages, qtbot):
    show(pages, 1, said(1, "hello"))
    show(pages, 2)
    pages.route([said(1, "for one"), said(2, "for two"), said(1, "again one")])
    pages.bring(AgentId("ag_1"))
    qtbot.waitUntil(lambda: "again one" in text(pages, 1))
    assert "for two" not in text(pages, 1)
    pages.bring(AgentId("ag_2"))
    qtbot.waitUntil(lambda: "for two" in text(pages, 2))


def test_a_page_that_was_kept_is_not_filled_twice(pages, qtbot):
    show(pages, 1, said(1, "once"))
    show(pages, 2)
    show(pages, 1, said(1, "once"))
    qtbot.waitUntil(lambda: "once" in text(pages, 1))
    assert text(pages, 1).count("once") == 1


def test_only_the_six_pages_seen_last_are_kept(pages):
    for number in range(7):
        show(pages, number, said(number, "hello"))
    kept = [number for number in range(7) if pages.page(AgentId(f"ag_{number}"))]
    assert kept == [1, 2, 3, 4, 5, 6]


def test_an_untouched_session_gets_its_page_with_what_first_happens_in_it(pages, qtbot):
    show(pages, 1)
    assert pages.page(AgentId("ag_1")) is None
    pages.route((said(1, "at last"),))
    pages.bring(AgentId("ag_1"))
    qtbot.waitUntil(lambda: "at last" in text(pages, 1))


def test_empty_sessions_begun_elsewhere_push_no_page_out(pages, qtbot):
    show(pages, 0, said(0, "kept"))
    for number in range(1, 9):
        show(pages, number)
    pages.route(tuple(said(number, "hello") for number in range(1, 9)))
    assert "kept" in text(pages, 0)
    assert "hello" in text(pages, 8)


def test_a_deleted_session_loses_its_page(pages):
    show(pages, 1)
    pages.state.apply(SessionsChanged((info(2),)))
    pages.drop_gone()
    assert pages.page(AgentId("ag_1")) is None


def test_events_of_unknown_agents_and_of_all_do_no_harm(pages):
    show(pages, 1)
    pages.route([said(9, "nobody"), EngineFailed("x", "y"), SessionsChanged((info(1),))])
    assert pages.state.owner(EngineFailed("x", "y")) is None


def test_a_subagents_words_stay_in_its_own_transcript(pages, qtbot):
    show(pages, 1, said(1, "hello"))
    child = AgentInfo(AgentId("sa_1"), SessionId("se_1"), "Research", parent_id=AgentId("ag_1"))
    main = AgentInfo(AgentId("ag_1"), SessionId("se_1"), "Main")
    pages.state.apply(AgentsChanged(SessionId("se_1"), (main, child)))
    opened = AgentOpened(
        child,
        (MessageAdded(child.id, Message(MessageId("m"), "assistant", (TextPart("inside"),))),),
    )
    shown = pages.state.page(opened)
    assert pages.state.owner(opened) == "se_1"
    pages.show(shown)
    qtbot.waitUntil(lambda: "inside" in pages.page(child.id).findChild(QTextBrowser).toPlainText())
    pages.route([said(1, "outside")])
    pages.bring(AgentId("ag_1"))
    qtbot.waitUntil(lambda: "outside" in text(pages, 1))
    assert "inside" not in text(pages, 1)
    assert "outside" not in pages.page(child.id).findChild(QTextBrowser).toPlainText()


def test_only_agents_that_somebody_looks_at_have_a_reader(pages):
    show(pages, 1, said(1, "hello"))
    assert pages.has_reader(said(1, "more"))
    assert not pages.has_reader(said(2, "more"))


def test_the_first_words_of_a_session_that_is_still_empty_have_a_reader(pages):
    show(pages, 3)
    assert pages.has_reader(said(3, "hello"))
