"""What the user wants remembered stands in the settings, and every agent is given it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent import paths
from desktop_agent.adapters.config.settings_file import load
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Say
from tests.helpers.windows import part


def write(qtbot, window, text):
    window.frame.composer.set_text(text)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)


def notice(window):
    return part(window, "noticeText").text()


def field(window):
    window.settings_window.open()
    part(window, "settingsDialog").open_page("behaviour")
    return part(window, "ownInstructions")


def test_a_line_to_remember_is_said_shown_kept_and_given_to_the_agent(window, provider, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    write(qtbot, window, "/remember I use uv, not pip.")
    qtbot.waitUntil(lambda: notice(window).startswith("Remembered: “I use uv"), timeout=WAIT)
    write(qtbot, window, "/remember Answer\n in French.")
    qtbot.waitUntil(lambda: "in French" in notice(window), timeout=WAIT)
    box = field(window)
    assert isinstance(box, QPlainTextEdit)
    assert box.accessibleName() == "Your instructions"
    assert box.toPlainText() == "- I use uv, not pip.\n- Answer in French."
    part(window, "settingsDialog").close()

    def is_saved():
        kept = load(paths.config_dir() / "settings.json")
        return kept.instructions == "- I use uv, not pip.\n- Answer in French."

    qtbot.waitUntil(is_saved, timeout=WAIT)
    provider.push(Say("Oui."))
    write(qtbot, window, "Ready?")
    qtbot.waitUntil(lambda: bool(provider.requests), timeout=WAIT)
    assert "- I use uv, not pip." in str(provider.requests[0].body)


def test_what_is_edited_in_the_settings_counts(window, provider, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    box = field(window)
    box.setPlainText("Be brief.")
    part(window, "settingsDialog").close()
    qtbot.waitUntil(lambda: window.flow.settings.instructions == "Be brief.", timeout=WAIT)
    provider.push(Say("Yes."))
    write(qtbot, window, "Ready?")
    qtbot.waitUntil(lambda: bool(provider.requests), timeout=WAIT)
    assert "Be brief." in str(provider.requests[0].body), "the agent is not told"


def test_without_a_line_it_says_what_is_missing(window, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    write(qtbot, window, "/remember ")
    said = "Write behind /remember what agents should keep in mind."
    qtbot.waitUntil(lambda: notice(window) == said, timeout=WAIT)
    assert window.flow.settings.instructions == ""


def ask_to_remember(qtbot, window, provider, said):
    """Have an answer, and choose *Remember this…* in its menu, or in that of what is selected."""
    provider.push(Say(f"Done. {said}"))
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    write(qtbot, window, "Go on")

    def browser():
        page = window.pages.page(window.flow.agent)
        return page.browser if page is not None else None

    qtbot.waitUntil(lambda: said in (browser().toPlainText() if browser() else ""), timeout=WAIT)
    browser().moveCursor(QTextCursor.MoveOperation.End)
    assert browser().find(said, QTextDocument.FindFlag.FindBackward)
    at = browser().cursorRect().center()
    menu = window.pages.page(window.flow.agent).menu_at(at)
    (action,) = [one for one in menu.actions() if one.text() == "Remember this…"]
    action.trigger()
    return part(window, "rememberDialog")


def test_a_message_is_remembered_in_the_folder_as_the_line_that_was_edited(
    window, provider, project, qtbot
):
    dialog = ask_to_remember(qtbot, window, provider, "Tests run with uv.")
    line = part(dialog, "rememberLine")
    assert line.toPlainText() == "Tests run with uv."
    keep = part(dialog, "rememberKeep")
    line.setPlainText(" ")
    assert not keep.isEnabled()
    line.setPlainText("Tests run with uv,\nnot pip.")
    part(dialog, "rememberHere").setChecked(True)
    keep.click()
    said = "Remembered in AGENTS.md: “Tests run with uv, not pip.”."
    qtbot.waitUntil(lambda: notice(window) == said, timeout=WAIT)
    assert (project / "AGENTS.md").read_text() == "- Tests run with uv, not pip.\n"
    assert window.flow.settings.instructions == ""


def test_a_message_is_remembered_in_ones_own_instructions_or_not_at_all(
    window, provider, project, qtbot
):
    dialog = ask_to_remember(qtbot, window, provider, "I like marmalade.")
    assert part(dialog, "rememberMine").isChecked()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert window.flow.settings.instructions == ""
    dialog = ask_to_remember(qtbot, window, provider, "I like custard.")
    part(dialog, "rememberKeep").click()
    assert window.flow.settings.instructions == "- I like custard."
    assert not (project / "AGENTS.md").exists()
