"""Tab and F6 reach every part of the window, in the order that one sees."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QGraphicsView,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.kit.reading_order import focus_next, tab_stops
from tests import gallery
from tests import gallery_story as story
from tests.helpers.windows import part
from tests.helpers.wrappers import misplaced

MOST = 200


def press(qtbot, window, key):
    qtbot.keyClick(QApplication.focusWidget() or window, key)
    return QApplication.focusWidget()


def walked(qtbot, window, key):
    """Return what a key goes through, from the message box until it is there again."""
    home = part(window, "composerText")
    home.setFocus()
    found = [home]
    while len(found) < MOST:
        now = press(qtbot, window, key)
        if now is home:
            return found
        found.append(now)
    raise AssertionError([f"{type(one).__name__} {one.objectName()}" for one in found])


def names(found):
    return [one.objectName() for one in found]


def team_that_asks(shown):
    shown.show(story.team())
    shown.hear(*story.asks())
    assert part(shown.window, "asksPanel").isVisible()


def test_f6_reaches_tasks_subagents_and_what_waits_for_the_user(stage, qtbot):
    async def step(shown, _window):
        team_that_asks(shown)
        await gallery.pause(0)
        found = names(walked(qtbot, shown.window, Qt.Key.Key_F6))
        wanted = ["taskList", "agentTree", "askRow"]
        assert [name for name in found if name in wanted] == wanted

    stage(step)


@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_Backtab])
def test_tab_leaves_no_part_of_the_window_out(stage, qtbot, key):
    async def step(shown, _window):
        for opened in (story.empty(), story.working(), story.team()):
            shown.show(opened)
            await gallery.pause(0)
            found = set(names(walked(qtbot, shown.window, key)))
            assert {"workspaceButton", "sessionList", "toggleSidebar", "modelButton"} <= found
        assert {"taskList", "agentTree"} <= found

    stage(step)


def test_tab_goes_down_the_sidebar_and_then_along_the_header(stage, qtbot):
    async def step(shown, _window):
        shown.show(story.empty())
        await gallery.pause(0)
        found = names(walked(qtbot, shown.window, Qt.Key.Key_Tab))
        wanted = ["workspaceButton", "newSession", "searchSessions", "sessionList", "openSkills"]
        wanted += ["addSkillShort", "shortSkills", "openSettings"]
        wanted += ["find", "copyAnswer"]
        assert [name for name in found if name in wanted] == [
            name for name in wanted if name in found
        ]
        assert "openSettings" in found

    stage(step)


def test_tab_goes_along_a_header_as_it_is_read_in_every_part(stage, qtbot):
    async def step(shown, _window):
        team_that_asks(shown)
        await gallery.pause(0)
        found = walked(qtbot, shown.window, Qt.Key.Key_Tab)
        for name in ("header", "bottom"):
            whole = part(shown.window, name)
            inside = [one for one in found if whole.isAncestorOf(one)]
            places = [(one.mapTo(whole, one.rect().center())) for one in inside]
            assert places == sorted(places, key=lambda at: (at.y() // 30, at.x())), names(inside)
        found = names(found)
        assert found.index("taskListTab") < found.index("taskList") < found.index("addTask")
        assert found.index("addTask") < found.index("agentTree") < found.index("askRow")

    stage(step)


def made(*labels):
    """Return buttons by their words."""
    return {label: QPushButton(label) for label in labels}


def words(found):
    return "".join(one.text() for one in found)


def test_tab_reads_columns_one_after_another_and_lines_from_their_beginning(qtbot):
    whole = QWidget()
    qtbot.addWidget(whole)
    made_last_first = made(*"fedcba")
    left, right = QVBoxLayout(), QVBoxLayout()
    for label in "ab":
        left.addWidget(made_last_first[label])
    line = QHBoxLayout()
    for label in "de":
        line.addWidget(made_last_first[label])
    made_last_first["c"].setFixedHeight(120)
    right.addWidget(made_last_first["c"])
    right.addLayout(line)
    right.addWidget(made_last_first["f"])
    both = QHBoxLayout(whole)
    both.addLayout(left)
    both.addLayout(right)
    whole.show()
    left_first = words(tab_stops(whole))
    assert left_first.index("d") + 1 == left_first.index("e")
    assert left_first.index("c") < left_first.index("d") < left_first.index("f")
    assert left_first.index("a") < left_first.index("b")
    whole.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    whole.layout().activate()
    assert words(tab_stops(whole)) == left_first


def test_tab_passes_what_is_switched_off_or_hidden(qtbot):
    whole = QWidget()
    qtbot.addWidget(whole)
    grid = QGridLayout(whole)
    buttons = made(*"abcd")
    for place, one in enumerate(buttons.values()):
        grid.addWidget(one, place, 0)
    buttons["b"].setEnabled(False)
    whole.show()
    assert tab_stops(whole) == [buttons["a"], buttons["c"], buttons["d"]]
    buttons["d"].hide()
    assert tab_stops(whole) == [buttons["a"], buttons["c"]]


def test_a_field_with_parts_and_a_view_are_one_stop_each(qtbot):
    whole = QWidget()
    qtbot.addWidget(whole)
    parts = (QSpinBox(), QComboBox(editable=True), QGraphicsView(), QScrollArea())
    both = QVBoxLayout(whole)
    for one in parts:
        both.addWidget(one)
    whole.show()
    assert tab_stops(whole) == list(parts)
    assert misplaced() == []


@pytest.mark.parametrize("is_forward", [True, False])
def test_a_box_of_numbers_that_tab_reaches_is_seen_as_a_whole(qtbot, is_forward):
    window, content = QWidget(), QWidget()
    qtbot.addWidget(window)
    area = QScrollArea(window)
    boxes = [QSpinBox() for _ in range(40)]
    column = QVBoxLayout(content)
    for one in boxes:
        column.addWidget(one)
    area.setWidget(content)
    area.resize(200, 205)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    seen = set()
    for _ in range(len(boxes) + 1):
        assert focus_next(window, is_forward=is_forward)
        reached = QApplication.focusWidget()
        if reached in boxes:
            seen.add(reached)
            assert reached.visibleRegion().boundingRect() == reached.rect()
    assert seen == set(boxes)
