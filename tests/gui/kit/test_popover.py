"""A popover is never wider than its window: nothing in it is out of reach."""

import pytest
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.composer.context_popover import ContextPopover
from desktop_agent.gui.composer.sandbox_button import sandbox_popover
from desktop_agent.gui.composer.sandbox_fix import SandboxFixPopover


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
