"""A request for approval is allowed from a notification, where the desktop has buttons."""

import os
import queue
import shutil
import subprocess
import threading

import pytest
from jeepney import (
    DBusAddress,
    HeaderFields,
    MessageType,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection
from msgspec.structs import replace
from PySide6.QtCore import Qt

from desktop_agent.core.approvals import AllowOnce, ApprovalRequest
from desktop_agent.core.events import ApprovalRequested, ApprovalResolved, SessionsChanged
from desktop_agent.core.ids import AgentId, RequestId
from desktop_agent.core.messages import CommandDisplay, ToolCall
from desktop_agent.gui.state.session_state import SessionState
from desktop_agent.gui.window import desktop_notices
from desktop_agent.gui.window.approval_notice import approval_notice
from desktop_agent.gui.window.desktop_notices import DesktopNotices
from desktop_agent.gui.window.tray import Attention
from tests.helpers.events import opened
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.patience import HANG_S
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.windows import Front, app_of

MAIN = AgentId("ag_1")
NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"

needs_bus = pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="there is no D-Bus")


class Desktop:
    """A server of notifications on the bus; `heard` has each call's name and arguments."""

    def __init__(self, abilities):
        self.abilities = abilities
        self.heard = queue.Queue()
        self.line = open_dbus_connection("SESSION")
        self.line.send_and_get_reply(message_bus.RequestName(NAME))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        number = 40
        while True:
            try:
                call = self.line.receive()
            except (OSError, EOFError, ValueError):
                return
            if call.header.message_type is not MessageType.method_call:
                continue
            method = call.header.fields[HeaderFields.member]
            if method == "GetCapabilities":
                answer = new_method_return(call, "as", (self.abilities,))
            elif method == "Notify":
                number += 1
                signature = call.header.fields[HeaderFields.signature]
                is_right = signature == "susssasa{sv}i"
                answer = new_method_return(call, "u", (number,))
                answer = answer if is_right else new_error(call, "x.Wrong", "s", (signature,))
            else:
                answer = new_method_return(call)
            self.line.send(answer)
            self.heard.put((method, call.body))

    def next(self, method):
        """Wait for a call; return its arguments."""
        while True:
            name, body = self.heard.get(timeout=HANG_S)
            if name == method:
                return body

    def press(self, key, number=41, sender=None, member="ActionInvoked"):
        address = DBusAddress(PATH, interface=NAME)
        (sender or self.line).send(new_signal(address, member, "us", (number, key)))


@pytest.fixture
def bus(tmp_path, monkeypatch):
    """A bus of its own."""
    command = ["dbus-daemon", "--session", "--nofork", "--print-address=1"]
    command.append(f"--address=unix:path={tmp_path / 'bus'}")
    daemon = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", daemon.stdout.readline().decode().strip())
    monkeypatch.setattr(desktop_notices, "_TIMEOUT_S", None)
    monkeypatch.setattr(DesktopNotices, "is_possible", staticmethod(lambda: True))
    yield daemon
    daemon.terminate()
    daemon.communicate()


@pytest.fixture
def start_desktop(bus):
    started = []

    def start(*abilities):
        started.append(Desktop(list(abilities)))
        return started[-1]

    yield start
    for one in started:
        bus.terminate()
        one.thread.join()
        one.line.close()


@pytest.fixture
def known():
    state = SessionState()
    page = opened("se_1")
    state.apply(SessionsChanged((replace(page.info, title="Paint <b>it</b>"),)))
    state.apply(page)
    return state


@pytest.fixture
def attention(qtbot, theme, known, monkeypatch):
    one = Attention(theme, Front(), known)
    one.said = []
    monkeypatch.setattr(one, "_show_icon", lambda: True)
    monkeypatch.setattr(one, "notify", lambda *words: one.said.append(words))
    yield one
    one.notices.close()


def request(command="rm -r <build> && ls", **changes):
    display = CommandDisplay(command, "/srv/other")
    call = ToolCall("c1", "shell", {"command": command})
    made = ApprovalRequest(RequestId("rq_1"), MAIN, call, "Run it?", display, "It deletes.")
    return replace(made, **changes)


def ask(attention, **changes):
    attention.apply(ApprovalRequested(MAIN, request(**changes)))


@needs_bus
def test_a_notification_names_session_and_exact_command_and_allows_it_once(
    attention, start_desktop, qtbot
):
    desktop = start_desktop("body", "actions", "body-markup")
    with qtbot.waitSignal(attention.allowed, timeout=WAIT) as allowed:
        ask(attention)
        _, replaces, _, title, text, actions, _, _ = desktop.next("Notify")
        desktop.press("allow")
    assert allowed.args == ["rq_1"]
    assert (replaces, title) == (0, "Paint <b>it</b>")
    assert "rm -r &lt;build&gt; &amp;&amp; ls\nIt deletes.\n/srv/other" in text
    assert actions == ["default", "Show", "allow", "Allow once"]
    assert attention.said == []


@needs_bus
def test_a_click_on_it_leads_to_the_session_and_what_is_resolved_is_taken_back(
    attention, start_desktop, qtbot
):
    desktop = start_desktop("actions")
    with qtbot.waitSignal(attention.opened, timeout=WAIT) as shown:
        ask(attention)
        assert "rm -r <build> && ls" in desktop.next("Notify")[4]
        desktop.press("default")
    assert shown.args == ["se_1"]
    ask(attention)
    desktop.next("Notify")
    attention.apply(ApprovalResolved(MAIN, RequestId("rq_1"), AllowOnce()))
    assert desktop.next("CloseNotification") == (42,)


@needs_bus
def test_a_click_brings_what_lets_a_window_of_wayland_come_to_the_front(
    attention, start_desktop, qtbot
):
    desktop = start_desktop("actions")
    seen = []
    attention.opened.connect(lambda _: seen.append(os.environ.get("XDG_ACTIVATION_TOKEN")))
    with qtbot.waitSignal(attention.opened, timeout=WAIT):
        ask(attention)
        desktop.next("Notify")
        desktop.press("token-1", member="ActivationToken")
        desktop.press("default")
    assert seen == ["token-1"]
    assert "XDG_ACTIVATION_TOKEN" not in os.environ


@needs_bus
def test_another_program_on_the_bus_can_not_allow_anything(attention, start_desktop, qtbot):
    desktop = start_desktop("actions")
    allowed = []
    attention.allowed.connect(allowed.append)
    ask(attention)
    desktop.next("Notify")
    stranger = open_dbus_connection("SESSION")
    desktop.press("allow", sender=stranger)
    # What the bus took in the same order is heard in it.
    stranger.send_and_get_reply(message_bus.GetId())
    with qtbot.waitSignal(attention.opened, timeout=WAIT):
        desktop.press("default")
    assert allowed == []
    stranger.close()


@needs_bus
@pytest.mark.parametrize("has_server", [True, False])
def test_without_buttons_the_notification_is_the_one_without(
    attention, start_desktop, qtbot, has_server
):
    if has_server:
        start_desktop("body")
    ask(attention)
    qtbot.waitUntil(lambda: attention.said == [("Paint <b>it</b>", "Run it?")], timeout=WAIT)
    ask(attention)
    qtbot.waitUntil(lambda: len(attention.said) == 2, timeout=WAIT)
    assert attention.said[1] == attention.said[0], "the second request is told otherwise"


@needs_bus
def test_when_the_bus_ends_the_notification_is_the_one_without(
    attention, start_desktop, bus, qtbot
):
    desktop = start_desktop("actions")
    ask(attention)
    desktop.next("Notify")
    bus.terminate()
    bus.wait()
    ask(attention)
    qtbot.waitUntil(lambda: bool(attention.said), timeout=WAIT)
    assert attention.said == [("Paint <b>it</b>", "Run it?")]


@pytest.mark.parametrize(
    "command",
    ["x" * 161, "a\nb\nc\nd", "ls \u202e gpj", "ls\tx", "ls\r\nrm x", ""],
    ids=["long", "lines", "turned", "tab", "return", "none"],
)
def test_what_is_not_shown_whole_is_not_allowed_from_a_notification(known, command):
    notice = approval_notice(request(command), known)
    assert not notice.can_allow
    assert notice.text.isprintable() or "\n" in notice.text
    assert "\u202e" not in notice.text
    assert len(notice.text) < 700


def test_what_can_not_be_undone_is_not_allowed_from_a_notification(known):
    assert approval_notice(request(), known).can_allow
    assert not approval_notice(request(lost=("build",)), known).can_allow
    assert not approval_notice(request(display=None), known).can_allow


def test_the_button_of_the_notification_lets_the_agent_go_on(
    open_window, project, qtbot, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    made = project / "made.txt"
    with LoopbackProvider("openai", []) as provider:
        provider.push(Calls(("write", {"path": "made.txt", "content": "x"})), Say("Done."))
        window = open_window(project, model=provider.model, api_base=provider.api_base)
        qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
        window.frame.composer.set_text("Make it")
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: bool(window.known.waiting()), timeout=WAIT)
        assert not made.exists()
        app_of(window).attention.allowed.emit(window.known.waiting()[0].key)
        qtbot.waitUntil(made.exists, timeout=WAIT)
        qtbot.waitUntil(lambda: not window.known.waiting(), timeout=WAIT)
