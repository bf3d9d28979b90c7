"""The focus stays where it was in a list of the settings that is brought up to date."""

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QAbstractButton, QApplication

from desktop_agent.core.approvals import Rule
from desktop_agent.core.settings import Settings
from desktop_agent.gui.settings.dialog import SettingsDialog

RULES = tuple(Rule("shell", name, "everywhere") for name in ("make", "npm", "pytest"))


@pytest.fixture
def dialog(qtbot, theme):
    one = SettingsDialog(theme, Settings())
    qtbot.addWidget(one)
    one.show()
    qtbot.waitExposed(one)
    one.activateWindow()
    one.open_page("rules")
    one.rules.set_rules(RULES)
    return one


def delete_of(dialog, pattern):
    """Return the button that deletes a rule."""
    found = dialog.rules.findChildren(QAbstractButton, "deleteRule")
    return next(one for one in found if pattern in one.accessibleName())


def focused():
    now = QApplication.focusWidget()
    return now.accessibleName().removesuffix("”") if now is not None else ""


def test_a_rule_that_is_used_takes_the_focus_from_none(dialog):
    delete_of(dialog, "npm").setFocus()
    assert focused().endswith("npm")
    dialog.rules.set_rules((RULES[0], replace(RULES[1], uses=1), RULES[2]))
    QApplication.processEvents()
    assert focused().endswith("npm")


@pytest.mark.parametrize(("gone", "then"), [(0, "npm"), (1, "pytest"), (2, "npm")])
def test_after_a_deletion_the_focus_is_on_the_rule_that_took_its_place(dialog, gone, then):
    delete_of(dialog, RULES[gone].pattern).setFocus()
    dialog.rules.set_rules(tuple(one for one in RULES if one is not RULES[gone]))
    QApplication.processEvents()
    assert focused().endswith(then)
