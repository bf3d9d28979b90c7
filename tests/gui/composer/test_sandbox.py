"""Whether commands are sandboxed, beside the mode."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QPushButton,
    QTextBrowser,
    QWidget,
)

from desktop_agent.core.events import MachineSandboxChanged, SandboxChanged
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.composer.sandbox_button import SandboxButton
from desktop_agent.paths import resource
from tests.helpers.events import opened
from tests.helpers.panels import follow

HOLDS = SandboxState(holds=True, reason="")
MISSING = SandboxState(
    reason="bubblewrap is not installed.", fix="install", remedy="Run: install bubblewrap"
)


@pytest.fixture
def composer(qtbot, theme):
    one = Composer(theme)
    qtbot.addWidget(one)
    one.resize(900, 600)
    one.show()
    qtbot.waitExposed(one)
    follow(one, opened())
    return one


def button(composer) -> SandboxButton:
    return composer.findChild(SandboxButton)


def popover(composer) -> QWidget | None:
    return composer.window().findChild(QWidget, "sandboxPopover")


def test_nothing_is_said_before_it_is_known(composer):
    assert button(composer).isHidden()


def test_a_sandbox_that_holds_is_named_and_explained(composer, qtbot):
    follow(composer, SandboxChanged(HOLDS))
    one = button(composer)
    assert one.isVisible()
    assert one.accessibleName() == "Sandboxed"
    assert "ask before they reach a new host" in one.accessibleDescription()
    qtbot.mouseClick(one, Qt.MouseButton.LeftButton)
    assert popover(composer).accessibleName() == "Sandboxed"
    assert popover(composer).findChild(QPushButton, "copyRemedy") is None


def test_where_none_holds_the_reason_and_the_remedy_are_one_click_away(composer, qtbot):
    follow(composer, SandboxChanged(MISSING))
    one = button(composer)
    assert one.accessibleName() == "Not sandboxed"
    assert one.accessibleDescription().startswith("bubblewrap is not installed. ")
    qtbot.mouseClick(one, Qt.MouseButton.LeftButton)
    shown = popover(composer)
    assert shown.findChild(QLabel, "sandboxReason").text().startswith(MISSING.reason)
    assert shown.findChild(QLabel, "sandboxRemedy").text() == MISSING.remedy
    qtbot.mouseClick(shown.findChild(QPushButton, "copyRemedy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "install bubblewrap"
    qtbot.keyClick(shown, Qt.Key.Key_Escape)
    assert shown.isHidden()


def test_after_a_remedy_it_is_checked_again_from_where_it_was_read(composer, qtbot):
    follow(composer, SandboxChanged(MISSING))
    qtbot.mouseClick(button(composer), Qt.MouseButton.LeftButton)
    again = popover(composer).findChild(QPushButton, "checkSandboxAgain")
    asked: list[str] = []
    composer.bar.sandbox.check_requested.connect(lambda: asked.append("check"))
    qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
    assert asked == ["check"]


def test_only_what_the_app_can_start_is_offered_as_a_fix(composer, qtbot):
    follow(composer, SandboxChanged(MISSING))
    qtbot.mouseClick(button(composer), Qt.MouseButton.LeftButton)
    assert popover(composer).findChild(QPushButton, "fixSandbox") is None
    qtbot.keyClick(popover(composer), Qt.Key.Key_Escape)
    follow(composer, SandboxChanged(replace(MISSING, command=("pkexec", "apt-get"))))
    qtbot.mouseClick(button(composer), Qt.MouseButton.LeftButton)
    shown = composer.window().findChildren(QWidget, "sandboxPopover")[-1]
    with qtbot.waitSignal(composer.bar.sandbox.fix_requested) as asked:
        qtbot.mouseClick(shown.findChild(QPushButton, "fixSandbox"), Qt.MouseButton.LeftButton)
    assert asked.args == [button(composer)]
    assert shown.isHidden()


@pytest.mark.parametrize("state", [MISSING, HOLDS])
def test_learn_more_opens_the_chapter_of_the_readme(composer, qtbot, state):
    follow(composer, SandboxChanged(state))
    qtbot.mouseClick(button(composer), Qt.MouseButton.LeftButton)
    more = popover(composer).findChild(QPushButton, "learnSandbox")
    qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
    dialog = composer.window().findChild(QDialog, "helpDialog")
    assert dialog.windowTitle() == "What it may do"
    text = dialog.findChild(QTextBrowser, "helpText")
    said = text.toPlainText()
    assert "a sandbox: they can read the system" in " ".join(said.split())
    # An input method replaces what is selected, read-only or not.
    text.selectAll()
    typed = QInputMethodEvent()
    typed.setCommitString("漢字")
    QApplication.sendEvent(text, typed)
    assert text.toPlainText() == said
    qtbot.keyClick(text, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_the_chapter_says_what_the_readme_says():
    chapter = resource("help/sandbox.md").read_text("utf-8")
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    assert f"\n{chapter}\n## " in readme


def test_it_follows_later_checks_and_other_sessions(composer):
    follow(composer, SandboxChanged(MISSING))
    follow(composer, SandboxChanged(HOLDS))
    assert button(composer).accessibleName() == "Sandboxed"
    follow(composer, opened("another"))
    assert button(composer).isVisible()


def test_it_keeps_its_name_where_there_is_no_room_for_the_words(composer):
    follow(composer, SandboxChanged(HOLDS))
    composer.resize(360, 300)
    one = button(composer)
    assert one.text().strip() == ""
    assert one.accessibleName() == "Sandboxed"


def test_a_session_for_which_the_machine_is_the_sandbox_says_so_in_amber(composer, qtbot):
    follow(composer, SandboxChanged(HOLDS))
    follow(composer, MachineSandboxChanged((opened().info.id,)))
    one = button(composer)
    assert one.accessibleName() == "This machine is the sandbox"
    assert one.property("tone") == "warn"
    assert "can change anything" in one.accessibleDescription()
    qtbot.mouseClick(one, Qt.MouseButton.LeftButton)
    assert popover(composer).findChild(QPushButton, "copyRemedy") is None
    qtbot.keyClick(popover(composer), Qt.Key.Key_Escape)
    follow(composer, opened("another"))
    assert one.accessibleName() == "Sandboxed"
    follow(composer, opened())
    follow(composer, MachineSandboxChanged(()))
    assert one.accessibleName() == "Sandboxed"
