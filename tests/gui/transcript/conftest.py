"""A theme and a shown view for the tests of the transcript."""

import pytest

from desktop_agent.gui.transcript.cards.card import Clocks
from desktop_agent.gui.transcript.view.row_window import VisibleRows
from desktop_agent.gui.transcript.view.view import TranscriptView
from tests.helpers.windows import has_running_timer


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def wait_until_written(qtbot, view):
    """Wait until every known row is in the document, coloured, and each in its last form."""
    rows = view.findChild(VisibleRows)
    qtbot.waitUntil(lambda: not (rows.has_work or has_running_timer(view)))


def tick(view):
    """Let a second pass."""
    view.cards.second.emit()
    view.cards.tick()


def is_ticking(view):
    return view.cards.is_ticking


@pytest.fixture(scope="session")
def theme(new_theme):
    theme = new_theme()
    theme.configure("light")
    return theme


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def view(theme, clock, qtbot):
    view = TranscriptView(theme, clocks=Clocks(wall=clock, steady=clock))
    qtbot.addWidget(view)
    view.resize(800, 600)
    with qtbot.waitExposed(view):
        view.show()
    yield view
    view.hide()
    assert not theme.pulse.is_running, "something still spins behind a closed window"
