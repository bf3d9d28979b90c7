"""What a subagent changed is taken back from its card and its row; the header counts files."""

import pytest
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import SessionsChanged
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.frame.header import Header
from desktop_agent.gui.state.session_state import NOTHING, Facet, SessionState
from tests.gui.changes.samples import CHILD, MAIN, made, session_of, undo
from tests.helpers.events import opened
from tests.helpers.panels import follow, state_of

AGENTS = (
    AgentInfo(MAIN, "se_1", "Main"),
    AgentInfo(CHILD, "se_1", "explorer", "completed", parent_id=MAIN),
)
THEIRS = made("cs_1", "a.py", agent=CHILD)


@pytest.fixture
def panel(theme, qtbot):
    one = AgentPanel(theme)
    qtbot.addWidget(one)
    one.resize(348, 800)
    one.show()
    follow(one, opened(agents=AGENTS))
    one.select(CHILD)
    return one


def know(panel, *sets, **more):
    state = state_of(panel)
    panel.show_state(state, state.know_changes("se_1", session_of(*sets, **more)))


def at_card(panel):
    return panel.strip.findChild(QAbstractButton, "steer-undo")


def in_menu(panel):
    actions = panel.tree.view.actions_of_row
    actions.set_row(panel.tree.current)
    menu = actions.make_menu(panel)
    return next(one for one in menu.actions() if one.objectName() == "agent-undo")


def test_a_subagent_that_changed_files_is_undone_at_its_card_and_in_its_menu(panel, qtbot):
    know(panel, THEIRS)
    for one in (at_card(panel), in_menu(panel)):
        assert one.isEnabled()
        with qtbot.waitSignal(panel.command_requested) as hit:
            (one.click if isinstance(one, QAbstractButton) else one.trigger)()
        assert hit.args == [CHILD, "undo"]
    assert at_card(panel).accessibleName() == "Undo its changes…"


def test_without_changes_that_stand_there_is_nothing_to_undo(panel):
    assert at_card(panel).isHidden()
    know(panel, THEIRS, undo("un_1", "cs_1"), undone=("cs_1",))
    assert at_card(panel).isHidden()
    assert not in_menu(panel).isEnabled()
    assert "No change of its stands" in in_menu(panel).toolTip()


def test_what_another_session_changed_is_no_news_here():
    state = SessionState()
    state.apply(opened(agents=AGENTS))
    state.show("se_1", MAIN)
    assert state.know_changes("se_2", session_of(THEIRS)) == NOTHING
    assert not state.changed_by
    assert state.know_changes("se_1", session_of(THEIRS)) == Facet.CHANGES
    assert state.know_changes("se_1", session_of(THEIRS)) == NOTHING
    assert state.changed_by == {CHILD}


def test_with_its_session_what_it_changed_is_forgotten():
    state = SessionState()
    state.apply(SessionsChanged((opened().info,)))
    state.know_changes("se_1", session_of(THEIRS))
    state.apply(SessionsChanged(()))
    assert not state.changes_of("se_1").sets


def test_the_header_counts_changed_files_and_has_no_button_without_any(theme, qtbot):
    header = Header(theme)
    qtbot.addWidget(header)
    header.show()
    button = header.changes_button
    assert button.isHidden()
    header.set_changes(1)
    assert button.isVisible()
    assert button.accessibleName() == "Changes: 1 file"
    assert "Ctrl+Shift+D" in button.toolTip()
    header.set_changes(0)
    assert button.isHidden()
