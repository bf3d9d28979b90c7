"""What a careful eye would send back: words that are cut, panels that crowd each other out."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QCheckBox,
    QLabel,
    QStyle,
    QStyleOptionButton,
    QWidget,
)

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalResolved, ListChanged, TurnStarted
from desktop_agent.core.settings import Settings
from desktop_agent.core.tasks import Task
from desktop_agent.gui.agents.delegate import ROW_COMMANDS
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.frame.header import Header
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.frame.side_panel import RightPanel
from desktop_agent.gui.sessions.empty_page import EmptySession, PromptButton
from desktop_agent.gui.tasks.graph_items import NodeItem
from desktop_agent.gui.welcome.page import Welcome
from desktop_agent.gui.window.app_windows import AppWindows
from tests import gallery_story as story
from tests.helpers.panels import follow, state_of
from tests.helpers.patience import HANG_MS
from tests.helpers.windows import has_running_timer, part, words_in

CHILDREN = Qt.FindChildOption.FindDirectChildrenOnly


@pytest.mark.parametrize("percent", [100, 200])
@pytest.mark.parametrize("width", [420, 900])
def test_example_prompts_show_all_their_words(qtbot, theme, scaled, percent, width, tmp_path):
    (tmp_path / "a.py").write_text("")
    scaled(percent)
    page = EmptySession(theme)
    qtbot.addWidget(page)
    page.resize(width, 900)
    page.show()
    qtbot.waitExposed(page)
    page.set_folder(str(tmp_path))
    qtbot.waitUntil(page.findChild(PromptButton).isVisible)
    QApplication.processEvents()
    for button in page.findChildren(PromptButton):
        words = button.words
        assert words.height() >= words.heightForWidth(words.width())
        assert button.contentsRect().contains(words.geometry())


@pytest.fixture
def panel(qtbot, theme):
    one = RightPanel(theme)
    qtbot.addWidget(one)
    one.resize(348, 900)
    one.show()
    qtbot.waitExposed(one)
    return one


def test_tasks_take_no_more_room_than_they_need_beside_subagents(panel, qtbot):
    follow(panel, story.team())
    panel.agents.tree.flush()
    shown = panel.tasks.tasks.list
    qtbot.waitUntil(lambda: panel.agents.height() > 450 and not shown.verticalScrollBar().maximum())
    assert panel.tasks.height() < 450, "what the subagents need is taken by the tasks"


def test_what_waits_for_the_person_gets_the_room(panel, qtbot):
    follow(panel, story.team())
    for event in story.asks():
        follow(panel, event)
    panel.agents.tree.flush()
    qtbot.waitUntil(lambda: panel.tasks.height() <= 0.37 * panel.height())
    assert panel.agents.asks.height() < panel.agents.height() // 2


def test_a_panel_of_subagents_alone_begins_in_line_with_the_header(panel, theme):
    follow(panel, story.crowd())
    panel.agents.tree.flush()
    QApplication.processEvents()
    title = panel.agents.tree.summary
    middle = title.mapTo(panel, title.rect().center()).y()
    assert abs(middle - theme.size("header") // 2) <= 4


def test_with_large_text_the_far_panel_is_wider_and_makes_room_as_a_drawer(qtbot, theme, scaled):
    frame = WindowFrame(theme)
    qtbot.addWidget(frame)
    frame.resize(1440, 900)
    assert not frame.has_side_drawer
    normal = theme.size("right")
    scaled(200)
    assert theme.size("right") > normal
    assert frame.has_side_drawer


def test_the_send_button_grows_with_the_text(qtbot, theme, scaled):
    composer = Composer(theme)
    qtbot.addWidget(composer)
    normal = composer.findChild(QWidget, "sendButton").width()
    scaled(200)
    assert composer.findChild(QWidget, "sendButton").width() > normal * 1.5


@pytest.mark.parametrize("percent", [100, 200])
@pytest.mark.parametrize("width", [460, 560, 800])
def test_no_control_of_the_message_box_is_cut_while_a_team_works(
    qtbot, theme, scaled, percent, width
):
    scaled(percent)
    composer = Composer(theme)
    qtbot.addWidget(composer)
    composer.resize(width, 260)
    composer.show()
    qtbot.waitExposed(composer)
    follow(composer, story.team())
    follow(composer, TurnStarted(story.MAIN))
    QApplication.processEvents()
    stop = composer.findChild(QWidget, "stopButton")
    bar = stop.parentWidget()
    assert stop.accessibleName() == "Stop Main + 5"
    for control in bar.findChildren(QWidget, options=CHILDREN):
        if control.isVisible():
            assert control.width() >= control.minimumSizeHint().width()
            assert bar.rect().contains(control.geometry())


@pytest.mark.parametrize("percent", [100, 200])
def test_the_buttons_of_a_row_are_as_large_as_its_text_asks_and_stand_in_it(
    qtbot, theme, scaled, percent
):
    scaled(percent)
    one = RightPanel(theme)
    qtbot.addWidget(one)
    one.resize(theme.size("right"), 900)
    one.show()
    qtbot.waitExposed(one)
    follow(one, story.team())
    view = one.agents.tree.view
    index = one.agents.tree.model.index_of(story.EXPLORER)
    boxes = [view.button_box(index, command) for command in ROW_COMMANDS]
    assert all(box.width() == 24 * percent // 100 for box in boxes)
    assert all(view.visualRect(index).contains(box) for box in boxes)


def test_buttons_for_several_requests_are_never_squeezed(panel, qtbot):
    panel.resize(348, 420)
    follow(panel, story.team())
    for event in story.asks():
        follow(panel, event)
    for row in panel.agents.asks.findChildren(QWidget, "askRow"):
        row.mark.setChecked(row.ask.is_approval)
    button = panel.agents.asks.findChild(QWidget, "asksAllow")
    qtbot.waitUntil(lambda: button.isVisible() and button.height() >= button.sizeHint().height())
    assert button.width() >= button.sizeHint().width()


def test_with_large_text_the_sidebar_leaves_a_narrow_window_to_the_page(qtbot, theme, scaled):
    frame = WindowFrame(theme)
    qtbot.addWidget(frame)
    frame.resize(900, 700)
    assert not frame.is_narrow
    scaled(200)
    assert frame.is_narrow
    assert frame.center.width() == 900


@pytest.mark.parametrize("percent", [100, 200])
def test_marks_of_boxes_grow_with_the_text(qtbot, theme, scaled, percent):
    scaled(percent)
    box = QCheckBox("x")
    qtbot.addWidget(box)
    box.ensurePolished()
    option = QStyleOptionButton()
    option.initFrom(box)
    element = QStyle.SubElement.SE_CheckBoxIndicator
    assert box.style().subElementRect(element, option, box).width() >= 14 * percent / 100


@pytest.mark.parametrize("width", [420, 700, 900])
def test_the_first_steps_show_all_their_words_at_any_text_size(qtbot, theme, scaled, width):
    scaled(200)
    page = Welcome(theme)
    qtbot.addWidget(page)
    page.resize(width, 800)
    page.show()
    qtbot.waitExposed(page)
    page.models.set_servers(story.SERVERS)

    def cut():
        wrapped = [one for one in page.findChildren(QLabel) if one.isVisible() and one.wordWrap()]
        return [one.text() for one in wrapped if one.height() < one.heightForWidth(one.width())]

    qtbot.waitUntil(lambda: not cut())
    titles = [one for one in page.findChildren(QLabel) if one.property("role") == "h1"]
    assert len(titles) == 2
    assert all(title.wordWrap() for title in titles)


def test_the_graph_gets_room_and_shows_all_of_a_small_plan_at_once(panel, qtbot):
    opened = team_with_tasks(5, 2)
    chain = tuple(
        replace(one, blocked_by=(one.id - 1,) if one.id > 1 else ())
        for one in opened.lists[0].tasks
    )
    follow(panel, replace(opened, lists=(ListChanged(story.MAIN, 1, chain),)))
    panel.agents.tree.flush()
    panel.tasks.findChild(QAbstractButton, "taskGraphTab").click()
    graph = panel.tasks.graph
    qtbot.waitUntil(lambda: panel.tasks.height() >= 440)

    def shows_all():
        seen = graph.mapToScene(graph.viewport().rect()).boundingRect()
        return all(
            seen.contains(one.sceneBoundingRect())
            for one in graph.items()
            if isinstance(one, NodeItem)
        )

    qtbot.waitUntil(shows_all)
    assert graph.transform().m11() >= 0.55


def team_with_tasks(count, active):
    tasks = tuple(
        Task(n, f"Task {n}", status="in_progress" if n == active else "pending")
        for n in range(1, count + 1)
    )
    return replace(story.team(), lists=(ListChanged(story.MAIN, 1, tasks),))


def test_tasks_get_the_room_that_the_subagents_leave_over(panel, qtbot):
    opened = team_with_tasks(14, 14)
    follow(panel, replace(opened, agents=opened.agents[:2]))
    panel.agents.tree.flush()
    shown = panel.tasks.tasks.list
    qtbot.waitUntil(lambda: panel.tasks.height() > 480)
    qtbot.waitUntil(lambda: shown.verticalScrollBar().maximum() == 0)
    last = shown.visualRect(shown.model().index_of(14))
    assert shown.viewport().rect().contains(last), "the task that is worked on is out of sight"


def test_the_task_that_is_worked_on_is_scrolled_into_view_until_the_person_scrolls(panel, qtbot):
    panel.resize(348, 500)
    follow(panel, team_with_tasks(40, 30))
    shown = panel.tasks.tasks.list

    def is_seen(number):
        box = shown.visualRect(shown.model().index_of(number))
        return shown.viewport().rect().contains(box)

    qtbot.waitUntil(lambda: is_seen(30))
    follow(panel, team_with_tasks(40, 36).lists[0])
    qtbot.waitUntil(lambda: is_seen(36))
    shown.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
    follow(panel, team_with_tasks(40, 38).lists[0])
    qtbot.waitUntil(lambda: not has_running_timer(shown))
    assert is_seen(1)
    assert not is_seen(38)


def places_of(panel):
    QApplication.processEvents()
    view = panel.agents.tree.view
    rows = [
        view.visualRect(panel.agents.tree.model.index_of(one.key)) for one in panel.agents.tree.rows
    ]
    return (
        panel.tasks.height(),
        [view.viewport().mapTo(panel, row.topLeft()).y() for row in rows],
        panel.agents.strip.mapTo(panel, panel.agents.strip.rect().topLeft()).y(),
    )


def test_nothing_under_the_mouse_moves_when_something_begins_or_ends_to_wait(panel, qtbot):
    follow(panel, story.team())
    panel.agents.select(story.EXPLORER)
    panel.agents.tree.flush()
    settled(panel, qtbot)
    card = panel.agents.strip.parentWidget()
    for widget in (panel, panel.agents, card):
        at = QPointF(5, 5)
        QApplication.sendEvent(widget, QEnterEvent(at, at, at))
    before = places_of(panel)
    for event in story.asks():
        follow(panel, event)
    assert panel.agents.asks.isVisible()
    # The list of what waits is laid out a moment after it is shown.
    qtbot.waitUntil(lambda: places_of(panel) == before, timeout=HANG_MS)
    for ask in list(state_of(panel).waiting()):
        follow(panel, ApprovalResolved(ask.agent_id, ask.key, AllowOnce()))
    qtbot.waitUntil(lambda: places_of(panel) == before, timeout=HANG_MS)


def settled(panel, qtbot):
    QApplication.processEvents()
    qtbot.waitUntil(lambda: not has_running_timer(panel))
    QApplication.processEvents()


@pytest.mark.parametrize("percent", [100, 150])
def test_a_long_title_leaves_the_folder_enough_to_be_known_by(qtbot, theme, scaled, percent):
    scaled(percent)
    header = Header(theme)
    qtbot.addWidget(header)
    header.resize(680, 60)
    header.show()
    title = "Look around in this folder and say what the project is for and how it is tested"
    header.set_session(title, "payments-api / main")
    qtbot.waitUntil(lambda: header.findChild(QWidget, "sessionPlace").width() >= 70)
    assert "pay" in header.findChild(QWidget, "sessionPlace").text()


def test_before_the_sessions_are_known_the_window_says_what_it_knows_and_no_more(
    qtbot, theme, tmp_path, own_home
):
    bridge = Bridge()
    settings = Settings(model="openai/my-model", mode="look")
    window = AppWindows(theme, bridge, settings, bridge).open_first(str(tmp_path))
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    assert "my-model" in part(window, "modelButton").accessibleName()
    assert part(window, "modeButton").text().strip() == "Look only"
    assert "No sessions yet" not in words_in(window.frame.sidebar)
