"""The task list in the real window: seen live, edited by hand, and told to the agent once."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.events import ListChanged
from desktop_agent.core.tasks import TaskEdit
from tests.gui.tasks.test_panel import receipt
from tests.gui.window.test_window import WAIT, card_button, ready, wait_idle, wait_shown, write
from tests.helpers.providers import Calls, Say
from tests.helpers.windows import bridge_of, part, side_panel


def panel_of(window):
    return side_panel(window).tasks.tasks


def allow_once(qtbot, window):
    """Press the button until it counts: a card is deaf right after it appeared."""

    def is_settled():
        page = window.pages.page(window.flow.agent)
        if page is None:
            return False
        page.focus_oldest_approval()
        for button in page.findChildren(QPushButton, "allowOnce"):
            if button.isVisible() and button.isEnabled():
                button.click()
        return window.flow.info.status != "needs_you"

    qtbot.waitUntil(is_settled, timeout=WAIT)


def is_shown(window):
    panel = side_panel(window)
    return panel is not None and panel.isVisible()


def add(qtbot, window, text):
    qtbot.keyClicks(part(window, "addTask"), text)
    qtbot.keyClick(part(window, "addTask"), Qt.Key.Key_Return)


def subjects(window):
    return [task.subject for task in panel_of(window).tasks]


def select(window, subject):
    panel = panel_of(window)
    number = next(task.id for task in panel.tasks if task.subject == subject)
    panel.list.setCurrentIndex(panel.list.model().index_of(number))
    return panel.list


def test_edits_made_while_a_tool_waits_reach_the_next_request_as_one_note(window, provider, qtbot):
    made = [("TaskCreate", {"subject": s}) for s in ("alpha", "beta", "gamma")]
    provider.push(Calls(*made), Calls(("write", {"path": "x.txt", "content": "x\n"})), Say("Done."))
    write(qtbot, window, "Plan it")
    card_button(qtbot, window, "allowOnce")
    assert subjects(window) == ["alpha", "beta", "gamma"]
    assert side_panel(window).isVisible()

    qtbot.keyClick(select(window, "beta"), Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: subjects(window) == ["alpha", "gamma"], timeout=WAIT)
    qtbot.keyClick(select(window, "gamma"), Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: subjects(window) == ["gamma", "alpha"], timeout=WAIT)
    view = select(window, "alpha")
    qtbot.keyClick(view, Qt.Key.Key_F2)
    field = view.findChild(object, "renameTask")
    field.setText("omega")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: subjects(window) == ["gamma", "omega"], timeout=WAIT)
    panel = panel_of(window)
    add(qtbot, window, "delta")
    qtbot.waitUntil(lambda: subjects(window) == ["gamma", "omega", "delta"], timeout=WAIT)
    # True in the first turn as well, which began before the panel was made.
    qtbot.waitUntil(lambda: receipt(panel) == "Your edits are read at the next step", timeout=WAIT)

    allow_once(qtbot, window)
    wait_shown(qtbot, window, "Done.")
    wait_idle(qtbot, window)
    notes = [t for t in provider.requests[2].user_texts if "<app:task_edits" in t]
    assert len(notes) == 1
    for line in ("deleted #2 (beta)", "moved #3 before #1", "renamed #1 to: omega", "added #4"):
        assert line in notes[0]
    qtbot.waitUntil(lambda: receipt(panel).startswith("Your edits were read at step"), timeout=WAIT)


def test_the_panel_is_there_only_while_there_are_tasks(window, provider, qtbot):
    ready(qtbot, window)
    assert not is_shown(window)
    provider.push(
        Calls(("TaskCreate", {"subject": "only"})),
        Calls(("TaskUpdate", {"taskId": 1, "status": "completed"})),
        Say("All done."),
    )
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    qtbot.waitUntil(lambda: not is_shown(window), timeout=WAIT)


def test_the_list_is_there_again_after_a_restart(open_window, window, provider, qtbot):
    provider.push(Calls(("TaskCreate", {"subject": "later"})), Say("Noted."))
    write(qtbot, window, "Note it")
    wait_shown(qtbot, window, "Noted.")
    wait_idle(qtbot, window)
    open_window.close(window)
    again = open_window(model=provider.model, api_base=provider.api_base)
    wait_shown(qtbot, again, "Noted.")
    qtbot.waitUntil(lambda: side_panel(again) is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: subjects(again) == ["later"], timeout=WAIT)
    assert side_panel(again).isVisible(), "the plan is kept where nobody sees it"


def test_a_click_on_a_task_shows_the_call_that_changed_it(window, provider, qtbot):
    provider.push(Calls(("TaskCreate", {"subject": "here"})), Say("x\n\n" * 80 + "End."))
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "End.")
    wait_idle(qtbot, window)
    page = window.pages.page(window.flow.agent)
    bar = page.browser.verticalScrollBar()
    qtbot.waitState(bar.valueChanged, lambda: bar.value() > 0)
    qtbot.keyClick(select(window, "here"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bar.value() < bar.maximum() // 2, timeout=WAIT)
    seen = [card.accessibleName() for card in page.cards.cards.values() if card.isVisible()]
    assert any("here" in name for name in seen), "what changed the task is not in sight"


def test_a_task_can_be_added_before_there_is_any(window, qtbot):
    ready(qtbot, window)
    window.commands.task.trigger()
    assert side_panel(window).isVisible()
    add(qtbot, window, "first")
    qtbot.waitUntil(lambda: subjects(window) == ["first"], timeout=WAIT)


def test_rapid_changes_from_the_engine_end_at_its_last_list(window, qtbot):
    ready(qtbot, window)
    window.commands.task.trigger()
    agent_id = window.flow.agent
    seen: list[ListChanged] = []
    bridge_of(window).received.connect(
        lambda batch: seen.extend(e for e in batch if isinstance(e, ListChanged))
    )
    for number in range(300):
        bridge_of(window).engine.edit_tasks(agent_id, TaskEdit("add", text=f"task {number}"))
    for number in range(1, 300, 2):
        bridge_of(window).engine.edit_tasks(agent_id, TaskEdit("delete", number))
    # The window gets the newest list of a batch; each change counts the revision up by one.
    received = bridge_of(window).received
    qtbot.waitState(received, lambda: bool(seen) and seen[-1].revision == 450)
    assert len(seen) < 450
    assert panel_of(window).tasks == seen[-1].tasks
    assert len(seen[-1].tasks) == 150
