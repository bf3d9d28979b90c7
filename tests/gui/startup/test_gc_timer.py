"""The collection of garbage: it never stops a window that has something to show."""

import gc
import weakref

import pytest
from PySide6.QtCore import QObject

from desktop_agent.gui.startup.gc_timer import GcTimer


class Cycle:
    """Refers to itself, so that only a collection can end it."""

    def __init__(self):
        self.me = self


@pytest.fixture
def clock(qapp):
    parent = QObject()
    clock = GcTimer(parent)
    yield clock
    gc.enable()


def grown_old():
    """Return a watch on an object that is garbage of the oldest generation, which is due."""
    cycle = Cycle()
    gc.collect(1)
    watch = weakref.ref(cycle)
    del cycle
    for _ in range(gc.get_threshold()[2] + 1):
        gc.collect(1)
    return watch


def test_while_events_come_the_window_does_not_stop_to_look_through_everything(clock):
    watch = grown_old()
    for _ in range(5):
        clock.check()
        clock.rest()
    assert watch() is not None


def test_what_is_garbage_goes_when_nothing_happens(clock):
    watch = grown_old()
    clock.check()
    clock.rest()
    clock.rest()
    assert watch() is None


def test_garbage_goes_in_the_end_even_if_events_never_stop(clock):
    watch = grown_old()
    for _ in range((gc.get_threshold()[2] or 10) * 101 + 1):
        gc.collect(1)
        clock.check()
    assert watch() is None
