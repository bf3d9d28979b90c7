"""MCP servers in the whole window on the real engine: added, tested, used, switched, removed."""

import json
import sys
from urllib.request import urlopen

import pytest
from PySide6.QtCore import QPoint, Qt, QThread, QTimer
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from desktop_agent import paths
from desktop_agent.adapters.sandbox.sandbox import Programs
from desktop_agent.core.approvals import Rule
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.mcp import sign_in_box
from desktop_agent.gui.mcp.dialogs import ImportSheet, ServerSheet
from tests.helpers.forked import script_by_fork
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Calls, Say
from tests.helpers.windows import bridge_of, part, words_in
from tests.mcp.rig import SERVERS
from tests.mcp.servers.signing import SigningServer

COMMAND = " ".join(script_by_fork(SERVERS / "honest.py"))


@pytest.fixture
def window(open_window, provider, project, qtbot, monkeypatch):
    """A window where no sandbox holds: what runs in it has tests of its own."""
    monkeypatch.setattr(Programs, "find", staticmethod(lambda: Programs("", "")))
    opened = open_window(project, model=provider.model, api_base=provider.api_base)
    qtbot.waitState(opened.flow.agent_shown, lambda: opened.flow.info is not None)
    return opened


def until(qtbot, holds):
    qtbot.waitUntil(holds, timeout=WAIT)


def state_of(window, name):
    return next((one for one in window.servers.states if one.server.name == name), None)


def is_running(window, name):
    state = state_of(window, name)
    return state is not None and state.phase == "running"


def add(window, qtbot, name="honest", variables="", command=COMMAND):
    """Add a server by hand, the honest one unless another is named, to run without a sandbox."""
    window.servers.open()
    qtbot.mouseClick(window.findChild(QPushButton, "addServer"), Qt.MouseButton.LeftButton)
    sheet = window.findChild(ServerSheet, "serverSheet")
    sheet.findChild(QLineEdit, "serverCommand").setText(command)
    sheet.findChild(QLineEdit, "serverNameField").setText(name)
    sheet.findChild(QPlainTextEdit, "serverVariables").setPlainText(variables)
    part(sheet, "serverOutside").click()
    return sheet


def saved(window, qtbot, **more):
    """Add a server, and wait until it runs."""
    sheet = add(window, qtbot, **more)
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, more.get("name", "honest")))


def test_a_server_is_tested_added_and_its_tools_are_there_for_the_agent(window, provider, qtbot):
    sheet = add(window, qtbot)
    qtbot.mouseClick(part(sheet, "testSheet"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: "It works: 8 tools." in words_in(sheet))
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, "honest"))
    detail = part(window, "serverDetail")
    until(qtbot, lambda: "honest" in words_in(detail) and "Running" in words_in(detail))
    tools = detail.findChild(QListView, "serverTools").model()
    spoken = int(Qt.ItemDataRole.AccessibleTextRole)
    said = [tools.index(at, 0).data(spoken) for at in range(tools.rowCount())]
    assert "add, Add two numbers., reads, on" in said
    until(qtbot, lambda: "honest is ready" in part(window, "serverLog").toPlainText())
    window.full.leave()
    bridge_of(window).engine.add_rule(Rule("mcp__honest__add", "", scope="everywhere"))
    provider.push(Calls(("mcp__honest__add", {"a": 20, "b": 22})), Say("Well added."))
    window.frame.composer.set_text("add")
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)
    until(qtbot, lambda: len(provider.requests) == 2)
    assert "42" in json.dumps(provider.requests[1].body)


def test_a_server_whose_name_is_taken_is_not_saved_in_the_place_of_the_other(window, qtbot):
    saved(window, qtbot)
    sheet = add(window, qtbot)
    assert "There is a server “honest” already" in words_in(sheet)
    assert not part(sheet, "saveServer").isEnabled()
    sheet.findChild(QLineEdit, "serverNameField").setText("second")
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, "second"))
    assert is_running(window, "honest")


def test_a_server_waits_for_a_yes_where_no_sandbox_holds(window, qtbot):
    sheet = add(window, qtbot)
    part(sheet, "serverOutside").click()
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: getattr(state_of(window, "honest"), "phase", "") in ("waiting", "failed"))
    detail = part(window, "serverDetail")
    until(qtbot, lambda: "No sandbox holds here" in words_in(detail))
    until(qtbot, lambda: getattr(state_of(window, "honest"), "needs_consent", False))
    assert not is_running(window, "honest")
    qtbot.mouseClick(part(window, "allowServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, "honest"))


def test_a_folders_server_is_looked_at_and_trusted_from_its_row(
    open_window, provider, project, qtbot, monkeypatch
):
    monkeypatch.setattr(Programs, "find", staticmethod(lambda: Programs("", "")))
    command, *arguments = script_by_fork(SERVERS / "honest.py")
    servers = {"mcpServers": {"honest": {"command": command, "args": arguments}}}
    (project / ".mcp.json").write_text(json.dumps(servers))
    window = open_window(project, model=provider.model, api_base=provider.api_base)

    def said():
        return rows.model().index(0, 0).data(int(Qt.ItemDataRole.AccessibleTextRole))

    def provided():
        listed = part(window, "providedList").model()
        spoken = int(Qt.ItemDataRole.AccessibleTextRole)
        return " ".join(str(listed.index(at, 0).data(spoken)) for at in range(listed.rowCount()))

    # In the sidebar before its page was ever open.
    until(qtbot, lambda: getattr(state_of(window, "honest"), "needs_trust", False))
    window.servers.open()
    rows = window.findChild(QListView, "serverList")
    until(qtbot, lambda: rows.model().rowCount() == 1)
    assert "Look and trust…" in said()
    place = rows.visualRect(rows.model().index(0, 0))
    # In the midst of the button, which ends before the box with its gap.
    button = QPoint(place.right() - 90, place.center().y())
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=button)
    until(qtbot, lambda: window.findChild(QWidget, "trustSheet") is not None)
    until(qtbot, lambda: "they start once you trust this" in provided())
    meaning = part(window, "trustMeaning").text()
    assert "Its MCP servers start at once: programs in the sandbox only" in meaning
    qtbot.mouseClick(part(window, "trustSheetTrust"), Qt.MouseButton.LeftButton)
    # Trusted, and no way around the sandbox for what a folder brings.
    until(qtbot, lambda: "a folder's own server runs in one only" in said())
    assert "Look and trust…" not in said()
    assert not part(window, "trustServer").isVisible()
    assert not part(window, "allowServer").isVisible()
    assert not is_running(window, "honest")


def test_a_secret_is_kept_apart_and_never_shown(window, qtbot):
    sheet = add(window, qtbot, variables="HONEST_API_KEY=hush-hush-1234\nPLACE=beds")
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, "honest"))
    text = (paths.config_dir() / "mcp.json").read_text()
    assert "hush-hush" not in text
    assert "${keyring:HONEST_API_KEY}" in text
    facts = part(window, "serverFacts")
    until(qtbot, lambda: "HONEST_API_KEY" in words_in(facts))
    assert "hush" not in words_in(facts)
    assert "beds" not in words_in(facts)


@pytest.mark.parametrize(("name", "value"), [("HONEST_API_KEY", "hush-12"), ("PLACE", "beds")])
def test_a_hidden_value_is_shown_while_its_button_says_so(window, qtbot, name, value):
    saved(window, qtbot, variables=f"{name}={value}")
    facts = part(window, "serverFacts")
    until(qtbot, lambda: name in words_in(facts))
    show = part(facts, f"show_{name}")
    assert show.accessibleName() == f"Show {name}"
    qtbot.keyClick(show, Qt.Key.Key_Space)
    until(qtbot, lambda: value in words_in(facts))
    assert show.accessibleName() == f"Hide {name}"
    qtbot.mouseClick(show, Qt.MouseButton.LeftButton)
    assert value not in words_in(facts)
    qtbot.mouseClick(show, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: value in words_in(facts))
    window.full.leave()
    window.servers.open()
    until(qtbot, facts.isVisible)
    assert value not in words_in(facts), "who comes by sees what was shown long ago"


def test_all_tools_are_switched_off_and_on_at_once(window, provider, qtbot):
    saved(window, qtbot)
    count, every = part(window, "serverToolsCount"), part(window, "switchAllTools")
    until(qtbot, lambda: count.text() == "8 of 8 on")
    qtbot.keyClick(every, Qt.Key.Key_Space)
    until(qtbot, lambda: count.text() == "0 of 8 on")
    window.full.leave()
    provider.push(Say("No tools of it."))
    window.frame.composer.set_text("which tools")
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)
    until(qtbot, lambda: len(provider.requests) == 1)
    assert "mcp__honest__" not in json.dumps(provider.requests[0].body["tools"])
    window.servers.open()
    assert every.text().strip() == "Switch all on"
    qtbot.mouseClick(every, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: count.text() == "8 of 8 on")
    tools = part(window, "serverTools")
    tools.setCurrentIndex(tools.model().index(0, 0))
    qtbot.keyClick(tools, Qt.Key.Key_Space)
    until(qtbot, lambda: count.text() == "7 of 8 on")
    assert every.text().strip() == "Switch all off"


def test_the_log_of_a_server_opens_and_follows_what_it_writes(window, qtbot):
    saved(window, qtbot)
    opener = part(window, "openServerLog")
    until(qtbot, opener.isVisible)
    qtbot.keyClick(opener, Qt.Key.Key_Space)
    log = window.findChild(QDialog, "serverLogWindow")
    assert log.windowTitle() == "Log of honest"
    lines = part(log, "outputView")
    until(qtbot, lambda: "honest is ready" in lines.toPlainText())
    restarted = part(window, "restartServer")
    until(qtbot, restarted.isEnabled)
    qtbot.mouseClick(restarted, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: lines.toPlainText().count("honest is ready") == 2)
    qtbot.mouseClick(opener, Qt.MouseButton.LeftButton)
    assert len(window.findChildren(QDialog, "serverLogWindow")) == 1
    qtbot.keyClick(log, Qt.Key.Key_Escape)
    until(qtbot, lambda: window.findChild(QDialog, "serverLogWindow") is None)
    qtbot.mouseClick(opener, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: window.findChild(QDialog, "serverLogWindow") is not None)


def test_prompts_and_resources_unfold_by_keys(window, qtbot):
    saved(window, qtbot)
    fold, names = part(window, "serverPromptsFold"), part(window, "serverPromptsLines")
    until(qtbot, fold.isVisible)
    assert not names.isVisible()
    qtbot.keyClick(fold, Qt.Key.Key_Space)
    until(qtbot, names.isVisible)
    assert "/honest:review" in names.text()
    qtbot.mouseClick(part(window, "serverResourcesFold"), Qt.MouseButton.LeftButton)
    assert "garden" in part(window, "serverResourcesLines").text()


def test_more_tools_than_fit_unfold_and_are_all_there(window, qtbot):
    saved(window, qtbot, name="many", command=f"{sys.executable} {SERVERS / 'hostile.py'} many")
    more, tools = part(window, "moreTools"), part(window, "serverTools")
    until(qtbot, lambda: more.isVisible() and more.text().strip() == "54 more")
    before = tools.height()
    qtbot.keyClick(more, Qt.Key.Key_Space)
    until(qtbot, lambda: tools.height() > 9 * before)
    last = tools.visualRect(tools.model().index(59, 0))
    assert tools.viewport().rect().contains(last), "the last tool is out of reach"
    qtbot.keyClick(more, Qt.Key.Key_Space)
    until(qtbot, lambda: tools.height() == before)


def test_keys_switch_a_server_and_a_tool_off(window, qtbot):
    sheet = add(window, qtbot)
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, "honest"))
    tools = part(window, "serverTools")
    until(qtbot, lambda: tools.model().rowCount() == 8)
    tools.setCurrentIndex(tools.model().index(0, 0))
    qtbot.keyClick(tools, Qt.Key.Key_Space)
    until(qtbot, lambda: state_of(window, "honest").server.tools_off == ("add",))
    qtbot.keyClick(part(window, "serverList"), Qt.Key.Key_Space)
    until(qtbot, lambda: state_of(window, "honest").phase == "off")
    assert state_of(window, "honest").server.tools_off == ("add",), "a choice of tools is lost"


def test_a_server_is_removed_after_a_question(window, qtbot):
    sheet = add(window, qtbot)
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: is_running(window, "honest"))
    qtbot.mouseClick(part(window, "removeServer"), Qt.MouseButton.LeftButton)
    box = window.findChild(Question, "removeServerQuestion")
    button = next(one for one in box.buttons() if one.text().strip() == "Remove")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: window.servers.states == ())
    assert "honest" not in (paths.config_dir() / "mcp.json").read_text()
    until(qtbot, lambda: part(window, "noServers").isVisible())


def test_what_is_imported_starts_only_once_it_was_added(window, qtbot, tmp_path):
    file = tmp_path / "other.json"
    server = {"command": sys.executable, "args": [str(SERVERS / "honest.py")]}
    file.write_text(json.dumps({"mcpServers": {"from/file": server, "no": {"x": 1}}}))
    window.servers.open()
    qtbot.mouseClick(part(window, "importServers"), Qt.MouseButton.LeftButton)
    sheet = window.findChild(ImportSheet, "importSheet")
    qtbot.mouseClick(part(sheet, "importFile"), Qt.MouseButton.LeftButton)
    dialog = sheet.findChild(QFileDialog, "importServersDialog")
    dialog.setDirectory(str(tmp_path))
    dialog.selectFile(file.name)
    dialog.accept()
    until(qtbot, lambda: part(sheet, "addImported").isEnabled())
    assert window.servers.states == ()
    qtbot.mouseClick(part(sheet, "addImported"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: state_of(window, "from-file") is not None)


def test_a_sheet_that_goes_takes_its_open_file_dialog_along(window, qtbot):
    window.servers.open()
    qtbot.mouseClick(part(window, "importServers"), Qt.MouseButton.LeftButton)
    sheet = window.findChild(ImportSheet, "importSheet")
    level = QThread.currentThread().loopLevel()
    levels = []
    # One that waits in a loop of its own would be left while that loop runs.
    QTimer.singleShot(0, lambda: (levels.append(QThread.currentThread().loopLevel()), close_all()))
    qtbot.mouseClick(part(sheet, "importFile"), Qt.MouseButton.LeftButton)
    assert levels == []
    dialog = sheet.findChild(QFileDialog, "importServersDialog")
    with qtbot.waitSignal(dialog.destroyed):
        sheet.close()
        sheet.deleteLater()
    assert QThread.currentThread().loopLevel() == level


def close_all():
    """Leave what is open over the window, so that a loop that waits for it ends."""
    while (top := QApplication.activeModalWidget()) is not None:
        top.close()


def test_escape_leads_back_to_the_conversation(window, qtbot):
    window.servers.open()
    page = part(window, "serversPage")
    until(qtbot, page.isVisible)
    qtbot.keyClick(page, Qt.Key.Key_Escape)
    until(qtbot, lambda: not page.isVisible())
    assert part(window, "composerText").isVisible(), "there is nothing to write in"


def test_signing_in_shows_the_address_and_opens_it_by_a_press_alone(window, qtbot, monkeypatch):
    opened = []
    monkeypatch.setattr(sign_in_box, "open_link", opened.append)
    with SigningServer() as server:
        sheet = add(window, qtbot, name="private", command=server.url)
        qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
        detail = part(window, "serverDetail")
        until(qtbot, lambda: "Needs sign-in. Its tools are there once" in words_in(detail))
        assert "1 need you" in part(window, "openServers").accessibleName()
        window.activateWindow()
        until(qtbot, window.isActiveWindow)
        part(window, "signIn").setFocus()
        qtbot.keyClick(part(window, "signIn"), Qt.Key.Key_Space)
        until(qtbot, part(window, "openSignIn").isVisible)
        until(qtbot, part(window, "openSignIn").hasFocus)
        assert not part(window, "signIn").isVisible()
        address = part(window, "openSignIn").accessibleDescription()
        assert address.startswith(f"{server.origin}/authorize?")
        assert part(window, "signInHost").text() == "127.0.0.1"
        assert part(window, "signInAddress").text() == address
        assert opened == []
        qtbot.keyClick(part(window, "openSignIn"), Qt.Key.Key_Space)
        assert opened == [address]
        with urlopen(address) as page:
            assert b"You can close this page" in page.read()
        until(qtbot, lambda: is_running(window, "private"))
        until(qtbot, part(window, "signOut").isVisible)
        assert not part(window, "signInAsked").isVisible()
        qtbot.mouseClick(part(window, "signOut"), Qt.MouseButton.LeftButton)
        until(qtbot, part(window, "signIn").isVisible)
        assert "Needs sign-in" in words_in(detail)


def test_an_app_of_ones_own_is_entered_for_an_address_and_its_secret_kept_apart(window, qtbot):
    sheet = add(window, qtbot, name="far")
    fields = [sheet.findChild(QLineEdit, name) for name in ("serverClientId", "serverClientSecret")]
    assert not any(field.isVisibleTo(sheet) for field in fields)
    sheet.findChild(QLineEdit, "serverCommand").setText("http://127.0.0.1:9/mcp")
    client_id, secret = fields
    assert client_id.isVisibleTo(sheet)
    assert not secret.isEnabled()  # a secret of nobody's
    client_id.setText("my-app")
    secret.setText("hush-hush-1234")
    qtbot.mouseClick(part(sheet, "saveServer"), Qt.MouseButton.LeftButton)
    until(qtbot, lambda: state_of(window, "far") is not None)
    text = (paths.config_dir() / "mcp.json").read_text()
    assert '"clientId": "my-app"' in text
    assert "hush-hush" not in text
