"""Widgets must die on the window's thread: no automatic collection while an engine runs."""

import gc

import pytest


@pytest.fixture(autouse=True)
def collect_between_tests_only():
    gc.disable()
    yield
    gc.enable()
