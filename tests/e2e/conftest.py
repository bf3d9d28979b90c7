"""The real window, as the other tests of it open it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e import job
from tests.gui.conftest import open_window, probe_once, window_loop
from tests.helpers.providers import LoopbackProvider

__all__ = ["open_window", "probe_once", "window_loop"]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The folder of the main job, and a `pytest` to run its tests with."""
    for name, value in job.surroundings().items():
        monkeypatch.setenv(name, value)
    return job.make_folder(tmp_path)


@pytest.fixture
def provide() -> Iterator:
    """Start providers that end with the test."""
    with ExitStack() as stack:
        yield lambda *args, **rest: stack.enter_context(LoopbackProvider(*args, **rest))
