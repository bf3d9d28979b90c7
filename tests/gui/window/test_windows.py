"""Several windows of one app: one engine, and of each session one window that writes."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.changes import UndoScope
from desktop_agent.gui.frame.window_state import open_windows
from desktop_agent.gui.window.app_windows import AppWindows
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.windows import app_of, bridge_of, part, words_in


@pytest.fixture
def provider(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    with LoopbackProvider("openai", []) as one:
        yield one


@pytest.fixture
def first(open_window, project, provider, qtbot):
    window = open_window(project, model=provider.model, api_base=provider.api_base)
    return ready(qtbot, window)


def ready(qtbot, window):
    qtbot.waitUntil(lambda: window.flow.info is not None, timeout=WAIT)
    return window


def open_second(qtbot, window):
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_N, modifiers)
    return ready(qtbot, next(one for one in app_of(window).windows if one is not window))


def show(qtbot, window, session_id):
    window.flow.choose_session(session_id)
    qtbot.waitUntil(lambda: window.flow.current == session_id, timeout=WAIT)


def send(qtbot, window, words):
    window.frame.composer.set_text(words)
    qtbot.keyClick(part(window, "composerText"), Qt.Key.Key_Return)


def said_in(window):
    page = window.pages.page(window.flow.agent)
    return page.browser.toPlainText() if page is not None else ""


def chips_of(window):
    row = part(window, "attachmentRow")
    shown = [one.accessibleName() for one in row.findChildren(QWidget) if one.isVisible()]
    return [name for name in shown if name.startswith(("Attached", "Not attached"))]


def approve_button(window):
    shown = [one for one in window.findChildren(QPushButton, "allowOnce") if one.isVisible()]
    return shown[0] if shown else None


def test_one_session_in_two_windows_has_one_writer_and_is_followed_live_in_the_other(
    first, project, provider, theme, qtbot
):
    provider.push(Calls(("write", {"path": "made.txt", "content": "x"})), Say("It is made."))
    send(qtbot, first, "Make it")
    qtbot.waitUntil(lambda: approve_button(first) is not None, timeout=WAIT)
    second = open_second(qtbot, first)
    session = first.flow.current
    # A new window begins beside what the other one writes, in the same folder.
    assert second.flow.current != session
    assert second.flow.workspace.root == first.flow.workspace.root
    show(qtbot, second, session)
    assert part(second, "readOnlyBar").isVisible()
    assert not part(second, "composerText").isVisible()
    qtbot.waitUntil(lambda: approve_button(second) is not None, timeout=WAIT)
    assert not approve_button(second).isEnabled()
    assert approve_button(first).isEnabled()
    assert not second.commands.delete.isEnabled()
    assert "Make it" in said_in(second)

    qtbot.mouseClick(part(second, "writeHere"), Qt.MouseButton.LeftButton)
    assert not part(second, "readOnlyBar").isVisible()
    assert part(first, "readOnlyBar").isVisible()
    assert not first.commands.delete.isEnabled()
    page = second.pages.page(second.flow.agent)
    qtbot.waitUntil(lambda: page.focus_oldest_approval(), timeout=WAIT)
    armed = page.findChild(QPushButton, "allowOnce").parent().parent()
    qtbot.waitUntil(lambda: armed.is_armed, timeout=WAIT)
    qtbot.mouseClick(approve_button(second), Qt.MouseButton.LeftButton)
    for window in (first, second):
        qtbot.waitUntil(lambda window=window: "It is made." in said_in(window), timeout=WAIT)
    assert (project / "made.txt").read_text("utf-8") == "x"

    # What was typed goes along with the writing; the last window to show it has it.
    second.frame.composer.set_text("Half a sen")
    second.close()
    assert app_of(first).windows == [first]
    assert not part(first, "readOnlyBar").isVisible()
    assert first.frame.composer.draft() == "Half a sen"
    # Nothing of the closed window is asked to paint, or to follow, any more.
    provider.push(Say("Still here."))
    send(qtbot, first, "Go on")
    theme.changed.emit()
    qtbot.waitUntil(lambda: "Still here." in said_in(first), timeout=WAIT)


def test_the_window_that_only_reads_changes_nothing_and_says_why(first, provider, qtbot):
    provider.push(Say("Hello."))
    send(qtbot, first, "Say hello")
    qtbot.waitUntil(lambda: "Hello." in said_in(first), timeout=WAIT)
    second = open_second(qtbot, first)
    info = first.flow.info
    show(qtbot, second, info.id)
    notices = second.frame.notices
    for attempt in (
        lambda: second.frame.sidebar.sessions.delete(info.id),
        lambda: second.frame.sidebar.sessions.renamed.emit(info.id, "Taken"),
        lambda: second.frame.composer.mode_chosen.emit("free"),
        lambda: second.frame.composer.command_given.emit("clear", ""),
        lambda: second.changes.request(UndoScope(info.id)),
    ):
        attempt()
        qtbot.waitUntil(notices.isVisible, timeout=WAIT)
        assert "another window" in words_in(notices).lower()
        part(notices, "dismissNotice").click()
    second.commands.rename.trigger()
    assert not part(second, "renameTitle").isVisible()
    # The engine has heard all that was sent when it has answered this.
    first.flow.set(bridge_of(first).engine.pin_session, True)
    qtbot.waitUntil(lambda: first.known.sessions[info.id].is_pinned, timeout=WAIT)
    kept = first.known.sessions[info.id]
    assert (kept.title, kept.mode) == (info.title, info.mode)
    assert "Hello." in said_in(first)


def test_what_was_attached_follows_the_writing_from_window_to_window(
    first, project, provider, qtbot
):
    provider.push(Say("Hello."))
    send(qtbot, first, "Say hello")
    qtbot.waitUntil(lambda: "Hello." in said_in(first), timeout=WAIT)
    second = open_second(qtbot, first)
    show(qtbot, second, first.flow.current)
    qtbot.mouseClick(part(second, "writeHere"), Qt.MouseButton.LeftButton)
    notes = project / "notes.txt"
    notes.write_text("The tide is at nine.", "utf-8")
    second.frame.composer.set_text("What does it say?")
    second.frame.composer.attach_files([notes])
    qtbot.waitUntil(lambda: "Attached: notes.txt" in chips_of(second), timeout=WAIT)

    qtbot.mouseClick(part(first, "writeHere"), Qt.MouseButton.LeftButton)
    assert first.frame.composer.draft() == "What does it say?"
    assert chips_of(first) == ["Attached: notes.txt"]
    # What the reading window hears of its folder leaves the draft as it is being written.
    first.frame.composer.set_text("What does it say now?")
    second.frame.composer.box.set_skills(())
    qtbot.mouseClick(part(second, "writeHere"), Qt.MouseButton.LeftButton)
    assert second.frame.composer.draft() == "What does it say now?"
    second.close()
    assert chips_of(first) == ["Attached: notes.txt"]

    provider.push(Say("Nine."))
    qtbot.keyClick(part(first, "composerText"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "Nine." in said_in(first), timeout=WAIT)
    assert "The tide is at nine." in "".join(provider.requests[-1].user_texts)
    assert not chips_of(first)


def test_a_window_is_closed_by_a_command_while_there_is_another(first, qtbot):
    assert not first.commands.close_window.isEnabled()
    second = open_second(qtbot, first)
    assert first.commands.close_window.isEnabled()
    qtbot.keyClick(second, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert app_of(first).windows == [first]
    assert not first.commands.close_window.isEnabled()
    qtbot.keyClick(first, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert first.isVisible()


@pytest.mark.parametrize("quit_by", ["quit_now", "quit_open"])
def test_windows_share_settings_and_come_back_at_the_next_start(first, theme, qtbot, quit_by):
    second = open_second(qtbot, first)
    first.resize(760, 560)
    second.resize(640, 500)
    second.flow.apply_settings(replace(second.flow.settings, send_with_ctrl_enter=True))
    assert first.flow.settings.send_with_ctrl_enter
    assert open_windows() == (0, 1)
    windows = app_of(first)
    getattr(windows, quit_by)()
    assert not windows.windows
    assert not windows.quit_open()
    assert open_windows() == (0, 1)
    again = AppWindows(theme, bridge_of(first), first.flow.settings)
    again.open_first()
    again.open_others()
    assert [one.width() for one in again.windows] == [760, 640]
    again.windows[1].close()
    assert open_windows() == (0,)
    again.quit_now()


@pytest.mark.parametrize("where", ["middle", "corner"])
def test_a_second_window_lies_on_the_screen_with_its_message_box(first, qtbot, where):
    screen = first.screen().availableGeometry()
    first.resize(screen.width() - 40, screen.height() - 40)
    first.move(screen.topLeft() if where == "middle" else screen.center())
    second = open_second(qtbot, first)
    if where == "middle":
        assert screen.contains(second.geometry())
        assert second.pos() != first.pos()
    else:  # there is no room beside it
        assert second.pos() == first.pos()


def test_a_folder_that_is_handed_over_during_the_start_is_the_one_that_is_shown(
    open_window, project, provider, tmp_path, qtbot
):
    handed = tmp_path / "handed"
    handed.mkdir()
    window = open_window(project, model=provider.model, api_base=provider.api_base)
    app_of(window).come_back(str(handed))
    qtbot.waitUntil(lambda: bool(window.known.sessions), timeout=WAIT)
    provider.push(Say("Here."))
    ready(qtbot, window)
    send(qtbot, window, "Where are you?")
    qtbot.waitUntil(lambda: "Here." in said_in(window), timeout=WAIT)
    assert [one.workspace.root for one in window.known.sessions.values()] == [str(handed)]
