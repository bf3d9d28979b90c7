"""A theme and a shown view for the tests of the transcript."""

import pytest

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.cards.factory import Clocks
from desktop_agent.gui.transcript.view.view import TranscriptView


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(scope="session")
def theme(qapp):
    theme = Theme(qapp)
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
