"""Undo in the whole window on the real engine: by mouse and by keys, every byte as it should be."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QPushButton

from desktop_agent.core.changes import FolderLook
from desktop_agent.core.events import EngineFailed, FilesChanged, MessageAdded
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.state.branch_draft import BranchDraft
from desktop_agent.gui.transcript.cards.tool_card import ToolCard
from tests.gui.agents.test_window_agents import agents_of, spawns
from tests.gui.changes.samples import FirstLooks
from tests.gui.window.test_window import WAIT, shown, wait_idle, wait_shown, write
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.windows import part, side_panel, words_in

MINE = [f"mine{n}.txt" for n in range(5)]
THEIRS = [f"theirs{n}.txt" for n in range(3)]
MADE = ["made0.txt", "made1.txt"]
MOST_KEYS = 200
COMMAND = "printf 'one\\n' > made0.txt && printf 'two\\n' > made1.txt"


@pytest.fixture
def window(open_window, project, monkeypatch, team):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    for name in (*MINE, *THEIRS):
        (project / name).write_text(f"{name} before\n", encoding="utf-8")
    with LoopbackProvider("openai", [team.answer] * 60) as provider:
        yield open_window(project, model=provider.model, api_base=provider.api_base, mode="free")


def rewrites(*names):
    reads = Calls(*(("read", {"path": name}) for name in names))
    after = Calls(*(("write", {"path": n, "content": f"{n} after\n"}) for n in names))
    return reads, after


def button(window, name, beside=""):
    """Return the lowest button of that name, beside these words, that the transcript shows."""
    page = window.pages.page(window.flow.agent)
    found = [
        one
        for one in page.findChildren(QPushButton, name)
        if one.isVisible() and beside in words_in(one.parentWidget())
    ]
    return max(found, key=lambda one: one.mapToGlobal(one.rect().topLeft()).y(), default=None)


def wait_button(qtbot, window, name, beside=""):
    qtbot.waitUntil(lambda: button(window, name, beside) is not None, timeout=WAIT)
    return button(window, name, beside)


def wait_part(qtbot, window, name):
    def is_there():
        found = part(window, name)
        return found is not None and found.isVisible()

    qtbot.waitUntil(is_there, timeout=WAIT)
    return part(window, name)


def agree(qtbot, window):
    """Take what the preview offers, and wait until it is done."""
    dialog = wait_part(qtbot, window, "undoDialog")
    words = words_in(dialog)
    qtbot.mouseClick(dialog.findChild(QPushButton, "takeUndo"), Qt.MouseButton.LeftButton)
    return words


def wait_said(qtbot, window, words):
    qtbot.waitUntil(lambda: words in words_in(window.frame.notices), timeout=WAIT)


def texts(project):
    return {one.name: one.read_text(encoding="utf-8") for one in project.glob("*.txt")}


def work(qtbot, window, team, heard):
    """Have the main agent change five files, a subagent three, a command make two."""
    team.scripts["main"] = [
        *rewrites(*MINE),
        spawns("alpha"),
        Calls(("wait", {})),
        Calls(("shell", {"command": COMMAND})),
        Say("All done."),
    ]
    team.scripts["alpha"] = [*rewrites(*THEIRS), Say("alpha is done")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    assert not [e for e in heard if isinstance(e, EngineFailed)]
    changed = {one.path for e in heard if isinstance(e, FilesChanged) for one in e.changes.files}
    assert changed == {*MINE, *THEIRS, *MADE}


def test_a_first_look_that_takes_long_is_shown_and_skipped_with_its_consequence(
    window, team, qtbot
):
    looks = FirstLooks(
        window.queries.changes,
        FolderLook(0, 40_000, is_listing=True, is_going=True),
        FolderLook(61_200, 100_000, is_going=True),
    )
    window.queries.changes = looks
    team.scripts["main"] = [Say("All done.")]
    write(qtbot, window, "Go")
    wait_said(qtbot, window, "40,000 files so far")
    wait_said(qtbot, window, "61,200 of 100,000 files")
    qtbot.mouseClick(part(window, "noticeAction"), Qt.MouseButton.LeftButton)
    wait_said(qtbot, window, "can’t be undone")
    assert "61,200 of 100,000" in words_in(window.frame.notices)
    assert looks.stopped == [window.flow.current]


class Mouse:
    """Does everything by clicks."""

    def __init__(self, qtbot, window):
        self._qtbot, self._window = qtbot, window

    def click(self, widget):
        self._qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def click_row(self, view, index):
        view.scrollTo(index)
        at = view.visualRect(index).center()
        self._qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)

    def press(self, name, beside):
        """Press the button of that name in the conversation that stands beside these words."""
        self.click(wait_button(self._qtbot, self._window, name, beside))

    def undo_subagent(self, agent_id):
        """In the menu of its row; a click on the row would open its conversation."""
        view = side_panel(self._window).agents.tree.view
        at = view.visualRect(view.model().index_of(agent_id)).center()
        port, reason = view.viewport(), QContextMenuEvent.Reason.Mouse

        def actions():
            menu = part(self._window, "agentMenu")
            if menu is None or not menu.isVisible():
                asked = QContextMenuEvent(reason, at, port.mapToGlobal(at))
                QApplication.sendEvent(port, asked)
                return []
            return [one for one in menu.actions() if one.objectName() == "agent-undo"]

        self._qtbot.waitUntil(lambda: bool(actions()), timeout=WAIT)
        (undo,), menu = actions(), part(self._window, "agentMenu")
        self._qtbot.waitUntil(undo.isEnabled, timeout=WAIT)
        left = Qt.MouseButton.LeftButton
        self._qtbot.mouseClick(menu, left, pos=menu.actionGeometry(undo).center())

    def open_changes(self):
        self.click(self._window.frame.header.changes_button)

    def undo_file(self, page, path):
        self.click_row(page.list, page.list.model().index_of(path))
        self.click(part(self._window, "undoChanged"))

    def agree(self, dialog):
        self.click(dialog.findChild(QPushButton, "takeUndo"))


class Keys:
    """Touches no mouse: every key goes to what has the focus."""

    def __init__(self, qtbot, window):
        self._qtbot, self._window = qtbot, window

    def be_there(self):
        """Have the window in front, as a desktop does when a dialog closes."""
        self._window.activateWindow()
        self._qtbot.waitUntil(self._window.isActiveWindow, timeout=WAIT)

    def key(self, key, modifiers=Qt.KeyboardModifier.NoModifier):
        self._qtbot.keyClick(QApplication.focusWidget() or self._window, key, modifiers)

    def go_on(self, key, is_there):
        """Press a key until one is there; the parts of a window are not endless."""
        for _ in range(MOST_KEYS):
            if is_there(QApplication.focusWidget()):
                return
            self.key(key)
        raise AssertionError(QApplication.focusWidget())

    def go_to(self, name):
        """Go round the parts of the window to one of them."""
        self.go_on(Qt.Key.Key_F6, lambda at: at is not None and at.objectName() == name)

    def press(self, name, beside):
        self.be_there()
        wanted = wait_button(self._qtbot, self._window, name, beside)
        self.go_to("transcript")
        self.go_on(Qt.Key.Key_Tab, lambda at: at is wanted)
        self.key(Qt.Key.Key_Space)

    def undo_subagent(self, agent_id):
        self.be_there()
        self.go_to("agentTree")
        tree = side_panel(self._window).agents.tree
        self.go_on(Qt.Key.Key_Down, lambda _: tree.current.key == agent_id)
        undo = wait_part(self._qtbot, self._window, "steer-undo")
        self._qtbot.waitUntil(undo.isEnabled, timeout=WAIT)
        self.go_on(Qt.Key.Key_Tab, lambda at: at is undo)
        self.key(Qt.Key.Key_Space)

    def open_changes(self):
        self.be_there()
        both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        self.key(Qt.Key.Key_D, both)

    def undo_file(self, page, path):
        self.go_on(Qt.Key.Key_Down, lambda _: page.list.current.path == path)
        self.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)

    def agree(self, dialog):
        self._qtbot.waitUntil(dialog.isActiveWindow, timeout=WAIT)
        self.key(Qt.Key.Key_Return)


@pytest.mark.parametrize("hand", [Mouse, Keys])
def test_a_subagent_a_message_and_a_file_are_taken_back_and_the_persons_own_edit_stays(
    window, team, heard, project, qtbot, hand
):
    before = texts(project)
    work(qtbot, window, team, heard)
    after = texts(project)
    own = {"mine0.txt": "mine0.txt after\nand mine\n"}
    (project / "mine0.txt").write_text(own["mine0.txt"], encoding="utf-8")
    hand = hand(qtbot, window)

    def agree():
        dialog = wait_part(qtbot, window, "undoDialog")
        words = words_in(dialog)
        hand.agree(dialog)
        return words

    # The subagent, at its card or its row.
    hand.undo_subagent(agents_of(window)["alpha"].id)
    agree()
    wait_shown(qtbot, window, "You took back 3 files")
    assert not window.frame.notices.isVisible()
    theirs = {name: before[name] for name in THEIRS}
    assert texts(project) == after | theirs | own

    # The rest of the message, at its end; what the person changed is kept unasked for.
    hand.press("undoChanges", "files, +")
    assert "mine0.txt" in agree()
    wait_said(qtbot, window, "6 files restored, 1 left as you have it")
    assert texts(project) == before | own

    # And back again, in its place.
    hand.press("redoChanges", "You took back 6 files")
    wait_shown(qtbot, window, "You put back 6 files")
    assert texts(project) == after | theirs | own

    # One file, on the page of all changes.
    hand.open_changes()
    page = wait_part(qtbot, window, "changesPage")
    qtbot.waitUntil(lambda: page.list.model().rowCount() == 7, timeout=WAIT)
    rows = page.list.model().rows()
    assert [one.path for one in rows if one.mark] == ["mine0.txt"]
    hand.undo_file(page, "mine3.txt")
    agree()
    wait_said(qtbot, window, "1 file restored")
    assert texts(project) == after | theirs | own | {"mine3.txt": before["mine3.txt"]}
    qtbot.waitUntil(lambda: page.list.model().rowCount() == 6, timeout=WAIT)


def test_the_page_shows_diffs_and_gives_the_patch(window, team, heard, project, qtbot):
    work(qtbot, window, team, heard)
    count = window.frame.header.changes_button
    qtbot.waitUntil(lambda: count.accessibleName() == "Changes: 10 files", timeout=WAIT)
    qtbot.mouseClick(count, Qt.MouseButton.LeftButton)
    page = wait_part(qtbot, window, "changesPage")
    diff = wait_part(qtbot, window, "changeDiff")
    assert "added: one" in diff.accessibleDescription()
    qtbot.mouseClick(part(window, "copyPatch"), Qt.MouseButton.LeftButton)
    clipboard = QGuiApplication.clipboard()
    qtbot.waitUntil(lambda: "+mine4.txt after" in clipboard.text(), timeout=WAIT)
    assert "+theirs2.txt after" in clipboard.text()
    qtbot.keyClick(page.list, Qt.Key.Key_Escape)
    assert not page.isVisible()
    assert "All done." in shown(window)


def test_after_a_restart_the_message_still_tells_and_takes_back(
    window, team, heard, project, qtbot, open_window
):
    before = texts(project)
    work(qtbot, window, team, heard)
    session_id = window.known.session_id
    open_window.close(window)
    # A window begins a session of its own as well.
    again = open_window(project, model="demo")
    qtbot.waitUntil(lambda: session_id in again.known.sessions, timeout=WAIT)
    again.flow.show_session(session_id)
    wait_shown(qtbot, again, "10 files")
    qtbot.mouseClick(wait_button(qtbot, again, "undoChanges"), Qt.MouseButton.LeftButton)
    agree(qtbot, again)
    wait_shown(qtbot, again, "You took back 10 files")
    assert texts(project) == before


def test_while_a_command_runs_the_refusal_is_told_where_redo_would_stand(
    window, team, heard, project, qtbot
):
    hold = "echo changed > mine0.txt; touch begun; while [ ! -e go ]; do sleep 0.02; done"
    team.scripts["main"] = [
        *rewrites("mine1.txt"),
        Calls(("shell", {"command": hold})),
        Say("Over."),
    ]
    write(qtbot, window, "Go")
    qtbot.waitUntil(lambda: (project / "begun").exists(), timeout=WAIT)
    qtbot.waitUntil(window.frame.header.changes_button.isVisible, timeout=WAIT)
    window.commands.palette.trigger()
    palette = part(window, "commandPalette")
    assert "Undo all changes of this session" in [row.title for row in palette.list.rows()]
    palette.close()
    window.commands.undo_all.trigger()
    wait_said(qtbot, window, "is running in this folder")
    assert part(window, "undoDialog") is None
    (project / "go").touch()
    wait_shown(qtbot, window, "Over.")
    wait_idle(qtbot, window)
    window.commands.undo_all.trigger()
    agree(qtbot, window)
    wait_shown(qtbot, window, "You took back")
    assert (project / "mine0.txt").read_text(encoding="utf-8") == "mine0.txt before\n"
    assert (project / "mine1.txt").read_text(encoding="utf-8") == "mine1.txt before\n"


def test_settings_show_what_undo_takes_and_empty_it(window, team, heard, project, qtbot):
    team.scripts["main"] = [*rewrites("mine1.txt"), Say("Over.")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "Over.")
    wait_idle(qtbot, window)
    window.settings_window.open()
    group = wait_part(qtbot, window, "settingsDialog").undo
    buttons = lambda: group.findChildren(QPushButton, "emptyUndo")  # noqa: E731 - asked again
    qtbot.waitUntil(lambda: len(buttons()) == 1, timeout=WAIT)
    buttons()[0].click()
    box = group.findChild(Question, "emptyUndoQuestion")
    next(one for one in box.buttons() if one.text().strip() == "Empty").click()
    qtbot.waitUntil(lambda: "Nothing is kept at present." in words_in(group), timeout=WAIT)
    assert buttons() == []
    assert (project / "mine1.txt").read_text(encoding="utf-8") == "mine1.txt after\n"

    # What is gone is not told as if nothing had been changed.
    part(window, "settingsDialog").close()
    qtbot.mouseClick(wait_button(qtbot, window, "undoChanges"), Qt.MouseButton.LeftButton)
    wait_said(qtbot, window, "What was changed is not kept any more, so it can’t be undone.")
    message = next(one.message.id for one in heard if isinstance(one, MessageAdded))
    window.frame.composer.begin_branch(BranchDraft(message, "Go", is_edit=True))
    bar = wait_part(qtbot, window, "branchBar")
    gone = "what was changed since that message is not kept any more."
    qtbot.waitUntil(lambda: gone in words_in(bar), timeout=WAIT)


def test_redo_on_the_card_of_one_edit_puts_back_that_file_alone(
    window, team, heard, project, qtbot
):
    team.scripts["main"] = [*rewrites("mine0.txt", "mine1.txt"), Say("Over.")]
    before = texts(project)
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "Over.")
    wait_idle(qtbot, window)
    qtbot.mouseClick(wait_button(qtbot, window, "undoChanges"), Qt.MouseButton.LeftButton)
    agree(qtbot, window)
    wait_shown(qtbot, window, "You took back 2 files")
    assert texts(project) == before

    def cards():
        page = window.pages.page(window.flow.agent)
        found = [one for one in page.findChildren(ToolCard) if one.isVisible()]
        return [one for one in found if one.findChild(QPushButton, "redoChanges")]

    for card in window.pages.page(window.flow.agent).findChildren(ToolCard):
        card.header.set_open(True)
    qtbot.waitUntil(lambda: len(cards()) == 2, timeout=WAIT)
    last = max(cards(), key=lambda one: one.y())
    qtbot.mouseClick(last.findChild(QPushButton, "redoChanges"), Qt.MouseButton.LeftButton)
    wait_shown(qtbot, window, "You put back 1 file")
    assert texts(project) == before | {"mine1.txt": "mine1.txt after\n"}
    qtbot.waitUntil(lambda: len(cards()) == 1, timeout=WAIT)
    qtbot.mouseClick(cards()[0].findChild(QPushButton, "redoChanges"), Qt.MouseButton.LeftButton)
    after = {name: f"{name} after\n" for name in ("mine0.txt", "mine1.txt")}
    qtbot.waitUntil(lambda: texts(project) == before | after, timeout=WAIT)
    qtbot.waitUntil(lambda: not cards(), timeout=WAIT)


def test_from_a_change_to_its_call_and_from_what_was_left_to_what_is_there_now(
    window, team, heard, project, qtbot
):
    work(qtbot, window, team, heard)
    (project / "theirs1.txt").write_text("my own words\n", encoding="utf-8")
    qtbot.mouseClick(window.frame.header.changes_button, Qt.MouseButton.LeftButton)
    page = wait_part(qtbot, window, "changesPage")
    index = page.list.model().index_of

    def is_marked():
        return any(one.mark for one in page.list.model().rows())

    qtbot.waitUntil(is_marked, timeout=WAIT)
    page.list.setCurrentIndex(index("theirs1.txt"))
    qtbot.mouseClick(wait_part(qtbot, window, "compareChanged"), Qt.MouseButton.LeftButton)

    def compared():
        diff = part(window, "changeDiff")
        return diff is not None and "added: my own words" in diff.accessibleDescription()

    qtbot.waitUntil(compared, timeout=WAIT)
    # As the preview asks what becomes of it, too.
    qtbot.mouseClick(wait_part(qtbot, window, "undoChanged"), Qt.MouseButton.LeftButton)
    dialog = wait_part(qtbot, window, "undoDialog")
    (compare,) = dialog.findChildren(QPushButton, "compareUndo")
    qtbot.mouseClick(compare, Qt.MouseButton.LeftButton)

    def told():
        diff = part(dialog, "undoDifference")
        return diff is not None and "added: my own words" in diff.accessibleDescription()

    qtbot.waitUntil(told, timeout=WAIT)
    with qtbot.waitSignal(dialog.finished, timeout=WAIT):
        qtbot.mouseClick(dialog.findChild(QPushButton, "leaveUndo"), Qt.MouseButton.LeftButton)
    window.activateWindow()  # as a window manager does
    qtbot.mouseClick(wait_part(qtbot, window, "showInConversation"), Qt.MouseButton.LeftButton)
    alpha = agents_of(window)["alpha"]
    qtbot.waitUntil(lambda: window.flow.agent == alpha.id, timeout=WAIT)
    assert not page.isVisible()

    def focused():
        at = QGuiApplication.focusObject()
        view = window.pages.page(alpha.id)
        return view is not None and view.isAncestorOf(at) if at is not None else False

    qtbot.waitUntil(focused, timeout=WAIT)
