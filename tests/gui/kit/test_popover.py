"""No popover and no page is wider than its window: nothing in it is out of reach."""

import pytest
from PySide6.QtCore import QRegularExpression
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QScrollArea, QWidget

from desktop_agent.gui.composer.context_popover import ContextPopover
from desktop_agent.gui.composer.sandbox_button import sandbox_popover
from desktop_agent.gui.composer.sandbox_fix import SandboxFixPopover
from desktop_agent.gui.mcp.page import ServersPage
from desktop_agent.gui.usage.page import UsagePage
from desktop_agent.gui.welcome.page import Welcome
from desktop_agent.gui.workspace.picker import WorkspacePicker
from tests.gallery_usage import report


@pytest.fixture
def window(qtbot, theme):
    theme.configure("light", 200)
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.resize(640, 700)
    widget.show()
    yield widget
    theme.configure("light", 100)


WORDS = "Commands can change this session's folders only, and see nothing private. "
MAKERS = {
    "context": lambda theme, window: ContextPopover(theme, window),
    "fix": lambda theme, window: SandboxFixPopover(theme, ("/usr/bin/pkexec", "apt-get"), window),
    "sandbox": lambda theme, window: sandbox_popover(theme, window, "Sandboxed", WORDS, WORDS),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_popover_is_at_most_as_wide_as_its_window_at_a_large_text_size(window, theme, name):
    popover = MAKERS[name](theme, window)
    popover.open_below(window, above=True)
    shown = popover.childrenRect().translated(popover.pos())
    assert shown.left() >= 0
    assert shown.right() < window.width()


def test_the_folders_to_choose_from_stay_in_a_narrow_window(window, theme):
    popover = WorkspacePicker(theme, window)
    popover.machine.set_state(True)
    popover.open_below(window, above=True)
    shown = popover.childrenRect().translated(popover.pos())
    assert shown.left() >= 0
    assert shown.right() < window.width()


def test_the_first_steps_fit_a_narrow_window(window, theme, qtbot):
    welcome = Welcome(theme, window)
    welcome.resize(window.size())
    with qtbot.waitSignal(welcome.probe_requested):
        welcome.show()
    area = next(one for one in welcome.findChildren(QScrollArea) if one.isVisible())
    assert area.horizontalScrollBar().maximum() == 0


def test_what_was_used_in_all_is_whole_in_a_narrow_and_low_window(window, theme):
    page = UsagePage(theme, window)
    page.resize(640, 460)
    page.show()
    page.show_report(report())
    QApplication.processEvents()
    for name in ("usageSummary", "usageUnknown"):
        label = page.findChild(QLabel, name)
        assert label.height() >= label.heightForWidth(label.width()), name


def test_title_and_buttons_of_a_page_are_whole_in_a_narrow_window(window, theme):
    page = ServersPage(theme, window)
    page.resize(640, 700)
    page.show()
    QApplication.processEvents()
    title = next(one for one in page.findChildren(QLabel) if one.text() == "MCP servers")
    for part in (title, *page.findChildren(QAbstractButton, QRegularExpression("Server"))):
        if part.isVisible():
            assert part.width() >= part.sizeHint().width(), part.accessibleName()
