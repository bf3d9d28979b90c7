"""What was said long ago is found in the sidebar, and opens where it was said."""

from contextlib import closing

import pytest
from PySide6.QtCore import Qt

from desktop_agent import paths
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.events import AgentSpawned, MessageAdded
from desktop_agent.core.ids import AgentId, SessionId, new_message_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from tests.helpers.patience import HANG_MS
from tests.helpers.windows import part

OLD, NEW = AgentId("ag_old"), AgentId("ag_new")


def said(agent, text, role="assistant"):
    return MessageAdded(agent, Message(new_message_id(), role, (TextPart(text),)))


def keep(store, folder, main, title, at, *events):
    info = SessionInfo(
        SessionId(f"se_{main}"), main, title, Workspace(str(folder)), "demo",
        created_at=1.0, updated_at=at,
    )  # fmt: skip
    store.record(info.id, *events, info=info)
    return info.id


@pytest.fixture
def sessions(project):
    """Two sessions; the older one holds a word more than a page of events back."""
    path = paths.data_dir()
    path.mkdir(parents=True, exist_ok=True)
    texts = [said(OLD, f"answer number {number}") for number in range(900)]
    texts[20] = said(OLD, "The **Harbour** master was here\n\nand so on")
    with closing(SqliteStore(path / SESSIONS_FILE)) as store:
        keep(store, project, OLD, "Long ago", 2.0, said(OLD, "begin", "user"), *texts)
        child = AgentId("sa_0000beef")
        spawned = AgentSpawned(child, AgentSpec(NEW, "scout", "look", 1, Workspace(str(project))))
        keep(
            store, project, NEW, "Newest", 9.0, said(NEW, "hello", "user"),
            spawned, said(child, "look for the lighthouse", "user"),
        )  # fmt: skip
    return child


def look_for(qtbot, window, words):
    panel = window.frame.sidebar.sessions
    model = panel.list.model()
    panel.search.setFocus()
    panel.search.setText(words)

    def hits():
        return [row for row in model.rows() if row.hit is not None]

    qtbot.waitUntil(lambda: len(hits()) == 1, timeout=HANG_MS)
    qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    return hits()[0].hit


def selected(window, agent):
    view = window.pages.page(agent)
    return view.browser.textCursor().selectedText() if view is not None else ""


def is_in_view(window, agent):
    browser = window.pages.page(agent).browser
    return browser.viewport().rect().contains(browser.cursorRect().center())


def test_enter_opens_an_older_session_at_the_word_however_far_back(
    open_window, qtbot, project, sessions
):
    window = open_window(model="demo")
    qtbot.waitUntil(lambda: window.flow.agent == NEW, timeout=HANG_MS)
    hit = look_for(qtbot, window, "harbour")
    assert hit.line == "The **Harbour** master was here"
    qtbot.waitUntil(lambda: selected(window, OLD) == "Harbour", timeout=HANG_MS)
    assert window.flow.agent == OLD
    qtbot.waitUntil(lambda: is_in_view(window, OLD), timeout=HANG_MS)


def test_what_a_subagent_said_opens_in_its_transcript(open_window, qtbot, project, sessions):
    window = open_window(model="demo")
    qtbot.waitUntil(lambda: window.flow.agent == NEW, timeout=HANG_MS)
    look_for(qtbot, window, "lighthouse")
    qtbot.waitUntil(lambda: window.flow.agent == sessions, timeout=HANG_MS)
    qtbot.waitUntil(lambda: selected(window, sessions) == "lighthouse", timeout=HANG_MS)
    assert is_in_view(window, sessions)


@pytest.fixture
def branched(project):
    """A session with a word on each of three branches; the last one is shown."""
    path = paths.data_dir()
    path.mkdir(parents=True, exist_ok=True)
    with closing(SqliteStore(path / SESSIONS_FILE)) as store:
        asked = said(NEW, "which light?", "user")
        session = keep(
            store, project, NEW, "Lights", 9.0, asked, said(NEW, "the lighthouse"),
            *(said(NEW, f"more {number}") for number in range(600)),
        )  # fmt: skip
        for words in ("the candle", "the lantern"):
            again = said(NEW, words, "user")
            store.begin_branch(session, asked.message.id, again, said(NEW, f"{words} burns"))
            asked = again
    return session


def test_a_hit_on_another_branch_shows_that_branch_and_jumps_there(
    open_window, qtbot, project, branched
):
    window = open_window(model="demo")
    qtbot.waitUntil(lambda: window.flow.agent == NEW, timeout=HANG_MS)
    look_for(qtbot, window, "lighthouse")
    qtbot.waitUntil(lambda: selected(window, NEW) == "lighthouse", timeout=HANG_MS)
    qtbot.waitUntil(lambda: is_in_view(window, NEW), timeout=HANG_MS)
    window.frame.sidebar.sessions.search.clear()
    look_for(qtbot, window, "candle burns")
    qtbot.waitUntil(lambda: selected(window, NEW) == "candle burns", timeout=HANG_MS)
    # One that is shown already is not left for it.
    path = window.pages.page(NEW).browser.toPlainText()
    assert "lantern" not in path
    assert "lighthouse" not in path


def test_f2_in_the_message_box_renames_the_session_and_is_no_message(
    open_window, qtbot, project, sessions
):
    window = open_window(model="demo")
    qtbot.waitUntil(lambda: window.flow.agent == NEW, timeout=HANG_MS)
    box = part(window, "composerText")
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_F2)
    field = window.focusWidget()
    qtbot.keyClicks(field, "Renamed")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: window.known.sessions[window.flow.current].title == "Renamed", timeout=HANG_MS
    )
    assert box.toPlainText() == ""
    # Enter is not pressed once more, at the button that the focus would go to.
    assert box.hasFocus()
    assert not window.frame.find_bar.isVisible()
