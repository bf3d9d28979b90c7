"""A command in the background has a window: what it prints, a line to it, and *Stop*."""

from urllib.request import urlopen

import pytest
from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPlainTextEdit

from tests.adapters.sandbox.conftest import need_sandbox
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Calls, Say
from tests.helpers.windows import part

COMMAND = 'echo ready; while read line; do echo "got $line"; done'


def visible(window, name):
    found = [w for w in window.findChildren(QAbstractButton, name) if w.isVisible()]
    return found[0] if found else None


def start(qtbot, window, provider, command=COMMAND):
    """Have the agent start the command, allowed by the user, and open its window."""
    call = ("shell", {"command": command, "run_in_background": True})
    provider.push(Calls(call), Say("It runs."))
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    window.frame.composer.set_text("Start it")
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)

    def ended():
        allow = visible(window, "allowOnce")
        if allow is not None and allow.isEnabled():
            allow.click()
        page = window.pages.page(window.flow.agent)
        return page is not None and "It runs." in page.browser.toPlainText()

    qtbot.waitUntil(ended, timeout=WAIT)
    qtbot.waitUntil(lambda: visible(window, "toolCardHeader") is not None, timeout=WAIT)
    visible(window, "toolCardHeader").set_open(True)
    qtbot.waitUntil(lambda: visible(window, "openTerminal") is not None, timeout=WAIT)
    visible(window, "openTerminal").click()
    return part(window, "terminal")


def wait_for(qtbot, terminal, words):
    view = terminal.findChild(QPlainTextEdit)
    qtbot.waitUntil(lambda: words in view.toPlainText(), timeout=WAIT)


def state(terminal):
    return terminal.findChild(QLabel, "terminalState").text()


def test_the_output_is_seen_a_line_is_typed_and_the_command_is_stopped(window, provider, qtbot):
    terminal = start(qtbot, window, provider)
    wait_for(qtbot, terminal, "ready")
    assert state(terminal).startswith("Running · ")
    line = terminal.findChild(QLineEdit, "terminalInput")
    assert line.accessibleName() == "Type a line to the command"
    line.setText("hello")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    wait_for(qtbot, terminal, "got hello")
    assert line.text() == ""
    terminal.findChild(QAbstractButton, "terminalStop").click()
    qtbot.waitUntil(lambda: state(terminal).startswith("Ended with exit code"), timeout=WAIT)
    assert not line.isEnabled()
    assert line.placeholderText() == "Nothing reads here any more"
    assert terminal.accessibleDescription() == state(terminal)


def test_a_command_of_an_earlier_run_of_the_app_is_said_to_be_over(
    window, provider, qtbot, open_window
):
    start(qtbot, window, provider)
    open_window.close(window)
    again = open_window(model=provider.model, api_base=provider.api_base)
    qtbot.waitUntil(lambda: visible(again, "toolCardHeader") is not None, timeout=WAIT)
    visible(again, "toolCardHeader").set_open(True)
    qtbot.waitUntil(lambda: visible(again, "openTerminal") is not None, timeout=WAIT)
    visible(again, "openTerminal").click()
    terminal = part(again, "terminal")
    qtbot.waitUntil(lambda: state(terminal) == "It does not run any more.", timeout=WAIT)
    assert terminal.is_over


def test_a_running_command_stands_in_the_panel_until_it_ends_and_opens_from_there(
    window, provider, qtbot
):
    start(qtbot, window, provider).close()
    qtbot.waitUntil(lambda: part(window, "terminal") is None, timeout=WAIT)
    qtbot.waitUntil(lambda: visible(window, "openJob") is not None, timeout=WAIT)
    button = visible(window, "openJob")
    assert button.accessibleName() == f"Open the terminal of {COMMAND}"
    assert part(window, "jobCommand").whole_text() == COMMAND
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: part(window, "terminal") is not None, timeout=WAIT)
    terminal = part(window, "terminal")
    wait_for(qtbot, terminal, "ready")
    terminal.findChild(QAbstractButton, "terminalStop").click()
    qtbot.waitUntil(lambda: not part(window, "jobList").isVisible(), timeout=WAIT)
    assert visible(window, "openJob") is None


class _Browser(QObject):
    def __init__(self):
        super().__init__()
        self.opened = []

    @Slot(QUrl)
    def open(self, url):
        self.opened.append(url.toString())


@pytest.fixture
def browser(qapp):
    """The person's browser, which only notes what it was given."""
    one = _Browser()
    QDesktopServices.setUrlHandler("http", one, "open")
    yield one
    QDesktopServices.unsetUrlHandler("http")


def test_what_a_command_serves_in_the_sandbox_opens_in_the_browser(
    window, provider, qtbot, browser, project
):
    need_sandbox({})
    (project / "page.html").write_text("hello")
    serve = "python3 -m http.server 8123 --bind 127.0.0.1"
    terminal = start(qtbot, window, provider, serve)
    qtbot.waitUntil(lambda: visible(terminal, "openPort") is not None, timeout=WAIT)
    button = visible(terminal, "openPort")
    assert button.accessibleName() == "Open localhost:8123"
    assert button.toolTip() == "The page runs in your browser, with your network."
    button.click()
    qtbot.waitUntil(lambda: len(browser.opened) == 1, timeout=WAIT)
    # The same from a link in what the agent says.
    page = window.pages.page(window.flow.agent)
    page.browser.anchorClicked.emit(QUrl("http://localhost:8123/page.html?a=b#c"))
    dialog = part(window, "linkDialog")
    assert dialog.findChild(QLabel, "linkNote").text().startswith("It runs in your browser")
    dialog.findChild(QAbstractButton, "openLink").click()
    qtbot.waitUntil(lambda: len(browser.opened) == 2, timeout=WAIT)
    assert browser.opened[1].endswith("/page.html?a=b#c")
    with urlopen(browser.opened[1]) as answer:
        assert answer.read() == b"hello"
    terminal.findChild(QAbstractButton, "terminalStop").click()
    qtbot.waitUntil(lambda: state(terminal).startswith("Ended with exit code"), timeout=WAIT)


def test_a_link_to_this_computer_that_no_command_serves_opens_as_it_is(
    window, provider, qtbot, browser
):
    start(qtbot, window, provider)
    page = window.pages.page(window.flow.agent)
    page.browser.anchorClicked.emit(QUrl("http://localhost:9/x"))
    part(window, "linkDialog").findChild(QAbstractButton, "openLink").click()
    qtbot.waitUntil(lambda: len(browser.opened) == 1, timeout=WAIT)
    assert browser.opened == ["http://localhost:9/x"]
