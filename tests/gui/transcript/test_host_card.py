"""The card for a host that a command wants to reach: what it says, and what may be remembered."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton

from desktop_agent.core.approvals import Rule
from desktop_agent.core.messages import ToolCall
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from tests.gui.transcript.story import begins, call, needs, opened, runs, says
from tests.helpers.panels import open_page

RULE = Rule("network", "packages.example:443")
REGISTRIES = (RULE, Rule("network", "files.example:443"), Rule("network", "tools.example:443"))
REASON = "`npm install` wants to reach it (port 443). What it reads could be sent there."


@pytest.fixture
def card(view):
    """Open a session in which a command runs that wants to reach a host; return the card."""
    command = call(1, command="npm install")
    wanted = {"host": "packages.example", "port": 443, "wanted_by": "npm install"}
    events = (
        begins(),
        says(1, "I will.", command),
        runs(command),
        needs(
            ToolCall("rq_1", "network", wanted),
            title="Allow packages.example?",
            display=None,
            reason=REASON,
            rules=(RULE,),
            together=REGISTRIES,
        ),
    )
    open_page(view, opened(*events, status="running"))
    made = view.cards.cards["rq_1"]
    assert isinstance(made, ApprovalCard)
    return made


def test_it_says_which_host_for_which_command_and_what_that_could_mean(card) -> None:
    said = " ".join(label.text() for label in card.findChildren(QLabel))
    assert "Allow packages.example?" in said
    assert REASON.replace("`", "") in said
    assert REASON in card.accessibleDescription()
    assert card.findChild(QPlainTextEdit) is None, "nothing is said twice"
    # Another command or host than the one that waits would be no answer.
    assert card.findChild(QPushButton, "editCall") is None


def test_it_is_remembered_for_the_session_or_the_folder_and_no_further(card) -> None:
    menu = card.rule_menu()
    assert [action.text() for action in menu.actions() if not action.menu()] == [
        "Always allow connections to packages.example:443, for this session",
        "Always allow connections to packages.example:443, in this folder",
        "",
    ]


def test_all_that_packages_come_from_is_named_and_allowed_at_once(card, view, clock) -> None:
    decided = []
    view.decided.connect(lambda _, decision: decided.append(decision))
    menu = card.rule_menu()
    (group,) = (action.menu() for action in menu.actions() if action.menu())
    assert group.title() == "All 3 package registries"
    named = [action.text() for action in group.actions() if not action.isEnabled()]
    assert named == [rule.pattern for rule in REGISTRIES]
    (allow,) = (action for action in group.actions() if "in this folder" in action.text())
    assert allow.text() == "Always allow all of these, in this folder"
    clock.advance(1)
    allow.trigger()
    ((rule, *others),) = ((one.rule, *one.others) for one in decided)
    assert [one.pattern for one in (rule, *others)] == named
    assert {(one.tool, one.scope) for one in (rule, *others)} == {("network", "folder")}
    assert all(one.where for one in (rule, *others))
