"""Rows of the tree of subagents are painted in parts: the screen always shows the whole truth."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QAccessible, QImage, QPaintEvent, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from desktop_agent.core.agents import AgentInfo, AgentStatus, Budget
from desktop_agent.core.events import AgentsChanged, SessionOpened
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.kit.theme import Theme
from tests.helpers.panels import follow
from tests.helpers.windows import turn_spinners

SESSION, MAIN = SessionId("se"), AgentId("ag_main")
NAMES = (
    "Explorer",
    "A very long title of an agent that looks into everything there is to see",
    "בדיקת המחירים של כל הספקים",
    "日本語 \N{ROCKET}",
    "Z\u0351\u036b\u0343\u036a\u0302\u036balgo\u0321\u034a\u0353",
    "ÅÉ gjy",
    "",
)
RUNNING: tuple[AgentStatus, ...] = ("running",) * 6
STATES: tuple[AgentStatus, ...] = (
    *RUNNING,
    "waiting_approval",
    "waiting_answer",
    "waiting_children",
    "paused",
    "queued",
    "stopping",
    "completed",
    "failed",
)


def agent(number: int, name: str = "Explorer", status: AgentStatus = "running", **changes: Any):
    now = time.time()
    values = {
        "parent_id": MAIN,
        "doing": "reading deliver.py",
        "usage": Usage(40_000, 2_700),
        "started_at": now - 91.2,
        "active_at": now,
        **changes,
    }
    return AgentInfo(AgentId(f"sa_{number}"), SESSION, name, status=status, **values)


def changed(*agents: AgentInfo) -> AgentsChanged:
    return AgentsChanged(SESSION, (AgentInfo(MAIN, SESSION, "Main", status="running"), *agents))


@pytest.fixture
def moving(theme: Theme):
    """A look in which spinners turn, when they are told to."""
    theme.configure("light", 100, False)
    timer = theme.pulse.findChild(QTimer)
    before = timer.interval()
    timer.setInterval(3_600_000)
    yield theme
    timer.setInterval(before)


@pytest.fixture
def panel(qtbot, theme: Theme) -> AgentPanel:
    panel = AgentPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(348, 640)
    follow(panel, SessionOpened(SessionInfo(SESSION, MAIN, "t", Workspace("/w"), "m"), ()))
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def show(panel: AgentPanel, *agents: AgentInfo) -> None:
    follow(panel, changed(*agents))
    panel.tree.flush()


def on_screen(panel: AgentPanel) -> QImage:
    """What was painted so far, bit by bit."""
    QApplication.processEvents()
    painted = panel.backingStore().paintDevice()
    assert isinstance(painted, QImage)
    return painted.copy(rows_box(panel)).convertToFormat(QImage.Format.Format_RGB32)


def painted_anew(panel: AgentPanel) -> QImage:
    """What it would look like if all of it was painted now."""
    shot = panel.grab().toImage()
    return shot.copy(rows_box(panel)).convertToFormat(QImage.Format.Format_RGB32)


def is_true(panel: AgentPanel) -> bool:
    """Tell whether the screen shows what there is; a second may begin between two looks."""
    return any(on_screen(panel) == painted_anew(panel) for _ in range(3))


def rows_box(panel: AgentPanel) -> QRect:
    viewport = panel.tree.view.viewport()
    ratio = panel.devicePixelRatioF()
    top = viewport.mapTo(panel, QPoint(0, 0))
    return QRect(top * ratio, viewport.size() * ratio)


class Painted(QObject):
    """Collects what of a widget is painted."""

    def __init__(self, panel: AgentPanel) -> None:
        super().__init__(panel)
        self.region = QRegion()
        panel.tree.view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.region += event.region()
        return False

    def during(self, act: Callable[[], object]) -> QRegion:
        """Return what is painted because of something."""
        self._settle()
        act()
        QApplication.processEvents()
        return self.region

    def _settle(self) -> None:
        while True:
            self.region = QRegion()
            QApplication.processEvents()
            if self.region.isEmpty():
                return


class Fate:
    """Does to a panel what may happen to it, one thing at a time."""

    def __init__(self, panel: AgentPanel, theme: Theme, seed: int) -> None:
        self.panel, self.theme, self.dice = panel, theme, random.Random(seed)
        self.agents = [agent(n, self.dice.choice(NAMES)) for n in range(12)]
        self.agents[3] = msgspec.structs.replace(self.agents[3], parent_id=AgentId("sa_1"))
        self.agents[4] = msgspec.structs.replace(self.agents[4], parent_id=AgentId("sa_3"))
        self.did: list[str] = []
        show(panel, *self.agents)

    def step(self) -> None:
        acts = (self.work, self.work, self.work, self.change, self.point, self.leave, self.turn)
        rare = (self.focus, self.select, self.scroll, self.fold, self.look, self.narrow)
        act = self.dice.choice((*acts, *rare))
        self.did.append(act.__name__)
        act()

    def replace(self, **changes: Any) -> None:
        place = self.dice.randrange(len(self.agents))
        self.agents[place] = msgspec.structs.replace(self.agents[place], **changes)

    def work(self) -> None:
        for _ in range(self.dice.randint(1, 6)):
            tokens = Usage(self.dice.randrange(90_000), 1)
            active_at = time.time() - self.dice.choice((0, 0, 40.5))
            doing = self.dice.choice(("", "reading x.py", *NAMES))
            self.replace(doing=doing, usage=tokens, active_at=active_at)
        show(self.panel, *self.agents)

    def change(self) -> None:
        dice = self.dice
        self.replace(name=dice.choice(NAMES))
        self.replace(status=dice.choice(STATES), result="**It** found it", ended_at=time.time())
        self.replace(pace=dice.choice(("", "pausing", "finishing")))
        self.replace(budget=Budget(steps=10), used=dice.choice((0.2, 0.9, 1.0)))
        show(self.panel, *self.agents)

    def point(self) -> None:
        view = self.panel.tree.view
        index = view.indexAt(QPoint(100, self.dice.randrange(view.viewport().height())))
        box = view.button_box(index, self.dice.choice(("steer", "stop")))
        QTest.mouseMove(view.viewport(), box.center() if box.isValid() else QPoint(9, 9))

    def leave(self) -> None:
        QApplication.sendEvent(self.panel.tree.view, QEvent(QEvent.Type.Leave))

    def turn(self) -> None:
        turn_spinners(self.theme)

    def focus(self) -> None:
        view = self.panel.tree.view
        (view.clearFocus if view.hasFocus() else view.setFocus)()

    def select(self) -> None:
        self.panel.tree.view.setCurrentIndex(
            self.panel.tree.model.index_of(self.dice.choice(self.agents).id)
        )

    def scroll(self) -> None:
        self.panel.tree.view.verticalScrollBar().setValue(self.dice.randrange(200))

    def fold(self) -> None:
        view, index = self.panel.tree.view, self.panel.tree.model.index_of(AgentId("sa_1"))
        view.setExpanded(index, not view.isExpanded(index))

    def look(self) -> None:
        dice = self.dice
        self.theme.configure(dice.choice(("light", "dark")), dice.choice((100, 150, 200)), False)

    def narrow(self) -> None:
        self.panel.resize(self.dice.choice((260, 348, 420)), 640)


@pytest.mark.parametrize(
    "direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft]
)
@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_the_screen_shows_what_a_full_paint_would(
    moving, panel, direction, seed
) -> None:
    panel.setLayoutDirection(direction)
    fate = Fate(panel, moving, seed)
    for _ in range(80):
        fate.step()
        assert is_true(panel), fate.did


@pytest.fixture
def heard():
    """Somebody reads the screen aloud."""
    before = QAccessible.isActive()
    QAccessible.setActive(True)
    yield
    QAccessible.setActive(before)


def test_the_screen_is_as_true_while_it_is_read_aloud(heard, moving, panel) -> None:
    fate = Fate(panel, moving, 3)
    for _ in range(60):
        fate.step()
        assert is_true(panel), fate.did


# -- nothing that is kept outlives what it was made for ------------------------------------


def still(number: int, name: str = "Explorer", status: AgentStatus = "running", **changes: Any):
    """An agent whose time stands still, so that two pictures of it are alike."""
    return agent(number, name, status, started_at=0.0, **changes)


def team(name: str = "Explorer") -> tuple[AgentInfo, ...]:
    ended = {"ended_at": time.time(), "result": "What `it` found, in more words than there is room"}
    return (
        still(0, name),
        still(1, NAMES[1], doing="running a command that is too long for a narrow line"),
        still(2, "Asks", "waiting_approval"),
        still(3, "Below", parent_id=AgentId("sa_0"), budget=Budget(steps=10), used=0.9),
        still(4, "Done", "completed", **ended),
    )


def fresh(qtbot, theme: Theme, like: AgentPanel, *agents: AgentInfo) -> AgentPanel:
    """A panel that has seen nothing before."""
    panel = AgentPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(like.size())
    follow(panel, SessionOpened(SessionInfo(SESSION, MAIN, "t", Workspace("/w"), "m"), ()))
    panel.show()
    qtbot.waitExposed(panel)
    show(panel, *agents)
    settle(panel)
    return panel


def settle(panel: AgentPanel) -> None:
    """Let nothing be marked, and everything be laid out."""
    painted = Painted(panel)
    painted.during(lambda: None)
    panel.tree.view.clearFocus()
    panel.tree.select("")
    painted.during(lambda: None)


def test_another_name_is_on_screen_at_once(qtbot, moving, panel) -> None:
    show(panel, *team())
    settle(panel)
    follow(panel, changed(*team("Renamed")))
    turn_spinners(moving)
    assert on_screen(panel) == painted_anew(fresh(qtbot, moving, panel, *team("Renamed")))


@pytest.mark.parametrize("look", [("dark", 100, False), ("light", 200, False), ("dark", 150, True)])
def test_another_look_leaves_nothing_of_the_one_before(qtbot, moving, panel, look) -> None:
    show(panel, *team())
    turn_spinners(moving)
    settle(panel)
    moving.configure(*look)
    settle(panel)
    assert is_true(panel)
    assert on_screen(panel) == painted_anew(fresh(qtbot, moving, panel, *team()))


def test_a_narrower_panel_cuts_its_lines_anew(qtbot, moving, panel) -> None:
    show(panel, *team())
    settle(panel)
    panel.resize(250, 640)
    QApplication.processEvents()
    narrow = on_screen(panel)
    assert narrow == painted_anew(fresh(qtbot, moving, panel, *team()))
    panel.resize(348, 640)
    QApplication.processEvents()
    assert on_screen(panel).width() > narrow.width()
    assert on_screen(panel) == painted_anew(fresh(qtbot, moving, panel, *team()))


# -- no more than what changed -------------------------------------------------------------


def test_words_that_change_paint_their_line_and_nothing_of_others(moving, panel) -> None:
    rows = [still(n) for n in range(6)]
    show(panel, *rows)
    painted = Painted(panel)
    rows[2] = still(2, doing="writing prices.csv")
    region = painted.during(lambda: show(panel, *rows))
    box = panel.tree.view.visualRect(panel.tree.model.index_of(rows[2].id))
    assert not region.isEmpty()
    assert region.subtracted(QRegion(box.adjusted(0, box.height() // 2, 0, 0))).isEmpty()
    assert painted.during(lambda: show(panel, *rows)).isEmpty()


def test_a_spinner_turns_without_a_word_being_painted(moving, panel) -> None:
    show(panel, *(still(n) for n in range(6)))
    painted = Painted(panel)
    region = painted.during(lambda: turn_spinners(moving))
    assert region.rectCount() == 6
    assert region.boundingRect().width() == moving.icon_px(16)


def test_words_wait_for_the_next_turn_of_the_spinners_and_another_state_does_not(
    moving, panel
) -> None:
    show(panel, still(0), still(1))
    panel.tree.findChild(QTimer, "agentUpdates").stop()
    follow(panel, changed(still(0, doing="writing"), still(1)))
    turn_spinners(moving)
    assert panel.tree.row("sa_0").doing == "writing"
    follow(panel, changed(still(0, doing="writing"), still(1, status="waiting_approval")))
    assert panel.tree.row("sa_1").chip == "Needs approval"


def test_words_that_wait_are_shown_though_nothing_turns_any_more(moving, panel) -> None:
    show(panel, still(0), still(1))
    follow(panel, changed(still(0, doing="writing"), still(1)))
    moving.configure("light", 100, True)
    assert panel.tree.row("sa_0").doing == "writing"
    follow(panel, changed(still(0, doing="reading"), still(1)))
    panel.hide()
    panel.show()
    assert panel.tree.row("sa_0").doing == "reading"
