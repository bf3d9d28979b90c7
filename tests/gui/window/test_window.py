"""The whole window on the real engine: what a person does, sees, and gets back after a restart."""

import subprocess
import sys
import threading

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDropEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QTextBrowser,
    QWidget,
)
from shiboken6 import isValid

from desktop_agent import paths
from desktop_agent.adapters.config.settings_file import load
from desktop_agent.core.events import TurnEnded
from desktop_agent.gui.startup.run import show_defects
from desktop_agent.gui.transcript.cards.approval_forms import RefuseForm
from desktop_agent.gui.window.tray import make_question
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Calls, Fail, NeverEnding, Say
from tests.helpers.windows import app_of, bridge_of, part, side_panel, words_in


@pytest.fixture
def quick(open_window, project):
    """A window on the built-in model, which needs no provider."""
    return open_window(project, model="demo")


def ready(qtbot, window):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)


def write(qtbot, window, text):
    ready(qtbot, window)
    window.frame.composer.set_text(text)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)


def shown(window):
    page = window.pages.page(window.flow.agent)
    return page.findChild(QTextBrowser).toPlainText() if page is not None else ""


def wait_shown(qtbot, window, text):
    qtbot.waitUntil(lambda: text in shown(window), timeout=WAIT)


def wait_idle(qtbot, window):
    """Wait for the end of a turn that has begun or is about to."""

    def is_idle():
        info = window.flow.info
        return info.updated_at > info.created_at and info.status not in ("running", "needs_you")

    qtbot.waitState(bridge_of(window).received, is_idle)


def card_button(qtbot, window, name):
    def find():
        page = window.pages.page(window.flow.agent)
        if page is None:
            return []
        page.focus_oldest_approval()
        return [b for b in page.findChildren(QPushButton, name) if b.isVisible() and b.isEnabled()]

    qtbot.waitUntil(lambda: bool(find()), timeout=WAIT)
    return find()[0]


def session_titles(window):
    rows = window.frame.sidebar.sessions.list.model().rows()
    return [one.title for one in rows if one.session_id]


def test_a_question_is_answered_in_the_window(window, provider, qtbot):
    provider.push(Say("Forty-two."))
    write(qtbot, window, "What is the answer?")
    wait_shown(qtbot, window, "Forty-two.")
    wait_idle(qtbot, window)
    assert session_titles(window) == ["What is the answer?"]
    assert window.windowTitle().startswith("What is the answer?")
    assert provider.requests[0].user_texts[-1].endswith("What is the answer?")


def test_a_change_happens_only_after_the_person_allowed_it(window, provider, project, qtbot):
    made = project / "made.txt"
    provider.push(Calls(("write", {"path": "made.txt", "content": "bread\n"})), Say("Written."))
    write(qtbot, window, "Write it")
    allow = card_button(qtbot, window, "allowOnce")
    assert not made.exists()
    qtbot.waitState(bridge_of(window).received, lambda: window.flow.info.status == "needs_you")

    def press():
        if isValid(allow):  # the card goes as soon as a press counts
            allow.click()
        return made.exists()

    qtbot.waitUntil(press, timeout=WAIT)
    wait_shown(qtbot, window, "Written.")
    assert made.read_text(encoding="utf-8") == "bread\n"


def rules_shown(window):
    """Open the rules of the settings and return what each row says."""
    window.settings_window.open()
    dialog = part(window, "settingsDialog")
    dialog.open_page("rules")
    return dialog, [row.accessibleName() for row in dialog.findChildren(QWidget, "ruleRow")]


def test_a_refusal_for_always_holds_and_stands_in_the_settings(window, provider, project, qtbot):
    provider.push(
        Calls(("shell", {"command": "touch one.txt"})),
        Calls(("shell", {"command": "ls; touch two.txt"})),
        Say("I can't."),
    )
    write(qtbot, window, "Make it")
    refuse = card_button(qtbot, window, "refuse")

    def forms():
        if isValid(refuse):
            refuse.click()  # counts once the card was there for a moment
        return window.findChildren(RefuseForm)

    qtbot.waitUntil(lambda: bool(forms()), timeout=WAIT)
    menu = forms()[0].rule_menu()
    said = [action.text() for action in menu.actions() if action.text()]
    assert said[-1] == "Always refuse commands that start with “touch”, everywhere"
    menu.actions()[-1].trigger()
    wait_shown(qtbot, window, "I can't.")
    assert not (project / "one.txt").exists()
    assert not (project / "two.txt").exists()
    qtbot.waitUntil(lambda: rules_shown(window)[1] != [], timeout=WAIT)
    assert rules_shown(window)[1][0].startswith(
        "Never: commands that start with “touch”, Everywhere, used 2 times"
    )
    rules_shown(window)[0].close()


def test_a_refusing_rule_of_the_settings_holds_from_then_on(window, provider, project, qtbot):
    ready(qtbot, window)
    dialog, _ = rules_shown(window)
    qtbot.keyClicks(dialog.findChild(QLineEdit, "refusePattern"), "touch")
    dialog.findChild(QPushButton, "addRefusal").click()
    qtbot.waitUntil(lambda: rules_shown(window)[1] != [], timeout=WAIT)
    dialog.close()
    provider.push(Calls(("shell", {"command": "touch one.txt"})), Say("I can't."))
    write(qtbot, window, "Make it")
    wait_shown(qtbot, window, "I can't.")
    assert not (project / "one.txt").exists()


def test_everything_is_there_again_after_a_restart(open_window, window, provider, qtbot):
    provider.push(Say("Remember the milk."))
    write(qtbot, window, "What did I forget?")
    wait_shown(qtbot, window, "Remember the milk.")
    wait_idle(qtbot, window)
    open_window.close(window)
    again = open_window(model=provider.model, api_base=provider.api_base)
    wait_shown(qtbot, again, "Remember the milk.")
    assert session_titles(again) == ["What did I forget?"]


def test_two_sessions_run_at_once_and_each_keeps_its_own_words(window, provider, qtbot):
    provider.push(Say("First answer."))
    write(qtbot, window, "First")
    wait_shown(qtbot, window, "First answer.")
    wait_idle(qtbot, window)
    first = window.flow.current
    qtbot.mouseClick(window.frame.sidebar.new_session, Qt.MouseButton.LeftButton)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.current not in (None, first))
    provider.push(Say("Second answer."))
    write(qtbot, window, "Second")
    wait_shown(qtbot, window, "Second answer.")
    assert "First answer." not in shown(window)
    window.frame.sidebar.sessions.session_chosen.emit(first)
    wait_shown(qtbot, window, "First answer.")
    assert "Second answer." not in shown(window)


def test_a_session_left_behind_goes_on_and_is_marked(window, provider, qtbot):
    provider.push([Calls(("write", {"path": "later.txt", "content": "x\n"}))], Say("Late."))
    write(qtbot, window, "Slow one")
    qtbot.waitState(bridge_of(window).received, lambda: window.flow.info.status == "needs_you")
    behind = window.flow.current
    qtbot.mouseClick(window.frame.sidebar.new_session, Qt.MouseButton.LeftButton)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.current not in (None, behind))
    rows = {one.session_id: one.state for one in window.frame.sidebar.sessions.list.model().rows()}
    assert rows[behind] == "needs_you"


def test_stop_ends_the_turn_and_the_window_says_so(window, provider, qtbot):
    provider.push(NeverEnding())
    write(qtbot, window, "Go on for ever")
    qtbot.waitState(
        bridge_of(window).received,
        lambda: window.known.agent(window.flow.agent).status == "running",
    )
    provider.wait_for(1, WAIT / 1000)
    window.commands.stop.trigger()
    wait_idle(qtbot, window)
    wait_shown(qtbot, window, "Stopped by you")
    assert not part(window, "stopButton").isVisible()
    assert part(window, "sendButton").isVisible()


def test_a_file_that_is_gone_is_said_to_be_when_it_is_asked_for(window, provider, qtbot):
    provider.push(Say("Done."))
    write(qtbot, window, "Count")
    wait_idle(qtbot, window)
    gone = paths.data_dir() / "outputs" / "se_1" / "output-0123456789abcdef.txt"
    window.pages.page(window.flow.agent).open_path_requested.emit(str(gone))
    assert "not there any more" in part(window, "noticeText").text()


def test_esc_asks_once_and_stops_at_the_second_press(window, provider, qtbot):
    provider.push(NeverEnding())
    write(qtbot, window, "Go on for ever")
    qtbot.waitState(
        bridge_of(window).received,
        lambda: (
            window.known.agent(window.flow.agent).status == "running"
            and window.flow.info.status == "running"
        ),
    )
    window.frame.notices.hint("Copied: 3 lines")  # no warning, though it goes by itself too
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert "Esc" in words_in(window.frame.notices)
    assert window.flow.info.status == "running"
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    wait_idle(qtbot, window)


def test_a_wrong_key_is_said_and_offers_the_settings(window, provider, qtbot):
    provider.push(Fail(401, message="Incorrect API key"))
    write(qtbot, window, "Hello")
    qtbot.waitState(bridge_of(window).received, lambda: window.flow.info.status == "failed")
    assert "key refused" in part(window, "connection").whole_text()


def test_without_a_model_the_first_run_page_is_shown(open_window, qtbot):
    window = open_window()
    qtbot.waitUntil(
        lambda: window.frame.stack.currentWidget().objectName() == "welcome", timeout=WAIT
    )
    assert not window.frame.composer.isVisible()
    window.activateWindow()
    had = window.focusWidget()
    part(window, "newSession").click()
    assert window.focusWidget() is had, "the message box is not there to be written in"


def test_the_demo_and_a_folder_lead_from_the_first_run_to_a_session(open_window, project, qtbot):
    window = open_window()
    qtbot.waitUntil(
        lambda: window.frame.stack.currentWidget().objectName() == "welcome", timeout=WAIT
    )
    page = window.frame.stack.currentWidget()
    page.models.model_chosen.emit("demo", "")
    assert page.is_choosing_folder
    assert part(window, "connection").whole_text() == "Demo model · works offline"
    page.folder.folder_chosen.emit(str(project))
    ready(qtbot, window)
    assert window.frame.composer.isVisible()
    assert window.flow.info.model == "demo"
    assert window.flow.info.workspace.root == str(project.resolve())

    def is_saved():
        return load(paths.config_dir() / "settings.json").model == "demo"

    qtbot.waitUntil(is_saved, timeout=WAIT)


def test_a_folder_dropped_on_the_window_is_opened(quick, qtbot, tmp_path):
    ready(qtbot, quick)
    other = tmp_path / "other"
    other.mkdir()
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(other))])
    drop = QDropEvent(
        QPointF(300, 300),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    quick.dropEvent(drop)
    received = bridge_of(quick).received
    qtbot.waitState(received, lambda: quick.flow.info.workspace.root == str(other))
    assert load(paths.config_dir() / "settings.json") is not None


def test_an_unused_session_is_used_again_instead_of_piling_up(quick, qtbot):
    ready(qtbot, quick)
    first = quick.flow.current
    for _ in range(3):
        qtbot.mouseClick(quick.frame.sidebar.new_session, Qt.MouseButton.LeftButton)
    assert quick.flow.current == first
    assert len(quick.known.sessions) == 1


def test_the_title_can_be_changed_where_it_stands(quick, qtbot):
    write(qtbot, quick, "list files")
    wait_idle(qtbot, quick)
    quick.commands.rename.trigger()
    field = quick.frame.header.findChild(QLineEdit, "renameTitle")
    field.setText("New title")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session_titles(quick) == ["New title"], timeout=WAIT)
    assert "New title" in quick.windowTitle()


def test_larger_text_is_one_key_away_and_is_kept(quick, theme, qtbot):
    ready(qtbot, quick)
    before = theme.text_px("ui")
    quick.commands.larger.trigger()
    assert theme.text_px("ui") > before

    def is_saved():
        return load(paths.config_dir() / "settings.json").text_scale == 110

    qtbot.waitUntil(is_saved, timeout=WAIT)
    quick.commands.normal.trigger()
    assert theme.text_px("ui") == before


def test_f6_goes_through_all_parts_of_the_window(quick, qtbot):
    write(qtbot, quick, "list files")
    wait_shown(qtbot, quick, "notes.txt")
    regions = quick.frame.regions()
    visited = set()
    for _ in regions:
        quick.commands.next_region.trigger()
        focused = QApplication.focusWidget()
        visited.update(
            n for n, one in enumerate(regions) if one is focused or one.isAncestorOf(focused)
        )
    assert visited == set(range(len(regions)))


def test_every_command_has_a_name_and_no_two_share_a_key(quick, qtbot):
    seen = {}
    for action in quick.commands.all:
        assert action.text().strip()
        for keys in action.shortcuts():
            assert keys.toString() not in seen, (keys.toString(), action.text())
            seen[keys.toString()] = action
    assert QKeySequence("Ctrl+K").toString() in seen


def test_in_a_narrow_window_the_sidebar_is_a_drawer(quick, qtbot):
    ready(qtbot, quick)
    quick.resize(700, 600)
    assert not quick.frame.sidebar.isVisible()
    qtbot.mouseClick(quick.frame.header.sidebar_button, Qt.MouseButton.LeftButton)
    assert quick.frame.sidebar.isVisible()
    qtbot.mouseClick(quick.frame.header, Qt.MouseButton.LeftButton)
    assert not quick.frame.sidebar.isVisible()


def test_who_closes_the_sidebar_with_the_focus_in_it_goes_on_writing(quick, qtbot):
    ready(qtbot, quick)
    quick.resize(700, 600)
    quick.activateWindow()
    quick.frame.toggle_sidebar()
    qtbot.waitFocus(quick.frame.sidebar.workspace)
    qtbot.keyClick(quick.frame.sidebar.workspace, Qt.Key.Key_Escape)
    assert not quick.frame.sidebar.isVisible()
    qtbot.waitFocus(part(quick, "composerText"))


def test_a_first_task_is_written_where_it_is_seen_in_a_narrow_window_too(quick, qtbot):
    ready(qtbot, quick)
    quick.resize(700, 600)
    quick.activateWindow()
    action(quick, "Tasks and subagents").trigger()
    assert part(quick, "addTask").isVisible()
    qtbot.waitFocus(part(quick, "addTask"))


def test_the_side_panel_takes_the_focus_where_it_covers_what_had_it(quick, qtbot):
    ready(qtbot, quick)
    quick.resize(700, 600)
    quick.activateWindow()
    keys = action(quick, "Tasks and subagents")
    keys.trigger()
    qtbot.keyClicks(part(quick, "addTask"), "Water the beds")
    qtbot.keyClick(part(quick, "addTask"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: side_panel(quick).has_content, timeout=WAIT)
    keys.trigger()
    qtbot.waitFocus(part(quick, "composerText"))
    keys.trigger()
    qtbot.waitFocus(part(quick, "taskList"))


def action(window, words):
    """Return what the menu and its shortcut do."""
    return next(one for one in window.findChildren(QAction) if one.text() == words)


def question(window, qtbot):
    """Return what the window asks, once it is there."""
    qtbot.waitUntil(lambda: part(window, "closeQuestion") is not None, timeout=WAIT)
    return part(window, "closeQuestion")


@pytest.mark.parametrize("way", ["the window's own cross", "Ctrl+Q"])
def test_closing_while_an_agent_works_asks_first(window, provider, qtbot, way):
    def close():
        if way == "Ctrl+Q":
            action(window, "Quit").trigger()
        else:
            assert not window.close()

    provider.push(NeverEnding())
    write(qtbot, window, "Go on for ever")
    qtbot.waitState(bridge_of(window).received, lambda: bool(window.known.running()))
    close()
    close()  # asked once
    asked = question(window, qtbot)
    assert len(window.findChildren(QDialog, "closeQuestion")) == 1
    with qtbot.waitSignal(asked.finished):
        qtbot.keyClick(asked, Qt.Key.Key_Escape)
    assert window.isVisible()
    assert window.known.running()
    qtbot.waitUntil(lambda: part(window, "closeQuestion") is None, timeout=WAIT)
    close()
    with qtbot.waitSignal(app_of(window).closed):
        qtbot.mouseClick(part(question(window, qtbot), "stopAndQuit"), Qt.MouseButton.LeftButton)


def test_the_question_before_the_end_counts_what_it_names(quick, theme):
    """Several agents may work in each session."""
    for running, said in ((1, "A session is still at work."), (3, "3 sessions are still at work.")):
        asked = make_question(theme, quick, running, has_tray=False, has_places=False)
        assert said in words_in(asked)


def test_the_tray_is_offered_only_where_there_is_one(quick, qtbot, theme):
    def choices(has_tray):
        box = make_question(theme, quick, 2, has_tray=has_tray, has_places=False)
        return {button.objectName() for button in box.buttons()}

    ready(qtbot, quick)
    assert choices(has_tray=True) == {"closeQuestionCancel", "stopAndQuit", "keepInTray"}
    assert choices(has_tray=False) == {"closeQuestionCancel", "stopAndQuit"}


def test_who_quits_is_told_that_work_at_a_place_goes_on_there(quick, qtbot, theme):
    ready(qtbot, quick)

    def words(has_places):
        return words_in(make_question(theme, quick, 2, has_tray=False, has_places=has_places))

    assert "Subagents at other places go on there" in words(has_places=True)
    assert "go on there" not in words(has_places=False)


def test_what_the_engine_can_not_do_is_said_in_a_bar(quick, qtbot):
    ready(qtbot, quick)
    bridge_of(quick).engine.rename_session("se_unknown", "x")
    qtbot.waitUntil(lambda: quick.frame.notices.isVisible(), timeout=WAIT)
    close = quick.frame.notices.findChild(type(quick.frame.header.find_button), "dismissNotice")
    close.click()
    assert not quick.frame.notices.isVisible()


def test_the_end_of_a_turn_reaches_the_list(quick, qtbot):
    ended = []
    bridge_of(quick).received.connect(
        lambda batch: ended.extend(e for e in batch if isinstance(e, TurnEnded))
    )
    write(qtbot, quick, "list files")
    qtbot.waitState(bridge_of(quick).received, lambda: bool(ended))
    assert ended[0].reason == "finished"


def test_a_message_typed_while_the_app_starts_is_not_lost(open_window, project, qtbot):
    window = open_window(project, model="demo")
    window.frame.composer.set_text("list files")
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    assert window.flow.info is None
    ready(qtbot, window)
    wait_shown(qtbot, window, "notes.txt")


def test_each_session_keeps_its_own_draft(quick, qtbot):
    write(qtbot, quick, "list files")
    wait_idle(qtbot, quick)
    first = quick.flow.current
    quick.frame.composer.set_text("about the first")
    qtbot.mouseClick(quick.frame.sidebar.new_session, Qt.MouseButton.LeftButton)
    qtbot.waitState(quick.flow.agent_shown, lambda: quick.flow.current not in (None, first))
    assert quick.frame.composer.draft() == ""
    quick.frame.sidebar.sessions.session_chosen.emit(first)
    qtbot.waitUntil(lambda: quick.frame.composer.draft() == "about the first", timeout=WAIT)


def test_a_second_window_on_the_same_sessions_says_why_it_can_not_open_them(
    open_window, quick, project, qtbot
):
    ready(qtbot, quick)
    second = open_window(project, model="demo")
    qtbot.waitUntil(lambda: second.frame.notices.isVisible(), timeout=WAIT)
    assert words_in(second.frame.notices)
    assert "Error" not in words_in(second.frame.notices)


def test_deleting_the_session_on_screen_shows_another_and_undo_brings_it_back(quick, qtbot):
    write(qtbot, quick, "list files")
    wait_idle(qtbot, quick)
    first = quick.flow.current
    quick.commands.delete.trigger()
    qtbot.waitState(quick.flow.agent_shown, lambda: quick.flow.current not in (None, first))
    assert first not in [one.session_id for one in quick.frame.sidebar.sessions.list.model().rows()]
    quick.frame.sidebar.sessions.undo_delete()
    qtbot.waitState(quick.flow.agent_shown, lambda: quick.flow.current == first)
    wait_shown(qtbot, quick, "notes.txt")


def test_undoing_the_deletion_of_another_session_leaves_the_one_shown(quick, qtbot):
    write(qtbot, quick, "list files")
    wait_idle(qtbot, quick)
    first = quick.flow.current
    quick.commands.new.trigger()
    qtbot.waitState(quick.flow.agent_shown, lambda: quick.flow.current not in (None, first))
    second = quick.flow.current
    panel = quick.frame.sidebar.sessions
    qtbot.waitUntil(lambda: panel.list.selectionModel().hasSelection(), timeout=WAIT)
    for change in (lambda: panel.delete(first), panel.undo_delete):
        change()
        assert quick.flow.current == second
        marked = panel.list.selectionModel().selectedIndexes()
        assert [panel.list.model().rows()[one.row()].session_id for one in marked] == [second]
    write(qtbot, quick, "list files")
    wait_idle(qtbot, quick)
    assert quick.flow.current == second


def test_every_key_is_listed_on_one_sheet(quick, qtbot):
    ready(qtbot, quick)
    quick.commands.shortcuts.trigger()
    sheet = quick.findChild(QDialog, "shortcutsDialog")
    assert sheet.isVisible()
    listed = [label.text() for label in sheet.findChildren(QLabel)]
    assert "Ctrl+N" in listed
    assert "Ctrl+/, F1" in listed
    assert "Ctrl+., Esc, twice" in listed
    for keys in ("Ctrl+Enter", "Shift+Enter", "F2", "Alt+↑, Alt+↓", "S", "P"):
        assert keys in listed
    sheet.close()


def test_the_sheet_of_keys_takes_the_place_of_the_list_of_commands(quick, qtbot):
    ready(qtbot, quick)
    quick.commands.palette.trigger()
    palette = part(quick, "commandPalette")
    qtbot.waitUntil(palette.isVisible)
    quick.commands.shortcuts.trigger()
    assert not palette.isVisible()
    quick.findChild(QDialog, "shortcutsDialog").close()


def test_a_defect_in_the_window_is_logged_and_said_and_the_window_lives(
    quick, qtbot, monkeypatch, caplog
):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    show_defects(app_of(quick))
    try:
        raise RuntimeError("a slip")
    except RuntimeError:
        sys.excepthook(*sys.exc_info())
    assert quick.frame.notices.isVisible()
    assert "a defect in the window" in caplog.text
    ready(qtbot, quick)


def test_what_fails_on_a_thread_while_the_window_gets_ready_is_said_in_the_window(
    quick, qtbot, monkeypatch, caplog
):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    show_defects(app_of(quick))
    ready(qtbot, quick)
    assert not quick.frame.notices.isVisible()

    def fail():
        raise ImportError("no such part")

    monkeypatch.setattr("desktop_agent.gui.transcript.document.markdown.get_ready", fail)
    quick.flow.get_ready()
    qtbot.waitUntil(quick.frame.notices.isVisible, timeout=WAIT)
    said = [label.text() for label in quick.frame.notices.findChildren(QLabel)]
    assert any("Something went wrong" in text for text in said)
    assert "no such part" in caplog.text


def test_another_branch_is_seen_when_the_person_comes_back(quick, project, qtbot):
    ready(qtbot, quick)
    subprocess.run(["git", "init", "-q", "-b", "side", str(project)], check=True)
    QApplication.sendEvent(quick, QEvent(QEvent.Type.ActivationChange))
    assert "side" in part(quick, "sessionPlace").whole_text()


def test_what_is_typed_right_after_the_model_was_chosen_goes_to_the_message_box(
    open_window, project, qtbot
):
    window = open_window(project)
    window.flow.choose_model("demo", "")
    ready(qtbot, window)
    qtbot.waitUntil(lambda: window.focusWidget() is not None, timeout=WAIT)
    qtbot.keyClicks(window.focusWidget(), "Look around")
    assert window.frame.composer.draft() == "Look around"


def scrolled_up(window, qtbot):
    """Have a long conversation at rest, seen from its beginning."""
    page = window.pages.page(window.flow.agent)
    bar = page.findChild(QTextBrowser).verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 2 * page.height(), timeout=WAIT)
    bar.setValue(0)
    assert part(window, "jumpToLatest").isVisible()
    return page, bar


def test_a_message_that_begins_a_turn_is_seen_though_the_page_was_scrolled_up(
    window, provider, qtbot
):
    provider.push(Say("\n\n".join(f"Line {n}." for n in range(200))), Say("Seen."), Say("Unseen."))
    write(qtbot, window, "Tell a long story")
    wait_shown(qtbot, window, "Line 199.")
    wait_idle(qtbot, window)
    page, bar = scrolled_up(window, qtbot)
    write(qtbot, window, "And now?")
    wait_shown(qtbot, window, "Seen.")
    qtbot.waitUntil(lambda: bar.value() == bar.maximum(), timeout=WAIT)
    wait_idle(qtbot, window)

    # What is selected stays where it is.
    bar.setValue(0)
    browser = page.findChild(QTextBrowser)
    browser.setTextCursor(browser.document().find("Line 3."))
    place = bar.value()
    write(qtbot, window, "And then?")
    wait_shown(qtbot, window, "Unseen.")
    wait_idle(qtbot, window)
    assert bar.value() == place


def test_a_deleted_session_comes_back_with_what_was_typed_there_and_not_sent(quick, qtbot):
    write(qtbot, quick, "list files")
    wait_idle(qtbot, quick)
    first = quick.flow.current
    quick.frame.composer.set_text("Half a thought")
    quick.commands.delete.trigger()
    qtbot.waitState(quick.flow.agent_shown, lambda: quick.flow.current not in (None, first))
    sessions = quick.frame.sidebar.sessions
    sessions.finish_deletes()
    qtbot.waitUntil(lambda: [one.id for one in sessions.listed[1]] == [first], timeout=WAIT)
    sessions.restore(first)
    qtbot.waitUntil(lambda: first in [one.id for one in sessions.listed[0]], timeout=WAIT)
    quick.flow.choose_session(first)
    qtbot.waitState(quick.flow.agent_shown, lambda: quick.flow.current == first)
    assert quick.frame.composer.draft() == "Half a thought"


@pytest.mark.parametrize("state", ["WindowMaximized", "WindowFullScreen"])
def test_a_window_that_fills_the_screen_still_does_when_it_is_brought_back(quick, qtbot, state):
    ready(qtbot, quick)
    filled = Qt.WindowState[state]
    quick.setWindowState(filled)
    app_of(quick).come_back()
    assert quick.windowState() & filled
    quick.setWindowState(filled | Qt.WindowState.WindowMinimized)
    app_of(quick).come_back()
    assert quick.windowState() & filled
    assert not quick.isMinimized()
    assert quick.isVisible()
